-- Models and money: where models are asked and what they cost, what an agent has done so far,
-- and the tools that come from outside.

-- What a connection holds is a secret of its own: sealed like all others, owned by the connection.
ALTER TABLE secrets DROP CONSTRAINT secrets_kind_check;
ALTER TABLE secrets
    ADD CONSTRAINT secrets_kind_check CHECK (kind IN ('automation', 'publisher', 'connection'));

-- Where models are asked. Without a workspace it is the installation's own, and for everybody.
CREATE TABLE model_connections (
    id           uuid PRIMARY KEY,
    workspace_id uuid REFERENCES workspaces,
    -- By which a definition can name it: name/model.
    name         text NOT NULL,
    -- The language that is spoken there, and whose price list holds.
    kind         text NOT NULL CHECK (kind IN ('anthropic', 'openai', 'groq', 'compatible')),
    base_url     text NOT NULL,
    -- The models it is asked for; empty: those that its kind is known for.
    offers       text[] NOT NULL DEFAULT '{}',
    -- The model that is asked when nobody names one; null: another connection says so.
    usual_model  text,
    has_key      boolean NOT NULL DEFAULT false,
    created_by   uuid,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (workspace_id, name)
);

-- What the operator says that a model costs, above every price list.
CREATE TABLE model_prices (
    -- As a definition names it: a model alone, or name/model for one connection.
    model                  text PRIMARY KEY,
    input_usd_per_million  numeric NOT NULL CHECK (input_usd_per_million >= 0),
    output_usd_per_million numeric NOT NULL CHECK (output_usd_per_million >= 0),
    cached_usd_per_million numeric CHECK (cached_usd_per_million >= 0),
    stored_usd_per_million numeric CHECK (stored_usd_per_million >= 0),
    set_by                 uuid,
    set_at                 timestamptz NOT NULL DEFAULT now()
);

-- What an agent's model has answered, turn by turn: whoever takes the run over goes on from
-- there and does not pay again. Turn 0 is the beginning, with the mark of the conversation.
CREATE TABLE agent_turns (
    workspace_id uuid NOT NULL,
    run_id       uuid NOT NULL,
    step         text NOT NULL,
    item         text NOT NULL DEFAULT '',
    -- The call of the agent, as it is named over all tries.
    name         text NOT NULL,
    turn         integer NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    -- What was asked, in one hash: another question is another conversation.
    asked_hash   bytea NOT NULL,
    reply        json NOT NULL,
    -- The number of the first call that it asked for; the others follow.
    first_call   smallint NOT NULL,
    cost_usd     numeric NOT NULL,
    ms           integer NOT NULL,
    PRIMARY KEY (workspace_id, run_id, step, item, name, turn),
    FOREIGN KEY (workspace_id, run_id) REFERENCES runs
) PARTITION BY RANGE (run_id);
CREATE TABLE agent_turns_other PARTITION OF agent_turns DEFAULT;

-- The calls of an agent are told by the agent's own call, the turn and the place in it.
ALTER TABLE calls ADD COLUMN name text;

-- What an agent thinks and calls is watched beside what a script prints.
ALTER TABLE run_output DROP CONSTRAINT run_output_stream_check;
ALTER TABLE run_output
    ADD CONSTRAINT run_output_stream_check CHECK (stream IN ('out', 'err', 'end', 'agent'));

-- A server of tools that a workspace is connected to.
CREATE TABLE mcp_connections (
    workspace_id      uuid NOT NULL REFERENCES workspaces,
    id                uuid NOT NULL,
    -- By which its tools are named: alias.tool.
    alias             text NOT NULL,
    transport         text NOT NULL CHECK (transport IN ('http', 'stdio')),
    -- Of http.
    server_url        text,
    -- Of stdio, which the operator alone can set: the program and its arguments.
    command           text[],
    auth              text NOT NULL DEFAULT 'none' CHECK (auth IN ('none', 'bearer', 'oauth')),
    -- What was found out about where tokens come from; no secret is in it.
    oauth             jsonb,
    expires_at        timestamptz,
    -- ready, or waiting for a person to sign in (again).
    state             text NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'sign_in')),
    -- Counts every change of what its tools are to the workspace.
    generation        bigint NOT NULL DEFAULT 1,
    -- Whether its first tools wait for a person too, instead of being agreed to by connecting.
    looks_first       boolean NOT NULL DEFAULT false,
    -- When its tools are looked at next; whoever looks has until then to finish.
    harvest_due_at    timestamptz NOT NULL DEFAULT now(),
    last_harvested_at timestamptz,
    harvest_error     json,
    last_ok_at        timestamptz,
    last_failed_at    timestamptz,
    last_error        json,
    failures_in_row   integer NOT NULL DEFAULT 0,
    created_at        timestamptz NOT NULL DEFAULT now(),
    created_by        uuid NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, alias)
);

-- Its tools: what a person agreed to, and what the server says now where that is something else.
CREATE TABLE mcp_tools (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    connection_id uuid NOT NULL,
    name          text NOT NULL,
    -- agreed: can be called. new, changed: waits for a person. gone: the server has it no more.
    -- refused: a person said no, or it cannot be used at all.
    state         text NOT NULL CHECK (state IN ('agreed', 'new', 'changed', 'gone', 'refused')),
    title         text NOT NULL DEFAULT '',
    description   text NOT NULL,
    input_schema  json NOT NULL,
    output_schema json,
    hints         jsonb NOT NULL DEFAULT '{}',
    -- One hash of all that was agreed to.
    pinned_hash   bytea NOT NULL,
    -- What the server says now, whole, where it differs.
    offered       json,
    reason        text,
    side_effects  text[] NOT NULL DEFAULT '{}',
    -- What a person says its effect is, above what can be guessed.
    effect        text CHECK (effect IN ('read', 'send')),
    agreed_by     uuid,
    agreed_at     timestamptz,
    seen_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, connection_id, name),
    FOREIGN KEY (workspace_id, connection_id) REFERENCES mcp_connections ON DELETE CASCADE
);

-- Somebody who has been sent to sign in at a server, until they come back.
CREATE TABLE mcp_sign_ins (
    workspace_id  uuid NOT NULL,
    state_hash    bytea PRIMARY KEY,
    connection_id uuid NOT NULL,
    member_id     uuid NOT NULL,
    -- Sealed: what only whoever began this may know.
    nonce         bytea NOT NULL,
    verifier      bytea NOT NULL,
    key_id        text NOT NULL,
    expires_at    timestamptz NOT NULL,
    FOREIGN KEY (workspace_id, connection_id) REFERENCES mcp_connections ON DELETE CASCADE
);

SELECT wall(named::regclass) FROM unnest(ARRAY[
    'model_connections', 'agent_turns', 'mcp_connections', 'mcp_tools', 'mcp_sign_ins'
]) AS named;
