-- Automations and webhook tokens of members who left are suspended until somebody takes them over.

ALTER TABLE triggers ADD COLUMN suspended_at timestamptz;
COMMENT ON COLUMN triggers.suspended_at IS
    'Since when what it starts is only recorded as missed, because the automation''s owner or the '
    'maker of its token left; null: it fires.';

-- Inside a workspace only its members can be read; whose automations wait there is kept here.
CREATE TABLE former_members (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    user_id      uuid NOT NULL REFERENCES users,
    email        text NOT NULL,
    name         text NOT NULL,
    left_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, user_id)
);
SELECT wall('former_members');

-- Those who left before: what they made goes on as it did, and is listed.
INSERT INTO former_members (workspace_id, user_id, email, name)
SELECT DISTINCT a.workspace_id, u.id, u.email, u.name
FROM automations a JOIN users u ON u.id = a.created_by
WHERE a.state <> 'archived' AND NOT EXISTS (
    SELECT FROM members m WHERE m.workspace_id = a.workspace_id AND m.user_id = a.created_by);

-- A connection that its holder shares belongs to the workspace: every member's automations may use
-- it, also when the holder has left. There is at most one for each integration.
ALTER TABLE integration_connections ADD COLUMN shared_at timestamptz;
COMMENT ON COLUMN integration_connections.shared_at IS
    'Since when it belongs to the workspace; null: to its owner alone.';
CREATE UNIQUE INDEX integration_connections_shared
    ON integration_connections (workspace_id, integration) WHERE shared_at IS NOT NULL;
