-- Chat messages that arrived at a bot, and the answers to them.

-- One row per message: a message that is delivered twice starts nothing twice. The text is kept only
-- for conversations, which the next answer refers to.
CREATE TABLE chat_messages (
    workspace_id  uuid NOT NULL REFERENCES workspaces,
    id            uuid NOT NULL,
    connection_id uuid NOT NULL,
    chat_id       text NOT NULL,
    -- Null for an answer of ours.
    message_id    text,
    member_id     uuid,
    text          text,
    at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, connection_id) REFERENCES integration_connections ON DELETE CASCADE
);
CREATE UNIQUE INDEX chat_messages_once
    ON chat_messages (workspace_id, connection_id, chat_id, message_id);
CREATE INDEX chat_messages_conversation ON chat_messages (workspace_id, connection_id, chat_id, id)
    WHERE text IS NOT NULL;
CREATE INDEX chat_messages_age ON chat_messages (at);

CREATE TABLE chat_answers (
    workspace_id  uuid NOT NULL REFERENCES workspaces,
    id            uuid NOT NULL,
    connection_id uuid NOT NULL,
    via           text NOT NULL,
    chat_id       text NOT NULL,
    thread_id     text,
    reply_to      text,
    -- The member who wrote; null for anyone else.
    member_id     uuid,
    kind          text NOT NULL CHECK (kind IN ('notice', 'conversation', 'run')),
    automation_id uuid,
    run_id        uuid,
    by_step       boolean NOT NULL DEFAULT false,
    -- waiting: for its run. due: to be composed and sent. sending: a part is under way; after a
    -- crash nobody knows whether it arrived, so it becomes unknown and is not sent again.
    state         text NOT NULL
        CHECK (state IN ('waiting', 'due', 'sending', 'sent', 'unknown', 'failed')),
    text          text,
    parts_sent    integer NOT NULL DEFAULT 0,
    tries         integer NOT NULL DEFAULT 0,
    next_at       timestamptz NOT NULL DEFAULT now(),
    lease         uuid,
    leased_until  timestamptz,
    problem       json,
    created_at    timestamptz NOT NULL DEFAULT now(),
    finished_at   timestamptz,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, connection_id) REFERENCES integration_connections ON DELETE CASCADE,
    CHECK ((kind <> 'run') = (run_id IS NULL))
);
CREATE INDEX chat_answers_open ON chat_answers (next_at)
    WHERE state IN ('waiting', 'due', 'sending');
CREATE INDEX chat_answers_of_member ON chat_answers (workspace_id, connection_id, chat_id, id);
CREATE INDEX chat_answers_age ON chat_answers (created_at);

-- Chat triggers listen to events as the other presets do.
DROP INDEX triggers_listening;
CREATE INDEX triggers_listening ON triggers (workspace_id)
    WHERE type IN ('event', 'board_change', 'page_ingested', 'chat_message')
      AND armed_at IS NOT NULL;
DROP INDEX triggers_armed;
CREATE INDEX triggers_armed ON triggers (armed_at)
    WHERE type IN ('event', 'board_change', 'page_ingested', 'chat_message')
      AND armed_at IS NOT NULL;

SELECT wall(named::regclass) FROM unnest(ARRAY['chat_messages', 'chat_answers']) AS named;
