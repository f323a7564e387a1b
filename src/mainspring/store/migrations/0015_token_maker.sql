-- Who made the token of a webhook: it ends when that member is removed or disabled.

ALTER TABLE triggers ADD COLUMN secret_made_by uuid;

-- The audit entry of a token committed with it, so both have the time of that one transaction. A
-- token from before the audit log counts as made by the owner of its automation.
UPDATE triggers t
SET secret_made_by = coalesce((
    SELECT l.actor_id FROM audit_log l
    WHERE l.workspace_id = t.workspace_id AND l.action = 'make_webhook_token'
        AND l.at = t.secret_made_at AND l.detail->>'hint' = t.secret_hint
    LIMIT 1), a.created_by)
FROM automations a
WHERE a.workspace_id = t.workspace_id AND a.id = t.automation_id AND t.secret_hash IS NOT NULL;

ALTER TABLE triggers ADD CONSTRAINT triggers_secret_maker
    CHECK (secret_hash IS NULL OR secret_made_by IS NOT NULL);

COMMENT ON COLUMN triggers.secret_made_by IS 'The member who made the token; null without a token.';
