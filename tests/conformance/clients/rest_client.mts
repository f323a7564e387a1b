// A client of the generated types: node rest_client.mts URL TOKEN RUN_ID AUTOMATION_ID
import createClient from "openapi-fetch";
import type { paths } from "./schema.d.ts";

declare const process: { argv: string[] };
const [baseUrl = "", token = "", run_id = "", automation_id = ""] = process.argv.slice(2);
const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

function of<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const health = of(await api.GET("/api/v1/health"));
const page = of(
  await api.POST("/api/v1/pages", {
    body: { type: "note", title: "Zebra", body: "At noon.", frontmatter: { stripes: 40 } },
  }),
);
const found = of(await api.GET("/api/v1/pages", { params: { query: { limit: 5 } } }));
const board = of(await api.POST("/api/v1/boards", { body: { name: "CRM of TypeScript" } }));
const added = of(
  await api.POST("/api/v1/boards/{board_id}/rows", {
    params: { path: { board_id: board.id } },
    body: { rows: [{ company: "Acme" }] },
  }),
);
const boards = of(await api.GET("/api/v1/boards"));
const automations = of(await api.GET("/api/v1/automations"));
const one = of(
  await api.GET("/api/v1/automations/{automation_id}", { params: { path: { automation_id } } }),
);
const runs = of(await api.GET("/api/v1/runs"));
const run = of(await api.GET("/api/v1/runs/{run_id}", { params: { path: { run_id } } }));
const usage = of(await api.GET("/api/v1/usage"));
const missing = await api.GET("/api/v1/runs/{run_id}", {
  params: { path: { run_id: "01900000-0000-7000-8000-000000000000" } },
});

console.log(JSON.stringify({
  health: health.status,
  slug: page.slug,
  pages: found.pages.map((entry) => entry.title),
  board: board.name,
  appended: added.appended,
  boards: boards.boards.map((entry) => entry.name),
  automations: automations.items.length,
  automation: one.id,
  runs: runs.items.length,
  run: run.status,
  steps: run.steps.map((step) => step.status),
  usage: typeof usage,
  missing: missing.error?.code,
}));
