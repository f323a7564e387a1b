"""Reading portion by portion, and keeping each before the next one is asked for.

The outside system is read without holding a transaction. A portion is then written in one: its
pages, its events, its problems and, of a poll, from where the next one goes on. So a process that
is lost in between has lost nothing and doubles nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from mainspring.connections.call_context import GateContext
from mainspring.connections.ingestion.cursors import NO_CONNECTION, Cursor, PollCursor
from mainspring.connections.ingestion.items import IngestionOrigin
from mainspring.connections.ingestion.sources import DataSource
from mainspring.connections.ingestion.writing import IngestedBatch, ingest_items
from mainspring.contracts.capability import ConnectionRoute
from mainspring.contracts.errors import Expired, InternalError
from mainspring.contracts.integration import Item, ItemBatch, Poll, Source, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.pages.writer import PageWriter, get_page_writer

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.store.database import Database

# What one call reads at most; a source that never comes to its end is left there.
MOST_PORTIONS: Final = 400
# A poll leaves the rest to the next one, so that no run takes for ever.
POLL_PORTIONS: Final = 100


@dataclass(slots=True)
class IngestionResult:
    """What a call has brought in so far."""

    slugs: list[str] = field(default_factory=list)
    broken: list[UnreadableItem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Pages that were there already and said the same.
    known: int = 0
    # How many items were looked at.
    seen: int = 0
    more: bool = False

    def add(self, ingested: IngestedBatch, portion: ItemBatch) -> None:
        self.slugs += [one.slug for one in ingested.written]
        self.broken += ingested.broken
        self.known += len(ingested.pages) - len(ingested.written)
        self.seen += len(ingested.pages) + len(ingested.broken)
        if portion.note and portion.note not in self.notes:
            self.notes.append(portion.note)

    def join(self, other: IngestionResult) -> None:
        """Adds what another poll of the same call brought."""
        self.slugs += other.slugs
        self.broken += other.broken
        self.notes += [note for note in other.notes if note not in self.notes]
        self.known += other.known
        self.seen += other.seen
        self.more = self.more or other.more


@dataclass(frozen=True, slots=True)
class IngestionReader:
    """One call's way to one integration, opened over its connection."""

    ctx: CallContext
    origin: IngestionOrigin
    by: PageWriter
    house: WorkspaceDatabase
    limits: Limits

    async def fetch(
        self, source: Source, arguments: Mapping[str, Any], most: int | None
    ) -> IngestionResult:
        """Everything that fits the input, to the end or to the most that one call brings."""
        found, cursor = IngestionResult(), None
        for _ in range(MOST_PORTIONS):
            portion = await source.read(self.ctx, arguments, cursor)
            left = None if most is None else most - found.seen
            items = portion.items if left is None else portion.items[:left]
            found.add(await self._kept(items), portion)
            full = left is not None and len(portion.items) >= left
            found.more = portion.more or (left is not None and len(portion.items) > left)
            if full or not portion.more or portion.cursor is None:
                return found
            cursor = portion.cursor
        return found

    async def read(
        self, source: Source, arguments: Mapping[str, Any], most: int | None
    ) -> tuple[list[Item | UnreadableItem], bool]:
        """The items that match the input, without storing them; and whether there are more."""
        found: list[Item | UnreadableItem] = []
        cursor = None
        for _ in range(MOST_PORTIONS):
            portion = await source.read(self.ctx, arguments, cursor)
            found += portion.items
            if most is not None and len(found) >= most:
                return found[:most], portion.more or len(found) > most
            if not portion.more or portion.cursor is None:
                return found, portion.more
            cursor = portion.cursor
        return found, True

    async def poll(self, poll: Poll) -> IngestionResult:
        """What is new since the last time; a place that is not known any more is left for the
        beginning, where what is there already is written no second time.
        """
        account = self.ctx.account
        connection = NO_CONNECTION if account is None else account.connection_id
        settings = {} if account is None else dict(account.settings)
        mark = PollCursor(self.by.workspace_id, connection, poll.name)
        async with self.house.acquire() as link:
            cursor = await mark.read(link)
        found, begun_again = IngestionResult(), False
        for _ in range(POLL_PORTIONS):
            kept = cursor
            try:
                portion = await poll.read(self.ctx, settings, cursor)
            except Expired:
                if begun_again or cursor is None:
                    raise
                begun_again, portion = True, await poll.read(self.ctx, settings, None)
            ingested = await self._moved(portion, mark, kept)
            if ingested is None:
                found.notes.append("Another process has read further meanwhile.")
                return found
            found.add(ingested, portion)
            found.more = portion.more
            if not portion.more or portion.cursor is None:
                return found
            cursor = portion.cursor
        return found

    async def _kept(self, items: Sequence[Item | UnreadableItem]) -> IngestedBatch:
        async def work(tx: Transaction) -> IngestedBatch:
            return await ingest_items(tx, items, self.origin, self.by, self.limits)

        return await self.house.run_retrying(work)

    async def _moved(
        self, portion: ItemBatch, mark: PollCursor, read_from: Cursor
    ) -> IngestedBatch | None:
        """Writes a portion and where the next one begins; None: somebody else has moved on."""
        tries = 0

        async def work(tx: Transaction) -> IngestedBatch | None:
            nonlocal tries
            tries += 1
            stands = await mark.hold(tx)
            # After a broken connection it may have been this very portion that moved it.
            ours = tries > 1 and stands == portion.cursor
            if stands != read_from and not ours:
                return None
            made = await ingest_items(
                tx, portion.items, self.origin, self.by, self.limits, tells_bare=not ours
            )
            if portion.cursor != stands:
                await mark.move(tx, portion.cursor)
            return made

        return await self.house.run_retrying(work)


async def open_reader(
    ctx: CallContext,
    to: DataSource,
    database: Database,
    limits: Limits,
    route: ConnectionRoute | None = None,
) -> IngestionReader:
    """Opens the caller's connection to an integration; a problem where there is none."""
    if not isinstance(ctx, GateContext) or ctx.connect is None:
        raise InternalError("This call cannot open a connection.", retryable=False)
    way = await ctx.connect(route or to.route)
    inside = replace(ctx, open_http=lambda: way.http, account=way.account)
    connection = None if way.account is None else way.account.connection_id
    by = replace(get_page_writer(ctx), source=to.name)
    workspace_database = WorkspaceDatabase(database, ctx.actor.workspace_id)
    return IngestionReader(inside, to.origin(connection), by, workspace_database, limits)
