"""A cache of compiled versions.

Versions that are needed together are read together, on one connection, and compiled one by one,
yielding to the event loop in between: a claim may contain runs of many uncached versions.

A version that uses MCP tools is compiled with their current schemas, and again when they change.
That is checked when a run begins, and only for versions that use such tools.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Conflict, Invalid, NotFound, Problem
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary, WorkspaceVocabularies
from mainspring.definition.program import CompiledDefinition, CompiledStep, compile_program
from mainspring.definition.strict_json import encode_canonical
from mainspring.definition.validate import read_definition
from mainspring.runs.engine import LoadedVersion
from mainspring.runs.rows import ClaimedRun
from mainspring.store.database_errors import is_lost_connection
from mainspring.workspace.redaction import secrets_named_in

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
_REHEARSED = """
    SELECT h.workspace_id, d.document, h.grants, a.name, a.created_by,
        octet_length(d.document::text) AS size
    FROM rehearsals h
    JOIN definitions d ON d.workspace_id = h.workspace_id AND d.hash = h.definition_hash
    JOIN automations a ON a.workspace_id = h.workspace_id AND a.id = h.automation_id
    WHERE h.workspace_id = $1 AND h.id = $2
"""
# No version has this number: it marks the id of a rehearsal.
_NO_VERSION = 0
# How many are read together; the event loop has other work in between.
_TOGETHER = 100
# Compiling a larger definition blocks the event loop noticeably.
_LARGE_BYTES = 16_384
_UNKNOWN = frozenset({"unknown_action", "unknown_capability"})
# How many missing tools an error names.
_NAMED = 5

Key = tuple[UUID, UUID, int]
# Each with its state when it was looked up; None when it was missing.
Tools = Mapping[str, Capability | None]


class VersionCache:
    """A version never changes, so a program compiled without MCP tools stays valid."""

    def __init__(
        self,
        database: Database,
        vocabulary: WorkspaceVocabularies,
        limits: Limits,
        *,
        most: int = 5_000,
    ) -> None:
        self._database = database
        self._vocabulary = vocabulary
        self._limits = limits
        self._most = most
        # A future, not its result: runs of one version that start together read it once.
        self._kept: OrderedDict[Key, asyncio.Future[LoadedVersion]] = OrderedDict()
        # Versions whose read has not started.
        self._asked: dict[Key, asyncio.Future[LoadedVersion]] = {}
        self._task: asyncio.Task[None] | None = None
        self._making: set[asyncio.Task[None]] = set()

    async def load(self, run: ClaimedRun) -> LoadedVersion:
        """The version of a claimed run, with the current MCP tools."""
        key = (run.workspace_id, run.automation_id, run.version)
        if run.rehearsal_id is not None:
            key = (run.workspace_id, run.rehearsal_id, _NO_VERSION)
        loaded = await self.get(*key)
        if loaded.tools and not await self._is_current(run.workspace_id, loaded.tools):
            self._let_go(key, loaded)
            loaded = await self.get(*key)
        return loaded

    async def get(self, workspace_id: UUID, automation_id: UUID, version: int) -> LoadedVersion:
        """A version for inspection; its tools may have changed meanwhile."""
        key = (workspace_id, automation_id, version)
        found = self._kept.get(key)
        if found is None or _has_failed(found):
            found = self._ask(key)
        self._kept.move_to_end(key)
        # A waiting task may be cancelled; others still need the result.
        return found.result() if found.done() else await asyncio.shield(found)

    async def load_rehearsal(self, workspace_id: UUID, rehearsal_id: UUID) -> LoadedVersion:
        """The candidate of a rehearsal, which never changes either."""
        return await self.get(workspace_id, rehearsal_id, _NO_VERSION)

    async def warm(self, keys: Iterable[Key]) -> None:
        """Load what is not cached yet; versions that cannot be compiled are left out."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._kept]
        for found in await asyncio.gather(
            *(self.get(*key) for key in missing), return_exceptions=True
        ):
            if isinstance(found, BaseException) and (
                not isinstance(found, Problem) or is_lost_connection(found)
            ):
                raise found

    def _keep(self, key: Key, found: asyncio.Future[LoadedVersion]) -> None:
        self._kept[key] = found
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    async def _is_current(self, workspace_id: UUID, tools: Tools) -> bool:
        words = await self._vocabulary.of(workspace_id, needing=tools)
        return all(words.capabilities.get(name) is tool for name, tool in tools.items())

    def _let_go(self, key: Key, loaded: LoadedVersion) -> None:
        """Remove outdated entries; an entry that another run has replaced stays."""
        found = self._kept.get(key)
        if (
            found is not None
            and found.done()
            and not _has_failed(found)
            and found.result() is loaded
        ):
            del self._kept[key]

    def forget(self) -> None:
        """Remove an entry; the next use loads it again."""
        self._kept.clear()

    def _ask(self, key: Key) -> asyncio.Future[LoadedVersion]:
        found = self._asked.get(key)
        if found is None:
            found = self._asked[key] = asyncio.get_running_loop().create_future()
            # Suppress the log message for a failure that no task waits for.
            found.add_done_callback(_has_failed)
        self._keep(key, found)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer(), name="read-versions")
        return found

    async def _answer(self) -> None:
        while self._asked:
            # Yield once, so that concurrent requests join this read.
            await asyncio.sleep(0)
            taken = dict(list(self._asked.items())[:_TOGETHER])
            for key in taken:
                del self._asked[key]
            try:
                rows = await self._all_rows(taken)
            except asyncio.CancelledError:
                for found in taken.values():
                    found.cancel()
                raise
            except Exception as error:
                for found in taken.values():
                    found.set_exception(error)
                continue
            for key, found in taken.items():
                making = self._make(found, row := rows.get(key))
                if row is not None and row["size"] > _LARGE_BYTES:
                    # Only the tasks that need a large one wait for it.
                    self._making.add(task := asyncio.create_task(making, name="compile-version"))
                    task.add_done_callback(self._making.discard)
                else:
                    await making
                    await asyncio.sleep(0)

    async def _make(self, found: asyncio.Future[LoadedVersion], row: Any) -> None:
        try:
            if row is None:
                raise _not_there()
            found.set_result(await self._made(row))
        except asyncio.CancelledError:
            found.cancel()
            raise
        except Exception as error:
            found.set_exception(error)

    async def _all_rows(self, keys: Iterable[Key]) -> dict[Key, Any]:
        rows = await self._rows([key for key in keys if key[2] != _NO_VERSION])
        for key in keys:
            if key[2] == _NO_VERSION:
                rows[key] = await self._database.fetchrow(_REHEARSED, *key[:2])
        return rows

    async def _made(self, row: Any) -> LoadedVersion:
        words, tools = await self._words(row)
        if row["size"] <= _LARGE_BYTES:
            return self._compiled(row, words, tools)
        return await asyncio.to_thread(self._compiled, row, words, tools)

    async def _words(self, row: Any) -> tuple[Vocabulary, Tools]:
        """The vocabulary that a version is compiled with, and its MCP tools."""
        # Everything that a plan calls is granted, so the grants name all of it.
        called = {entry["capability"] for entry in row["grants"]}
        outside = sorted(called - self._vocabulary.capabilities.keys())
        if not outside:
            return self._vocabulary, {}
        words = await self._vocabulary.of(row["workspace_id"], needing=outside)
        return words, {name: words.capabilities.get(name) for name in outside}

    async def _rows(self, keys: Sequence[Key]) -> dict[Key, Any]:
        if not keys:
            return {}
        columns = [list(column) for column in zip(*keys, strict=True)]
        rows = await self._database.fetch(_READ, *columns)
        return {(row["workspace_id"], row["automation_id"], row["version"]): row for row in rows}

    def _compiled(self, row: Any, vocabulary: Vocabulary, tools: Tools) -> LoadedVersion:
        # It may be older than this program, or damaged; compilation checks the rest of it.
        definition = read_definition(row["document"])
        try:
            program = compile_program(definition, vocabulary, self._limits)
        except Invalid as unfit:
            raise _explain_unfit_version(unfit, tools) from None
        grants = tuple(Grant(entry["capability"], entry["params"]) for entry in row["grants"])
        return LoadedVersion(
            program,
            grants,
            row["name"],
            row["created_by"],
            len(encode_canonical(definition.inputs.shape)),
            secrets_named_in(row["document"]),
            _may_cost(program, grants, vocabulary.capabilities),
            accounts_needed(definition.as_dict()["plan"], vocabulary.capabilities),
            tools,
        )


