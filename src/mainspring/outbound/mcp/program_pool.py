"""A pool of the programs behind stdio connections, so that a call need not start one.

A program serves one call at a time. After the call it stays in the pool until it has been idle
for a minute, and the next call of the same connection takes it. It is ended at once when a call
breaks it or is cancelled, when the connection's command or secrets have changed, and when the pool
closes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.outbound.mcp.session import McpSession
from mainspring.outbound.mcp.stdio import McpProgram, read_values, run_program
from mainspring.workspace.connections.rows import McpConnection
from mainspring.workspace.vault import Vault

_IDLE_SECONDS: Final = 60.0
_MOST_IDLE: Final = 8


@dataclass(eq=False, slots=True)
class _PooledProgram:
    """A program with the task that owns it: its streams open and close in that task."""

    connection: McpConnection
    values: Mapping[str, str]
    started: asyncio.Future[McpProgram]
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    expiry: asyncio.TimerHandle | None = None

    def serves(self, connection: McpConnection, values: Mapping[str, str]) -> bool:
        """Whether it was started just as the connection would be started now."""
        return (
            self.connection.command == connection.command
            and self.connection.alias == connection.alias
            and self.values == values
            and self.usable
        )

    @property
    def usable(self) -> bool:
        assert self.task is not None
        return not self.task.done() and self.started.done() and self.started.result().usable

    async def run(self, limits: Limits) -> None:
        try:
            async with run_program(self.connection, self.values, limits) as program:
                self.started.set_result(program)
                await self.stop.wait()
        except Exception as error:
            # One that ends later is reported by the call that notices.
            if not self.started.done():
                self.started.set_exception(error)


class McpProgramPool:
    """The programs of all stdio connections that this process uses."""

    def __init__(
        self,
        vault: Vault,
        limits: Limits,
        *,
        idle_seconds: float = _IDLE_SECONDS,
        most_idle: int = _MOST_IDLE,
    ) -> None:
        self._vault = vault
        self._limits = limits
        self._idle_seconds = idle_seconds
        self._most_idle = most_idle
        # The longest idle come first.
        self._idle: list[_PooledProgram] = []
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    @asynccontextmanager
    async def use(
        self, connection: McpConnection, *, fresh: bool = False
    ) -> AsyncIterator[McpSession]:
        """A session for one use; ``fresh`` starts the program anew, as it is installed now."""
        entry = await self._take(connection, fresh=fresh)
        keep = False
        try:
            yield entry.started.result().session
            keep = True
        except Problem:
            # The tool failed; the program did not, unless its session says so.
            keep = True
            raise
        finally:
            if keep and entry.usable and not self._closed:
                self._put_back(entry)
            else:
                await self._end(entry)

    async def aclose(self) -> None:
        """Ends the programs that are idle, and those in use when their use is over."""
        self._closed = True
        for entry in list(self._idle):
            self._expire(entry)
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _take(self, connection: McpConnection, *, fresh: bool) -> _PooledProgram:
        values = await read_values(connection, self._vault)
        # Decided before anything is awaited: another call may look at the same entries.
        found: _PooledProgram | None = None
        for entry in self._idle_of(connection.id):
            if found is None and not fresh and entry.serves(connection, values):
                found = entry
                self._remove(entry)
            elif fresh or not entry.serves(connection, values):
                self._expire(entry)
        return found or await self._start(connection, values)

    async def _start(self, connection: McpConnection, values: Mapping[str, str]) -> _PooledProgram:
        entry = _PooledProgram(connection, values, asyncio.get_running_loop().create_future())
        entry.task = asyncio.create_task(entry.run(self._limits))
        try:
            await asyncio.shield(entry.started)
        except asyncio.CancelledError:
            entry.task.cancel()
            await self._end(entry)
            raise
        return entry

    def _put_back(self, entry: _PooledProgram) -> None:
        self._idle.append(entry)
        loop = asyncio.get_running_loop()
        entry.expiry = loop.call_later(self._idle_seconds, self._expire, entry)
        if len(self._idle) > self._most_idle:
            self._expire(self._idle[0])

    def _expire(self, entry: _PooledProgram) -> None:
        self._remove(entry)
        task = asyncio.create_task(self._end(entry))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _remove(self, entry: _PooledProgram) -> None:
        self._idle.remove(entry)
        if entry.expiry is not None:
            entry.expiry.cancel()

    async def _end(self, entry: _PooledProgram) -> None:
        """Ends a program and waits until it is gone; it ends also if the caller is cancelled."""
        assert entry.task is not None
        entry.stop.set()
        await asyncio.shield(asyncio.wait([entry.task]))

    def _idle_of(self, connection_id: UUID) -> list[_PooledProgram]:
        return [entry for entry in reversed(self._idle) if entry.connection.id == connection_id]
