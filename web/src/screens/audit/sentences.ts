// An audit entry as a sentence: actor, action, resource, and a link.

import type { Schemas } from "../../api/client";
import { humanize } from "../../kit/format";

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

const DID: Record<string, [did: string, kind?: KindName]> = {
  create_automation: ["made the automation", "automation"],
  update_automation: ["changed the automation", "automation"],
  activate_automation: ["set going the automation", "automation"],
  pause_automation: ["put to rest the automation", "automation"],
  archive_automation: ["archived the automation", "automation"],
  restore_automation: ["brought back the automation", "automation"],
  acknowledge_automation: ["took note of the failures of", "automation"],
  run_automation: ["started a run of", "automation"],
  roll_back: ["went back to an earlier version of", "automation"],
  rehearse_automation: ["rehearsed", "automation"],
  review_automation: ["had a review made of", "automation"],
  import_automations: ["brought in automations"],
  patch_trigger: ["changed a trigger of", "automation"],
  make_webhook_token: ["made a webhook token for", "automation"],
  end_webhook_token: ["ended a webhook token of", "automation"],
  cancel_run: ["cancelled the run", "run"],
  retry_run: ["tried again the run", "run"],
  replay_run: ["replayed the run", "run"],
  post_event: ["told of the event", "event"],
  replay_event: ["told again of the event", "event"],
  put_event_type: ["described the event type", "event"],
  delete_event_type: ["removed the event type", "event"],
  propose_automation: ["asked for the proposal", "proposal"],
  refine_proposal: ["had changed the proposal", "proposal"],
  save_proposal: ["saved the proposal", "proposal"],
  discard_proposal: ["discarded the proposal", "proposal"],
  confirm_action: ["approved the draft", "draft"],
  edit_action: ["edited the draft", "draft"],
  discard_action: ["discarded the draft", "draft"],
  redraft_action: ["had written again the draft", "draft"],
  "draft.approved": ["approved the draft", "draft"],
  "draft.edited": ["edited the draft", "draft"],
  "draft.discarded": ["discarded the draft", "draft"],
  "draft.refused": ["was refused to send the draft", "draft"],
  "standing_rule.used": ["sent by the standing rule", "rule"],
  decide_standing_rule: ["decided about the standing rule", "rule"],
  withdraw_standing_rule: ["withdrew the standing rule", "rule"],
  set_approval_policy: ["set who approves"],
  answer_approval: ["answered the question of a run", "draft"],
  answer_consent: ["answered what was asked to be allowed"],
  create_board: ["made the board", "board"],
  update_board: ["changed the board", "board"],
  archive_board: ["archived the board", "board"],
  append_board_rows: ["added rows to", "board"],
  update_board_rows: ["changed rows of", "board"],
  delete_board_rows: ["deleted rows of", "board"],
  delete_many_board_rows: ["deleted rows of", "board"],
  restore_board_rows: ["brought back rows of", "board"],
  create_page: ["wrote the page", "page"],
  update_page: ["changed the page", "page"],
  delete_page: ["deleted the page", "page"],
  restore_page: ["brought back the page", "page"],
  create_workflow: ["made the workflow", "workflow"],
  update_workflow: ["changed the workflow", "workflow"],
  delete_workflow: ["deleted the workflow", "workflow"],
  apply_starter_recipe: ["installed the recipe", "recipe"],
  upgrade_recipe: ["upgraded", "recipe"],
  uninstall_recipe: ["uninstalled", "recipe"],
  recover_recipe: ["brought back what was uninstalled:", "recipe"],
  publish_recipe: ["published the recipe", "recipe"],
  connect_integration: ["connected", "integration"],
  "integration.connected": ["connected", "integration"],
  link_slack: ["asked for a code to link a Slack account"],
  unlink_slack: ["unlinked their Slack account"],
  "slack.linked": ["linked a Slack account"],
  disconnect_integration: ["disconnected", "integration"],
  test_integration_connection: ["tried the connection to", "integration"],
  connect_mcp_server: ["connected the tools of", "connection"],
  disconnect_mcp_server: ["disconnected the tools of", "connection"],
  agree_to_tools: ["agreed to tools of", "connection"],
  refuse_tools: ["refused tools of", "connection"],
  signed_in_at: ["signed in at", "connection"],
  connect_model: ["connected the models of", "model"],
  disconnect_model: ["disconnected the models of", "model"],
  test_model: ["tried the models of", "model"],
  automation_secret_set: ["kept the secret", "secret"],
  automation_secret_delete: ["deleted the secret", "secret"],
  "secret.used": ["used the secret", "secret"],
  "grant.refused": ["was not granted", "capability"],
  call_capability: ["called", "capability"],
  create_token: ["made a token", "token"],
  delete_token: ["revoked a token", "token"],
  end_tokens: ["ended tokens by a new password"],
  invite_member: ["invited somebody"],
  delete_invitation: ["took back an invitation"],
  member_joined: ["joined the workspace"],
  change_member: ["changed the role of", "member"],
  delete_member: ["removed the member", "member"],
  create_workspace: ["made the workspace", "workspace"],
  change_workspace: ["changed the workspace", "workspace"],
  switch_workspace: ["looked at the workspace", "workspace"],
  import_workspace: ["brought files into the workspace"],
  export_workspace: ["took the workspace out as files"],
  sign_in: ["signed in"],
  sign_in_by_link: ["signed in by a link"],
  sign_out: ["signed out"],
  delete_session: ["ended a session"],
  change_person: ["changed what is known about themselves"],
  change_password: ["set a new password"],
  send_email_code: ["asked for a code to verify their email"],
  verify_email: ["verified their email"],
  make_link: ["made a link to sign in"],
  client_connected: ["connected a client"],
  client_cut_off: ["cut off a client"],
  client_gave_up: ["let go of a client's access"],
  answer_client_request: ["answered the client", "client"],
  delete_client: ["removed the client", "client"],
};

