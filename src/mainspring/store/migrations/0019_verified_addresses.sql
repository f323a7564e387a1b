-- Whether a member's email address was verified by a code that was mailed to it. Mail goes to
-- verified addresses, and to those that were in use before addresses were verified.

ALTER TABLE users
    ADD COLUMN email_state text NOT NULL DEFAULT 'unverified'
        CHECK (email_state IN ('unverified', 'pre_existing', 'verified')),
    ADD COLUMN email_verified_at timestamptz;
UPDATE users SET email_state = 'pre_existing' WHERE lower(email) <> 'owner@localhost';
GRANT SELECT (email_state) ON users TO mainspring_inside;

COMMENT ON COLUMN users.email_state IS
    'pre_existing: in use before addresses were verified; it still gets mail.';

-- The code that waits for an answer; one per person, and only its hash.
CREATE TABLE email_verifications (
    user_id    uuid PRIMARY KEY REFERENCES users,
    email      text NOT NULL,
    hash       bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
