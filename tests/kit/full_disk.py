"""A database whose disk is full: every write ends as it does then, with Postgres's own error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mainspring.store.database import Database

_FILL: Final = """
    CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE 'could not extend file "base/5/16384": No space left on device'
            USING ERRCODE = '53100';
    END $$;
    DO $$
    DECLARE named text;
    BEGIN
        FOR named IN SELECT c.relname FROM pg_class c
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        LOOP
            EXECUTE format('CREATE TRIGGER no_space BEFORE INSERT OR UPDATE ON %I '
                           'FOR EACH STATEMENT EXECUTE FUNCTION no_space()', named);
        END LOOP;
    END $$;
"""
_FREE: Final = "DROP FUNCTION no_space() CASCADE"


@asynccontextmanager
async def full_disk(database: Database) -> AsyncIterator[None]:
    """No table takes a row until the block ends; reads go on."""
    await database.execute(_FILL)
    try:
        yield
    finally:
        await database.execute(_FREE)
