"""Webhook authentication: tokens, signatures and rate limits.

The webhook is looked up before the body is read, and its rate limit only counts authenticated
requests. Unauthenticated callers get the same response, whatever the reason is.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

from mainspring.contracts.errors import (
    DeadlineExceeded,
    Finding,
    Invalid,
    LimitExceeded,
    Problem,
    Unauthenticated,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.forms import FORM
from mainspring.gate.rate_limit import MOST_BUCKETS, RateLimiter
from mainspring.store.database import Database, convert_driver_error, is_lost_connection
from mainspring.triggers.webhook_refusals import (
    BAD_SIGNATURE,
    NO_CREDENTIALS,
    STALE,
    WebhookRefusals,
)
from mainspring.triggers.webhook_signatures import (
    ReceivedRequest,
    WebhookAuth,
    read_auth,
    remove_credentials,
)
from mainspring.workspace.vault import SecretScope, Vault
from mainspring.workspace.webhooks import WebhookTrigger, find_by_name, find_by_token

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Room for bodies: so many bytes in memory at a time, and only a part of them for one source.


# How often one webhook may call while other workspaces call too.

# How long a workspace that has called is reckoned with.
_COMPANY_SECONDS: Final = 15.0
# How long a call may stand in line.
LINE_SECONDS: Final = 0.4


class FairRateLimiter:
    """Lets in the calls of webhooks, and minds who else is there."""

    def __init__(
        self,
        per_second: int,
        most: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._apart = 1 / per_second
        self._most = most
        self._clock = clock
        self._sleep = sleep
        # When the next call of a webhook has its turn; least recently used first.
        self._turns: OrderedDict[UUID, float] = OrderedDict()
        # How many stand in line, by webhook and by workspace.
        self._lines: Counter[UUID] = Counter()
        self._spaces: Counter[UUID] = Counter()
        # The workspace that called last, and the last one that is another, each with its time.
        self._last: tuple[UUID | None, float] = (None, 0.0)
        self._other: tuple[UUID | None, float] = (None, 0.0)

    async def acquire(self, workspace_id: UUID, webhook_id: UUID) -> float:
        """Zero when the call may go on, once it was its turn; else when to come again."""
        now = self._clock()
        if workspace_id != self._last[0]:
            self._other = self._last
        self._last = (workspace_id, now)
        ahead = self._ahead(webhook_id, now)
        waits = ahead > 0 and self._is_paced(webhook_id, now)
        if ahead > LINE_SECONDS:
            return ahead - LINE_SECONDS if waits else 0.0
        if waits and self._is_full(workspace_id):
            return self._apart
        # Calls without company count too: who has just sent a flood has used up its share.
        self._count(webhook_id, now + ahead + self._apart)
        if waits:
            await self._wait_in_queue(workspace_id, webhook_id, ahead)
        return 0.0

    def get_retry_delay(self, webhook_id: UUID) -> float:
        """Zero when the next call may come; else the seconds until there is room in the line."""
        now = self._clock()
        if not self._is_paced(webhook_id, now):
            return 0.0
        return max(self._ahead(webhook_id, now) - LINE_SECONDS, 0.0)

    def is_behind(self, webhook_id: UUID) -> bool:
        """Whether a webhook is called so much faster than its pace that its line is half full."""
        now = self._clock()
        return self._is_paced(webhook_id, now) and self._ahead(webhook_id, now) > LINE_SECONDS / 2

    def _ahead(self, webhook_id: UUID, now: float) -> float:
        """Seconds until the turn of the next call."""
        return max(self._turns.get(webhook_id, 0.0) - now, 0.0)

    def _count(self, webhook_id: UUID, next_turn: float) -> None:
        self._turns[webhook_id] = next_turn
        self._turns.move_to_end(webhook_id)
        if len(self._turns) > MOST_BUCKETS:
            self._turns.popitem(last=False)

    def _is_full(self, workspace_id: UUID) -> bool:
        """No source has more than half of the slots, and a new source finds one."""
        own = self._spaces[workspace_id]
        return own >= self._most // 2 or (own > 0 and self._spaces.total() >= self._most)

    async def _wait_in_queue(self, workspace_id: UUID, webhook_id: UUID, seconds: float) -> None:
        self._lines[webhook_id] += 1
        self._spaces[workspace_id] += 1
        try:
            await self._sleep(seconds)
        finally:
            _take_away(self._lines, webhook_id)
            _take_away(self._spaces, workspace_id)

    def _is_paced(self, webhook_id: UUID, now: float) -> bool:
        """Somebody else is there, or others of the same webhook are in line: nobody overtakes."""
        other, at = self._other
        return webhook_id in self._lines or (other is not None and now - at < _COMPANY_SECONDS)


def _take_away(counted: Counter[UUID], key: UUID) -> None:
    counted[key] -= 1
    if not counted[key]:
        del counted[key]


# Turns: one caller's flood is not another caller's wait.


@dataclass(slots=True)
class _SourceQueue:
    under_way: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class SourceConcurrencyLimiter:
    """So many turns for each source, handed on in the order of asking."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._lines: dict[Hashable, _SourceQueue] = {}
        self._waiting = 0

    def __len__(self) -> int:
        """Sources that have calls under way."""
        return len(self._lines)

    @property
    def waiting(self) -> int:
        """Calls that stand in a line."""
        return self._waiting

    def waiting_of(self, source: Hashable) -> int:
        """Calls that stand in the line of this source."""
        line = self._lines.get(source)
        return 0 if line is None else len(line.waiting)

    def begin(self, source: Hashable) -> bool:
        """Whether a call's turn begins at once. If so, ``end`` must follow."""
        line = self._lines.setdefault(source, _SourceQueue())
        if line.under_way >= self._share:
            return False
        line.under_way += 1
        return True

    async def wait_for_slot(self, source: Hashable) -> None:
        """For a call whose turn did not begin at once: returns when it has."""
        line = self._lines[source]
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        self._waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It was given a turn in the same moment; somebody else can have it.
                self.end(source)
            raise
        finally:
            self._waiting -= 1

    def end(self, source: Hashable) -> None:
        """Hands the turn to the next of the same line who still waits."""
        line = self._lines[source]
        while line.waiting:
            turn = line.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        line.under_way -= 1
        if not line.under_way:
            del self._lines[source]


