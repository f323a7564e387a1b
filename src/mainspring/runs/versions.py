"""Versions ready to run: read once, compiled once, kept while they are in use."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Missing, Problem
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.json_text import canonical
from mainspring.definition.program import Program, ProgramStep, compile_program
from mainspring.definition.validate import read_definition
from mainspring.gate.known import secrets_named_in
from mainspring.runs.engine import LoadedVersion
from mainspring.runs.rows import ClaimedRun

if TYPE_CHECKING:
    from mainspring.store.database import Database

_READ = """
    SELECT v.workspace_id, v.automation_id, v.version, d.document, v.grants, a.name, a.created_by,
        octet_length(d.document::text) AS size
    FROM unnest($1::uuid[], $2::uuid[], $3::int4[]) AS w(workspace_id, automation_id, version)
    JOIN automation_versions v USING (workspace_id, automation_id, version)
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    JOIN automations a ON a.workspace_id = v.workspace_id AND a.id = v.automation_id
"""
# Read together; the event loop has other work in between.
_TOGETHER = 100
# Compiling more than this takes long enough for others to notice.
_LARGE_BYTES = 16_384

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
        self._kept: OrderedDict[Key, asyncio.Future[LoadedVersion]] = OrderedDict()

    async def load(self, run: ClaimedRun) -> LoadedVersion:
        """The version of a claimed run."""
        return await self.get(run.workspace_id, run.automation_id, run.version)

    async def get(self, workspace_id: UUID, automation_id: UUID, version: int) -> LoadedVersion:
        key = (workspace_id, automation_id, version)
        found = self._kept.get(key)
        if found is None or _failed(found):
            found = asyncio.create_task(self._read(key), name="read-version")
            self._keep(key, found)
        self._kept.move_to_end(key)
        # Whoever waits may be cancelled; the others still want the answer.
        return found.result() if found.done() else await asyncio.shield(found)

    async def warm(self, keys: Iterable[Key]) -> None:
        """Reads what is not there yet with few questions; what cannot be read is left out."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._kept]
        for start in range(0, len(missing), _TOGETHER):
            rows = await self._rows(missing[start : start + _TOGETHER])
            for key, row in rows.items():
                await asyncio.sleep(0)
                with contextlib.suppress(Problem):
                    done: asyncio.Future[LoadedVersion] = asyncio.Future()
                    done.set_result(await self._made(row))
                    self._keep(key, done)

    def _keep(self, key: Key, found: asyncio.Future[LoadedVersion]) -> None:
        self._kept[key] = found
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def forget(self) -> None:
        """Drops what was compiled; the next use reads it anew."""
        self._kept.clear()

    async def _read(self, key: Key) -> LoadedVersion:
        row = (await self._rows([key])).get(key)
        if row is None:
            raise Missing("This version of the automation is not there.", code="no_version")
        return await self._made(row)

    async def _made(self, row: Any) -> LoadedVersion:
        if row["size"] <= _LARGE_BYTES:
            return self._compiled(row)
        return await asyncio.to_thread(self._compiled, row)

    async def _rows(self, keys: Sequence[Key]) -> dict[Key, Any]:
        columns = [list(column) for column in zip(*keys, strict=True)]
        rows = await self._database.fetch(_READ, *columns)
        return {(row["workspace_id"], row["automation_id"], row["version"]): row for row in rows}

    def _compiled(self, row: Any) -> LoadedVersion:
        # It may be older than this program, or damaged; compiling judges the rest of it.
        definition = read_definition(row["document"])
        program = compile_program(definition, self._vocabulary, self._limits)
        grants = tuple(Grant(entry["capability"], entry["params"]) for entry in row["grants"])
        return LoadedVersion(
            program,
            grants,
            row["name"],
            row["created_by"],
            len(canonical(definition.inputs.shape)),
            secrets_named_in(row["document"]),
            self._may_cost(program, grants),
        )

    def _may_cost(self, program: Program, grants: Sequence[Grant]) -> bool:
        known = self._vocabulary.capabilities
        granted = (known.get(grant.capability) for grant in grants)
        steps = (*program.steps, *program.on_failure)
        return any(one is not None and one.may_cost for one in granted) or _report(steps)


def _report(steps: Sequence[ProgramStep]) -> bool:
    """Whether any of the steps, or one nested in them, may report costs of its own."""
    return any(
        (step.action is not None and step.action.reports_usage) or _report(step.nested)
        for step in steps
    )


def _failed(task: asyncio.Future[LoadedVersion]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
