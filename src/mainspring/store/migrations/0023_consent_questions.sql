-- Questions about automations are computed from what is stored with each version.

-- What the vocabulary declared about a version when it was saved: the capabilities that use accounts
-- of its author, the steps that change nothing and the steps that send. Null: saved before this.
ALTER TABLE automation_versions ADD COLUMN traits jsonb;

-- A program that wants to repeat a run of an older version is listed beside the question about the
-- version in force.
DROP INDEX consents_waiting;
CREATE UNIQUE INDEX consents_waiting ON consents (workspace_id, automation_id)
    WHERE status = 'waiting' AND asked_kind <> 'repeat';

-- The cleanup deletes by age.
CREATE INDEX push_messages_by_age ON push_messages (created_at);