# How long the caller of a webhook waits for its receipt, and the answer after that.

# A call that is not on record by then is answered so; it may be recorded a moment later.
RECEIPT_SECONDS: Final = 30.0

Found = TypeVar("Found")


async def retry_lost_connection(work: Callable[[], Awaitable[Found]]) -> Found:
    """A database that is away is waited for as long as a caller waits."""
    ends, pause = time.monotonic() + RECEIPT_SECONDS, 0.02
    while True:
        try:
            return await work()
        except Problem as problem:
            if not is_lost_connection(problem) or time.monotonic() + pause > ends:
                raise
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.5)


def receipt_timeout_error() -> DeadlineExceeded:
    return DeadlineExceeded(
        "The request could not be recorded in time; it may still be recorded.",
        code="not_recorded",
        suggestion="Send it again with the same idempotency key.",
        retry_after=5.0,
    )


MOST_BYTES: Final = 33_554_432
SHARE_BYTES: Final = 8_388_608


class BodyMemoryLimiter:
    """Counts bytes, all together and by source; the largest body fits into either."""

    def __init__(self, largest: int, *, most: int, share: int) -> None:
        self._most = max(most, largest)
        self._share = max(share, largest)
        self._taken = 0
        self._by_source: Counter[Hashable] = Counter()

    @property
    def taken(self) -> int:
        """Bytes that are held now."""
        return self._taken

    def take(self, source: Hashable, size: int) -> None:
        """Counts these bytes, or refuses them; ``give`` must follow what was counted."""
        own = self._by_source[source]
        if self._taken + size > self._most or own + size > self._share:
            raise too_many_requests_error(
                "Too many webhook requests are waiting to be recorded.", 1.0
            )
        self._taken += size
        self._by_source[source] += size

    def give(self, source: Hashable, size: int) -> None:
        self._taken -= size
        self._by_source[source] -= size
        if not self._by_source[source]:
            del self._by_source[source]

    @contextmanager
    def held(self, source: Hashable) -> Iterator[Callable[[int], None]]:
        """For a body that comes in pieces: what counts one, until the end of the block."""
        size = 0

        def count(more: int) -> None:
            nonlocal size
            self.take(source, more)
            size += more

        try:
            yield count
        finally:
            self.give(source, size)


def too_many_requests_error(detail: str, seconds: float) -> LimitExceeded:
    """The answer to a call for which there is no room now."""
    return LimitExceeded(
        detail,
        code="too_many_calls",
        suggestion=(
            "Send it again after Retry-After seconds, and send the following requests less often."
        ),
        retry_after=round(seconds, 3),
    )


