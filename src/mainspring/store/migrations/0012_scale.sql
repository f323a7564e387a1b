-- Many machines: who works where, and what a person has told to stand still.

-- Where a worker lives and how much it does; what it is told is read with its heartbeat.
ALTER TABLE workers
    ADD COLUMN host       text,
    ADD COLUMN process    integer,
    ADD COLUMN queues     text[] NOT NULL DEFAULT '{}',
    ADD COLUMN slots      integer NOT NULL DEFAULT 0,
    ADD COLUMN in_flight  integer NOT NULL DEFAULT 0,
    -- Set by an operator: it takes nothing new, finishes what it has and leaves.
    ADD COLUMN drain_at   timestamptz;

-- The kill switch: while a halt stands, nothing of what it names is worked on.
CREATE TABLE halts (
    id            uuid PRIMARY KEY,
    -- Null: in every workspace; only a recipe is halted so, by an administrator.
    workspace_id  uuid REFERENCES workspaces,
    scope         text NOT NULL CHECK (scope IN ('workspace', 'automation', 'recipe')),
    -- Of an automation its id; of a recipe its name in the codex; of a workspace nothing.
    subject       text NOT NULL DEFAULT '',
    reason        text NOT NULL,
    halted_by     uuid NOT NULL,
    halted_at     timestamptz NOT NULL DEFAULT now(),
    -- Set when it is released: it holds nothing any more, and goes once all is back in the queue.
    released_at   timestamptz,
    CHECK (workspace_id IS NOT NULL OR scope = 'recipe')
);
CREATE UNIQUE INDEX halts_subject ON halts
    (coalesce(workspace_id, '00000000-0000-0000-0000-000000000000'), scope, subject);

SELECT wall('halts'::regclass);
-- What is halted everywhere is seen from every workspace, and written from none.
CREATE POLICY everywhere ON halts FOR SELECT TO mainspring_inside USING (workspace_id IS NULL);

-- The recipes that an automation came with: its own, that of its workflow, and whatever brought
-- those along.
CREATE FUNCTION recipes_behind(space uuid, automation uuid) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE behind AS (
        SELECT i.slug, i.bundle_id FROM recipe_installs i
        WHERE i.workspace_id = space AND (i.entity_id = automation OR i.entity_id IN (
            SELECT w.workflow_id FROM workflow_automations w
            WHERE w.workspace_id = space AND w.automation_id = automation
              AND w.template IS NOT NULL))
        UNION
        SELECT i.slug, i.bundle_id FROM recipe_installs i JOIN behind b ON i.id = b.bundle_id
        WHERE i.workspace_id = space
    )
    SELECT slug FROM behind
$$;

-- The halts that hold an automation: the one rule, for whoever claims, sends or shows.
CREATE FUNCTION halting(space uuid, automation uuid) RETURNS SETOF halts
LANGUAGE sql STABLE AS $$
    SELECT h.* FROM halts h
    WHERE (h.workspace_id = space OR h.workspace_id IS NULL) AND h.released_at IS NULL
      AND (h.scope = 'workspace' OR (h.scope = 'automation' AND h.subject = automation::text)
        OR (h.scope = 'recipe' AND h.subject IN (SELECT recipes_behind(space, automation))))
$$;

-- A run that is held is out of the way of every claim; this is when it was due before.
ALTER TABLE runs ADD COLUMN parked_due_at timestamptz;
CREATE INDEX runs_parked ON runs (workspace_id, automation_id) WHERE parked_due_at IS NOT NULL;

-- The trigger that has listened longest, for the health: however many there are, one is read.
CREATE INDEX triggers_armed ON triggers (armed_at)
    WHERE type IN ('event', 'board_change', 'page_ingested') AND armed_at IS NOT NULL;
