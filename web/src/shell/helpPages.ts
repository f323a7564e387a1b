// The documentation page for each screen. The longest matching path wins.

const PAGES: Record<string, string> = {
  "/": "get-started/web-interface/",
  "/new": "guides/describe-an-automation/",
  "/proposals": "guides/describe-an-automation/",
  "/automations": "concepts/",
  "/runs": "concepts/runs/",
  "/inbox": "guides/approve-drafts/",
  "/integrations": "integrations/",
  "/codex": "guides/install-recipes/",
  "/boards": "guides/boards/",
  "/pages": "guides/pages-and-search/",
  "/workflows": "guides/projects/",
  "/secrets": "guides/secrets/",
  "/models": "guides/connect-models/",
  "/costs": "guides/budgets-and-costs/",
  "/audit": "security/members-roles-and-tokens/",
  "/health": "operations/monitoring/",
  "/connect": "guides/connect-an-mcp-client/",
  "/terminal": "security/members-roles-and-tokens/",
  "/settings": "security/members-roles-and-tokens/",
};

export function helpPage(path: string): string {
  const found = Object.keys(PAGES)
    .filter((start) => start !== "/" && (path === start || path.startsWith(`${start}/`)))
    .sort((a, b) => b.length - a.length)[0];
  return `/docs/${PAGES[found ?? "/"]}`;
}
