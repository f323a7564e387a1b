-- Clients that connect by themselves (OAuth 2.1): who they say they are, what they ask for, what
-- a member has agreed to, and what was given for it.

-- A client registers before anybody has signed in, so it belongs to no workspace. What it says
-- of itself is nobody's word but its own.
CREATE TABLE mcp_clients (
    id            uuid PRIMARY KEY,
    name          text NOT NULL,
    redirect_uris text[] NOT NULL,
    auth_method   text NOT NULL CHECK (auth_method IN ('none', 'client_secret_post', 'client_secret_basic')),
    -- Null for a client that keeps no secret.
    secret_hash   bytea,
    -- Whether it is given renewal tokens.
    renews        boolean NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    -- When it was last given a token; null: never, and then it is forgotten after a while.
    used_at       timestamptz
);
CREATE INDEX mcp_clients_unused ON mcp_clients (created_at) WHERE used_at IS NULL;

-- A request that was checked and waits for a person; who that is shows when they open it.
CREATE TABLE client_requests (
    hash         bytea PRIMARY KEY,
    client_id    uuid NOT NULL REFERENCES mcp_clients ON DELETE CASCADE,
    redirect_uri text NOT NULL,
    state        text,
    -- The most that the client asks for; null: it left that to the person.
    role         text CHECK (role IN ('viewer', 'operator', 'editor')),
    challenge    text NOT NULL,
    -- Under which name of this server the client asked.
    issuer       text NOT NULL,
    -- The first person who opened it; it is there for nobody else.
    user_id      uuid,
    expires_at   timestamptz NOT NULL
);
CREATE INDEX client_requests_expiring ON client_requests (expires_at);

-- What a member has agreed that a client may do as them.
CREATE TABLE client_consents (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    member_id    uuid NOT NULL,
    client_id    uuid NOT NULL REFERENCES mcp_clients,
    role         text NOT NULL CHECK (role IN ('viewer', 'operator', 'editor')),
    -- Where the answer went for which they agreed to this much: nowhere else does it hold by itself.
    redirect_uri text NOT NULL,
    agreed_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, member_id, client_id)
);
CREATE INDEX client_consents_of_client ON client_consents (client_id);

-- A code is exchanged once. It is kept for a while afterwards, so that a second exchange is
-- noticed and ends what the first one gave.
CREATE TABLE client_codes (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    hash         bytea NOT NULL UNIQUE,
    client_id    uuid NOT NULL REFERENCES mcp_clients,
    member_id    uuid NOT NULL,
    role         text NOT NULL CHECK (role IN ('viewer', 'operator', 'editor')),
    redirect_uri text NOT NULL,
    challenge    text NOT NULL,
    expires_at   timestamptz NOT NULL,
    used_at      timestamptz,
    -- The access token that it was exchanged for.
    token_id     uuid,
    PRIMARY KEY (workspace_id, hash)
);
CREATE INDEX client_codes_expiring ON client_codes (expires_at);

-- Renewal tokens: each works once and is followed by the next. One that comes again ends the
-- access token that all of them renew.
CREATE TABLE client_renewals (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    hash         bytea NOT NULL UNIQUE,
    client_id    uuid NOT NULL REFERENCES mcp_clients,
    token_id     uuid NOT NULL,
    expires_at   timestamptz NOT NULL,
    used_at      timestamptz,
    PRIMARY KEY (workspace_id, hash)
);
CREATE INDEX client_renewals_expiring ON client_renewals (expires_at);
CREATE INDEX client_renewals_of_token ON client_renewals (workspace_id, token_id);

ALTER TABLE access_tokens
    -- The client that was given the token; it then works at the MCP server and nowhere else.
    ADD COLUMN client_id uuid;
CREATE INDEX access_tokens_of_client ON access_tokens (workspace_id, client_id) WHERE client_id IS NOT NULL;

SELECT wall(named::regclass) FROM unnest(ARRAY[
    'client_consents', 'client_codes', 'client_renewals'
]) AS named;
