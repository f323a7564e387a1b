"""Receives webhook requests and records them durably before they are acknowledged.

The sender only waits until the request is recorded. Requests that arrive together are recorded in
one group commit, so that a hundred of them share one flush to disk. The response does not wait for
the run.

The webhook is authenticated before the body is read, and its rate limit only counts authenticated
requests. Everything that may take long (mapping the body, validating the inputs) is done before a
request joins a group: nothing in the transaction of a group depends on what one sender sent. Inside
the transaction the webhook is read again and locked: if it has changed since the request was
prepared, the request is prepared again.

Each request is a firing of its trigger; the dedup key is the sender's idempotency key, the id of a
signed message, or a generated one. A group whose commit result was lost is written again and finds
its own firings.

A request whose inputs do not match the automation's schema is a firing as well: it is recorded as a
failed run, and the sender receives the findings.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import (
    Conflict,
    LimitExceeded,
    NotFound,
    Problem,
    problem_from_dict,
)
from mainspring.contracts.limits import Limits
from mainspring.definition.forms import FORM
from mainspring.definition.strict_json import hash_content
from mainspring.runs.dispatch import Dispatcher, DispatchResult, Recorded, TriggerChanged
from mainspring.runs.run_requests import KEY_LIFE, LEFT, RunRequest
from mainspring.store.database import Database
from mainspring.store.group_commit import ConnectionLossPolicy, GroupWriter
from mainspring.triggers.mapping import WebhookInputMapper
from mainspring.triggers.webhook_auth import (
    MOST_BYTES,
    RECEIPT_SECONDS,
    SHARE_BYTES,
    BodyMemoryLimiter,
    Source,
    SourceConcurrencyLimiter,
    WebhookAuthenticator,
    WebhookRequest,
    receipt_timeout_error,
    retry_lost_connection,
    sender_key,
    too_many_requests_error,
    unknown_webhook,
)
from mainspring.triggers.webhook_bodies import read_methods, read_origins
from mainspring.triggers.webhook_refusals import WebhookRefusals
from mainspring.triggers.webhook_signatures import (
    LARGEST_BODY,
    HandshakeReply,
    answer_subscription,
    answer_validation,
    has_auth,
    read_auth,
)
from mainspring.workspace.vault import Vault
from mainspring.workspace.webhooks import WebhookTrigger

if TYPE_CHECKING:
    from mainspring.store.database import DedicatedConnection


# Group commit of webhook requests: the results of a group.

_ERRORS = """
    SELECT r.id, r.error FROM unnest($1::uuid[], $2::uuid[]) AS k(workspace_id, id)
    JOIN runs r USING (workspace_id, id)