# The lookup of webhooks by request credentials, before any of the body is read.

# The cached webhook is compared with the row when a request is recorded.
WEBHOOK_CACHE_SECONDS: Final = 60.0
_MOST_WEBHOOKS: Final = 10_000
_TOGETHER: Final = 256
_PATIENCE_SECONDS: Final = 30.0

# The hash of a token, or the automation and the slug of a request.
Source = bytes | tuple[UUID, str]


class WebhookCache:
    """A cache of webhooks by the credentials of their callers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[Source, tuple[WebhookTrigger, float]] = OrderedDict()
        self._asked: dict[Source, asyncio.Future[WebhookTrigger | None]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Lookups that have not started yet."""
        return len(self._asked)

    async def find(self, source: Source) -> WebhookTrigger | None:
        """The webhook, possibly cached."""
        webhook, since = self._kept.get(source, (None, 0.0))
        age = time.monotonic() - since
        if webhook is None or age >= WEBHOOK_CACHE_SECONDS:
            return await self.look(source)
        # The entry holds the database time of its lookup: advance it by the age of the entry.
        return replace(webhook, now=webhook.now + timedelta(seconds=age))

    async def look(self, source: Source) -> WebhookTrigger | None:
        """The webhook as it is now."""
        asked = self._asked.get(source)
        if asked is None:
            asked = self._asked[source] = asyncio.get_running_loop().create_future()
            asked.add_done_callback(_consume_exception)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer(), name="look-up-callers")
        # A waiting task may be cancelled; others still need the result.
        return await asyncio.shield(asked)

    def keep(self, source: Source, webhook: WebhookTrigger | None) -> None:
        """Cache a fresh result; a missing webhook is removed."""
        if webhook is None:
            self._kept.pop(source, None)
            return
        self._kept[source] = (webhook, time.monotonic())
        self._kept.move_to_end(source)
        if len(self._kept) > _MOST_WEBHOOKS:
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
    """Suppress the log message for a failed lookup that no task waits for."""
    if not asked.cancelled():
        asked.exception()


_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_NOBODY: Final = UUID(int=0)
_FORM: Final = "1 to 255 visible ASCII characters, without spaces"


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """One request, parsed but not authenticated."""

    # None when the id in the path is invalid.
    automation_id: UUID | None
    # The hash of the presented token. None when the request names a slug instead.
    digest: bytes | None
    slug: str = ""
    value: Any = None
    # The payload with the whole body, where that of the run is shortened.
    whole: Any = None
    # What tells one body from another under the same idempotency key, where it is not the value,
    # such as the digests of the files of a form.
    identity: Any = None
    # The raw body, when a signature must be verified.
    raw: bytes = b""
    size: int = 0
    method: str = "POST"
    # The public address that was called, with its query.
    url: str = ""
    # As they were received: names are lower case.
    raw_headers: Sequence[tuple[bytes, bytes]] = ()
    # Whether the token is part of the address.
    in_url: bool = False
    idempotency_keys: Sequence[str] = ()
    # Whether a form was sent; its link takes the place of a webhook's address.
    is_form: bool = False
    # The webhook that was found for it.
    webhook: WebhookTrigger | None = None
    # The id of the run it may start: the same request written twice is one run.
    run_id: UUID = field(default_factory=generate_id)

    @property
    def source(self) -> Source:
        """The lookup key; an invalid one is looked up like any other and finds nothing."""
        if self.digest is not None:
            return self.digest
        usable = self.slug.isascii() and self.slug.isprintable()
        return (self.automation_id or _NOBODY, self.slug if usable else "")

    def read_headers(self) -> dict[str, str]:
        """The headers; one that is repeated cannot be trusted, and is left out."""
        found: dict[str, str] = {}
        repeated: set[str] = set()
        for name, value in self.raw_headers:
            key = name.decode("latin-1")
            if key in found:
                repeated.add(key)
            found[key] = value.decode("latin-1")
        return {key: value for key, value in found.items() if key not in repeated}

    def matches(self, webhook: WebhookTrigger) -> bool:
        """Whether it presents the right token; secrets and signatures are not verified here."""
        if self.is_form or webhook.type == FORM:
            sent = self.is_form and webhook.type == FORM and self.digest is not None
            return sent and webhook.has_token(self.digest or b"")
        if not self.in_url and webhook.automation_id != self.automation_id:
            return False
        if self.digest is not None and not webhook.has_token(self.digest):
            return False
        auth = read_auth(webhook.config)
        if self.in_url:
            return auth.type == "secret_url"
        if auth.uses_token:
            return self.digest is not None
        return auth.is_presented(self.read_headers())

    def as_received(self) -> ReceivedRequest:
        """What a signature covers."""
        return ReceivedRequest(self.method, self.url, self.read_headers(), self.raw)


