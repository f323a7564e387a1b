-- The way back: browsers that had notifications turned on get no more of them.
-- lost: browsers that get notifications = SELECT count(*) FROM push_subscriptions

DROP TABLE push_messages;
DROP TABLE push_subscriptions;
