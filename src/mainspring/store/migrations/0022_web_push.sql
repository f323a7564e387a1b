-- Web Push: the browsers that members get notifications on, and the messages to them.

CREATE TABLE push_subscriptions (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users,
    -- The session that turned it on, or renewed it since. Signing out removes the subscription; a
    -- session that only ran out leaves it, so that no failure is missed after some quiet days.
    session_id uuid NOT NULL,
    label      text NOT NULL DEFAULT '',
    -- A capability URL of the browser's push service: it is never shown.
    endpoint   text NOT NULL UNIQUE,
    -- The browser's public key and shared secret, which messages to it are encrypted with.
    p256dh     bytea NOT NULL,
    auth       bytea NOT NULL,
    -- Of: drafts, questions, failures.
    kinds      text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- What is older than its last change of kinds is not sent.
    since      timestamptz NOT NULL DEFAULT now(),
    sent_at    timestamptz,
    problem    json
);
CREATE INDEX push_subscriptions_of_user ON push_subscriptions (user_id);
CREATE INDEX push_subscriptions_of_session ON push_subscriptions (session_id);
COMMENT ON TABLE push_subscriptions IS
    'Belongs to a person and to no workspace: inside a workspace it cannot be read.';

-- One notification to one browser. A row that was sent stays, so that nothing is sent twice.
CREATE TABLE push_messages (
    workspace_id    uuid NOT NULL REFERENCES workspaces,
    id              uuid NOT NULL,
    subscription_id uuid NOT NULL REFERENCES push_subscriptions ON DELETE CASCADE,
    about           text NOT NULL
        CHECK (about IN ('draft', 'question', 'consent', 'failure', 'pause')),
    about_id        uuid NOT NULL,
    automation_id   uuid,
    run_id          uuid,
    state           text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'sent', 'given_up')),
    tries           smallint NOT NULL DEFAULT 0,
    due_at          timestamptz NOT NULL DEFAULT now(),
    created_at      timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (subscription_id, about_id)
);
CREATE INDEX push_messages_due ON push_messages (due_at) WHERE state = 'waiting';
SELECT wall('push_messages');
REVOKE ALL ON push_messages FROM mainspring_inside;