def _not_there() -> NotFound:
    return NotFound("This version of the automation does not exist.", code="no_version")


def _explain_unfit_version(unfit: Invalid, tools: Tools) -> Problem:
    """Why a version cannot be compiled; a missing tool is named."""
    gone = [name for name, tool in tools.items() if tool is None]
    unknown = [finding for finding in unfit.findings if finding.code in _UNKNOWN]
    if not gone or not unknown:
        return unfit
    named = [name for name in gone if any(name in finding.detail for finding in unknown)]
    # A pattern does not name the tools that it matched.
    listed = ", ".join((named or gone)[:_NAMED])
    return Conflict(
        f"This automation calls {listed}, which is no longer available in this workspace.",
        code="tool_gone",
        suggestion="Connect or approve it again, or save a version without it.",
    )


def _may_cost(
    program: CompiledDefinition, grants: Sequence[Grant], known: Mapping[str, Capability]
) -> bool:
    granted = (known.get(grant.capability) for grant in grants)
    steps = (*program.steps, *program.on_failure)
    return any(one is not None and one.may_cost for one in granted) or _report(steps)


def accounts_needed(
    steps: Sequence[Mapping[str, Any]], known: Mapping[str, Capability]
) -> frozenset[str]:
    """The integrations that a plan requires: those of steps that are never skipped."""
    found: set[str] = set()
    for step in steps:
        called = known.get(str(step.get("action")))
        if called is None or step.get("when") is not None:
            continue
        route = called.annotations.route
        if route is not None and route.connection == "needed":
            found.add(route.integration)
        for argument, surface in called.annotations.connected.items():
            named = (step.get("config") or {}).get(argument)
            # A write becomes a draft first, and needs its account when it is sent.
            if surface == "fetch" and isinstance(named, str) and "{" not in named:
                found.add(named)
    return frozenset(found)


def _report(steps: Sequence[CompiledStep]) -> bool:
    """Whether any of the steps, or a nested one, may report costs of its own."""
    return any(
        (step.action is not None and step.action.reports_usage) or _report(step.nested)
        for step in steps
    )


def _has_failed(found: asyncio.Future[LoadedVersion]) -> bool:
    return found.done() and (found.cancelled() or found.exception() is not None)