def unknown_webhook() -> Unauthenticated:
    """The single response to every failed authentication."""
    return Unauthenticated(
        "This request needs a token of one of this automation's webhooks, or a valid signature.",
        code="unknown_webhook",
        suggestion="Send the token in the header 'Authorization: Bearer mwh_…'.",
    )


def sender_key(headers: Sequence[str], value: Any) -> str | None:
    """The idempotency key of a request: from its header, else from its body."""
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
        raise _invalid_request(
            "/idempotency_key", ("The Idempotency-Key header contains a different key.")
        )
    return shown if inside is None else inside


def _invalid_request(pointer: str, detail: str) -> Invalid:
    finding = Finding(pointer, detail, "idempotency_key")
    return Invalid(detail, code="idempotency_key", findings=[finding])


# The signing keys, cached for a few seconds.

SIGNING_KEY_SECONDS: Final = 5.0
_MOST_KEYS: Final = 1_000

Name = tuple[SecretScope, str]

_logger = logging.getLogger(__name__)


class WebhookSecretCache:
    """Secrets of senders by owner and name; None where there is no usable one."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._kept: dict[Name, tuple[str | None, float]] = {}
        self._opening: dict[Name, asyncio.Task[str | None]] = {}

    async def read(self, name: Name, auth: WebhookAuth, *, of_leaver: bool = False) -> str | None:
        """The text of a secret; that of a removed owner only serves to authenticate."""
        kept = self._kept.get(name)
        if kept is not None and time.monotonic() < kept[1]:
            return kept[0]
        opening = self._opening.get(name)
        if opening is None:
            opening = self._opening[name] = asyncio.create_task(self._keep(name, auth, of_leaver))
        # A waiting task may be cancelled; others still need the key.
        return await asyncio.shield(opening)

    async def _keep(self, name: Name, auth: WebhookAuth, of_leaver: bool) -> str | None:
        try:
            key = await self._opened(name, of_leaver)
            if key is not None and not auth.is_usable(key):
                _logger.warning(
                    "Webhook requests are refused: the secret %s is not base64.", name[1]
                )
                key = None
        finally:
            del self._opening[name]
        if len(self._kept) >= _MOST_KEYS:
            self._kept.clear()
        self._kept[name] = (key, time.monotonic() + SIGNING_KEY_SECONDS)
        return key

    async def _opened(self, name: Name, of_leaver: bool) -> str | None:
        secret_scope, secret = name
        take = self._vault.reveal if of_leaver else self._vault.lend
        try:
            return (await take(secret_scope, [secret]))[secret]
        except Problem as problem:
            if is_lost_connection(problem):
                raise
            _logger.warning("Webhook requests are refused: %s", problem.detail)
            return None


_TOO_OFTEN: Final = "This webhook exceeded its rate limit."


class WebhookAuthenticator:
    """Finds the webhook of a request, or refuses the request."""

    def __init__(self, database: Database, vault: Vault, limits: Limits) -> None:
        self._rate = RateLimiter(limits.webhook_burst, limits.webhook_per_second)
        self._fair_rate = FairRateLimiter(
            min(limits.webhook_beside_per_second, limits.webhook_per_second),
            max(limits.webhook_waiting // 2, 1),
        )
        # Separate buckets: an unauthenticated request never uses the rate limit of a webhook.
        self._unauthenticated_rate = RateLimiter(limits.webhook_burst, limits.webhook_per_second)
        self.refusals = WebhookRefusals()
        self._callers = WebhookCache(database)
        self._signing = WebhookSecretCache(vault)

    @property
    def waiting(self) -> int:
        """Requests whose lookup has not started yet."""
        return self._callers.waiting

    async def find(self, request: WebhookRequest, *, fresh: bool = False) -> WebhookTrigger:
        """The webhook of a request; possibly cached, unless it must be fresh."""
        try:
            async with asyncio.timeout(RECEIPT_SECONDS):
                webhook = None if fresh else await self._callers.find(request.source)
                if webhook is None or not request.matches(webhook):
                    # A cached entry may authenticate a request but never refuses one.
                    webhook = await self._callers.look(request.source)
        except TimeoutError:
            raise receipt_timeout_error() from None
        if webhook is None:
            self.refusals.count_unknown()
            raise self._refused(request)
        if not request.matches(webhook):
            self.count_refusal(request, webhook, NO_CREDENTIALS)
            raise self._refused(request)
        return webhook

    def count_refusal(self, request: WebhookRequest, webhook: WebhookTrigger, reason: str) -> None:
        """Count a refused request, with its headers for the owner."""
        headers = remove_credentials(request.read_headers(), read_auth(webhook.config))
        self.refusals.count(webhook, reason, headers)

    async def look_up(self, request: WebhookRequest) -> WebhookTrigger | None:
        """The webhook at the address of a request, which is not authenticated."""
        if self._unauthenticated_rate.get_retry_delay(request.source):
            return None
        try:
            async with asyncio.timeout(RECEIPT_SECONDS):
                webhook = await self._callers.find(request.source)
        except TimeoutError:
            raise receipt_timeout_error() from None
        if webhook is None:
            self._unauthenticated_rate.take(request.source)
        return webhook

    async def again(self, request: WebhookRequest) -> WebhookRequest:
        """The same request for the webhook as it is now."""
        webhook = await self.find(request, fresh=True)
        await self.check_signature(request, webhook)
        return replace(request, webhook=webhook)

    async def check_signature(self, request: WebhookRequest, webhook: WebhookTrigger) -> None:
        """Refuse a request without a valid secret or signature, once its body is available."""
        if await self._is_genuine(request, webhook):
            return
        # A cached secret may authenticate a request but never refuses one: re-read the secret and
        # the time.
        webhook = await self.find(request, fresh=True)
        if not await self._is_genuine(request, webhook):
            secrets = await self.read_secrets(webhook)
            stale = read_auth(webhook.config).is_stale(request.as_received(), secrets, webhook.now)
            self.count_refusal(request, webhook, STALE if stale else BAD_SIGNATURE)
            raise self._refused(request)

    async def read_secrets(self, webhook: WebhookTrigger) -> list[str]:
        """The secrets that the callers of a webhook may use."""
        scope = SecretScope(webhook.workspace_id, webhook.owner_id)
        found: list[str] = []
        auth = read_auth(webhook.config)
        for name in auth.secrets:
            secret = await retry_lost_connection(
                partial(self._signing.read, (scope, name), auth, of_leaver=webhook.suspended)
            )
            if secret is not None:
                found.append(secret)
        return found

    async def _is_genuine(self, request: WebhookRequest, webhook: WebhookTrigger) -> bool:
        auth = read_auth(webhook.config)
        if auth.uses_token:
            return True
        secrets = await self.read_secrets(webhook)
        return auth.is_genuine(request.as_received(), secrets, webhook.now)

    async def charge(self, webhook: WebhookTrigger) -> None:
        """Count a request against the limits of its webhook; it may have to wait for a slot."""
        seconds = self._rate.get_retry_delay(webhook.id)
        seconds = seconds or await self._fair_rate.acquire(webhook.workspace_id, webhook.id)
        seconds = seconds or self._rate.take(webhook.id)
        if seconds:
            raise rate_limit_error(seconds)

    def get_retry_delay(self, webhook: WebhookTrigger) -> float:
        """Seconds until this webhook may be called again; usually zero."""
        return max(
            self._fair_rate.get_retry_delay(webhook.id), self._rate.get_retry_delay(webhook.id)
        )

    def is_flooded(self, webhook: WebhookTrigger) -> bool:
        """Whether this webhook is at its rate limit."""
        return self._fair_rate.is_behind(webhook.id) or self._rate.get_retry_delay(webhook.id) > 0

    def forget(self, source: Source) -> None:
        """Invalidate the cached webhook of a source."""
        self._callers.keep(source, None)

    async def aclose(self) -> None:
        await self._callers.aclose()

    def _refused(self, request: WebhookRequest) -> Problem:
        """The response to an unauthenticated request, rate limited for a flood of them."""
        seconds = self._unauthenticated_rate.take(request.source)
        return rate_limit_error(seconds) if seconds else unknown_webhook()


def rate_limit_error(seconds: float) -> Problem:
    """The response to a request over the rate limit of a webhook."""
    return too_many_requests_error(_TOO_OFTEN, seconds)


def is_rate_limit(problem: Problem) -> bool:
    """Whether the problem is a rate limit: no request of the same caller is accepted until it is
    over.
    """
    return problem.detail == _TOO_OFTEN
