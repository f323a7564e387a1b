"""Harvesting: looking at what tools a server has now, and keeping what came of it.

It is done when a workspace connects, when somebody asks for it, and once a day. A server that
cannot be reached changes nothing: its tools stay as they were, and the reason is shown. Tools
that are held back are told to the people of the workspace, with the automations that use them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.errors import Problem, for_log
from mainspring.gate.outside.looking import Looked, look_at
from mainspring.gate.outside.settling import Consent, Settled, settle
from mainspring.store.database import Database
from mainspring.store.outage import logged_problem
from mainspring.store.walls import Walled
from mainspring.workspace.connections import tool_rows
from mainspring.workspace.inbox import leave_message

if TYPE_CHECKING:
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.limits import Limits
    from mainspring.gate.outside.client import Outside

log = logging.getLogger(__name__)

DAY: Final = 86_400.0
_HOUR: Final = 3_600.0
_LOOK_SECONDS: Final = 60.0
_AT_A_TIME: Final = 4
_MOST_NAMED: Final = 20
_SENTENCES: Final = {
    "changed": "Held back, as the server changed what was agreed to",
    "gone": "Gone, as the server has them no more",
    "refused": "Held back, as they cannot be used any more",
    "new": "New, and waiting for somebody to agree",
}


@dataclass(frozen=True, slots=True)
class Harvester:
    """Looks at the tools of connections."""

    database: Database
    outside: Outside
    clock: Clock
    limits: Limits

    async def harvest(self, workspace_id: UUID, connection_id: UUID) -> Settled:
        """Looks now; a problem is kept with the connection, and raised."""
        try:
            async with self.outside.session(workspace_id, connection_id) as session:
                seen = await session.tools()
            # Thousands of schemas are more than the loop may stand still for.
            looked = await asyncio.to_thread(lambda: [look_at(one, self.limits) for one in seen])
        except Exception as error:
            problem = error if isinstance(error, Problem) else logged_problem(error)
            await self._tell_failure(workspace_id, connection_id, problem)
            raise problem from None
        inside = Walled(self.database, workspace_id)

        async def work(tx: Transaction) -> Settled:
            return await self._keep(tx, workspace_id, connection_id, looked)

        return await inside.run_retrying(work)

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
            log.warning("Looking at tools failed: %s", for_log(error))
        return done

    async def _due(self) -> list[tuple[UUID, UUID]]:
        async with self.database.transaction() as tx:
            return await tool_rows.take_due(tx, _AT_A_TIME)

    async def _quietly(self, workspace_id: UUID, connection_id: UUID) -> None:
        # The reason is kept where people see it.
        with contextlib.suppress(Problem, TimeoutError):
            async with asyncio.timeout(tool_rows.LEASE_MINUTES * 50.0):
                await self.harvest(workspace_id, connection_id)

    async def _tell_failure(
        self, workspace_id: UUID, connection_id: UUID, problem: Problem
    ) -> None:
        async with Walled(self.database, workspace_id).transaction() as tx:
            await tool_rows.set_not_harvested(tx, workspace_id, connection_id, problem, _HOUR)

    async def _keep(
        self, tx: Transaction, workspace_id: UUID, connection_id: UUID, looked: Sequence[Looked]
    ) -> Settled:
        held = await tool_rows.hold_connection(tx, workspace_id, connection_id)
        is_first = held.last_harvested_at is None
        consent = None
        if is_first and not held.looks_first:
            consent = Consent(held.created_by, self.clock.now())
        before = await tool_rows.tools_of(tx, workspace_id, connection_id)
        settled = settle(connection_id, before, looked, consent)
        await tool_rows.put_tools(tx, workspace_id, settled.put)
        await tool_rows.drop_tools(tx, workspace_id, connection_id, settled.drop)
        if settled.is_change:
            await tool_rows.count_on(tx, workspace_id, connection_id)
        await tool_rows.set_harvested(
            tx, workspace_id, connection_id, DAY * random.uniform(0.9, 1.1)
        )
        if settled.news and not is_first:
            await _tell(tx, workspace_id, held.alias, settled.news)
        return settled


async def _tell(
    tx: Transaction, workspace_id: UUID, alias: str, news: Mapping[str, Sequence[str]]
) -> None:
    """One message about all that has come up, and whom it touches."""
    ids = [f"{alias}.{name}" for names in news.values() for name in names]
    used = await tool_rows.users_of(tx, workspace_id, ids)
    lines = [
        f"{sentence}: {_listed(f'{alias}.{name}' for name in news[state])}."
        for state, sentence in _SENTENCES.items()
        if state in news
    ]
    users = sorted({name for names in used.values() for name in names})
    if users:
        lines.append(f"Automations that use them: {_listed(users)}.")
    lines.append(f"Look at the connection {alias}, and agree to what you want to be used.")
    await leave_message(
        tx,
        workspace_id,
        title=f"Tools of {alias} wait for you" if set(news) != {"gone"} else f"{alias} lost tools",
        message="\n".join(lines),
        level="warning" if users else "info",
    )


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - _MOST_NAMED
    return ", ".join(found[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
