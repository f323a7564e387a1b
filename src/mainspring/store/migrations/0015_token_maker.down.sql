-- The way back from 0015; the audit log still says who made a token.

ALTER TABLE triggers DROP COLUMN secret_made_by;
