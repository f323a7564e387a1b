-- The heart of the engine: what is kept about automations, runs and what runs did.
--
-- Every table of a workspace starts with workspace_id, in its key and in every key that
-- points at it, so that a row can never be reached from inside another workspace.
-- Ids are UUIDv7; tables that grow with use are cut by that id, which is cutting by time.

CREATE TABLE workspaces (
    workspace_id uuid PRIMARY KEY,
    name         text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- A definition is stored once per content; versions and runs point at it.
CREATE TABLE definitions (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    hash         bytea NOT NULL,
    -- As its author wrote it; the hash is of its canonical form.
    document     json NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, hash)
);

CREATE TABLE automations (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    id           uuid NOT NULL,
    name         text NOT NULL,
    state        text NOT NULL DEFAULT 'paused' CHECK (state IN ('active', 'paused', 'archived')),
    version      integer NOT NULL,
    created_by   uuid NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX automations_name ON automations (workspace_id, name) WHERE state <> 'archived';

-- A version is never changed: a run that refers to it keeps its plan and its grants.
CREATE TABLE automation_versions (
    workspace_id    uuid NOT NULL,
    automation_id   uuid NOT NULL,
    version         integer NOT NULL,
    definition_hash bytea NOT NULL,
    grants          jsonb NOT NULL,
    author          uuid NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, automation_id, version),
    FOREIGN KEY (workspace_id, automation_id) REFERENCES automations,
    FOREIGN KEY (workspace_id, definition_hash) REFERENCES definitions
);

-- A trigger keeps its id while its slug stays in the definition.
CREATE TABLE triggers (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    automation_id uuid NOT NULL,
    slug          text NOT NULL,
    type          text NOT NULL,
    config        jsonb NOT NULL,
    inputs        jsonb NOT NULL DEFAULT '{}',
    enabled       boolean NOT NULL DEFAULT true,
    secret_hash   bytea,
    last_fired_at timestamptz,
    next_due_at   timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, automation_id, slug),
    FOREIGN KEY (workspace_id, automation_id) REFERENCES automations
);

-- Who works: one lease per worker process covers every run it holds.
CREATE TABLE workers (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    lease_until timestamptz NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT now()
);

CREATE SEQUENCE lane_arrivals;

-- The run row is the queue entry and the truth.
CREATE TABLE runs (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    automation_id uuid NOT NULL,
    trigger_id    uuid,
    root_id       uuid,
    parent_id     uuid,
    due_at        timestamptz NOT NULL DEFAULT now(),
    created_at    timestamptz NOT NULL DEFAULT now(),
    claimed_at    timestamptz,
    started_at    timestamptz,
    finished_at   timestamptz,
    cancel_at     timestamptz,
    -- The line this run stands in, for definitions that do not run in parallel.
    lane          bigint,
    arrival       bigint,
    active_ms     bigint NOT NULL DEFAULT 0,
    version       integer NOT NULL,
    worker        integer,
    -- Counts every change of owner; a write that names an older number is refused.
    fence         integer NOT NULL DEFAULT 0,
    effects       integer NOT NULL DEFAULT 0,
    drafts        integer NOT NULL DEFAULT 0,
    attempt       smallint NOT NULL DEFAULT 1,
    -- Losses of a worker that the run may have caused, and all losses; both without progress.
    takeovers     smallint NOT NULL DEFAULT 0,
    losses        smallint NOT NULL DEFAULT 0,
    -- Set by the owner of a run under suspicion right before it begins a step.
    trial         boolean NOT NULL DEFAULT false,
    depth         smallint NOT NULL DEFAULT 0,
    cost_usd      numeric NOT NULL DEFAULT 0,
    trigger_type  text NOT NULL,
    queue         text NOT NULL CHECK (queue IN ('fast', 'medium', 'long')),
    status        text NOT NULL CHECK (status IN ('pending', 'running', 'waiting', 'succeeded',
                      'failed', 'cancelled', 'timed_out', 'skipped', 'dead')),
    reason        text,
    outcome       text,
    -- json and not jsonb: a run that resumes must find its values as they were, down to the
    -- order of keys and the spelling of numbers.
    payload       json,
    inputs        json,
    output        json,
    error         json,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, automation_id, version) REFERENCES automation_versions
) PARTITION BY RANGE (id);

-- The next three cross workspaces on purpose: a worker serves all of them.
CREATE INDEX runs_due ON runs (queue, due_at) WHERE status IN ('pending', 'waiting');
CREATE INDEX runs_suspect ON runs (due_at) WHERE status IN ('pending', 'waiting') AND takeovers > 0;
CREATE INDEX runs_held ON runs (worker) WHERE status = 'running';
CREATE INDEX runs_lane ON runs (workspace_id, lane, arrival)
    WHERE lane IS NOT NULL AND finished_at IS NULL;
CREATE INDEX runs_of_root ON runs (workspace_id, root_id) WHERE root_id IS NOT NULL;
CREATE INDEX runs_of_automation ON runs (workspace_id, automation_id, id);

