-- The way back from 0023. Nothing is lost: an older program computes the traits when it needs them.

DROP INDEX push_messages_by_age;
ALTER TABLE automation_versions DROP COLUMN traits;
