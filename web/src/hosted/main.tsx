// The entry of a hosted form. It is a document of its own: it loads nothing of the signed-in
// application, and asks the server for nothing but the form.

import { loadStrings } from "../strings/translated";

void loadStrings().then(() => import("./start")).then(({ start }) => start());
