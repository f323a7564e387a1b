-- The way back from 0013; nothing is lost.

ALTER TABLE workers DROP COLUMN launcher, DROP COLUMN mark;
