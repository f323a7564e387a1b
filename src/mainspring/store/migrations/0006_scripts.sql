-- Scripts: what they were made into, when they began, what they said; and what models used.

-- A source with its types taken away, made once and found by what it was made from.
CREATE TABLE script_builds (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    hash         bytea NOT NULL,
    js           text NOT NULL,
    source_map   text,
    made_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, hash)
);

-- The moment and the chance that a step sees, the same over all of its tries: whoever takes
-- it over asks the very same things again.
CREATE TABLE step_starts (
    workspace_id uuid NOT NULL,
    run_id       uuid NOT NULL,
    step         text NOT NULL,
    item         text NOT NULL DEFAULT '',
    began_at     timestamptz NOT NULL,
    seed         bytea NOT NULL,
    PRIMARY KEY (workspace_id, run_id, step, item)
);
CREATE INDEX step_starts_old ON step_starts (began_at);

-- What a step said while it ran, in pieces; the last piece of a try tells how it ended.
CREATE TABLE run_output (
    workspace_id uuid NOT NULL,
    run_id       uuid NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    seq          integer NOT NULL,
    attempt      smallint NOT NULL,
    step         text NOT NULL,
    item         text NOT NULL DEFAULT '',
    stream       text NOT NULL CHECK (stream IN ('out', 'err', 'end')),
    text         text NOT NULL,
    PRIMARY KEY (workspace_id, run_id, step, item, attempt, seq),
    FOREIGN KEY (workspace_id, run_id) REFERENCES runs
) PARTITION BY RANGE (run_id);
CREATE TABLE run_output_other PARTITION OF run_output DEFAULT;
CREATE INDEX run_output_of_time ON run_output (workspace_id, run_id, at);

-- What models were used, by whom and at what price. A run's own word about a model of its
-- own is marked as reported.
CREATE TABLE llm_usage (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    at            timestamptz NOT NULL DEFAULT now(),
    automation_id uuid,
    run_id        uuid,
    step          text NOT NULL DEFAULT '',
    item          text NOT NULL DEFAULT '',
    attempt       smallint NOT NULL DEFAULT 1,
    call          integer NOT NULL DEFAULT 0,
    -- What asked for it, such as a capability's id.
    caller        text NOT NULL,
    provider      text NOT NULL DEFAULT '',
    model         text NOT NULL,
    input_tokens  bigint NOT NULL CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
    cached_tokens bigint NOT NULL DEFAULT 0 CHECK (cached_tokens >= 0),
    cost_usd      numeric NOT NULL DEFAULT 0 CHECK (cost_usd >= 0),
    -- The price it was reckoned with, as it stood at that moment.
    price         jsonb,
    ms            integer NOT NULL DEFAULT 0,
    reported      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX llm_usage_of_run ON llm_usage (workspace_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX llm_usage_of_time ON llm_usage (workspace_id, at);
CREATE INDEX llm_usage_old ON llm_usage USING brin (at);

-- Tokens are promised to an ask of a model together with the money for it.
ALTER TABLE reservations
    ADD COLUMN tokens bigint NOT NULL DEFAULT 0;

-- A sender's own name for the making of an automation: the same name again finds what it made.
CREATE TABLE save_keys (
    workspace_id  uuid NOT NULL,
    member_id     uuid NOT NULL,
    key           text NOT NULL,
    body_hash     bytea NOT NULL,
    automation_id uuid NOT NULL,
    at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, member_id, key),
    FOREIGN KEY (workspace_id, automation_id) REFERENCES automations
);

-- A draft that somebody answers: it is sent once, by whom and with what result.
ALTER TABLE drafts
    -- json and not jsonb: what is sent must be what was shown, down to the spelling of numbers.
    ALTER COLUMN arguments TYPE json USING arguments::json,
    -- Where secrets stand in the arguments, apart from them: data that looks like it is data.
    ADD COLUMN secrets jsonb NOT NULL DEFAULT '[]',
    -- The version whose grants it was asked under; null for a person's own call.
    ADD COLUMN automation_id uuid,
    ADD COLUMN version integer,
    -- What was shown and what it was asked under, in one hash.
    ADD COLUMN bound_hash bytea,
    ADD COLUMN outcome text CHECK (outcome IN ('sent', 'not_sent', 'unknown')),
    ADD COLUMN answered_kind text,
    ADD COLUMN answered_by uuid,
    ADD COLUMN answered_at timestamptz,
    ADD COLUMN reason text,
    -- The one call that may send it.
    ADD COLUMN call_id uuid,
    ADD COLUMN result json,
    ADD COLUMN error json,
    ADD CONSTRAINT drafts_status_check
        CHECK (status IN ('pending', 'sending', 'confirmed', 'failed', 'discarded'));
-- Those from before do not say where their secrets stand; nobody could send them, and they run
-- out.
UPDATE drafts SET expires_at = least(expires_at, now()) WHERE status = 'pending';

SELECT wall(named::regclass) FROM unnest(ARRAY[
    'save_keys', 'script_builds', 'step_starts', 'run_output', 'llm_usage'
]) AS named;
