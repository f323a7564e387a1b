-- What is registered at providers so that they report changes: a webhook, or a watched resource.

CREATE TABLE push_channels (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    -- Null: nothing needs it any more, and it is to be removed at the provider.
    trigger_id   uuid,
    -- Where alerts about it belong, and whose connection it goes over.
    automation_id uuid NOT NULL,
    owner_id     uuid,
    integration  text NOT NULL,
    config       json NOT NULL,
    -- The public address at the time: under another one, the provider has to be told again.
    address      text NOT NULL,
    -- Whether every change is reported, so that polls may be rare meanwhile.
    complete     boolean NOT NULL,
    -- What removes it at the provider; null until it is registered.
    remote       json,
    expires_at   timestamptz,
    renew_at     timestamptz,
    notified_at  timestamptz,
    next_try_at  timestamptz NOT NULL DEFAULT now(),
    -- The attempt under way. After a crash the lease expires, and another process tries.
    lease        uuid,
    leased_until timestamptz,
    failures     integer NOT NULL DEFAULT 0,
    reported_at  timestamptz,
    problem      json,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspaces ON DELETE CASCADE
);
CREATE UNIQUE INDEX push_channels_trigger ON push_channels (workspace_id, trigger_id)
    WHERE trigger_id IS NOT NULL;
CREATE INDEX push_channels_due ON push_channels (next_try_at);

SELECT wall('push_channels'::regclass);
