// An audit entry as a sentence: actor, action, resource, and a link.

import type { Schemas } from "../../api/client";
import { humanize } from "../../kit/format";
import { t } from "../../strings";

export type Entry = Schemas["AuditEntry"];
export type Resource = { label: string; to?: string };
export type Sentence = { who: string; did: string; thing: Resource | null; rest: string };
/** Names by resource id. */
export type Names = ReadonlyMap<string, string>;

// The screen of each kind of resource, if there is one.
type Kind = { at?: (id: string) => string };
const KINDS = {
  automation: { at: (id) => `/automations/${id}` },
  run: { at: (id) => `/runs/${id}` },
  board: { at: (id) => `/boards/${id}` },
  page: { at: (id) => `/pages/${id}` },
  workflow: { at: (id) => `/workflows/${id}` },
  proposal: { at: (id) => `/proposals/${id}` },
  draft: { at: () => "/inbox" },
  recipe: { at: (id) => `/codex/${id}` },
  integration: { at: (id) => `/integrations/${id}` },
  connection: { at: () => "/integrations" },
  model: { at: () => "/models" },
  secret: { at: () => "/secrets" },
  token: { at: () => "/settings/tokens" },
  member: { at: () => "/settings/members" },
  workspace: { at: () => "/settings/workspace" },
  session: { at: () => "/settings/sessions" },
  client: { at: () => "/connect" },
  event: {},
  trigger: {},
  rule: { at: () => "/inbox" },
  capability: {},
} satisfies Record<string, Kind>;
type KindName = keyof typeof KINDS;

// The actions that have a text.
type Action = keyof typeof t.auditActions;
const isAction = (text: string): text is Action => Object.hasOwn(t.auditActions, text);

const KIND_OF: Partial<Record<Action, KindName>> = {
  create_automation: "automation",
  update_automation: "automation",
  activate_automation: "automation",
  pause_automation: "automation",
  archive_automation: "automation",
  restore_automation: "automation",
  acknowledge_automation: "automation",
  run_automation: "automation",
  roll_back: "automation",
  rehearse_automation: "automation",
  review_automation: "automation",
  patch_trigger: "automation",
  make_webhook_token: "automation",
  end_webhook_token: "automation",
  cancel_run: "run",
  retry_run: "run",
  replay_run: "run",
  post_event: "event",
  replay_event: "event",
  put_event_type: "event",
  delete_event_type: "event",
  propose_automation: "proposal",
  refine_proposal: "proposal",
  save_proposal: "proposal",
  discard_proposal: "proposal",
  confirm_action: "draft",
  edit_action: "draft",
  discard_action: "draft",
  redraft_action: "draft",
  "draft.approved": "draft",
  "draft.edited": "draft",
  "draft.discarded": "draft",
  "draft.refused": "draft",
  "standing_rule.used": "rule",
  decide_standing_rule: "rule",
  withdraw_standing_rule: "rule",
  answer_approval: "draft",
  create_board: "board",
  update_board: "board",
  archive_board: "board",
  append_board_rows: "board",
  update_board_rows: "board",
  delete_board_rows: "board",
  delete_many_board_rows: "board",
  restore_board_rows: "board",
  create_page: "page",
  update_page: "page",
  delete_page: "page",
  restore_page: "page",
  create_workflow: "workflow",
  update_workflow: "workflow",
  delete_workflow: "workflow",
  apply_starter_recipe: "recipe",
  upgrade_recipe: "recipe",
  uninstall_recipe: "recipe",
  recover_recipe: "recipe",
  publish_recipe: "recipe",
  connect_integration: "integration",
  "integration.connected": "integration",
  disconnect_integration: "integration",
  test_integration_connection: "integration",
  connect_mcp_server: "connection",
  disconnect_mcp_server: "connection",
  agree_to_tools: "connection",
  refuse_tools: "connection",
  signed_in_at: "connection",
  connect_model: "model",
  disconnect_model: "model",
  test_model: "model",
  automation_secret_set: "secret",
  automation_secret_delete: "secret",
  "secret.used": "secret",
  "grant.refused": "capability",
  call_capability: "capability",
  create_token: "token",
  delete_token: "token",
  change_member: "member",
  delete_member: "member",
  create_workspace: "workspace",
  change_workspace: "workspace",
  switch_workspace: "workspace",
  answer_client_request: "client",
  delete_client: "client",
};

/** All actions that have a text, for the filter. */
export const KNOWN_ACTIONS: readonly string[] = [...Object.keys(t.auditActions), "denied"].sort();

const isId = (text: string) => /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(text);

export function actorOf(entry: Entry): string {
  if (entry.actor_name) return entry.actor_name;
  const named = {
    run: t.audit.aRun,
    engine: "Mainspring",
    stranger: t.audit.unknownActor,
  } as const;
  return named[entry.actor_kind as keyof typeof named] ?? t.audit.formerActor;
}

function resourceOf(entry: Entry, kind: KindName | undefined, names: Names): Resource | null {
  const { subject, detail } = entry;
  if (!kind || !subject) return null;
  const { at } = KINDS[kind] as Kind;
  // A path such as /automations/{id}/triggers/{slug} refers to its first resource.
  const id = kind === "page" ? subject : subject.split("/")[0]!;
  const answer = typeof detail.name === "string" ? detail.name : undefined;
  // Without a name, the last characters of the id distinguish two resources.
  const label = answer ?? names.get(id) ?? (isId(id) ? `…${id.slice(-6)}` : id);
  return { label, to: at?.(id) };
}

// The channel of a decision; any other value is the id of a messaging integration.
const CHANNELS: Record<string, string> = {
  page: t.audit.onThePage,
  terminal: t.audit.inATerminal,
};

function through(channel: unknown): string {
  if (typeof channel !== "string" || !channel) return "";
  return CHANNELS[channel] ?? t.audit.inChannel(`${channel[0]!.toUpperCase()}${channel.slice(1)}`);
}

/** A program uses a token; a person decides through a channel. */
const by = (entry: Entry) =>
  entry.actor_kind === "client" ? t.audit.withAToken : through(entry.detail.channel);

export function sentenceOf(entry: Entry, names: Names): Sentence {
  const who = actorOf(entry);
  if (entry.action === "denied") {
    const tried = entry.subject ?? "";
    const did = t.audit.denied(humanize(tried));
    return {
      who,
      did,
      thing: null,
      rest: String(entry.detail.code ?? "") && `(${humanize(String(entry.detail.code))})`,
    };
  }
  const { action } = entry;
  const did = isAction(action) ? t.auditActions[action] : t.audit.called(humanize(action));
  const kind = isAction(action) ? KIND_OF[action] : undefined;
  return { who, did, thing: resourceOf(entry, kind, names), rest: more(entry) };
}

function more(entry: Entry): string {
  const { detail } = entry;
  const parts: string[] = [];
  if (typeof detail.version === "number") parts.push(t.audit.asVersion(detail.version));
  if (typeof detail.role === "string") parts.push(t.audit.asRole(detail.role));
  if (typeof detail.host === "string") parts.push(t.audit.atHost(detail.host));
  const how = by(entry);
  if (how) parts.push(how);
  return parts.join(", ");
}

export const asText = ({ who, did, thing, rest }: Sentence): string =>
  [who, did, thing?.label, rest].filter(Boolean).join(" ");

/** The visible entries, one line each. */
export const asLines = (entries: readonly Entry[]): string =>
  entries.map((one) => JSON.stringify(one)).join("\n") + "\n";
