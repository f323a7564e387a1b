-- Pages: what a workspace knows, found by words, by likeness and by meaning.

-- The words of a page as they are written, and their English stems. A vector of words has a
-- bound of its own, so only the beginning of a very long body is found by its words: as much
-- of it as there is room for.
CREATE FUNCTION page_words(title text, body text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    room integer := 200000;
BEGIN
    LOOP
        BEGIN
            RETURN setweight(to_tsvector('simple'::regconfig, title), 'A')
                || setweight(to_tsvector('english'::regconfig, title), 'A')
                || to_tsvector('simple'::regconfig, left(body, room))
                || strip(to_tsvector('english'::regconfig, left(body, room)));
        EXCEPTION WHEN program_limit_exceeded THEN
            IF room = 0 THEN
                RAISE;
            END IF;
            room := room / 2;
        END;
    END LOOP;
END
$$;

CREATE TABLE pages (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    id           uuid NOT NULL,
    slug         text NOT NULL,
    type         text NOT NULL,
    title        text NOT NULL,
    -- The front matter as somebody wrote it, with its marks; null: it is made from the values.
    head         text,
    body         text NOT NULL,
    frontmatter  jsonb NOT NULL DEFAULT '{}',
    -- What it was made from, elsewhere. The same source never makes a second page.
    source_ref   text,
    source       text NOT NULL,
    provenance   jsonb NOT NULL DEFAULT '{}',
    content_hash bytea NOT NULL,
    -- When it takes place, for a page that is about an event in a calendar.
    event_start  timestamptz,
    event_end    timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    ingested_at  timestamptz NOT NULL DEFAULT now(),
    created_by   uuid NOT NULL,
    run_id       uuid,
    deleted_at   timestamptz,
    -- The model that its vectors are from; null: it waits for one.
    embedded_by  text,
    words        tsvector NOT NULL GENERATED ALWAYS AS (page_words(title, body)) STORED,
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX pages_slug ON pages (workspace_id, slug);
CREATE UNIQUE INDEX pages_source ON pages (workspace_id, source_ref) WHERE source_ref IS NOT NULL;
CREATE INDEX pages_ingested ON pages (workspace_id, ingested_at, id) WHERE deleted_at IS NULL;
CREATE INDEX pages_of_type ON pages (workspace_id, type, ingested_at, id) WHERE deleted_at IS NULL;
CREATE INDEX pages_taking_place ON pages (workspace_id, event_start, id)
    WHERE event_start IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX pages_unembedded ON pages (id) WHERE embedded_by IS NULL AND deleted_at IS NULL;
CREATE INDEX pages_words ON pages USING gin (words);

-- What happened to a page, and by whom.
CREATE TABLE page_timeline (
    workspace_id uuid NOT NULL,
    page_id      uuid NOT NULL,
    id           uuid NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    action       text NOT NULL
        CHECK (action IN ('created', 'updated', 'ingested_again', 'deleted', 'restored')),
    actor_kind   text NOT NULL,
    actor_id     uuid NOT NULL,
    run_id       uuid,
    detail       jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (workspace_id, page_id, id),
    FOREIGN KEY (workspace_id, page_id) REFERENCES pages
);

SELECT wall('pages'), wall('page_timeline');

-- Behind the wall the index of words cannot be used, because its operator might tell what it
-- sees. This function looks from outside, for the workspace of the connection and no other.
-- Of a word that stands on very many pages, the newest are weighed.
CREATE FUNCTION pages_by_words(asked tsquery, wanted text, most integer)
    RETURNS TABLE (id uuid, score real)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT found.id, ts_rank(found.words, asked, 1) AS score
    FROM (
        SELECT p.id, p.words FROM pages p
        WHERE p.workspace_id = (SELECT inside_workspace()) AND p.deleted_at IS NULL
          AND p.words @@ asked AND (wanted IS NULL OR p.type = wanted)
        ORDER BY p.updated_at DESC
        LIMIT 2000
    ) AS found
    ORDER BY score DESC, found.id
    LIMIT most;
END;

-- The same for likeness, which needs an extension that an outside database may not have.
CREATE FUNCTION open_page_likeness() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF to_regprocedure('pages_by_likeness(text, text, integer)') IS NOT NULL THEN
        RETURN true;
    END IF;
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    -- The extension's own settings are known once it has been used.
    PERFORM word_similarity('a', 'b');
    CREATE INDEX pages_title ON pages USING gin (title gin_trgm_ops);
    CREATE FUNCTION pages_by_likeness(asked text, wanted text, most integer)
        RETURNS TABLE (id uuid, score real)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        SET pg_trgm.word_similarity_threshold = 0.5
    BEGIN ATOMIC
        SELECT p.id, word_similarity(asked, p.title) AS score FROM pages p
        WHERE p.workspace_id = (SELECT inside_workspace()) AND p.deleted_at IS NULL
          AND asked <% p.title AND (wanted IS NULL OR p.type = wanted)
        ORDER BY score DESC, p.updated_at DESC
        LIMIT most;
    END;
    REVOKE ALL ON FUNCTION pages_by_likeness FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION pages_by_likeness TO mainspring_inside;
    RETURN true;
EXCEPTION WHEN feature_not_supported OR undefined_file OR insufficient_privilege THEN
    RETURN false;
END
$$;

-- And for meaning. Each piece of a page has a vector, with the name of the model it is from.
-- All vectors have as many numbers as the model in use; under another one they are made anew.
CREATE FUNCTION open_page_vectors(wide integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF wide = (SELECT atttypmod FROM pg_attribute
               WHERE attrelid = to_regclass('page_vectors') AND attname = 'embedding') THEN
        RETURN true;
    END IF;
    CREATE EXTENSION IF NOT EXISTS vector;
    -- The extension's own settings are known once it has been used.
    PERFORM '[1]'::halfvec <=> '[1]'::halfvec;
    DROP FUNCTION IF EXISTS pages_by_meaning;
    DROP TABLE IF EXISTS page_vectors;
    UPDATE pages SET embedded_by = NULL WHERE embedded_by IS NOT NULL;
    EXECUTE format($made$
        CREATE TABLE page_vectors (
            workspace_id uuid NOT NULL,
            page_id      uuid NOT NULL,
            piece        smallint NOT NULL,
            model        text NOT NULL,
            embedding    halfvec(%1$s) NOT NULL,
            PRIMARY KEY (workspace_id, page_id, piece),
            FOREIGN KEY (workspace_id, page_id) REFERENCES pages
        );
        CREATE INDEX page_vectors_near ON page_vectors
            USING hnsw (embedding halfvec_cosine_ops);
        -- The index is one for all workspaces, and what is near in it may all belong to others.
        -- A small workspace is looked through whole; in a large one what is near is followed
        -- for a while, and where too little of it is its own, it is looked through too. One
        -- page may be near with several of its pieces.
        CREATE FUNCTION pages_by_meaning(asked text, named text, wanted text, most integer)
            RETURNS TABLE (id uuid, score real)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
            SET hnsw.iterative_scan = relaxed_order SET hnsw.ef_search = 100
            SET enable_seqscan = off
        BEGIN ATOMIC
            WITH small AS MATERIALIZED (
                SELECT count(*) <= 5000 AS yes FROM (
                    SELECT FROM page_vectors v
                    WHERE v.workspace_id = (SELECT inside_workspace()) LIMIT 5001
                ) AS few
            ), near AS MATERIALIZED (
                SELECT v.page_id, v.embedding <=> asked::halfvec(%1$s) AS distance
                FROM page_vectors v JOIN pages p ON p.workspace_id = v.workspace_id
                    AND p.id = v.page_id
                WHERE NOT (SELECT s.yes FROM small s)
                  AND v.workspace_id = (SELECT inside_workspace()) AND v.model = named
                  AND p.deleted_at IS NULL AND (wanted IS NULL OR p.type = wanted)
                ORDER BY v.embedding <=> asked::halfvec(%1$s)
                LIMIT most * 2
            ), own AS MATERIALIZED (
                SELECT v.page_id, v.embedding <=> asked::halfvec(%1$s) AS distance
                FROM page_vectors v JOIN pages p ON p.workspace_id = v.workspace_id
                    AND p.id = v.page_id
                WHERE (SELECT count(*) FROM near) < most * 2
                  AND v.workspace_id = (SELECT inside_workspace()) AND v.model = named
                  AND p.deleted_at IS NULL AND (wanted IS NULL OR p.type = wanted)
                -- The sum keeps the shared index out of it.
                ORDER BY (v.embedding <=> asked::halfvec(%1$s)) + 0
                LIMIT most * 2
            )
            SELECT found.page_id, (1 - min(found.distance))::real AS score
            FROM (SELECT * FROM near UNION ALL SELECT * FROM own) AS found
            GROUP BY found.page_id
            ORDER BY score DESC
            LIMIT most;
        END
    $made$, wide);
    -- Its values do not shrink, and must not be fetched from elsewhere one by one.
    ALTER TABLE page_vectors ALTER COLUMN embedding SET STORAGE PLAIN;
    PERFORM wall('page_vectors');
    REVOKE ALL ON FUNCTION pages_by_meaning FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION pages_by_meaning TO mainspring_inside;
    RETURN true;
EXCEPTION WHEN feature_not_supported OR undefined_file OR insufficient_privilege
    OR undefined_object THEN
    RETURN false;
END
$$;

REVOKE ALL ON FUNCTION pages_by_words, open_page_likeness, open_page_vectors FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pages_by_words TO mainspring_inside;
SELECT open_page_likeness(), open_page_vectors(384);
