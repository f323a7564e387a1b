// What a board can be linked to, in words: what is asked for each kind, and what can be read
// from there. The server judges all of it again.

export type RefField = { name: string; label: string; placeholder: string; optional?: boolean };
export type Reading = { op: string; label: string; params?: string };
export type LinkKind = {
  kind: string;
  label: string;
  ref: RefField[];
  readings: Reading[];
  /** The connection it may use, or must use. */
  connection?: { source: string; needed: boolean };
};

const URL_FIELD = (placeholder: string): RefField => ({
  name: "url",
  label: "Address",
  placeholder,
});

export const KINDS: LinkKind[] = [
  {
    kind: "github",
    label: "GitHub repository",
    ref: [
      { name: "owner", label: "Owner", placeholder: "octo" },
      { name: "repo", label: "Repository", placeholder: "hello" },
    ],
    readings: [
      { op: "github.list_open_prs", label: "Open pull requests" },
      { op: "github.list_prs", label: "All pull requests" },
      { op: "github.list_open_issues", label: "Open issues" },
      { op: "github.list_issues", label: "All issues" },
      { op: "github.list_releases", label: "Releases" },
      { op: "github.list_commits", label: "Commits" },
    ],
    connection: { source: "github", needed: false },
  },
  {
    kind: "ics",
    label: "Calendar (ICS)",
    ref: [URL_FIELD("webcal://calendar.example.com/team.ics")],
    readings: [{ op: "ics.list_events", label: "Events", params: '{"days": 14}' }],
  },
  {
    kind: "rss",
    label: "Feed (RSS, Atom)",
    ref: [URL_FIELD("https://example.com/feed.xml")],
    readings: [{ op: "rss.list_entries", label: "Entries" }],
  },
  {
    kind: "http_json",
    label: "Address that answers JSON",
    ref: [URL_FIELD("https://api.example.com/v1/incidents")],
    readings: [{
      op: "http_json.get",
      label: "Items",
      params: '{"items": "$.items[*]", "columns": {"id": "id"}}',
    }],
  },
  {
    kind: "monday",
    label: "monday.com board",
    ref: [{
      name: "board_id",
      label: "Number of the board",
      placeholder: "1234567890",
      optional: true,
    }],
    readings: [
      { op: "monday.list_items", label: "Items" },
      { op: "monday.list_boards", label: "Boards" },
    ],
    connection: { source: "monday", needed: true },
  },
  {
    kind: "coinmarketcap",
    label: "CoinMarketCap",
    ref: [],
    readings: [{ op: "coinmarketcap.top", label: "The largest currencies" }],
    connection: { source: "coinmarketcap", needed: true },
  },
];

export const kindOf = (kind: string) => KINDS.find((one) => one.kind === kind);

/** What a link points at, in one line. */
export function refWords(ref: Record<string, unknown>): string {
  if (typeof ref.url === "string") return ref.url;
  if (ref.owner && ref.repo) return `${ref.owner}/${ref.repo}`;
  const values = Object.values(ref).filter((one) => typeof one !== "object");
  return values.map(String).join(" ");
}
