-- Answering drafts and questions in Slack: whose Slack account is linked with which member.

CREATE TABLE slack_identities (
    workspace_id uuid NOT NULL,
    member_id    uuid NOT NULL,
    -- The account as Slack's signed requests name it; null until a code was confirmed there.
    team_id      text,
    user_id      text,
    linked_at    timestamptz,
    -- The code that links another account, as a hash.
    code_hash    bytea,
    code_until   timestamptz,
    PRIMARY KEY (workspace_id, member_id),
    FOREIGN KEY (workspace_id, member_id) REFERENCES members ON DELETE CASCADE,
    CHECK ((team_id IS NULL) = (user_id IS NULL) AND (user_id IS NULL) = (linked_at IS NULL))
);
-- One Slack account answers for one member.
CREATE UNIQUE INDEX slack_identities_account ON slack_identities (workspace_id, team_id, user_id)
    WHERE user_id IS NOT NULL;

-- Hashes of requests that were accepted while their signatures are valid; a repeated one is ignored.
CREATE TABLE interaction_deliveries (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    digest       bytea NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, digest)
);

ALTER TABLE prompts_sent DROP CONSTRAINT prompts_sent_target_check;
ALTER TABLE prompts_sent ADD CONSTRAINT prompts_sent_target_check
    CHECK (target IN ('email', 'telegram', 'slack'));

SELECT wall(named::regclass) FROM unnest(ARRAY['slack_identities', 'interaction_deliveries']) AS named;
