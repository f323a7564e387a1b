// Sums up the sales of the last whole week, Monday to Sunday, beside the week before.
import { brains, event, kv } from "https://brains/sdks/automation-sdk-v1.ts";

const BOARD = "{{ install.board.id }}";
const CURRENCY = "{{ install.settings.currency }}";
const ZONE = "{{ install.settings.timezone }}";
const DAY = 86_400_000;

interface Sale {
  date?: string | null;
  amount?: number | null;
  product?: string | null;
}

function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function rounded(amount: number): number {
  return Math.round(amount * 100) / 100;
}

async function sales(): Promise<Sale[]> {
  const found: Sale[] = [];
  let offset: number | null = 0;
  while (offset !== null) {
    const board = await brains.get_board({ board_id: BOARD, offset, limit: 1000 });
    const page = board.data.datasets.default;
    found.push(...page.rows);
    offset = page.next_offset;
  }
  return found;
}

function between(rows: Sale[], first: string, last: string): Sale[] {
  return rows.filter((row) => {
    const at = String(row.date ?? "").slice(0, 10);
    return typeof row.amount === "number" && at >= first && at <= last;
  });
}

function total(rows: Sale[]): number {
  return rounded(rows.reduce((sum, row) => sum + Number(row.amount), 0));
}

function change(now: number, before: number): string {
  if (before === 0) return now === 0 ? "no change" : "nothing the week before";
  const percent = Math.round(((now - before) / before) * 100);
  return `${percent >= 0 ? "+" : ""}${percent} % on the week before`;
}

function byProduct(rows: Sale[]): string[] {
  const sums = new Map<string, number>();
  for (const row of rows) {
    const name = String(row.product ?? "").trim() || "Other";
    sums.set(name, (sums.get(name) ?? 0) + Number(row.amount));
  }
  return [...sums]
    .sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
    .map(([name, sum]) => `| ${name.replaceAll("|", "/")} | ${rounded(sum)} |`);
}

// Noon of the day that it is where the person lives, written as if that were UTC.
const moment = new Date(event?.scheduled_for ?? Date.now());
const spelt = new Intl.DateTimeFormat("en-CA", { timeZone: ZONE, year: "numeric", month: "2-digit", day: "2-digit" });
const noon = Date.parse(`${spelt.format(moment)}T12:00:00Z`);
const sinceMonday = (new Date(noon).getUTCDay() + 6) % 7;
const monday = noon - (sinceMonday + 7) * DAY;
const [first, last] = [day(monday), day(monday + 6 * DAY)];
const rows = await sales();
const week = between(rows, first, last);
const [now, before] = [total(week), total(between(rows, day(monday - 7 * DAY), day(monday - DAY)))];
const line = `${now} ${CURRENCY} from ${week.length} sales, ${change(now, before)}`;
const page = await brains.create_page({
  type: "report",
  title: `Revenue ${first} to ${last}`,
  source_ref: `revenue-report:${BOARD}:${first}`,
  body: [`**${line}.**`, "", `| Product | ${CURRENCY} |`, "| --- | --- |", ...byProduct(week)].join("\n"),
  frontmatter: { first, last, total: now, before, sales: week.length },
});
const told = await kv.get(`told/${first}`, null);
if (told !== line) {
  await brains.inbox.post_notification({ title: `Revenue of the week from ${first}`, message: `${line}.` });
  await kv.set(`told/${first}`, line);
}
return { page: page.slug, total: now, before, sales: week.length };
