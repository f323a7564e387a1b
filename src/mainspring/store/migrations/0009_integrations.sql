-- The outside world: connections to it, what comes in from it, and writes that a person sees
-- before they leave.

-- == Drafts: exact bytes, edits, batches, approvers ==========================================
ALTER TABLE drafts
    -- Counts its wordings: each edit makes another, with its own hash.
    ADD COLUMN revision integer NOT NULL DEFAULT 1,
    -- Drafts of one turn, which a person answers as a set.
    ADD COLUMN batch_id uuid,
    -- Where people were told of it.
    ADD COLUMN notify text[] NOT NULL DEFAULT '{inbox}',
    -- The integration and its action, in the words of whoever asked.
    ADD COLUMN source text,
    ADD COLUMN action text,
    -- The expired or discarded draft that this one repeats.
    ADD COLUMN redraft_of uuid,
    -- How many people must agree; what each of them saw is kept beside it.
    ADD COLUMN approvers smallint NOT NULL DEFAULT 1,
    -- The hash of the wording that was agreed to, once it was.
    ADD COLUMN approved_hash bytea,
    -- The standing rule that let it go, if it was one.
    ADD COLUMN rule_id uuid,
    -- It leaves over the account that it was shown with, and over no other: the connection, its
    -- account and the chat linked with it; null: it goes over none.
    ADD COLUMN connection jsonb;
CREATE INDEX drafts_of_batch ON drafts (workspace_id, batch_id) WHERE batch_id IS NOT NULL;
-- Who repeats whom: what was drafted again is judged by the newest of its line.
CREATE INDEX drafts_repeating ON drafts (workspace_id, redraft_of) WHERE redraft_of IS NOT NULL;

-- Every wording that a draft has had; what was shown can be proven.
CREATE TABLE draft_revisions (
    workspace_id   uuid NOT NULL,
    draft_id       uuid NOT NULL,
    revision       integer NOT NULL,
    arguments      json NOT NULL,
    secrets        jsonb NOT NULL,
    arguments_hash bytea NOT NULL,
    preview        text NOT NULL,
    bound_hash     bytea NOT NULL,
    edited_kind    text NOT NULL,
    edited_by      uuid,
    at             timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, draft_id, revision),
    FOREIGN KEY (workspace_id, draft_id) REFERENCES drafts ON DELETE CASCADE
);

-- Files that leave with a draft. The draft names each by its hash.
CREATE TABLE draft_attachments (
    workspace_id uuid NOT NULL,
    draft_id     uuid NOT NULL,
    sha256       bytea NOT NULL,
    content      bytea NOT NULL,
    PRIMARY KEY (workspace_id, draft_id, sha256),
    FOREIGN KEY (workspace_id, draft_id) REFERENCES drafts ON DELETE CASCADE
);

-- Who has agreed, and to which wording.
CREATE TABLE draft_approvals (
    workspace_id uuid NOT NULL,
    draft_id     uuid NOT NULL,
    member_id    uuid NOT NULL,
    bound_hash   bytea NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, draft_id, member_id),
    FOREIGN KEY (workspace_id, draft_id) REFERENCES drafts ON DELETE CASCADE
);

ALTER TABLE workspaces
    -- Who may approve drafts: approvers, roles, whether the author may; empty: anybody who may decide.
    ADD COLUMN approval_policy jsonb NOT NULL DEFAULT '{}',
    -- How long a draft waits; null: as the installation says.
    ADD COLUMN draft_seconds integer CHECK (draft_seconds BETWEEN 60 AND 2592000);

-- What somebody decided about something that was shown to them; once for each of them.
CREATE TABLE inbox_decisions (
    workspace_id uuid NOT NULL,
    action_id    uuid NOT NULL,
    member_id    uuid NOT NULL,
    decision     text NOT NULL CHECK (decision IN ('approved', 'declined', 'auto')),
    at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, action_id, member_id)
);

