"""A call of a webhook on its way to becoming a moment: what it shows, and its key."""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid, Unauthenticated
from mainspring.contracts.ids import generate_id
from mainspring.store.database import Database, convert_driver_error
from mainspring.triggers.webhook_signature import WebhookSignature
from mainspring.workspace.webhooks import WebhookTrigger, find_by_name, find_by_token

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Who a caller is, found out before anything of the call's body is read.

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
            work = partial(find_all, sources=taken)
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


async def find_all(tx: Transaction, sources: Iterable[Source]) -> dict[Source, WebhookTrigger]:
    """The webhooks of these sources."""
    wanted = set(sources)
    digests = {source for source in wanted if isinstance(source, bytes)}
    names = {source for source in wanted if isinstance(source, tuple)}
    found: dict[Source, WebhookTrigger] = {}
    if digests:
        found.update((await find_by_token(tx, digests)).items())
    if names:
        found.update((await find_by_name(tx, names)).items())
    return found


def _consume_exception(asked: asyncio.Future[WebhookTrigger | None]) -> None:
    """An answer that nobody waits for any more is no news for the log."""
    if not asked.cancelled():
        asked.exception()


_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_NOBODY: Final = UUID(int=0)
_FORM: Final = "1 to 255 visible ASCII characters, without spaces"


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """One call, read but not yet judged."""

    # None: what stands in the address is no id.
    automation_id: UUID | None
    # The hash of whatever was shown as a token. None: the call names a slug instead.
    digest: bytes | None
    slug: str = ""
    value: Any = None
    # The body as it came, where a signature has to be checked.
    raw: bytes = b""
    size: int = 0
    seal: WebhookSignature | None = None
    idempotency_keys: Sequence[str] = ()
    # Whom it was found to be for, a moment ago.
    webhook: WebhookTrigger | None = None
    # The id of the run it may start: the same knock written twice is one run.
    run_id: UUID = field(default_factory=generate_id)

    @property
    def source(self) -> Source:
        """Whom it says it is for; what cannot be anybody is looked up all the same."""
        if self.digest is not None:
            return self.digest
        usable = self.slug.isascii() and self.slug.isprintable()
        return (self.automation_id or _NOBODY, self.slug if usable else "")

    def may_be_for(self, webhook: WebhookTrigger) -> bool:
        """Whether it shows what this webhook asks for; a signature is not looked into here."""
        if webhook.automation_id != self.automation_id:
            return False
        if self.digest is not None and not webhook.has_token(self.digest):
            return False
        if webhook.signing_secret is None:
            return self.digest is not None
        return self.seal is not None


def unknown_webhook() -> Unauthenticated:
    """One answer for every way in which a call can fail to show that it may come in."""
    return Unauthenticated(
        "This needs the token of one of this automation's webhooks, or its signature.",
        code="unknown_webhook",
        suggestion="Send the token in the header 'Authorization: Bearer mwh_…'.",
    )


def sender_key(headers: Sequence[str], value: Any) -> str | None:
    """The idempotency key of a call: from its header, else from its body."""
    inside = None
    if isinstance(value, dict) and "idempotency_key" in value:
        inside = value["idempotency_key"]
        if not isinstance(inside, str) or not _KEY.fullmatch(inside):
            raise _invalid_request("/idempotency_key", f"idempotency_key must be {_FORM}.")
    return one_key(headers, inside)


def one_key(headers: Sequence[str], inside: str | None) -> str | None:
    """The key that the header and the body of a request agree on."""
    if len(headers) > 1:
        raise _invalid_request("/header/idempotency-key", "Idempotency-Key may be given once.")
    shown = headers[0] if headers else None
    if shown is not None and not _KEY.fullmatch(shown):
        raise _invalid_request("/header/idempotency-key", f"Idempotency-Key must be {_FORM}.")
    if None not in (shown, inside) and shown != inside:
        raise _invalid_request("/idempotency_key", "The header Idempotency-Key says another key.")
    return shown if inside is None else inside


def _invalid_request(pointer: str, detail: str) -> Invalid:
    finding = Finding(pointer, detail, "idempotency_key")
    return Invalid(detail, code="idempotency_key", findings=[finding])
