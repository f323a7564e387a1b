-- The way back from 0023. An older program computes the traits when it needs them, and the questions
-- about repeated runs when a program asks again.

DELETE FROM consents WHERE status = 'waiting' AND asked_kind = 'repeat';
DROP INDEX consents_waiting;
CREATE UNIQUE INDEX consents_waiting ON consents (workspace_id, automation_id)
    WHERE status = 'waiting';
DROP INDEX push_messages_by_age;
ALTER TABLE automation_versions DROP COLUMN traits;
