"""Harvesting: looking at what tools a server has now, and keeping what came of it.

It is done when a workspace connects, when somebody asks for it, and once a day. A server that
cannot be reached changes nothing: its tools stay as they were, and the reason is shown. Tools
that are held back are told to the people of the workspace, with the automations that use them.
Only whoever connects agrees by that; a look that comes later never does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.connections.mcp_servers.tool_changes import ToolChanges, ToolConsent, compare_tools
from mainspring.connections.mcp_servers.tool_inspection import InspectedTool, inspect_tools
from mainspring.contracts.errors import DeadlineExceeded, LimitExceeded, Problem, describe_for_log
from mainspring.store.database import Database, WorkspaceDatabase
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace.connections import tool_rows
from mainspring.workspace.inbox import post_message

if TYPE_CHECKING:
    from mainspring.connections.mcp_servers.client import McpClientPool
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.contracts.limits import Limits

log = logging.getLogger(__name__)

DAY: Final = 86_400.0
_HOUR: Final = 3_600.0
_LOOK_SECONDS: Final = 60.0
_AT_A_TIME: Final = 4
_MOST_NAMED: Final = 20
_SENTENCES: Final = {
    "changed": "Held back, as the server changed what was agreed to",
    "gone": "Removed: the server no longer offers them",
    "refused": "Held back, as they cannot be used any more",
    "new": "New, and waiting for consent",
}


@dataclass(frozen=True, slots=True)
class McpToolDiscovery:
    """Looks at the tools of connections."""

    database: Database
    outside: McpClientPool
    clock: Clock
    limits: Limits

    async def harvest(
        self, workspace_id: UUID, connection_id: UUID, agreeing: Actor | None = None
    ) -> ToolChanges:
        """Looks now; a problem is kept with the connection, and raised.

        ``agreeing`` is who connects just now, and agrees to what is there by that.
        """
        async with self.outside.looking.turn(workspace_id):
            try:
                looked = await self._looked(workspace_id, connection_id)

                async def work(tx: Transaction) -> ToolChanges:
                    return await self._keep(tx, workspace_id, connection_id, looked, agreeing)

                return await WorkspaceDatabase(self.database, workspace_id).run_retrying(work)
            except Exception as error:
                problem = error if isinstance(error, Problem) else log_and_convert_error(error)
                await self._tell_failure(workspace_id, connection_id, problem)
                raise problem from None

    async def _looked(self, workspace_id: UUID, connection_id: UUID) -> list[InspectedTool]:
        async with self.outside.session(workspace_id, connection_id, fresh=True) as session:
            seen = await session.tools()
        stop = threading.Event()
        try:
            # Hundreds of schemas are more than the loop may stand still for.
            return await self.outside.looking.apart(lambda: inspect_tools(seen, self.limits, stop))
        finally:
            stop.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Looks at what is due, until it is stopped."""
        while not stop.is_set():
            looking = asyncio.create_task(self.once())
            ending = asyncio.create_task(stop.wait())
            await asyncio.wait({looking, ending}, return_when=asyncio.FIRST_COMPLETED)
            for task in (looking, ending):
                task.cancel()
            await asyncio.gather(looking, ending, return_exceptions=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS * random.uniform(0.5, 1.5)):
                    await stop.wait()

    async def once(self) -> int:
        """Looks at all that is due now; answers how many connections that were.

        Whoever takes one has it for some minutes: two processes do not both look.
        """
        done = 0
        try:
            while due := await self._due():
                await asyncio.gather(*(self._quietly(*one) for one in due))
                done += len(due)
        except Exception as error:
            log.warning("Looking at tools failed: %s", describe_for_log(error))
        return done

    async def _due(self) -> list[tuple[UUID, UUID]]:
        async with self.database.transaction() as tx:
            return await tool_rows.claim_due_listings(tx, _AT_A_TIME)

    async def _quietly(self, workspace_id: UUID, connection_id: UUID) -> None:
        # The reason is kept where people see it; whatever it is, others are looked at.
        try:
            async with asyncio.timeout(tool_rows.LEASE_MINUTES * 50.0):
                await self.harvest(workspace_id, connection_id)
        except TimeoutError:
            late = DeadlineExceeded("Its tools could not be checked in time.", code="timed_out")
            await self._tell_failure(workspace_id, connection_id, late)
        except Problem:
            pass

    async def _tell_failure(
        self, workspace_id: UUID, connection_id: UUID, problem: Problem
    ) -> None:
        try:
            async with WorkspaceDatabase(self.database, workspace_id).transaction() as tx:
                await tool_rows.record_tool_listing_failure(
                    tx, workspace_id, connection_id, problem, _HOUR
                )
        except Exception as error:
            log.warning("That tools were not seen could not be kept: %s", describe_for_log(error))

    async def _keep(
        self,
        tx: Transaction,
        workspace_id: UUID,
        connection_id: UUID,
        looked: Sequence[InspectedTool],
        agreeing: Actor | None,
    ) -> ToolChanges:
        held = await tool_rows.lock_connection(tx, workspace_id, connection_id)
        is_first = held.last_harvested_at is None
        # What was granted under this alias was granted for another server.
        heirs = []
        if is_first:
            heirs = await tool_rows.list_alias_users(tx, workspace_id, held.alias)
        consent = None
        if agreeing is not None and is_first and not held.looks_first and not heirs:
            consent = ToolConsent(agreeing.id, self.clock.now())
        before = await tool_rows.list_connection_tools(tx, workspace_id, connection_id)
        settled = compare_tools(connection_id, before, looked, consent)
        await tool_rows.put_tools(tx, workspace_id, settled.put)
        await tool_rows.drop_tools(tx, workspace_id, connection_id, settled.drop)
        if consent is not None:
            await check_tool_quota(tx, workspace_id, self.limits)
        if settled.is_change:
            await tool_rows.increment_generation(tx, workspace_id, connection_id)
        await tool_rows.record_tool_listing(
            tx, workspace_id, connection_id, DAY * random.uniform(0.9, 1.1)
        )
        # Whoever connects is there and sees what has come of it.
        if settled.news and (heirs or not is_first or agreeing is None):
            await _tell(tx, workspace_id, held.alias, settled.news, heirs)
        return settled


