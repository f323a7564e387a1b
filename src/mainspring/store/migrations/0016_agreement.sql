-- What a person has agreed to: a program makes automations and changes them, and cannot agree.

ALTER TABLE automations
    ADD COLUMN agreed_version integer,
    ADD COLUMN agreed_by uuid,
    ADD COLUMN agreed_via text CHECK (agreed_via IN ('page', 'terminal', 'token', 'upgrade'));

-- What was active, acknowledged, agreed to or run for real before goes on exactly as it is, and is
-- listed for review. What waits for an answer keeps the version that was agreed to before.
UPDATE automations a
SET agreed_version = CASE WHEN c.id IS NULL THEN a.version ELSE c.agreed_version END,
    agreed_by = CASE WHEN c.id IS NULL THEN a.created_by END,
    agreed_via = 'upgrade'
FROM automations b
LEFT JOIN LATERAL (
    SELECT l.id, l.agreed_version FROM (
        SELECT id, version, status, agreed_version FROM consents
        WHERE workspace_id = b.workspace_id AND automation_id = b.id
        ORDER BY id DESC LIMIT 1
    ) AS l
    WHERE l.status = 'waiting' OR (l.status = 'refused' AND l.version = b.version)
) AS c ON true
WHERE a.workspace_id = b.workspace_id AND a.id = b.id
    AND (c.agreed_version IS NOT NULL OR (c.id IS NULL AND (
        a.state = 'active' OR a.acknowledged_at IS NOT NULL OR EXISTS (
            SELECT FROM consents o
            WHERE o.workspace_id = a.workspace_id AND o.automation_id = a.id
                AND o.status = 'agreed')
        OR EXISTS (
            SELECT FROM runs r
            WHERE r.workspace_id = a.workspace_id AND r.automation_id = a.id
                AND r.version = a.version AND r.mode = 'live'
                AND r.status NOT IN ('skipped')))));

ALTER TABLE automations ADD CONSTRAINT automations_agreed
    CHECK ((agreed_version IS NULL) = (agreed_via IS NULL));

ALTER TABLE consents DROP CONSTRAINT consents_origin_check;
ALTER TABLE consents ADD CONSTRAINT consents_origin_check
    CHECK (origin IN ('create', 'install', 'upgrade', 'import', 'edit', 'tools'));

COMMENT ON COLUMN automations.agreed_version IS
    'The version that a person''s agreement covers; null: nobody has agreed yet.';
COMMENT ON COLUMN automations.agreed_by IS 'The member who agreed.';
COMMENT ON COLUMN automations.agreed_via IS
    'page, terminal or token; upgrade: it was at work before agreement was recorded.';
