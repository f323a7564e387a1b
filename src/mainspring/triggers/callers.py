"""Who a caller is, found out before anything of the call's body is read.

Nothing is held by these looks: they say whether a call is worth reading, and what to map its
body by. Whether it may come in is decided where it is recorded. Callers that come together
are looked up together, known or not, so a flood of strangers is one question at a time. Only
webhooks that exist are remembered, for a moment.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.store.database import Database, convert_driver_error
from mainspring.workspace.webhooks import WebhookTrigger, find_by_name, find_by_token

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Where a call is recorded, its webhook is compared with what is remembered of it.
SECONDS: Final = 60.0
_MOST: Final = 10_000
_TOGETHER: Final = 256
_PATIENCE_SECONDS: Final = 30.0

# The hash of a token, or the automation and the slug that a call names.
Source = bytes | tuple[UUID, str]


class WebhookCache:
    """Webhooks by what their callers show."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[Source, tuple[WebhookTrigger, float]] = OrderedDict()
        self._asked: dict[Source, asyncio.Future[WebhookTrigger | None]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Callers that nobody has begun to look up."""
        return len(self._asked)

    async def find(self, source: Source) -> WebhookTrigger | None:
        """As it is now, or was a moment ago."""
        webhook, since = self._kept.get(source, (None, 0.0))
        age = time.monotonic() - since
        if webhook is None or age >= SECONDS:
            return await self.look(source)
        # Whatever else was true a moment ago, the time was not.
        return replace(webhook, now=webhook.now + timedelta(seconds=age))

    async def look(self, source: Source) -> WebhookTrigger | None:
        """As it is now."""
        asked = self._asked.get(source)
        if asked is None:
            asked = self._asked[source] = asyncio.get_running_loop().create_future()
            asked.add_done_callback(_consume_exception)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer(), name="look-up-callers")
        # Whoever waits may be cancelled; the others still want the answer.
        return await asyncio.shield(asked)

    def keep(self, source: Source, webhook: WebhookTrigger | None) -> None:
        """For whoever has just looked; one that is not there is forgotten."""
        if webhook is None:
            self._kept.pop(source, None)
            return
        self._kept[source] = (webhook, time.monotonic())
        self._kept.move_to_end(source)
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _answer(self) -> None:
        while self._asked:
            taken = dict(list(self._asked.items())[:_TOGETHER])
            for source in taken:
                del self._asked[source]
            work = partial(find_all, sources=taken, hold=False)
            try:
                found = await self._database.run_retrying(work, seconds=_PATIENCE_SECONDS)
            except asyncio.CancelledError:
                for asked in taken.values():
                    asked.cancel()
                raise
            except Exception as error:
                for asked in taken.values():
                    asked.set_exception(convert_driver_error(error))
                continue
            for source, asked in taken.items():
                webhook = found.get(source)
                self.keep(source, webhook)
                asked.set_result(webhook)


async def find_all(
    tx: Transaction, sources: Iterable[Source], *, hold: bool
) -> dict[Source, WebhookTrigger]:
    """The webhooks of these sources; held, they stay as they are until the commit."""
    wanted = set(sources)
    digests = {source for source in wanted if isinstance(source, bytes)}
    names = {source for source in wanted if isinstance(source, tuple)}
    found: dict[Source, WebhookTrigger] = {}
    if digests:
        found.update((await find_by_token(tx, digests, hold=hold)).items())
    if names:
        found.update((await find_by_name(tx, names, hold=hold)).items())
    return found


def _consume_exception(asked: asyncio.Future[WebhookTrigger | None]) -> None:
    """An answer that nobody waits for any more is no news for the log."""
    if not asked.cancelled():
        asked.exception()