-- == Questions of a plan that a person answers ==============================================
CREATE TABLE approvals (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    automation_id uuid NOT NULL,
    run_id        uuid NOT NULL,
    step          text NOT NULL,
    item          text NOT NULL DEFAULT '',
    title         text NOT NULL,
    message       text NOT NULL DEFAULT '',
    -- The JSON Schema of the answer, and what stands for it when the time is over, in an object
    -- of its own: an answer may be null.
    form          json,
    usual         json,
    roles         text[],
    on_decline    text NOT NULL DEFAULT 'fail' CHECK (on_decline IN ('fail', 'continue')),
    -- Where people are told of it.
    notify        text[] NOT NULL DEFAULT '{inbox}',
    status        text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'approved', 'declined', 'expired')),
    answer        json,
    answered_by   uuid,
    answered_at   timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX approvals_of_run ON approvals (workspace_id, run_id, step, item, id);
CREATE INDEX approvals_waiting ON approvals (workspace_id, id) WHERE status = 'pending';

ALTER TABLE runs
    -- Somebody answered while the run was still on its way to sleep: it does not sleep then.
    ADD COLUMN nudged_at timestamptz;

-- == Rules that people earned by agreeing often ==============================================
CREATE TABLE standing_rules (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    automation_id uuid NOT NULL,
    -- Another version earns anew.
    version       integer NOT NULL,
    capability    text NOT NULL,
    -- The arguments that must be exactly so; only wording may differ.
    pattern       json NOT NULL,
    pattern_hash  bytea NOT NULL,
    status        text NOT NULL CHECK (status IN ('proposed', 'active', 'declined', 'withdrawn')),
    -- The approvals that it was proposed for.
    seen          integer NOT NULL DEFAULT 0,
    uses          integer NOT NULL DEFAULT 0,
    proposed_at   timestamptz NOT NULL DEFAULT now(),
    decided_by    uuid,
    decided_at    timestamptz,
    ended_at      timestamptz,
    ended_reason  text,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, automation_id) REFERENCES automations
);
CREATE UNIQUE INDEX standing_rules_alive ON standing_rules
    (workspace_id, automation_id, version, capability, pattern_hash)
    WHERE status IN ('proposed', 'active');

-- == Prompts that leave for people: by mail and by Telegram ==================================
CREATE TABLE prompts_sent (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    -- A draft or an approval, and who is asked where.
    about        text NOT NULL CHECK (about IN ('draft', 'approval')),
    about_id     uuid NOT NULL,
    member_id    uuid NOT NULL,
    target       text NOT NULL CHECK (target IN ('email', 'telegram')),
    state        text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given_up')),
    tries        smallint NOT NULL DEFAULT 0,
    due_at       timestamptz NOT NULL DEFAULT now(),
    -- Where the message stands over there, and what its buttons must bring back.
    place        jsonb NOT NULL DEFAULT '{}',
    secret_hash  bytea,
    problem      json,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, about_id, member_id, target)
);
CREATE INDEX prompts_due ON prompts_sent (due_at) WHERE state = 'waiting';

-- == Connections to integrations ==============================================================
-- As whom this installation, or one workspace, is known to a provider.
CREATE TABLE oauth_clients (
    id           uuid PRIMARY KEY,
    workspace_id uuid REFERENCES workspaces,
    provider     text NOT NULL,
    client_id    text NOT NULL,
    has_secret   boolean NOT NULL DEFAULT false,
    created_by   uuid,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (workspace_id, provider)
);

