-- People at a terminal: a session that the CLI holds, and the request that a signed-in person confirms.
-- Tokens that may agree to what named automations may do.

ALTER TABLE sessions
    ADD COLUMN kind text NOT NULL DEFAULT 'browser' CHECK (kind IN ('browser', 'terminal'));

COMMENT ON COLUMN sessions.kind IS 'terminal: held by the CLI. It counts as a person only for a call that was confirmed at a prompt.';

-- Nobody is signed in when a terminal asks, so a request belongs to no workspace.
CREATE TABLE terminal_sign_ins (
    -- The hash of what the CLI polls with.
    hash         bytea PRIMARY KEY,
    -- The hash of the short code that a person types on the page.
    code_hash    bytea NOT NULL UNIQUE,
    label        text NOT NULL,
    -- The address from which the CLI asked, shown to the person who confirms.
    address      text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    -- Who answered, and in which workspace the session begins; null: nobody yet.
    user_id      uuid REFERENCES users,
    begins_in    uuid REFERENCES workspaces,
    confirmed    boolean,
    CHECK ((user_id IS NULL) = (confirmed IS NULL)),
    CHECK ((user_id IS NULL) = (begins_in IS NULL))
);
CREATE INDEX terminal_sign_ins_expiring ON terminal_sign_ins (expires_at);

ALTER TABLE access_tokens
    ADD COLUMN approves uuid[],
    ADD CONSTRAINT access_tokens_approving CHECK (
        approves IS NULL
        OR (cardinality(approves) > 0 AND expires_at IS NOT NULL AND client_id IS NULL)
    );

COMMENT ON COLUMN access_tokens.approves IS 'The automations whose consents this token may answer; null: none, as for every usual token.';
