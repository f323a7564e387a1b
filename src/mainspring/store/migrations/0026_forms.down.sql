-- The way back from 0026: form triggers no longer fire, and their links are forgotten.
-- lost: links of forms = SELECT count(*) FROM triggers WHERE link_token IS NOT NULL

UPDATE triggers SET secret_hash = NULL, secret_hint = NULL, secret_made_at = NULL,
    old_secret_hash = NULL, old_secret_until = NULL WHERE link_token IS NOT NULL;
ALTER TABLE triggers DROP COLUMN link_token;
