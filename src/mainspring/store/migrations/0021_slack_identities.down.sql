-- The way back from 0021. An older program asks nobody in Slack.
-- lost: linked Slack accounts = SELECT count(*) FROM slack_identities WHERE user_id IS NOT NULL

DELETE FROM prompts_sent WHERE target = 'slack';
ALTER TABLE prompts_sent DROP CONSTRAINT prompts_sent_target_check;
ALTER TABLE prompts_sent ADD CONSTRAINT prompts_sent_target_check
    CHECK (target IN ('email', 'telegram'));
DROP TABLE interaction_deliveries;
DROP TABLE slack_identities;
