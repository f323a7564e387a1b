"""Asking a model on a meter: room is set aside before, what it took is booked after.

Before an ask, tokens and money for the most it can take are promised under the workspace's
lock, and what the model may write is cut to what is left of the run's tokens. Afterwards the
reply says what it really took. An ask that was broken off while the model was at it is booked
at its most: what the provider made of it cannot be known, and money that may be spent must not
look as if it were there. One that the provider refused costs nothing, and neither does one whose
request had not left yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.clock import Clock
from mainspring.contracts.context import RunRef
from mainspring.contracts.display_text import format_usd
from mainspring.contracts.errors import BudgetExceeded, DeadlineExceeded, Finding, Invalid, Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import (
    Model,
    ModelCatalog,
    ModelMessage,
    ModelReply,
    ModelRequest,
    Price,
    Usage,
    is_refusal,
)
from mainspring.definition.strict_json import dumps
from mainspring.gate.budget_reservations import (
    BudgetReservation,
    build_reservation,
    find_available_tokens,
    read_tokens_used,
    reserve_budget,
    settle_run_budget,
)
from mainspring.gate.capability_call import CapabilityCall, canonical_json
from mainspring.gate.run_tokens import hold_pass
from mainspring.outbound.models.model_replies import drop_deep_arguments, tidy_name
from mainspring.outbound.request_tracking import RequestSendTracker

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database


# The ledger of models: a row for every ask, written where its cost is booked.

_ADD = """
    INSERT INTO llm_usage (workspace_id, id, at, automation_id, run_id, step, item, attempt, call,
        caller, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd, price, ms,
        reported)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
        $17::text::jsonb, $18, $19)
    ON CONFLICT (workspace_id, id) DO NOTHING
    RETURNING id
"""
_OF_RUN = """
    SELECT id, at, step, item, attempt, call, caller, provider, model, input_tokens,
        output_tokens, cached_tokens, cost_usd, price, ms, reported
    FROM llm_usage WHERE workspace_id = $1 AND run_id = $2 ORDER BY at, id
"""
# What is settled outlives neither its day by much nor its run; what a call has cost stands in
# its record too. The larger of the two is the truth after a crash between them.
_USED = """
    SELECT u.tokens, u.reported, coalesce((
        SELECT sum(m.spent) FROM reservations m WHERE m.workspace_id = $1 AND m.run_id = $2
        ), 0) AS settled
    FROM (
        SELECT coalesce(sum(input_tokens + output_tokens), 0)::int8 AS tokens,
            coalesce(sum(cost_usd) FILTER (WHERE reported), 0) AS reported
        FROM llm_usage WHERE workspace_id = $1 AND run_id = $2
    ) AS u
"""


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One ask of a model with its place."""

    workspace_id: UUID
    id: UUID
    at: datetime
    run: RunRef | None
    call: int
    # What asked: a capability's id, or what reported it.
    caller: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class RunModelUsage:
    """What a run has used of models so far, whoever worked on it."""

    tokens: int = 0
    # What the run itself said that it cost, which stands in no record of a call.
    reported: Decimal = Decimal(0)
    # What is booked for its calls and its reports together.
    settled: Decimal = Decimal(0)


async def write_usage(tx: Transaction, row: UsageRow) -> bool:
    """Adds a row inside the caller's transaction; whether it is new."""
    run, used = row.run, row.usage
    place = ("", "", 1) if run is None else (run.step, run.item, run.attempt)
    made = await tx.fetchrow(
        _ADD,
        row.workspace_id,
        row.id,
        row.at,
        None if run is None else run.automation_id,
        None if run is None else run.id,
        *place,
        row.call,
        row.caller,
        used.provider,
        used.model,
        used.input_tokens,
        used.output_tokens,
        used.cached_tokens,
        used.cost_usd,
        dumps(used.price),
        used.ms,
        used.reported,
    )
    return made is not None


async def read_usage(tx: Transaction, workspace_id: UUID, run_id: UUID) -> Sequence[dict[str, Any]]:
    """Every ask of a run, in the order in which they were answered."""
    return [dict(row) for row in await tx.fetch(_OF_RUN, workspace_id, run_id)]


