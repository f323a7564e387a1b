import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// In development, `vite` serves the page and proxies everything else to this server.
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
    // Older targets rewrite light-dark() in a way that breaks dark mode.
    cssTarget: ["chrome125", "firefox125", "safari18"],
    // The content security policy allows fonts from this origin only, no data URLs in a stylesheet.
    assetsInlineLimit: 0,
    // One stylesheet of 20 kB: a lazy-loaded part only needs its script, and a browser does not retry
    // a stylesheet that failed to load.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    reportCompressedSize: false,
  },
});
