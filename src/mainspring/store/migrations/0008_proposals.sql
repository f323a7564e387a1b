-- Proposals: what was made of somebody's words, until they save it or its time is over.

CREATE TABLE proposals (
    workspace_id  uuid NOT NULL REFERENCES workspaces,
    id            uuid NOT NULL,
    created_by    uuid NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    -- Counts its changes: what somebody has read is one of them, and that one is saved.
    revision      integer NOT NULL DEFAULT 1,
    -- What it changes, and which version of it; null: it is a new automation.
    automation_id uuid,
    base_version  integer,
    -- The conversation, the definition, its open questions and its review.
    body          json NOT NULL,
    -- What became of it.
    saved_as      uuid,
    saved_version integer,
    saved_by      uuid,
    saved_at      timestamptz,
    PRIMARY KEY (workspace_id, id),
    CHECK ((automation_id IS NULL) = (base_version IS NULL)),
    CHECK ((saved_at IS NULL) = (saved_as IS NULL))
);
CREATE INDEX proposals_newest ON proposals (workspace_id, id DESC);
CREATE INDEX proposals_expiry ON proposals (expires_at);

-- Requests that a workspace keeps to use them again.
CREATE TABLE saved_prompts (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    id           uuid NOT NULL,
    name         text NOT NULL,
    text         text NOT NULL,
    created_by   uuid NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, name)
);

SELECT wall(named::regclass) FROM unnest(ARRAY['proposals', 'saved_prompts']) AS named;