async def read_run_usage(tx: Transaction, workspace_id: UUID, run_id: UUID) -> RunModelUsage:
    """What a run has used, for whoever takes it over."""
    row = await tx.fetchrow(_USED, workspace_id, run_id)
    return RunModelUsage(row["tokens"], row["reported"], row["settled"])


# What a provider puts around a conversation and around each message of it, at most.
_AROUND_ALL: Final = 64
_AROUND_ONE: Final = 16
# What a provider says of its own to a model that is given tools, at most.
_AROUND_TOOLS: Final = 1_024
# A reply that says more than this is not believed.
_MOST_TOKENS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class MeteredRequest:
    """One ask that is over: what was promised to it, and what it took, if anything."""

    promise: BudgetReservation
    row: UsageRow | None = None

    @property
    def cost(self) -> Decimal:
        return Decimal(0) if self.row is None else self.row.usage.cost_usd


def reads_at_most(request: ModelRequest) -> int:
    """An upper bound for the tokens a model reads, without knowing how it cuts text.

    Every token stands for a byte at least, so no text is more tokens than it has bytes. Money
    is promised by this.
    """
    return _estimate_tokens(request, _bytes_of)


def reads_usually(request: ModelRequest) -> int:
    """What a model reads of a text as people write it: two plain characters a token.

    Room in tokens is given by this, so that a long text is not turned away which takes a
    quarter of its bytes. While an ask is under way its promise holds ``reads_at_most``, so
    the others find only what it cannot take. Thus a text of another kind crosses a cap by
    the difference of the one ask that was let in last, and by no more.
    """
    return _estimate_tokens(request, _tokens_usually)


def _estimate_tokens(request: ModelRequest, tokens_of: Callable[[str], int]) -> int:
    texts = [text for message in request.messages for text in _texts_of(message)]
    if request.system is not None:
        texts.append(request.system)
    for tool in request.tools:
        texts += [tool.name, tool.description, canonical_json(tool.input_schema).decode()]
    around = _AROUND_ALL if not request.tools else _AROUND_ALL + _AROUND_TOOLS
    return around + sum(_AROUND_ONE + tokens_of(text) for text in texts)


def _texts_of(message: ModelMessage) -> list[str]:
    texts = [message.content, *([message.kept] if message.kept else [])]
    for call in message.calls:
        given = call.arguments
        texts += [
            call.id,
            call.name,
            given if isinstance(given, str) else canonical_json(given).decode(),
        ]
    for result in message.results:
        texts += [result.id, result.name, result.content]
    return texts