/** All actions that have a text, for the filter. */
export const KNOWN_ACTIONS: readonly string[] = [...Object.keys(DID), "denied"].sort();

const isId = (text: string) => /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(text);

export function actorOf(entry: Entry): string {
  if (entry.actor_name) return entry.actor_name;
  const named = { run: "A run", engine: "Mainspring", stranger: "Somebody unknown" } as const;
  return named[entry.actor_kind as keyof typeof named] ?? "Somebody who is gone";
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
const CHANNELS: Record<string, string> = { page: "on the page", terminal: "at a terminal" };

function through(channel: unknown): string {
  if (typeof channel !== "string" || !channel) return "";
  return CHANNELS[channel] ?? `in ${channel[0]!.toUpperCase()}${channel.slice(1)}`;
}

/** A program uses a token; a person decides through a channel. */
const by = (entry: Entry) =>
  entry.actor_kind === "client" ? "by a token" : through(entry.detail.channel);

export function sentenceOf(entry: Entry, names: Names): Sentence {
  const who = actorOf(entry);
  if (entry.action === "denied") {
    const tried = entry.subject ?? "something";
    const known = DID[tried]?.[0];
    const did = known ? `was refused: would have ${known}` : `was refused: ${humanize(tried)}`;
    return {
      who,
      did,
      thing: null,
      rest: String(entry.detail.code ?? "") && `(${humanize(String(entry.detail.code))})`,
    };
  }
  const [did, kind] = DID[entry.action] ?? [`called ${humanize(entry.action)}`, undefined];
  return { who, did, thing: resourceOf(entry, kind, names), rest: more(entry) };
}

function more(entry: Entry): string {
  const { detail } = entry;
  const parts: string[] = [];
  if (typeof detail.version === "number") parts.push(`as version ${detail.version}`);
  if (typeof detail.role === "string") parts.push(`as ${detail.role}`);
  if (typeof detail.host === "string") parts.push(`at ${detail.host}`);
  const how = by(entry);
  if (how) parts.push(how);
  return parts.join(", ");
}

export const asText = ({ who, did, thing, rest }: Sentence): string =>
  [who, did, thing?.label, rest].filter(Boolean).join(" ");

/** The visible entries, one line each. */
export const asLines = (entries: readonly Entry[]): string =>
  entries.map((one) => JSON.stringify(one)).join("\n") + "\n";
