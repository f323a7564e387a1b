-- A webhook's token is rotated with an overlap: the previous token works until a time, so that a
-- secret address can be changed at the sender before the old one ends.

ALTER TABLE triggers ADD COLUMN old_secret_hash bytea;
ALTER TABLE triggers ADD COLUMN old_secret_until timestamptz;
ALTER TABLE triggers ADD CONSTRAINT triggers_old_secret
    CHECK ((old_secret_hash IS NULL) = (old_secret_until IS NULL));
CREATE UNIQUE INDEX triggers_old_secret_hash ON triggers (old_secret_hash)
    WHERE old_secret_hash IS NOT NULL;