async def check_tool_quota(tx: Transaction, workspace_id: UUID, limits: Limits) -> None:
    """Refuses to agree to more than what is kept at hand for one workspace."""
    if await tool_rows.count_agreed_bytes(tx, workspace_id) > limits.workspace_tools_bytes:
        raise LimitExceeded(
            f"The tools that a workspace agrees to have at most "
            f"{limits.workspace_tools_bytes:,} bytes, as text.",
            code="too_many_tools",
            suggestion="Agree to those that are used, or disconnect from a server that is not.",
            retryable=False,
        )


async def _tell(
    tx: Transaction,
    workspace_id: UUID,
    alias: str,
    news: Mapping[str, Sequence[str]],
    heirs: Sequence[str],
) -> None:
    """One message about all that has come up, and whom it touches."""
    ids = [f"{alias}.{name}" for names in news.values() for name in names]
    used = await tool_rows.list_capability_users(tx, workspace_id, ids)
    lines = [
        f"{sentence}: {_format_names(f'{alias}.{name}' for name in news[state])}."
        for state, sentence in _SENTENCES.items()
        if state in news
    ]
    users = sorted({*heirs, *(name for names in used.values() for name in names)})
    if heirs:
        lines.append(
            f"Tools called {alias} were granted before this server was connected, "
            "and would be granted with it."
        )
    if users:
        lines.append(f"Automations that use them: {_format_names(users)}.")
    lines.append(f"Review the connection {alias}, and agree to the tools that may be used.")
    await post_message(
        tx,
        workspace_id,
        title=f"Tools of {alias} wait for you" if set(news) != {"gone"} else f"{alias} lost tools",
        message="\n".join(lines),
        level="warning" if users else "info",
    )


def _format_names(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - _MOST_NAMED
    return ", ".join(found[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
