-- The link of a form trigger: unlike a webhook's token it is shown to members again and again,
-- because everyone who fills in the form has it. Requests are still found by its hash.

ALTER TABLE triggers ADD COLUMN link_token text;
