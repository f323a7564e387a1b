-- The way back from 0024. Previous tokens end at once; the current ones stay.

DROP INDEX triggers_old_secret_hash;
ALTER TABLE triggers DROP CONSTRAINT triggers_old_secret;
ALTER TABLE triggers DROP COLUMN old_secret_until;
ALTER TABLE triggers DROP COLUMN old_secret_hash;
