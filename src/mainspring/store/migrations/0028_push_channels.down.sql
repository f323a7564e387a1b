-- The way back: providers are not asked to report changes. What is registered there stays.
-- lost: webhooks and channels that are registered at providers = SELECT count(*) FROM push_channels

DROP TABLE push_channels;
