-- Which process started a worker: a worker that is started again by the same one proves that the
-- machine and the supervisor have outlived the worker before it.

ALTER TABLE workers ADD COLUMN launcher text NOT NULL DEFAULT '';

COMMENT ON COLUMN workers.launcher IS 'The process that started it, told apart from any later one.';
