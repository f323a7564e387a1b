-- The way back from 0012: what was put aside for a halt is due again, as it was.
--
-- lost: standing halts = SELECT count(*) FROM halts WHERE released_at IS NULL

UPDATE runs SET due_at = least(due_at, parked_due_at) WHERE parked_due_at IS NOT NULL;
DROP INDEX triggers_armed;
DROP INDEX runs_parked;
ALTER TABLE runs DROP COLUMN parked_due_at;

DROP FUNCTION halting(uuid, uuid);
DROP FUNCTION recipes_behind(uuid, uuid);
DROP TABLE halts;

ALTER TABLE workers
    DROP COLUMN host,
    DROP COLUMN process,
    DROP COLUMN queues,
    DROP COLUMN slots,
    DROP COLUMN in_flight,
    DROP COLUMN drain_at;
