"""Builds: a source with its types taken away, made once and kept.

A build is found by the hash of what it was made from, so it is never out of date and may be
lost at any time. It is made inside the sandbox like everything that reads a stranger's text.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.definition.script import rewrite_script

if TYPE_CHECKING:
    from mainspring.store.database import Database

# Goes up when the same source would be made into something else.
_EDITION: Final = b"2\0"
_REMEMBERED: Final = 64

_FIND = "SELECT js, source_map FROM script_builds WHERE workspace_id = $1 AND hash = $2"
_KEEP = """
    INSERT INTO script_builds (workspace_id, hash, js, source_map) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class ScriptBuild:
    """What is run in place of a source."""

    js: str
    source_map: str | None = None


BuildScript = Callable[[str], Awaitable[ScriptBuild]]


class ScriptBuildCache:
    """The builds of this installation: remembered, kept in the table, or made."""

    def __init__(self, database: Database | None, make: BuildScript) -> None:
        self._database = database
        self._make = make
        self._remembered: OrderedDict[bytes, ScriptBuild] = OrderedDict()

    async def of(self, workspace_id: UUID, source: str) -> ScriptBuild:
        """The build of a source; an ``Invalid`` when it is no TypeScript."""
        digest = hashlib.sha256(_EDITION + source.encode("utf-8", "surrogatepass")).digest()
        found = self._remembered.get(digest)
        if found is not None:
            self._remembered.move_to_end(digest)
            return found
        build = await self._kept(workspace_id, digest) or await self._made(
            workspace_id, digest, source
        )
        self._remembered[digest] = build
        if len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)
        return build

    async def _kept(self, workspace_id: UUID, digest: bytes) -> ScriptBuild | None:
        if self._database is None:
            return None
        row = await self._database.fetchrow(_FIND, workspace_id, digest)
        return None if row is None else ScriptBuild(row["js"], row["source_map"])

    async def _made(self, workspace_id: UUID, digest: bytes, source: str) -> ScriptBuild:
        build = await self._make(await asyncio.to_thread(rewrite_script, source))
        if self._database is not None:
            await self._database.execute(_KEEP, workspace_id, digest, build.js, build.source_map)
        return build
