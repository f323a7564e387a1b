-- The way back: chat triggers no longer fire, and conversations are forgotten.
-- lost: messages of conversations = SELECT count(*) FROM chat_messages WHERE text IS NOT NULL
-- lost: answers that wait to be sent = SELECT count(*) FROM chat_answers WHERE state IN ('waiting', 'due')

DROP INDEX triggers_listening;
CREATE INDEX triggers_listening ON triggers (workspace_id)
    WHERE type IN ('event', 'board_change', 'page_ingested') AND armed_at IS NOT NULL;
DROP INDEX triggers_armed;
CREATE INDEX triggers_armed ON triggers (armed_at)
    WHERE type IN ('event', 'board_change', 'page_ingested') AND armed_at IS NOT NULL;
DROP TABLE chat_answers;
DROP TABLE chat_messages;
