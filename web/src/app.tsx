// The application: providers and routes.

import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@mantine/spotlight/styles.css";
import "@fontsource-variable/inter";
import "./page.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { createRoot } from "react-dom/client";
import { queries } from "./api/client";
import { styleNonce } from "./api/nonce";
import { ConfirmProvider } from "./kit/Confirm";
import { router } from "./routes";
import { theme } from "./theme";

// Dialogs lock scrolling with a style element that needs the CSP nonce too.
setNonce(styleNonce());

// A page restored from the back/forward cache may belong to a user who signed out.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});

export function start(): void {
  createRoot(document.getElementById("root")!).render(
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce}>
      <QueryClientProvider client={queries}>
        <Notifications position="top-center" />
        <ConfirmProvider>
          <RouterProvider router={router} />
        </ConfirmProvider>
      </QueryClientProvider>
    </MantineProvider>,
  );
}
