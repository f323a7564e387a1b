-- Moments and faces: what schedules, webhooks, events, alerts, artifacts and callers need.

ALTER TABLE automations
    -- Runs that failed since the last one that did not; enough of them pause the automation.
    ADD COLUMN failures integer NOT NULL DEFAULT 0,
    -- Why it is paused when nobody asked for it: 'failures'. Null when a person paused it.
    ADD COLUMN paused_reason text,
    ADD COLUMN acknowledged_at timestamptz;

ALTER TABLE automation_versions
    -- The earlier version that this one brings back.
    ADD COLUMN rollback_of integer;

-- A trigger is armed while it is enabled and its automation is active. Only an armed
-- schedule has a next due moment.
ALTER TABLE triggers
    ADD COLUMN armed_at timestamptz,
    -- Up to where succeeded runs of a schedule have covered the time line.
    ADD COLUMN covered_until timestamptz,
    ADD COLUMN secret_hint text,
    ADD COLUMN secret_made_at timestamptz;
-- These cross workspaces on purpose: one scheduler serves all, and a token alone says
-- which trigger it belongs to.
CREATE INDEX triggers_due ON triggers (next_due_at) WHERE next_due_at IS NOT NULL;
CREATE UNIQUE INDEX triggers_secret ON triggers (secret_hash) WHERE secret_hash IS NOT NULL;
CREATE INDEX triggers_hooked ON triggers (automation_id, slug) WHERE type = 'webhook';
CREATE INDEX triggers_listening ON triggers (workspace_id)
    WHERE type = 'event' AND armed_at IS NOT NULL;

-- Moves with every change to the event triggers of a workspace, so that a matcher knows
-- by one look whether what it has in memory still holds.
CREATE TABLE trigger_epochs (
    workspace_id uuid PRIMARY KEY REFERENCES workspaces,
    epoch        bigint NOT NULL DEFAULT 1
);

ALTER TABLE runs
    -- The run whose payload this one was given again.
    ADD COLUMN replay_of uuid;
CREATE INDEX runs_covering ON runs (workspace_id, trigger_id, id)
    WHERE status = 'succeeded' AND trigger_type = 'schedule';

ALTER TABLE firings
    -- A row may stand for several moments that did not fire for the same reason.
    ADD COLUMN moments integer NOT NULL DEFAULT 1;
CREATE INDEX firings_of_event ON firings (workspace_id, key) WHERE key LIKE 'event:%';

ALTER TABLE events
    -- The run that told of it, for chains; the event that it repeats, for replays.
    ADD COLUMN run_id uuid,
    ADD COLUMN replay_of uuid;

-- How far each reader of the log has come.
CREATE TABLE event_cursors (
    consumer text PRIMARY KEY,
    xid      xid8 NOT NULL,
    id       uuid NOT NULL,
    moved_at timestamptz NOT NULL DEFAULT now()
);

-- Event types that people of a workspace declared, beside the built-in ones.
CREATE TABLE event_types (
    workspace_id   uuid NOT NULL REFERENCES workspaces,
    type           text NOT NULL,
    description    text NOT NULL,
    payload_schema jsonb NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, type)
);

ALTER TABLE notifications
    -- An alert also leaves by mail where mail is set up: due, tried, gone.
    ADD COLUMN mail_due_at timestamptz,
    ADD COLUMN mail_tries smallint NOT NULL DEFAULT 0,
    ADD COLUMN mailed_at timestamptz;
CREATE INDEX notifications_unmailed ON notifications (mail_due_at)
    WHERE mail_due_at IS NOT NULL AND mailed_at IS NULL;

-- What a run made for people to keep or to fetch. It outlives the run when it should.
CREATE TABLE artifacts (
    workspace_id  uuid NOT NULL REFERENCES workspaces,
    id            uuid NOT NULL,
    run_id        uuid,
    automation_id uuid,
    step          text NOT NULL DEFAULT '',
    name          text NOT NULL,
    kind          text NOT NULL CHECK (kind IN ('audio', 'document', 'image', 'data')),
    retention     text NOT NULL CHECK (retention IN ('transient', 'default', 'permanent')),
    visibility    text NOT NULL CHECK (visibility IN ('private', 'workspace', 'shared')),
    media_type    text NOT NULL,
    size          bigint NOT NULL,
    sha256        bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX artifacts_of_run ON artifacts (workspace_id, run_id);
CREATE INDEX artifacts_expiring ON artifacts (expires_at) WHERE expires_at IS NOT NULL;

-- Who may speak to the server: only the hash of a token is kept.
CREATE TABLE access_tokens (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    id           uuid NOT NULL,
    member_id    uuid NOT NULL,
    name         text NOT NULL,
    hash         bytea NOT NULL UNIQUE,
    hint         text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    revoked_at   timestamptz,
    PRIMARY KEY (workspace_id, id)
);
