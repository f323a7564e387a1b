"""A database whose disk is full: every write ends as it does then, with Postgres's own error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mainspring.store.database import Database

_FULL: Final = """
    CREATE OR REPLACE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE 'could not extend file "base/5/16384": No space left on device'
            USING ERRCODE = '53100';
    END $$
"""
_ROOMY: Final = """
    CREATE OR REPLACE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RETURN NULL; END $$
"""
_INSTALL: Final = """
    DO $$
    DECLARE named text;
    BEGIN
        FOR named IN SELECT c.relname FROM pg_class c
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        LOOP
            EXECUTE format('CREATE OR REPLACE TRIGGER no_space BEFORE INSERT OR UPDATE ON %I '
                           'FOR EACH STATEMENT EXECUTE FUNCTION no_space()', named);
        END LOOP;
    END $$
"""


async def install_full_disk(database: Database) -> None:
    """Makes it possible, while nobody works: this locks every table."""
    await database.execute(_ROOMY)
    await database.execute(_INSTALL)


@asynccontextmanager
async def full_disk(database: Database) -> AsyncIterator[None]:
    """No table takes a row until the block ends; reads go on. Locks nothing."""
    await database.execute(_FULL)
    try:
        yield
    finally:
        await database.execute(_ROOMY)