-- A member's own account in an outside system. What lets it in is in the vault.
CREATE TABLE integration_connections (
    workspace_id    uuid NOT NULL REFERENCES workspaces,
    id              uuid NOT NULL,
    owner_id        uuid NOT NULL REFERENCES users,
    integration     text NOT NULL,
    label           text NOT NULL,
    -- Who it is over there.
    account         text NOT NULL DEFAULT '',
    auth            text NOT NULL CHECK (auth IN ('none', 'token', 'oauth')),
    settings        jsonb NOT NULL DEFAULT '{}',
    scopes          text[] NOT NULL DEFAULT '{}',
    client_id       uuid REFERENCES oauth_clients ON DELETE SET NULL,
    expires_at      timestamptz,
    -- Which signing in its tokens come from; renewing them does not change it.
    sign_in_id      uuid,
    -- Set before a renewal is asked for, and taken away with its answer.
    renewing_at     timestamptz,
    -- sign_in: nobody has signed in yet. reconnect: it is not let in any more.
    state           text NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'sign_in', 'reconnect')),
    -- The automation that reads from it again and again.
    automation_id   uuid,
    last_ok_at      timestamptz,
    last_failed_at  timestamptz,
    last_error      json,
    failures_in_row integer NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, owner_id, integration)
);

-- Somebody who left to sign in and has not come back yet.
CREATE TABLE integration_sign_ins (
    state_hash    bytea PRIMARY KEY,
    workspace_id  uuid NOT NULL,
    connection_id uuid NOT NULL,
    member_id     uuid NOT NULL,
    nonce         bytea NOT NULL,
    verifier      bytea NOT NULL,
    key_id        text NOT NULL,
    expires_at    timestamptz NOT NULL,
    FOREIGN KEY (workspace_id, connection_id) REFERENCES integration_connections ON DELETE CASCADE
);

-- == What comes in ============================================================================
CREATE TABLE integration_cursors (
    workspace_id  uuid NOT NULL,
    connection_id uuid NOT NULL,
    poll          text NOT NULL,
    cursor        json,
    moved_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, connection_id, poll)
);

-- One thing that could not be read, with its problem; gone once it could.
CREATE TABLE ingest_problems (
    workspace_id  uuid NOT NULL,
    integration   text NOT NULL,
    source_ref    text NOT NULL,
    connection_id uuid,
    problem       json NOT NULL,
    times         integer NOT NULL DEFAULT 1,
    first_at      timestamptz NOT NULL DEFAULT now(),
    last_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, integration, source_ref)
);

-- == Boards that are linked to something outside ==============================================
CREATE TABLE board_links (
    workspace_id         uuid NOT NULL,
    id                   uuid NOT NULL,
    board_id             uuid NOT NULL,
    kind                 text NOT NULL,
    ref                  json NOT NULL,
    display_name         text NOT NULL,
    integration_provider text,
    integration_user_id  uuid,
    created_by           uuid NOT NULL,
    created_at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX board_links_of_board ON board_links (workspace_id, board_id);

CREATE TABLE dataset_recipes (
    workspace_id        uuid NOT NULL,
    id                  uuid NOT NULL,
    link_id             uuid NOT NULL,
    board_id            uuid NOT NULL,
    dataset_name        text NOT NULL,
    adapter_op          text NOT NULL,
    params              json NOT NULL DEFAULT '{}',
    refresh_cron        text,
    dedupe_key_field    text,
    dedupe_target_field text,
    automation_id       uuid,
    last_refreshed_at   timestamptz,
    last_rows           integer,
    last_failed_at      timestamptz,
    last_error          json,
    failures_in_row     integer NOT NULL DEFAULT 0,
    created_by          uuid NOT NULL,
    created_at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, board_id, dataset_name),
    FOREIGN KEY (workspace_id, link_id) REFERENCES board_links ON DELETE CASCADE
);

SELECT wall(named::regclass) FROM unnest(ARRAY[
    'draft_revisions', 'draft_attachments', 'draft_approvals', 'inbox_decisions', 'approvals',
    'standing_rules', 'prompts_sent', 'oauth_clients', 'integration_connections', 'integration_sign_ins',
    'integration_cursors', 'ingest_problems', 'board_links', 'dataset_recipes'
]) AS named;