"""


@dataclass(frozen=True, slots=True)
class WebhookReceipt:
    """The run that a request created."""

    run_id: UUID
    status: str
    reason: str | None = None
    # The sender's idempotency key was already known.
    repeated: bool = False
    # Its inputs were invalid, or the webhook is stopped; the run keeps the request.
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class PreparedWebhook:
    """An authenticated request, prepared for the webhook as it was when it was looked up."""

    incoming: WebhookRequest
    webhook: WebhookTrigger
    request: RunRequest


Answer = WebhookReceipt | Problem | TriggerChanged


class WebhookRecorder:
    """Writes groups of requests; ``forget`` invalidates a cached webhook."""

    def __init__(self, dispatcher: Dispatcher, forget: Callable[[Source], None]) -> None:
        self._dispatcher = dispatcher
        self._forget = forget

    async def flush(
        self, connection: DedicatedConnection, prepared: Sequence[PreparedWebhook]
    ) -> Sequence[Answer]:
        """The result of each request; a group whose commit result was lost finds its own runs."""
        made = await self._dispatcher.record(connection, [one.request for one in prepared])
        problems = await _input_problems(connection, prepared, made)
        for one in prepared:
            # Invalidate the cached last fire time, which the inputs of the next request may use.
            if one.request.prepared is not None and one.request.prepared.timed:
                self._forget(one.incoming.source)
        return [_answer(one, problems) for one in made]


async def _input_problems(
    connection: DedicatedConnection,
    prepared: Sequence[PreparedWebhook],
    made: Sequence[Recorded],
) -> dict[UUID, Problem]:
    """The input problems of runs that failed before they started."""
    failed = {
        (moment.webhook.workspace_id, one.run_id)
        for moment, one in zip(prepared, made, strict=True)
        if isinstance(one, DispatchResult)
        and (one.status, one.reason) == ("failed", "invalid_inputs")
    }
    if not failed:
        return {}
    spaces, ids = zip(*sorted(failed), strict=True)
    rows = await connection.fetch(_ERRORS, list(spaces), list(ids))
    return {row["id"]: problem_from_dict(row["error"]) for row in rows if row["error"]}


def _answer(made: Recorded, problems: Mapping[UUID, Problem]) -> Answer:
    if isinstance(made, NotFound):
        # Archived in the meantime: the same as an unknown token.
        return unknown_webhook()
    if isinstance(made, (Problem, TriggerChanged)):
        return made
    problem = problems.get(made.run_id)
    if made.reason == LEFT.reason and made.suspended:
        problem = _suspended_webhook_error()
    return WebhookReceipt(made.run_id, made.status, made.reason, made.existed, problem)


def _suspended_webhook_error() -> Problem:
    return Conflict(
        "This webhook is stopped until a member takes it over; the request is kept until then.",
        code=LEFT.reason,
        suggestion="Do not send it again: the run in this response can be replayed.",
    )


def _find_delivery_id(request: WebhookRequest, webhook: WebhookTrigger, body: Any) -> str | None:
    """The idempotency key: the provider's delivery id, else the sender's key.

    Where a provider has no id, the same signed body again is the same delivery.
    """
    auth = read_auth(webhook.config)
    if not auth.signs_body or auth.provider is None:
        return sender_key(request.idempotency_keys, body)
    headers = request.read_headers()
    found = auth.provider.find_delivery(headers, body)
    if found is None and auth.provider.identified_by_body:
        found = f"sha256:{hashlib.sha256(request.raw).hexdigest()}"
    return found or sender_key(request.idempotency_keys, body)


# Requests of one source that may be recorded together; further ones are queued.
SHARE: Final = 64
# How long requests of a burst wait for others to share a commit.
_GATHER_SECONDS: Final = 0.1
# How often a request is prepared again when its webhook changes concurrently.
_TRIES: Final = 3


class WebhookReceiver:
    """Receives webhook requests, for one process."""

    def __init__(
        self, database: Database, dispatcher: Dispatcher, vault: Vault, limits: Limits
    ) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._authenticator = WebhookAuthenticator(database, vault, limits)
        self._mapper = WebhookInputMapper(limits)
        recorder = WebhookRecorder(dispatcher, self._authenticator.forget)
        # Bursts have a writer of their own, with groups that are worth a flush to disk: they do not
        # delay other senders.
        self._writer, self._floods = (
            GroupWriter[PreparedWebhook, Answer](
                database, recorder.flush, patience=ConnectionLossPolicy(), gather=seconds
            )
            for seconds in (0.0, _GATHER_SECONDS)
        )
        # How many requests of a source are queued at the burst writer.
        self._flooding: Counter[UUID] = Counter()
        # A source prepares one request at a time; cheap requests skip the queue.
        self._preparing = SourceConcurrencyLimiter(1)
        self._turns = SourceConcurrencyLimiter(SHARE)
        self._read = BodyMemoryLimiter(limits.payload_bytes, most=MOST_BYTES, share=SHARE_BYTES)
        self._kept = BodyMemoryLimiter(limits.payload_bytes, most=MOST_BYTES, share=SHARE_BYTES)
        # They are parsed one at a time: they need many times their size in memory.
        self.parsing_large = asyncio.Semaphore(1)
        # Large bodies have memory of their own: unsigned ones cannot hold up other senders.
        self._read_large = BodyMemoryLimiter(
            LARGEST_BODY, most=2 * LARGEST_BODY, share=LARGEST_BODY
        )

    @property
    def waiting(self) -> int:
        """Requests that are not being recorded yet."""
        lines = self._authenticator.waiting + self._preparing.waiting + self._turns.waiting
        return self._writer.waiting + self._floods.waiting + lines

    @property
    def refusals(self) -> WebhookRefusals:
        """The requests that were refused."""
        return self._authenticator.refusals

    def count_refusal(self, request: WebhookRequest, reason: str) -> None:
        """Count a request of a known webhook that was refused because of its body."""
        if request.webhook is not None:
            self._authenticator.count_refusal(request, request.webhook, reason)

    async def receive(self, request: WebhookRequest) -> WebhookRequest:
        """Authenticate the request by its headers and charge its rate limit.

        A webhook that requires a signature is charged by ``admit``, once the signature is verified.
        """
        self._check_waiting()
        webhook = await self._authenticator.find(request)
        auth = read_auth(webhook.config)
        if not auth.signs_body:
            await self._authenticator.check_signature(request, webhook)
            await self._authenticator.charge(webhook)
        return replace(request, webhook=webhook)

    def get_retry_delay(self, request: WebhookRequest) -> float:
        """Seconds until the next request of the same webhook is allowed; usually zero."""
        return (
            0.0 if request.webhook is None else self._authenticator.get_retry_delay(request.webhook)
        )

    @contextmanager
    def reading(self, request: WebhookRequest) -> Iterator[Callable[[int], None]]:
        """Counts the bytes of a body as it arrives; raises ``LimitExceeded`` when there are too
        many.
        """
        source = request.source if request.webhook is None else request.webhook.id
        size = 0
        with self._read.held(source) as count, self._read_large.held(source) as count_large:

            def count_both(more: int) -> None:
                nonlocal size
                ordinary = min(max(self._limits.payload_bytes - size, 0), more)
                count(ordinary)
                if more > ordinary:
                    count_large(more - ordinary)
                size += more

            yield count_both

    async def admit(self, request: WebhookRequest) -> None:
        """Verify the signature, if the webhook requires one, now that the body is available."""
        webhook = request.webhook
        if webhook is not None and read_auth(webhook.config).signs_body:
            await self._authenticator.check_signature(request, webhook)
            await self._authenticator.charge(webhook)

    async def find_cors(self, request: WebhookRequest) -> tuple[Sequence[str], Sequence[str]]:
        """The origins and methods of a webhook, for a request without credentials."""
        self._check_waiting()
        webhook = await self._authenticator.look_up(request)
        if webhook is None:
            return (), ()
        return read_origins(webhook.config), read_methods(webhook.config)

    async def find_with_secrets(
        self, request: WebhookRequest
    ) -> tuple[WebhookTrigger | None, list[str]]:
        """The webhook at an address and its secrets, to sign a sample with."""
        webhook = await self._authenticator.look_up(request)
        if webhook is None:
            return None, []
        return webhook, await self._authenticator.read_secrets(webhook)

    async def answer_subscription(self, request: WebhookRequest) -> HandshakeReply | None:
        """The response to an unsigned request that confirms a subscription."""
        self._check_waiting()
        webhook = await self._authenticator.look_up(request)
        provider = None if webhook is None else read_auth(webhook.config).provider
        if webhook is None or provider is None or not provider.subscribes:
            return None
        secrets = await self._authenticator.read_secrets(webhook)
        return answer_subscription(request.url, secrets)

    async def answer_handshake(
        self, request: WebhookRequest
    ) -> HandshakeReply | Mapping[str, Any] | None:
        """The response to a request that starts no run: a handshake, or an unwanted event."""
        webhook = request.webhook
        if webhook is None or not has_auth(webhook.config):
            return None
        auth = read_auth(webhook.config)
        if auth.type == "secret_url":
            found = answer_validation(request.url, request.value["body"])
            if found is not None:
                return found
        provider = auth.provider
        if provider is not None and provider.handshake is not None:
            secrets = await self._authenticator.read_secrets(webhook)
            body = request.value["body"]
            reply = provider.handshake(request.read_headers(), body, secrets[0] if secrets else "")
            if reply is not None:
                return reply.body
        events = webhook.config.get("events")
        if events and request.value.get("event") not in events:
            return {"status": "ignored", "event": request.value.get("event")}
        return None

    async def take(self, request: WebhookRequest) -> WebhookReceipt:
        """Record a request; returns when its run is durable."""
        self._check_waiting()
        source, size = request.source, request.size
        self._kept.take(source, size)
        written: asyncio.Future[Answer] | None = None
        try:
            async with asyncio.timeout(RECEIPT_SECONDS):
                for _ in range(_TRIES):
                    moment = await self._prepared(request)
                    written = await self._submit(moment)
                    # Continues when the sender disconnects: it may retry with the same idempotency
                    # key.
                    await asyncio.wait((written,))
                    answer = written.result()
                    if isinstance(answer, WebhookReceipt):
                        return answer
                    if isinstance(answer, Problem):
                        raise answer
                    request = await self._authenticator.again(request)
            raise too_many_requests_error("This webhook keeps being changed.", 1.0)
        except TimeoutError:
            raise receipt_timeout_error() from None
        finally:
            if written is None or written.done():
                self._kept.give(source, size)
            else:
                written.add_done_callback(lambda _: self._kept.give(source, size))

    async def aclose(self) -> None:
        """Record everything that is queued, then stop."""
        await self._writer.aclose()
        await self._floods.aclose()
        await self._authenticator.aclose()
        self._mapper.close()

    def _check_waiting(self) -> None:
        if self.waiting >= self._limits.webhook_waiting:
            raise too_many_requests_error(
                "Too many webhook requests are waiting to be recorded.", 1.0
            )

    async def _prepared(self, webhook_request: WebhookRequest) -> PreparedWebhook:
        """Prepare the firing of a request; no lock or connection is held meanwhile."""
        if webhook_request.webhook is None:
            webhook_request = await self._authenticator.again(webhook_request)
        webhook = webhook_request.webhook
        assert webhook is not None
        if self._preparing.waiting_of(webhook.id) >= max(1, self._limits.webhook_waiting // 2):
            raise too_many_requests_error(
                "Too many requests of this webhook are waiting to be recorded.", 1.0
            )
        if not self._preparing.begin(webhook.id):
            await self._preparing.wait_for_slot(webhook.id)
        try:
            request = await self._request(webhook_request, webhook)
            prepared = await retry_lost_connection(lambda: self._dispatcher.prepare(request))
        finally:
            self._preparing.end(webhook.id)
        return PreparedWebhook(webhook_request, webhook, prepared)

    async def _request(self, request: WebhookRequest, webhook: WebhookTrigger) -> RunRequest:
        whole = request.value if request.whole is None else request.whole
        body = whole["body"] if has_auth(webhook.config) else whole
        key = _find_delivery_id(request, webhook, body)
        identity = body if request.identity is None else request.identity
        inputs, broken = await self._map_inputs(request, webhook)
        if webhook.type == FORM:
            # The same values again are the same submission, whenever they are sent.
            inputs = body["values"]
            body = request.identity
        return RunRequest(
            webhook.workspace_id,
            webhook.automation_id,
            webhook.type,
            webhook.id,
            inputs=inputs,
            static=webhook.inputs,
            payload=request.value,
            key=None if key is None else f"key:{key}",
            run_id=request.run_id,
            key_expires_at=webhook.now + KEY_LIFE,
            body_hash=None if key is None else hash_content(identity),
            last_fired_at=webhook.last_fired_at,
            measured=True,
            problem=broken,
            trigger_mark=webhook.mark,
        )

    async def _map_inputs(
        self, request: WebhookRequest, webhook: WebhookTrigger
    ) -> tuple[Mapping[str, Any], Problem | None]:
        mapping = webhook.config.get("input_mapping")
        if not mapping:
            return {}, None
        value = request.value if request.whole is None else request.whole
        try:
            return await self._mapper.map_inputs(mapping, value, request.size), None
        except LimitExceeded:
            raise
        except Problem as problem:
            return {}, problem

    async def _submit(self, prepared: PreparedWebhook) -> asyncio.Future[Answer]:
        source = prepared.webhook.id
        if not self._turns.begin(source):
            await self._turns.wait_for_slot(source)
        # A webhook at its rate limit counts as a burst for now; later requests must not overtake
        # those in the burst writer.
        if source in self._flooding or self._authenticator.is_flooded(prepared.webhook):
            self._flooding[source] += 1
            written = self._floods.submit(prepared)
            written.add_done_callback(lambda _: self._release_flood_slot(source))
        else:
            written = self._writer.submit(prepared)
        written.add_done_callback(lambda _: self._turns.end(source))
        return written

    def _release_flood_slot(self, source: UUID) -> None:
        self._flooding[source] -= 1
        if not self._flooding[source]:
            del self._flooding[source]
