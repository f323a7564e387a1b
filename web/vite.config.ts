import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// While the page is worked on, `vite` serves it and asks this server for everything else.
const server = process.env.MAINSPRING_AT ?? "http://127.0.0.1:8420";
const asked = ["/api", "/oauth/authorize", "/oauth/token", "/oauth/register", "/mcp", "/sdk"];

export default defineConfig({
  base: "/",
  plugins: [react()],
  server: {
    host: "127.0.0.1",
    strictPort: true,
    proxy: Object.fromEntries(asked.map((path) => [path, { target: server, changeOrigin: false }])),
  },
  build: {
    target: "es2022",
    // Older targets rewrite light-dark() into something that dark mode cannot use.
    cssTarget: ["chrome125", "firefox125", "safari18"],
    // The policy of the page lets fonts come from here alone, not from inside a stylesheet.
    assetsInlineLimit: 0,
    // One stylesheet of 20 kB: a part that is fetched later needs its script alone, and a stylesheet
    // that could not be fetched would not be asked for a second time.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    reportCompressedSize: false,
  },
});
