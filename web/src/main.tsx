// Loads the texts of the chosen language, then the application: its modules use them on import.
//
// No top-level await: the application imports modules of this chunk, and each would wait for the
// other.

import { loadStrings } from "./strings/translated";

void loadStrings().then(() => import("./app")).then(({ start }) => start());
