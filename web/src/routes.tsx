// All screens and their paths. Each screen is lazy-loaded.

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from "@tanstack/react-router";
import { importWhenReachable } from "./api/lazyImport";
import { NotFound } from "./shell/NotFound";
import { ScreenError } from "./shell/ScreenError";
import { Shell } from "./shell/Shell";

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });
const inside = createRoute({ getParentRoute: () => root, id: "inside", component: Shell });

type Search = Record<string, string | undefined>;
const validateSearch = (given: Record<string, unknown>): Search =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));

type Load = Parameters<typeof lazyRouteComponent>[0];
const outer = (path: string, load: Load) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch,
    component: lazyRouteComponent(importWhenReachable(load)),
  });
const screen = (path: string, load: Load) =>
  createRoute({
    getParentRoute: () => inside,
    path,
    validateSearch,
    component: lazyRouteComponent(importWhenReachable(load)),
  });

const tree = root.addChildren([
  outer("/sign-in", () => import("./screens/sign-in/SignIn")),
  outer("/oauth/consent/$requestId", () => import("./screens/oauth/Consent")),
  inside.addChildren([
    screen("/", () => import("./screens/home/Home")),
    screen("/new", () => import("./screens/new/New")),
    screen("/proposals/$proposalId", () => import("./screens/proposal/Proposal")),
    screen("/automations", () => import("./screens/automations/Automations")),
    screen("/automations/$automationId", () => import("./screens/automation/Automation")),
    screen("/automations/$automationId/edit", () => import("./screens/edit/Edit")),
    screen("/automations/$automationId/$tab", () => import("./screens/automation/Automation")),
    screen("/runs", () => import("./screens/runs/Runs")),
    screen("/runs/$runId", () => import("./screens/run/Run")),
    screen("/inbox", () => import("./screens/inbox/Inbox")),
    screen("/integrations", () => import("./screens/integrations/Integrations")),
    screen("/integrations/$source", () => import("./screens/integrations/Integration")),
    screen("/codex", () => import("./screens/codex/Codex")),
    screen("/codex/$slug", () => import("./screens/codex/Recipe")),
    screen("/boards", () => import("./screens/boards/Boards")),
    screen("/boards/$boardId", () => import("./screens/boards/Board")),
    screen("/pages", () => import("./screens/pages/Pages")),
    screen("/pages/$slug", () => import("./screens/pages/Page")),
    screen("/workflows", () => import("./screens/workflows/Workflows")),
    screen("/workflows/$workflowId", () => import("./screens/workflows/Workflow")),
    screen("/secrets", () => import("./screens/secrets/Secrets")),
    screen("/models", () => import("./screens/models/Models")),
    screen("/costs", () => import("./screens/costs/Costs")),
    screen("/audit", () => import("./screens/audit/Audit")),
    screen("/health", () => import("./screens/health/Health")),
    screen("/connect", () => import("./screens/connect/Connect")),
    screen("/terminal", () => import("./screens/terminal/Terminal")),
    screen("/settings", () => import("./screens/settings/Settings")),
    screen("/settings/$tab", () => import("./screens/settings/Settings")),
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  defaultPreload: "intent",
  defaultErrorComponent: ScreenError,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});
