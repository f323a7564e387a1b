-- Poll triggers: when each looks next, and what it has seen.

CREATE TABLE poll_states (
    workspace_id  uuid NOT NULL,
    trigger_id    uuid NOT NULL,
    -- What is read and how its items are told apart. Another hash begins the memory anew.
    source_hash   bytea,
    -- 'infinity' while the trigger is off.
    next_look_at  timestamptz NOT NULL DEFAULT now(),
    -- The look under way. After a crash the lease expires, and another process looks.
    lease         uuid,
    leased_until  timestamptz,
    last_look_at  timestamptz,
    -- Null until a look has succeeded: the next one is the first.
    succeeded_at  timestamptz,
    -- Of the last look that succeeded.
    items         integer NOT NULL DEFAULT 0,
    skipped       integer NOT NULL DEFAULT 0,
    -- Numbers the items that wait, in the order in which they were found.
    arrivals      bigint NOT NULL DEFAULT 0,
    failures      integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    reported_at   timestamptz,
    recovered_at  timestamptz,
    problem       json,
    PRIMARY KEY (workspace_id, trigger_id),
    FOREIGN KEY (workspace_id, trigger_id) REFERENCES triggers ON DELETE CASCADE
);
CREATE INDEX poll_states_due ON poll_states (next_look_at);

CREATE TABLE poll_items (
    workspace_id uuid NOT NULL,
    trigger_id   uuid NOT NULL,
    id_hash      bytea NOT NULL,
    -- Of what makes the item "changed"; empty where only new items count.
    value_hash   bytea NOT NULL,
    revision     integer NOT NULL DEFAULT 1,
    seen_at      timestamptz NOT NULL DEFAULT now(),
    -- Set for an item that was found beyond the limit of one look: it starts a run after a later one.
    arrival      bigint,
    change       text CHECK (change IN ('new', 'changed')),
    item         json,
    PRIMARY KEY (workspace_id, trigger_id, id_hash),
    FOREIGN KEY (workspace_id, trigger_id) REFERENCES poll_states ON DELETE CASCADE,
    CHECK ((arrival IS NULL) = (change IS NULL) AND (arrival IS NULL) = (item IS NULL))
);
CREATE INDEX poll_items_waiting ON poll_items (workspace_id, trigger_id, arrival)
    WHERE arrival IS NOT NULL;
CREATE INDEX poll_items_seen ON poll_items (workspace_id, trigger_id, seen_at);

SELECT wall(named::regclass) FROM unnest(ARRAY['poll_states', 'poll_items']) AS named;
