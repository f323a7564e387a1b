-- Which process started a worker: a worker that is started again by the same one proves that the
-- machine and the supervisor have outlived the worker before it. And which process a worker is: in
-- a container it is process 1, and a restarted container keeps its host name.

ALTER TABLE workers
    ADD COLUMN launcher text NOT NULL DEFAULT '',
    ADD COLUMN mark text NOT NULL DEFAULT '';

COMMENT ON COLUMN workers.launcher IS 'The process that started it, told apart from any later one.';
COMMENT ON COLUMN workers.mark IS 'Its process, distinct from any later one of the same number.';
