-- The way back from 0018: drafts that wait keep their time; runs that wait for one go on at its end.

DROP INDEX drafts_of_runs_waiting;
ALTER TABLE drafts DROP COLUMN awaited, DROP COLUMN send_retries, DROP COLUMN reminded_at;
ALTER TABLE workspaces DROP COLUMN held_seconds;
