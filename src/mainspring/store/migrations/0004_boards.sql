-- Boards: datasets of rows, with their columns, skills, forms and dashboard.

CREATE TABLE boards (
    workspace_id    uuid NOT NULL REFERENCES workspaces,
    id              uuid NOT NULL,
    -- Two boards may have one name; whoever asks by a name is told of both.
    name            text NOT NULL,
    description     text NOT NULL DEFAULT '',
    created_by_kind text NOT NULL,
    created_by      uuid NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    archived_at     timestamptz,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX boards_name ON boards (workspace_id, name);

-- Whoever writes rows of a dataset holds its row here, so the counts are always right and
-- two writers never see the same room for one key.
CREATE TABLE board_datasets (
    workspace_id     uuid NOT NULL,
    id               uuid NOT NULL,
    board_id         uuid NOT NULL,
    name             text NOT NULL,
    columns          jsonb NOT NULL DEFAULT '[]',
    -- The field by which a double is recognised; null: rows are appended as they come.
    dedupe_key_field text,
    version          integer NOT NULL DEFAULT 1,
    -- Every row ever appended, and those among them that are not deleted.
    appended         bigint NOT NULL DEFAULT 0,
    live             bigint NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, board_id, name),
    FOREIGN KEY (workspace_id, board_id) REFERENCES boards
);

-- Rows keep their position for ever and are never removed, so positions have no holes and an
-- offset leads to its place without counting. No foreign key: the dataset's row is held by
-- whoever appends, and asking once more for each of thousands of rows costs more than they do.
CREATE TABLE board_rows (
    workspace_id uuid NOT NULL,
    dataset_id   uuid NOT NULL,
    row_id       uuid NOT NULL,
    position     bigint NOT NULL,
    data         jsonb NOT NULL,
    -- The data as text, in bytes: a page is cut by it without measuring each row again.
    bytes        integer NOT NULL,
    dedupe_key   text,
    src          text NOT NULL,
    updated_at   timestamptz NOT NULL DEFAULT now(),
    deleted_at   timestamptz,
    PRIMARY KEY (workspace_id, dataset_id, row_id)
);
CREATE UNIQUE INDEX board_rows_position ON board_rows (workspace_id, dataset_id, position);
CREATE UNIQUE INDEX board_rows_key ON board_rows (workspace_id, dataset_id, dedupe_key)
    WHERE dedupe_key IS NOT NULL AND deleted_at IS NULL;

-- How many rows are deleted among each thousand positions, where any are: what an offset has
-- to be moved by.
CREATE TABLE board_gaps (
    workspace_id uuid NOT NULL,
    dataset_id   uuid NOT NULL,
    block        bigint NOT NULL,
    deleted      integer NOT NULL,
    PRIMARY KEY (workspace_id, dataset_id, block)
);

-- By what a row is recognised: the value of one field, with its kind, under the field's name.
-- Nothing and null are no key. What may be long is hashed, because an index takes no long
-- entries. One expression of immutable parts, so that the planner puts it in place of the call.
CREATE FUNCTION board_key(field text, data jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE jsonb_typeof(data -> field)
    WHEN 'string' THEN CASE
        WHEN octet_length(data ->> field) <= 500 THEN field || ':s' || (data ->> field)
        ELSE field || ':h' || md5(data ->> field) || md5(reverse(data ->> field)) END
    WHEN 'number' THEN field || ':n' || trim_scale((data ->> field)::numeric)::text
    WHEN 'null' THEN NULL
    ELSE field || ':j' || md5(data ->> field) || md5(reverse(data ->> field))
END;

-- Skills, forms and the dashboard as they are now; columns stand with their dataset.
CREATE TABLE board_parts (
    workspace_id uuid NOT NULL,
    board_id     uuid NOT NULL,
    part         text NOT NULL CHECK (part IN ('skill', 'form', 'dashboard')),
    name         text NOT NULL DEFAULT '',
    version      integer NOT NULL,
    content      jsonb NOT NULL,
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, board_id, part, name),
    FOREIGN KEY (workspace_id, board_id) REFERENCES boards
);

-- What each part was before. A part that was taken away has a version without content.
CREATE TABLE board_versions (
    workspace_id uuid NOT NULL,
    board_id     uuid NOT NULL,
    part         text NOT NULL CHECK (part IN ('columns', 'skill', 'form', 'dashboard')),
    name         text NOT NULL DEFAULT '',
    version      integer NOT NULL,
    content      jsonb,
    -- The earlier version that this one brings back.
    revert_of    integer,
    by_kind      text NOT NULL,
    by_id        uuid NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, board_id, part, name, version),
    FOREIGN KEY (workspace_id, board_id) REFERENCES boards
);

SELECT wall(named::regclass) FROM unnest(ARRAY[
    'boards', 'board_datasets', 'board_rows', 'board_gaps', 'board_parts', 'board_versions'
]) AS named;

-- The presets over events listen as event triggers do.
DROP INDEX triggers_listening;
CREATE INDEX triggers_listening ON triggers (workspace_id)
    WHERE type IN ('event', 'board_change', 'page_ingested') AND armed_at IS NOT NULL;
