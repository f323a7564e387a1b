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
    workspace_id  uuid NOT NULL REFERENCES workspaces,
    scope         text NOT NULL CHECK (scope IN ('workspace', 'automation', 'recipe')),
    -- Of an automation its id; of a recipe its name in the codex; of a workspace nothing.
    subject       text NOT NULL DEFAULT '',
    reason        text NOT NULL,
    halted_by     uuid NOT NULL,
    halted_at     timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, scope, subject)
);

SELECT wall('halts'::regclass);