-- One row per finished attempt at a step, skipped and waiting ones included.
CREATE TABLE steps (
    workspace_id uuid NOT NULL,
    run_id       uuid NOT NULL,
    finished_at  timestamptz NOT NULL DEFAULT now(),
    until        timestamptz,
    fence        integer NOT NULL,
    ms           integer NOT NULL,
    attempt      smallint NOT NULL,
    run_attempt  smallint NOT NULL,
    step         text NOT NULL,
    item         text NOT NULL DEFAULT '',
    status       text NOT NULL CHECK (status IN ('succeeded', 'failed', 'retrying', 'skipped', 'waiting')),
    output       json,
    error        json,
    PRIMARY KEY (workspace_id, run_id, step, item, attempt),
    FOREIGN KEY (workspace_id, run_id) REFERENCES runs
) PARTITION BY RANGE (run_id);

-- One row per call of a capability.
CREATE TABLE calls (
    workspace_id   uuid NOT NULL,
    run_id         uuid NOT NULL,
    at             timestamptz NOT NULL DEFAULT now(),
    result_id      uuid,
    ms             integer NOT NULL,
    attempt        smallint NOT NULL,
    call           smallint NOT NULL,
    step           text NOT NULL,
    item           text NOT NULL DEFAULT '',
    capability     text NOT NULL,
    outcome        text NOT NULL,
    cost_usd       numeric NOT NULL DEFAULT 0,
    arguments_hash bytea NOT NULL,
    arguments      json,
    -- Null for a step that is one call: its result is the step's output.
    result         json,
    error          json,
    PRIMARY KEY (workspace_id, run_id, step, item, attempt, call),
    FOREIGN KEY (workspace_id, run_id) REFERENCES runs
) PARTITION BY RANGE (run_id);

-- Results too large for the record of their call.
CREATE TABLE large_results (
    workspace_id uuid NOT NULL,
    run_id       uuid NOT NULL,
    id           uuid NOT NULL,
    media_type   text NOT NULL,
    content      bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, run_id, id),
    FOREIGN KEY (workspace_id, run_id) REFERENCES runs
) PARTITION BY RANGE (run_id);

-- Every moment a trigger went off, by its computed key: the key is the whole story of
-- why one moment starts one run.
CREATE TABLE firings (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    -- The trigger, or the automation for runs that were asked for by hand.
    source_id    uuid NOT NULL,
    key          text NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    run_id       uuid,
    body_hash    bytea,
    reason       text,
    PRIMARY KEY (workspace_id, source_id, key)
);
CREATE INDEX firings_expiring ON firings (expires_at) WHERE expires_at IS NOT NULL;

-- What an automation has spent on one day; a day without cost has no row.
CREATE TABLE spend (
    workspace_id  uuid NOT NULL,
    automation_id uuid NOT NULL,
    day           date NOT NULL,
    usd           numeric NOT NULL,
    PRIMARY KEY (workspace_id, automation_id, day),
    FOREIGN KEY (workspace_id, automation_id) REFERENCES automations
);

-- Facts, in an order that is safe to read: a reader goes up to the oldest transaction
-- still open, so a late commit with a smaller id is never passed over.
CREATE TABLE events (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    xid          xid8 NOT NULL DEFAULT pg_current_xact_id(),
    created_at   timestamptz NOT NULL DEFAULT now(),
    type         text NOT NULL,
    source_id    text NOT NULL,
    payload      jsonb NOT NULL,
    PRIMARY KEY (workspace_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX events_in_order ON events (xid, id);

-- Outside writes that wait for a person.
CREATE TABLE drafts (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    run_id        uuid NOT NULL,
    step          text NOT NULL,
    item          text NOT NULL DEFAULT '',
    capability    text NOT NULL,
    arguments     jsonb NOT NULL,
    arguments_hash bytea NOT NULL,
    preview       text NOT NULL,
    status        text NOT NULL DEFAULT 'pending',
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspaces
);
CREATE INDEX drafts_waiting ON drafts (workspace_id, expires_at) WHERE status = 'pending';

CREATE TABLE notifications (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    automation_id uuid,
    run_id        uuid,
    level         text NOT NULL CHECK (level IN ('info', 'warning', 'error')),
    title         text NOT NULL,
    message       text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    read_at       timestamptz,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspaces
);

CREATE TABLE automation_kv (
    workspace_id  uuid NOT NULL,
    automation_id uuid NOT NULL,
    key           text NOT NULL COLLATE "C",
    value         jsonb NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, automation_id, key),
    FOREIGN KEY (workspace_id, automation_id) REFERENCES automations
);

CREATE TABLE secrets (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    id           uuid NOT NULL,
    name         text NOT NULL,
    description  text NOT NULL DEFAULT '',
    nonce        bytea NOT NULL,
    ciphertext   bytea NOT NULL,
    key_id       text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, name)
);

-- Ids outside every known period still find a place.
CREATE TABLE runs_other PARTITION OF runs DEFAULT;
CREATE TABLE steps_other PARTITION OF steps DEFAULT;
CREATE TABLE calls_other PARTITION OF calls DEFAULT;
CREATE TABLE large_results_other PARTITION OF large_results DEFAULT;
CREATE TABLE events_other PARTITION OF events DEFAULT;
