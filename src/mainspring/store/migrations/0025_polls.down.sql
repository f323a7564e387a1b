-- The way back: poll triggers no longer fire, and what they have seen is forgotten.
-- lost: items that poll triggers remember = SELECT count(*) FROM poll_items
-- lost: items that wait to start a run = SELECT count(*) FROM poll_items WHERE arrival IS NOT NULL

DROP TABLE poll_items;
DROP TABLE poll_states;