def _bytes_of(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _tokens_usually(text: str) -> int:
    size = _bytes_of(text)
    plain = size if text.isascii() else sum(character < "\x80" for character in text)
    return (plain + 1) // 2 + size - plain


@dataclass(slots=True)
class ModelMeter:
    """The asks of one call."""

    models: ModelCatalog
    database: Database
    clock: Clock
    limits: Limits
    ask: CapabilityCall
    caller: str
    asked: list[MeteredRequest] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Asks once; the answer, or the problem of the provider or of the purse."""
        model = await self.models.find(self.ask.actor.workspace_id, request.model)
        price = _price(model)
        request = replace(request, model=model.name)
        reads = reads_at_most(request)
        promise, writes = await self._promised(request, price, reads)
        request = replace(request, max_tokens=writes)
        started = self.clock.monotonic()

        def took(usage: Usage) -> None:
            ms = round((self.clock.monotonic() - started) * 1000)
            known = replace(usage, price=price.as_dict(), ms=ms)
            self.asked.append(MeteredRequest(promise, self._row(promise, known)))

        most = Usage(tidy_name(model.name), reads, writes, price.most(reads, writes))
        departure = RequestSendTracker()
        try:
            with departure:
                answer = await self._answered(model, request)
            # A source of models that is not ours may hand on whatever it was told.
            reply = drop_deep_arguments(answer, self.limits.json_depth)
            used = _usage_of(reply, price, model.name) or most
        except BaseException as error:
            if departure.is_held and isinstance(error, Problem):
                error.unsent = True
            if departure.is_held or is_refusal(error):
                self.asked.append(MeteredRequest(promise))
            else:
                took(most)
            raise
        took(used)
        return reply

    async def _promised(
        self, request: ModelRequest, price: Price, reads: int
    ) -> tuple[BudgetReservation, int]:
        """Sets the most aside that it can take; how much the model may write."""
        ask, usd = self.ask, Decimal(0)
        wanted = _affordable(request, price, reads)
        lasts = timedelta(seconds=self.limits.reservation_seconds)
        try:
            async with self.database.transaction() as tx:
                await hold_pass(tx, ask)
                writes = await find_available_tokens(tx, ask, reads_usually(request), wanted)
                most = price.most(reads, writes)
                ask.budget.reserve(most)
                usd = most
                promise = replace(build_reservation(ask, generate_id(), usd), tokens=reads + writes)
                await reserve_budget(tx, promise, ask, lasts)
        except BaseException:
            ask.budget.settle(usd, Decimal(0))
            raise
        return promise, writes

    async def _answered(self, model: Model, request: ModelRequest) -> ModelReply:
        key = f"{self.ask.key}/{len(self.asked)}" if self.asked else self.ask.key
        seconds = self.limits.model_seconds
        try:
            async with asyncio.timeout(seconds):
                return await model.complete(request, key=key)
        except TimeoutError:
            raise DeadlineExceeded(
                f"The model did not respond within {seconds} seconds.", code="model_timeout"
            ) from None

    def _row(self, reservation: BudgetReservation, usage: Usage) -> UsageRow:
        ask = self.ask
        return UsageRow(
            ask.actor.workspace_id,
            reservation.id,
            self.clock.now(),
            ask.run,
            ask.number,
            self.caller,
            usage,
        )


def _price(model: Model) -> Price:
    if model.price is not None:
        return model.price
    detail = f"The price of the model {model.name!r} is unknown, so it was not called."
    way_out = (
        "Choose another model, or ask the operator to set a price for this one: `mainspring "
        f"models price {model.name} --input USD --output USD`."
    )
    raise Invalid(
        detail,
        code="unknown_price",
        findings=[Finding("/model", detail, "unknown_price", way_out)],
        suggestion=way_out,
    )


def _affordable(request: ModelRequest, price: Price, reads: int) -> int:
    """How much it may write for what the ask itself may cost, but never nothing."""
    cap = request.max_usd
    if cap is None:
        return request.max_tokens
    reading, one = price.most(reads, 0), _dearest_token(price, reads)
    if reading + one > cap:
        raise BudgetExceeded(
            f"This call may cost at most {format_usd(cap)}, but the prompt and one token of output "
            f"can cost {format_usd(reading + one)}; it was not made.",
            code="call_budget",
            suggestion="Raise max_usd, send less text, or name a cheaper model.",
        )
    return min(request.max_tokens, int((cap - reading) / one)) if one else request.max_tokens


def _dearest_token(price: Price, reads: int) -> Decimal:
    """The most that one token of an answer can cost after so much was read."""
    one = price.most(0, 1)
    if price.above is None or reads <= price.above[0]:
        return one
    return max(one, _dearest_token(price.above[1], reads))


def _usage_of(reply: ModelReply, price: Price, asked: str) -> Usage | None:
    """What a reply says that it took; None when that cannot be."""
    counts = (reply.input_tokens, reply.output_tokens, reply.cached_tokens, reply.stored_tokens)
    if any(type(count) is not int or not 0 <= count <= _MOST_TOKENS for count in counts):
        return None
    cached = min(reply.cached_tokens, reply.input_tokens)
    usd = price.cost(reply.input_tokens, reply.output_tokens, cached, reply.stored_tokens)
    return Usage(
        reply.model or tidy_name(asked),
        reply.input_tokens,
        reply.output_tokens,
        usd,
        cached,
        reply.provider,
    )


async def book(tx: Transaction, ask: CapabilityCall, asked: Sequence[MeteredRequest]) -> None:
    """Books asks that are over, each with its row, in the caller's transaction."""
    for one in asked:
        await book_one(tx, ask, one)


async def book_one(tx: Transaction, ask: CapabilityCall, one: MeteredRequest) -> None:
    """Books one ask that is over, with its row."""
    await settle_run_budget(tx, ask.budget, one.promise, one.cost)
    if one.row is not None:
        await write_usage(tx, one.row)
        if ask.run is not None:
            used, _ = await read_tokens_used(tx, ask.actor.workspace_id, ask.run.id)
            ask.budget.tokens = max(ask.budget.tokens, used)
