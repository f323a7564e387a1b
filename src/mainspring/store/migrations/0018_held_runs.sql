-- A run can wait for a write that is held for a person. Such writes live longer than other drafts.

ALTER TABLE drafts
    ADD COLUMN awaited boolean NOT NULL DEFAULT false,
    ADD COLUMN send_retries smallint NOT NULL DEFAULT 0 CHECK (send_retries BETWEEN 0 AND 10),
    ADD COLUMN reminded_at timestamptz;

ALTER TABLE workspaces
    ADD COLUMN held_seconds integer CHECK (held_seconds BETWEEN 60 AND 2592000);

-- A workspace that has chosen a lifetime for its drafts keeps it for the drafts of its runs.
UPDATE workspaces SET held_seconds = draft_seconds WHERE draft_seconds IS NOT NULL;

CREATE INDEX drafts_of_runs_waiting ON drafts (expires_at)
    WHERE status = 'pending' AND run_id IS NOT NULL;

COMMENT ON COLUMN drafts.awaited IS 'Whether its run waits for the answer.';
COMMENT ON COLUMN drafts.send_retries IS 'How often a failed send is repeated under one agreement.';
COMMENT ON COLUMN drafts.reminded_at IS 'When people were reminded that it is about to expire.';
COMMENT ON COLUMN workspaces.held_seconds IS
    'How long a write held by a run waits for a person; null: as the installation says.';
