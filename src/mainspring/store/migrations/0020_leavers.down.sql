-- The way back from 0020. An older program does not know a suspended token, and would accept it.
-- lost: connections shared with a workspace = SELECT count(*) FROM integration_connections WHERE shared_at IS NOT NULL
-- lost: suspended webhook tokens = SELECT count(*) FROM triggers WHERE suspended_at IS NOT NULL AND secret_hash IS NOT NULL

UPDATE triggers
SET secret_hash = NULL, secret_hint = NULL, secret_made_at = NULL, secret_made_by = NULL
WHERE suspended_at IS NOT NULL;
ALTER TABLE triggers DROP COLUMN suspended_at;
DROP TABLE former_members;
ALTER TABLE integration_connections DROP COLUMN shared_at;
