"""Versions ready to run: read once, compiled once, kept while they are in use."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Missing
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.program import compile_program
from mainspring.definition.validate import read_definition
from mainspring.runs.engine import LoadedVersion
from mainspring.runs.rows import ClaimedRun

if TYPE_CHECKING:
    from mainspring.store.database import Database

_READ = """
    SELECT d.document, v.grants, a.name, a.created_by
    FROM automation_versions v
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    JOIN automations a ON a.workspace_id = v.workspace_id AND a.id = v.automation_id
    WHERE v.workspace_id = $1 AND v.automation_id = $2 AND v.version = $3
"""

Key = tuple[UUID, UUID, int]


class Versions:
    """A version never changes, so what was compiled stays true."""

    def __init__(
        self, database: Database, vocabulary: Vocabulary, limits: Limits, *, most: int = 5_000
    ) -> None:
        self._database = database
        self._vocabulary = vocabulary
        self._limits = limits
        self._most = most
        # A task, not its result: runs of one version that start together read it once.
        self._kept: OrderedDict[Key, asyncio.Task[LoadedVersion]] = OrderedDict()

    async def load(self, run: ClaimedRun) -> LoadedVersion:
        """The version of a claimed run."""
        return await self.get(run.workspace_id, run.automation_id, run.version)

    async def get(self, workspace_id: UUID, automation_id: UUID, version: int) -> LoadedVersion:
        key = (workspace_id, automation_id, version)
        found = self._kept.get(key)
        if found is None or _failed(found):
            found = asyncio.create_task(self._read(key), name="read-version")
            self._kept[key] = found
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        # Whoever waits may be cancelled; the others still want the answer.
        return found.result() if found.done() else await asyncio.shield(found)

    def forget(self) -> None:
        """Drops what was compiled; the next use reads it anew."""
        self._kept.clear()

    async def _read(self, key: Key) -> LoadedVersion:
        row = await self._database.fetchrow(_READ, *key)
        if row is None:
            raise Missing("This version of the automation is not there.", code="no_version")
        # It may be older than this program, or damaged; compiling judges the rest of it.
        definition = read_definition(row["document"])
        return LoadedVersion(
            compile_program(definition, self._vocabulary, self._limits),
            tuple(Grant(entry["capability"], entry["params"]) for entry in row["grants"]),
            row["name"],
            row["created_by"],
        )


def _failed(task: asyncio.Task[LoadedVersion]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
