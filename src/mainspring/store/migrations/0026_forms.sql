-- The link of a form trigger: unlike a webhook's token it is shown to members again and again,
-- because everyone who fills in the form has it. Requests are still found by its hash.

ALTER TABLE triggers ADD COLUMN link_token text;
-- A link belongs to the automation, not to the member who saved it.
ALTER TABLE triggers DROP CONSTRAINT triggers_secret_maker;
ALTER TABLE triggers ADD CONSTRAINT triggers_secret_maker
    CHECK (secret_hash IS NULL OR secret_made_by IS NOT NULL OR link_token IS NOT NULL);
