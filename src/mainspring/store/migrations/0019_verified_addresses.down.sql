-- The way back from 0019; which addresses were verified is lost, and codes under way end.

DROP TABLE email_verifications;
ALTER TABLE users DROP COLUMN email_state, DROP COLUMN email_verified_at;
