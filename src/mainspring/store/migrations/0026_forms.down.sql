-- The way back from 0026: form triggers no longer fire, and their links are forgotten.
-- lost: links of forms = SELECT count(*) FROM triggers WHERE link_token IS NOT NULL

UPDATE triggers SET secret_hash = NULL, secret_hint = NULL, secret_made_at = NULL,
    old_secret_hash = NULL, old_secret_until = NULL WHERE link_token IS NOT NULL;
ALTER TABLE triggers DROP CONSTRAINT triggers_secret_maker;
ALTER TABLE triggers ADD CONSTRAINT triggers_secret_maker
    CHECK (secret_hash IS NULL OR secret_made_by IS NOT NULL);
ALTER TABLE triggers DROP COLUMN link_token;
