-- The way back from 0016: who agreed to which version is lost, and what nobody agreed to stays
-- paused.
--
-- lost: records of who agreed = SELECT count(*) FROM automations WHERE agreed_via <> 'upgrade'
-- lost: questions about what programs made = SELECT count(*) FROM consents WHERE origin = 'create'

DELETE FROM consents WHERE origin = 'create';
ALTER TABLE consents DROP CONSTRAINT consents_origin_check;
ALTER TABLE consents ADD CONSTRAINT consents_origin_check
    CHECK (origin IN ('install', 'upgrade', 'import', 'edit', 'tools'));
ALTER TABLE automations DROP COLUMN agreed_version, DROP COLUMN agreed_by, DROP COLUMN agreed_via;
