// The API client: typed from the OpenAPI document, authenticated by the browser session.

import { QueryClient } from "@tanstack/react-query";
import createFetchClient, { type Middleware } from "openapi-fetch";
import createQueryClient from "openapi-react-query";
import { setClock } from "../kit/clock";
import { Problem, type ProblemDocument } from "./problem";
import type { components, operations, paths } from "./schema";

export type Schemas = components["schemas"];
type Content<T> = T extends { content: { "application/json": infer Body } } ? Body : never;
/** The success response of an operation, by its id: `Answer<"get_run">`. */
export type Answer<Id extends keyof operations> = Content<
  operations[Id]["responses"][keyof operations[Id]["responses"]]
>;

let csrf: string | null = null;
let workspace: string | null = null;
let onSignedOut: () => void = () => {};
let onMoved: () => void = () => {};

export const setCsrf = (token: string | null | undefined) => {
  csrf = token ?? null;
};
/**
 * The workspace that this page shows; the server rejects requests when the session has another one.
 */
export const setWorkspace = (id: string | null) => {
  workspace = id;
};
/** Called when the session's workspace differs from the page's. */
export const whenMoved = (work: () => void) => {
  onMoved = work;
};
/** Called when the server no longer knows this session. */
export const whenSignedOut = (work: () => void) => {
  onSignedOut = work;
};

async function readProblem(response: Response): Promise<ProblemDocument | null> {
  try {
    return await response.clone().json() as ProblemDocument;
  } catch {
    return null;
  }
}

const guard: Middleware = {
  onRequest({ request }) {
    if (csrf && request.method !== "GET") request.headers.set("X-CSRF-Token", csrf);
    if (workspace) request.headers.set("X-Workspace", workspace);
    return request;
  },
  async onResponse({ response, schemaPath }) {
    setClock(response.headers.get("Date"));
    if (response.ok) return response;
    if (response.status === 401 && !schemaPath.startsWith("/api/v1/session")) onSignedOut();
    const problem = new Problem(response.status, await readProblem(response));
    if (workspace && problem.code === "other_workspace") onMoved();
    throw problem;
  },
  onError() {
    return new Problem(0, null);
  },
};

/** `await client.POST("/api/v1/…", { params, body })` returns `{ data }` or throws a Problem. */
export const client = createFetchClient<paths>({ credentials: "same-origin" });
client.use(guard);

/** `api.useQuery("get", "/api/v1/…", { params })` and `api.useMutation("post", "/api/v1/…")`. */
export const api = createQueryClient(client);

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, problem) =>
        count < 1 && (!(problem instanceof Problem) || problem.status === 0),
    },
  },
});

/** Invalidates every query whose path has this prefix: `refresh("/api/v1/automations")`. */
export function refresh(...beginnings: string[]): Promise<void> {
  return queries.invalidateQueries({
    predicate: ({ queryKey: [, path] }) =>
      typeof path === "string" && beginnings.some((start) => path.startsWith(start)),
  });
}
