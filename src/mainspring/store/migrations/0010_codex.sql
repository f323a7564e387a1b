-- The codex: recipes that people publish and install, what waits for consent, rehearsals,
-- and workflows.

-- == Recipes ==================================================================================
-- A recipe belongs to the workspace that published it. One that is shared is seen and
-- installed from every workspace here, and its slug is then nobody else's.
CREATE TABLE recipes (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    id           uuid NOT NULL,
    slug         text NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('board', 'automation', 'workflow', 'integration', 'bundle')),
    shared       boolean NOT NULL DEFAULT false,
    -- The key that signed the first version; a later one is signed by the same.
    public_key   bytea,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, slug)
);
CREATE UNIQUE INDEX recipes_shared ON recipes (slug) WHERE shared;

-- A version never changes once it is published.
CREATE TABLE recipe_versions (
    workspace_id uuid NOT NULL,
    recipe_id    uuid NOT NULL,
    version      text NOT NULL,
    -- The version as numbers, by which versions are in order.
    rank         integer[] NOT NULL,
    package      json NOT NULL,
    digest       bytea NOT NULL,
    published_by uuid NOT NULL,
    published_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, recipe_id, version),
    FOREIGN KEY (workspace_id, recipe_id) REFERENCES recipes
);

-- One recipe living in one workspace, as one thing: a board, an automation, a workflow, or a
-- bundle, whose members are installs of their own.
CREATE TABLE recipe_installs (
    workspace_id   uuid NOT NULL REFERENCES workspaces,
    id             uuid NOT NULL,
    recipe_id      uuid NOT NULL,
    slug           text NOT NULL,
    version        text NOT NULL,
    digest         bytea NOT NULL,
    kind           text NOT NULL CHECK (kind IN ('board', 'automation', 'workflow', 'integration', 'bundle')),
    entity_kind    text NOT NULL CHECK (entity_kind IN ('board', 'automation', 'workflow', 'bundle')),
    entity_id      uuid NOT NULL,
    name           text NOT NULL,
    -- The bundle that brought it along, or the recipe that needed it; null: it stands alone.
    bundle_id      uuid,
    -- What was asked for at the install: names, a charter, a roster.
    overrides      json NOT NULL DEFAULT '{}',
    -- What it was when it was installed, by which changes of people here are told from the recipe's.
    base           json NOT NULL,
    -- The installs that it was made with, by the slug of each recipe that it needs.
    dependencies   json NOT NULL DEFAULT '{}',
    -- Datasets that an earlier version brought and this one does not; their rows stay.
    orphaned       json NOT NULL DEFAULT '[]',
    installed_by   uuid NOT NULL,
    installed_at   timestamptz NOT NULL DEFAULT now(),
    upgraded_at    timestamptz,
    uninstalled_at timestamptz,
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX recipe_installs_entity ON recipe_installs (workspace_id, entity_id);
CREATE INDEX recipe_installs_slug ON recipe_installs (workspace_id, slug);

-- == Consent ==================================================================================
-- What an automation would be able to do beyond what a person has agreed to. While one waits,
-- the automation starts nothing.
CREATE TABLE consents (
    workspace_id  uuid NOT NULL REFERENCES workspaces,
    id            uuid NOT NULL,
    automation_id uuid NOT NULL,
    version       integer NOT NULL,
    origin        text NOT NULL CHECK (origin IN ('install', 'upgrade', 'import', 'edit', 'tools')),
    -- Each addition with its kind, its place and a sentence.
    additions     json NOT NULL,
    -- Over the additions, the version and where it came from: agreement is to exactly these.
    digest        bytea NOT NULL,
    status        text NOT NULL CHECK (status IN ('waiting', 'agreed', 'refused', 'overtaken')),
    -- The version that a person had agreed to; null: none yet.
    agreed_version integer,
    -- Its triggers as they were then: one that was switched off was not agreed to.
    agreed_triggers json,
    asked_kind    text NOT NULL,
    asked_by      uuid NOT NULL,
    answered_by   uuid,
    created_at    timestamptz NOT NULL DEFAULT now(),
    answered_at   timestamptz,
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX consents_waiting ON consents (workspace_id, automation_id) WHERE status = 'waiting';
CREATE INDEX consents_newest ON consents (workspace_id, automation_id, id);

-- == Rehearsal ================================================================================
-- A version that is tried over what came before, without being in force.
CREATE TABLE rehearsals (
    workspace_id    uuid NOT NULL REFERENCES workspaces,
    id              uuid NOT NULL,
    automation_id   uuid NOT NULL,
    -- What is tried; the definition is kept like that of any version.
    definition_hash bytea NOT NULL,
    grants          jsonb NOT NULL,
    -- Whether what no record answers is asked outside, as in any other dry run.
    live_reads      boolean NOT NULL,
    -- What it is told as: a version, a proposal, a definition.
    candidate       json NOT NULL,
    -- Each firing with the run that tries it and the one that it is compared with.
    firings         json NOT NULL,
    asked_by        uuid NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, definition_hash) REFERENCES definitions
);
ALTER TABLE runs
    -- The rehearsal that this run belongs to: its definition and grants are the rehearsal's.
    ADD COLUMN rehearsal_id uuid,
    -- The run whose recorded reads it is given.
    ADD COLUMN rehearses uuid;
CREATE INDEX runs_of_rehearsal ON runs (workspace_id, rehearsal_id) WHERE rehearsal_id IS NOT NULL;

-- == Workflows ================================================================================
CREATE TABLE workflows (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    id           uuid NOT NULL,
    title        text NOT NULL,
    charter      text NOT NULL DEFAULT '',
    kpis         json NOT NULL DEFAULT '[]',
    deadlines    json NOT NULL DEFAULT '[]',
    status       text NOT NULL CHECK (status IN ('draft', 'active', 'paused', 'archived')),
    board_id     uuid,
    -- Whether its board was made for it, and not there before.
    made_board   boolean NOT NULL DEFAULT false,
    version      integer NOT NULL DEFAULT 1,
    created_by   uuid NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id)
);
CREATE TABLE workflow_members (
    workspace_id uuid NOT NULL,
    workflow_id  uuid NOT NULL,
    user_id      uuid NOT NULL,
    role         text NOT NULL CHECK (role IN ('owner', 'contributor', 'observer')),
    PRIMARY KEY (workspace_id, workflow_id, user_id),
    FOREIGN KEY (workspace_id, workflow_id) REFERENCES workflows ON DELETE CASCADE
);
CREATE TABLE workflow_automations (
    workspace_id  uuid NOT NULL,
    workflow_id   uuid NOT NULL,
    automation_id uuid NOT NULL,
    -- The template that it was made from; null for one that was there before.
    template      text,
    -- It was active when the workflow was paused, and is so again when the workflow goes on.
    resumes       boolean NOT NULL DEFAULT false,
    PRIMARY KEY (workspace_id, workflow_id, automation_id),
    FOREIGN KEY (workspace_id, workflow_id) REFERENCES workflows ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, automation_id) REFERENCES automations
);
-- What a member may do with one board, where that is not what they may do in the workspace.
CREATE TABLE board_members (
    workspace_id uuid NOT NULL,
    board_id     uuid NOT NULL,
    user_id      uuid NOT NULL,
    role         text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
    -- The workflow that gave the role.
    workflow_id  uuid NOT NULL,
    PRIMARY KEY (workspace_id, board_id, user_id, workflow_id),
    FOREIGN KEY (workspace_id, board_id) REFERENCES boards
);

SELECT wall(named::regclass) FROM unnest(ARRAY[
    'recipes', 'recipe_versions', 'recipe_installs', 'consents', 'rehearsals', 'workflows',
    'workflow_members', 'workflow_automations', 'board_members'
]) AS named;

-- A shared recipe is read from every workspace, and written by its own alone.
CREATE POLICY shared ON recipes FOR SELECT TO mainspring_inside USING (shared);
CREATE POLICY shared ON recipe_versions FOR SELECT TO mainspring_inside USING (
    EXISTS (SELECT FROM recipes r
        WHERE r.workspace_id = recipe_versions.workspace_id AND r.id = recipe_versions.recipe_id
            AND r.shared)
);
