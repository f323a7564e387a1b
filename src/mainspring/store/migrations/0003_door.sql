-- The door: people and their roles, the walls around a workspace, tokens, money, and the
-- records of what was done.

-- Walls. Whoever works for one workspace does so as this role, on a connection that names
-- the workspace; the database then shows and takes nothing else, whatever a query says.
-- Where this account may not make roles, somebody who may has made and granted it before.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mainspring_inside') THEN
        CREATE ROLE mainspring_inside NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    -- Another database of the same server was a moment quicker.
    NULL;
END
$$;
DO $$
BEGIN
    IF NOT pg_has_role(current_user, 'mainspring_inside', 'SET') THEN
        EXECUTE format('GRANT mainspring_inside TO %I', current_user);
    END IF;
END
$$;

CREATE FUNCTION inside_workspace() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('mainspring.workspace', true), '')::uuid;

-- Puts a table behind the wall; every table with a workspace_id is put there. As a query of
-- its own the workspace is looked up once, and not for each row.
CREATE FUNCTION wall(walled regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', walled);
    EXECUTE format('CREATE POLICY inside ON %s TO mainspring_inside'
        ' USING (workspace_id = (SELECT inside_workspace()))'
        ' WITH CHECK (workspace_id = (SELECT inside_workspace()))', walled);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO mainspring_inside', walled);
END
$$;

-- People. A person may be a member of many workspaces and has one that is meant when none
-- is named.
CREATE TABLE users (
    id                   uuid PRIMARY KEY,
    email                text NOT NULL,
    name                 text NOT NULL DEFAULT '',
    password_hash        text,
    -- Looks after the installation: other people, and nothing of what workspaces keep.
    administrator        boolean NOT NULL DEFAULT false,
    default_workspace_id uuid REFERENCES workspaces,
    created_at           timestamptz NOT NULL DEFAULT now(),
    disabled_at          timestamptz
);
CREATE UNIQUE INDEX users_email ON users (lower(email));

CREATE TABLE members (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    user_id      uuid NOT NULL REFERENCES users,
    role         text NOT NULL CHECK (role IN ('viewer', 'operator', 'editor', 'admin', 'owner')),
    joined_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX members_of_user ON members (user_id);

ALTER TABLE workspaces
    -- What all automations of the workspace may spend in a day; null: no bound of its own.
    ADD COLUMN cost_cap_daily_usd numeric;

-- A browser's session; only the hash of what the cookie holds is kept.
CREATE TABLE sessions (
    hash         bytea PRIMARY KEY,
    id           uuid NOT NULL UNIQUE,
    user_id      uuid NOT NULL REFERENCES users,
    -- The workspace that the person is looking at.
    workspace_id uuid NOT NULL REFERENCES workspaces,
    label        text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    seen_at      timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id);

-- Links that sign somebody in once: the first start, an invitation, a lost password.
CREATE TABLE sign_in_links (
    hash       bytea PRIMARY KEY,
    id         uuid NOT NULL UNIQUE,
    user_id    uuid NOT NULL REFERENCES users,
    purpose    text NOT NULL CHECK (purpose IN ('first', 'invite', 'reset')),
    created_by uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);

-- Whoever is asked into a workspace joins it by the link; until then nothing of theirs is here.
CREATE TABLE invitations (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    id           uuid NOT NULL,
    hash         bytea NOT NULL UNIQUE,
    email        text NOT NULL,
    role         text NOT NULL CHECK (role IN ('viewer', 'operator', 'editor', 'admin', 'owner')),
    invited_by   uuid NOT NULL REFERENCES users,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX invitations_email ON invitations (workspace_id, lower(email));

-- Leaking buckets, for limits that hold over all processes. A crash may empty them.
CREATE UNLOGGED TABLE buckets (
    key   text PRIMARY KEY,
    level double precision NOT NULL,
    at    timestamptz NOT NULL
);

ALTER TABLE access_tokens
    -- A token gives at most this role, and never more than its member has.
    ADD COLUMN role text NOT NULL DEFAULT 'owner'
        CHECK (role IN ('viewer', 'operator', 'editor', 'admin', 'owner')),
    -- The only capabilities it may call; null: whatever its role allows.
    ADD COLUMN capabilities text[],
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN last_used_at timestamptz;

-- A run's own token: it works while the run runs, under the fence it was made with.
CREATE TABLE run_tokens (
    hash         bytea PRIMARY KEY,
    workspace_id uuid NOT NULL,
    run_id       uuid NOT NULL,
    fence        integer NOT NULL,
    step         text NOT NULL,
    item         text NOT NULL DEFAULT '',
    attempt      smallint NOT NULL,
    -- The calls made with it so far; each gets the next number.
    calls        integer NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX run_tokens_of_run ON run_tokens (workspace_id, run_id);

ALTER TABLE runs
    -- A dry run changes nothing; verify mode sends nothing outside.
    ADD COLUMN mode text NOT NULL DEFAULT 'live' CHECK (mode IN ('live', 'verify', 'dry_run'));

-- Calls that a person or a client made, outside of any run.
CREATE TABLE direct_calls (
    workspace_id   uuid NOT NULL,
    id             uuid NOT NULL,
    at             timestamptz NOT NULL DEFAULT now(),
    actor_kind     text NOT NULL,
    actor_id       uuid NOT NULL,
    token_id       uuid,
    ms             integer NOT NULL,
    capability     text NOT NULL,
    outcome        text NOT NULL,
    cost_usd       numeric NOT NULL DEFAULT 0,
    arguments_hash bytea NOT NULL,
    arguments      json,
    result         json,
    error          json,
    PRIMARY KEY (workspace_id, id)
);

-- Money that was promised to calls under way. A call that never came back gives up its
-- promise after a while.
CREATE TABLE reservations (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    automation_id uuid,
    run_id        uuid,
    step          text NOT NULL DEFAULT '',
    day           date NOT NULL,
    usd           numeric NOT NULL,
    -- What the call came to; null while it is under way.
    spent         numeric,
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX reservations_of_run ON reservations (workspace_id, run_id);
CREATE INDEX reservations_of_day ON reservations (workspace_id, day);
CREATE INDEX spend_of_day ON spend (workspace_id, day);

-- A draft may also come from a person's or a client's own call.
ALTER TABLE drafts
    ALTER COLUMN run_id DROP NOT NULL,
    ALTER COLUMN step DROP NOT NULL,
    ADD COLUMN actor_kind text NOT NULL DEFAULT 'run',
    ADD COLUMN actor_id uuid;

-- Secrets belong to a member; a publisher's belong to the workspace. Names that differ in
-- nothing but case are one name.
ALTER TABLE secrets
    ADD COLUMN kind text NOT NULL DEFAULT 'automation' CHECK (kind IN ('automation', 'publisher')),
    ADD COLUMN owner_id uuid;
UPDATE secrets SET owner_id = '01900000-0000-7000-8000-000000000002';
ALTER TABLE secrets
    ALTER COLUMN owner_id SET NOT NULL,
    DROP CONSTRAINT secrets_workspace_id_name_key;
CREATE UNIQUE INDEX secrets_name ON secrets (workspace_id, kind, owner_id, name);

-- A signed link names an artifact and nothing else.
CREATE INDEX artifacts_by_id ON artifacts (id);

-- What was done, by whom: written once, never changed.
CREATE TABLE audit_log (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    actor_kind   text NOT NULL,
    actor_id     uuid,
    token_id     uuid,
    action       text NOT NULL,
    subject      text,
    detail       jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX audit_log_of_action ON audit_log (workspace_id, action, id);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is only ever added to';
END
$$;
CREATE TRIGGER audit_log_is_kept BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_is_whole BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

SELECT wall(named::regclass) FROM unnest(ARRAY[
    'workspaces', 'members', 'definitions', 'automations', 'automation_versions', 'triggers',
    'trigger_epochs', 'runs', 'steps', 'calls', 'large_results', 'firings', 'spend', 'events',
    'event_types', 'drafts', 'notifications', 'automation_kv', 'secrets', 'artifacts',
    'access_tokens', 'run_tokens', 'direct_calls', 'reservations', 'audit_log', 'sessions',
    'invitations'
]) AS named;
REVOKE UPDATE, DELETE ON audit_log FROM mainspring_inside;
REVOKE ALL ON sessions FROM mainspring_inside;
REVOKE INSERT, DELETE ON workspaces FROM mainspring_inside;
GRANT USAGE ON SEQUENCE lane_arrivals TO mainspring_inside;

-- Of other people a member sees who they are, and nothing that lets anybody in.
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
CREATE POLICY inside ON users FOR SELECT TO mainspring_inside USING (
    EXISTS (SELECT FROM members m WHERE m.user_id = users.id AND m.workspace_id = inside_workspace())
);
GRANT SELECT (id, email, name, administrator, created_at, disabled_at) ON users
    TO mainspring_inside;
