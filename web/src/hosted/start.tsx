// Renders the form at the link in the address.

import "@mantine/core/styles.css";
import "@fontsource-variable/inter";
import "../page.css";
import { MantineProvider } from "@mantine/core";
import { setNonce } from "get-nonce";
import { createRoot } from "react-dom/client";
import { styleNonce } from "../api/nonce";
import { theme } from "../theme";
import { HostedForm } from "./HostedForm";

setNonce(styleNonce());

export function start(): void {
  const link = decodeURIComponent(location.pathname.split("/")[2] ?? "");
  createRoot(document.getElementById("root")!).render(
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce}>
      <HostedForm link={link} />
    </MantineProvider>,
  );
}
