import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// In development, `vite` serves the page and proxies everything else to this server.
const server = process.env.MAINSPRING_AT ?? "http://127.0.0.1:8420";
const asked = ["/api", "/oauth/authorize", "/oauth/token", "/oauth/register", "/mcp", "/sdk"];

// The entry imports the application once the texts are loaded; the browser fetches both at once.
const preloadApplication: Plugin = {
  name: "preload-application",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle, path }) => {
      if (path !== "/index.html") return [];
      const chunks = Object.values(bundle ?? {}).filter((one) => one.type === "chunk");
      const entry = chunks.find((one) => one.facadeModuleId?.endsWith("/index.html"));
      const application = chunks.find((one) => one.facadeModuleId?.endsWith("/src/app.tsx"));
      const files = application ? [application.fileName, ...application.imports] : [];
      return [...new Set(files)].filter((file) => file !== entry?.fileName).map((file) => ({
        tag: "link",
        attrs: { rel: "modulepreload", crossorigin: true, href: `/${file}` },
        injectTo: "head" as const,
      }));
    },
  },
};

export default defineConfig({
  base: "/",
  plugins: [react(), preloadApplication],
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
    rolldownOptions: {
      // The application, and the hosted forms, which load nothing of it.
      input: ["index.html", "form.html"],
      // A screen fetches only the sections of the catalogue that it uses.
      treeshake: { moduleSideEffects: [{ test: /\/src\/strings\//, sideEffects: false }] },
    },
  },
});
