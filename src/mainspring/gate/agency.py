"""What the gate gives an agent: turns of a model, and tools, both answered once.

The agent's own call passed the gate like any other. From here it asks a model turn by turn and
calls capabilities with the run's own posture: the same grants, the same drafts, the same purse
and the same fence. A finished turn and a finished call are on record before the agent hears of
them, each under a name that is the same in every try.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.agent import AGENT_RUN, AgentTool, AgentTurn, ToolCallResult
from mainspring.contracts.capability import Capability
from mainspring.contracts.clock import Clock
from mainspring.contracts.errors import (
    BudgetExceeded,
    InternalError,
    PermissionDenied,
    Problem,
    describe_for_log,
)
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelCatalog, ModelReply, ModelRequest
from mainspring.contracts.registry import WorkspaceVocabularies
from mainspring.definition.tool_patterns import is_pattern, match_pattern
from mainspring.gate.agent_turns import (
    AgentRecord,
    RecordedTurn,
    begin,
    other_question,
    read_conversation,
    read_ends,
    reply_as_dict,
    reply_from_dict,
    unkept,
    write_turn,
)
from mainspring.gate.call_state import NOT_GRANTED, CallRecorder, CallState, unknown
from mainspring.gate.capability_call import (
    LEASE_LOST,
    CapabilityCall,
    CapabilityResult,
    check_fence,
    mask_result,
)
from mainspring.gate.capability_offers import restrict_to_grants
from mainspring.gate.policy import may_wait
from mainspring.gate.run_tokens import ENDED, FIRST_NUMBER, hold_pass
from mainspring.gate.transcripts import keep_transcript
from mainspring.gate.usage_meter import MeteredRequest, ModelMeter, book, reads_usually
from mainspring.store.database import WorkspaceDatabase
from mainspring.store.shield import run_to_completion
from mainspring.workspace.artifacts.blobs import BlobStore

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Connection, Database

log = logging.getLogger(__name__)

# An end that the conversation itself came to: a further try begins another one.
ENDS: Final = re.compile(r"agent_[a-z_]+")
# What ends the run, or the agent with it, and is no news for a model.
_FATAL: Final = frozenset({LEASE_LOST, ENDED, "call_mismatch"})


@dataclass(slots=True)
class AgentServices:
    """The parts of the gate that an agent's turns and calls go through."""

    vocabulary: WorkspaceVocabularies
    database: Database
    clock: Clock
    limits: Limits
    models: ModelCatalog
    keeping: CallRecorder
    blobs: BlobStore
    call: Callable[[CapabilityCall], Awaitable[CapabilityResult]]


@dataclass(slots=True)
class GateAgentSession:
    """One agent's conversation, from its beginning or from where it was left."""

    house: AgentServices
    passage: CallState
    of: AgentRecord | None = None
    # What the conversation has cost and taken up to here, the same in every try.
    spent: Decimal = field(default=Decimal(0))
    _ms: int = 0
    # The turns of the agent that is rehearsed, where it was given the same task.
    _then: Mapping[int, RecordedTurn] = field(default_factory=dict)

    @property
    def _ask(self) -> CapabilityCall:
        return self.passage.ask

    @property
    def _inside(self) -> WorkspaceDatabase:
        return WorkspaceDatabase(self.house.database, self._ask.actor.workspace_id)

    @property
    def _open(self) -> AgentRecord:
        if self.of is None:
            raise InternalError("The conversation has not started.", retryable=False)
        return self.of

    @property
    def seconds(self) -> float:
        return self._ms / 1000

    async def begin(self, material: bytes) -> str:
        """Finds what is on record, or writes the first line of it."""
        self.of = await self.house.database.run_retrying(self._found)
        first = self.of.turns.get(0)
        if first is None:
            first = await self._inside.run_retrying(lambda tx: self._begin_turn(tx, material))
            self.of.turns[0] = first
        if first.asked_hash != material:
            raise other_question(self._ask.key)
        if self._ask.memory is not None:
            place = (self.of.run.step, self.of.run.item, self.of.name)
            self._then = self._ask.memory.talk(material, place)
        return str(first.reply["mark"])

    async def _begin_turn(self, tx: Transaction, material: bytes) -> RecordedTurn:
        await check_fence(tx, self._ask)
        return await begin(tx, self._open, material, self.house.clock.now())

    async def _found(self, tx: Connection) -> AgentRecord:
        ask = self._ask
        if ask.run is None:
            raise PermissionDenied("Only runs can use agents.", code="agent_outside_run")
        space, run, name = ask.actor.workspace_id, ask.run, ask.name or str(ask.number)
        if ask.number >= FIRST_NUMBER:
            # What comes with a token is never asked for again by the same owner and number.
            return AgentRecord(space, run, f"t{ask.fence}.{run.attempt}.{name}")
        ends = await read_ends(tx, space, run, AGENT_RUN, name, ask.number)
        over = [place for place, end in enumerate(ends, 1) if ENDS.fullmatch(end.code or "")]
        if over:
            name, ends = f"{name}.{len(over) + 1}", ends[over[-1] :]
        found = await read_conversation(tx, space, run, name)
        models = sum((turn.cost for turn in found.turns.values()), Decimal(0))
        # What an earlier try has in its own record is not counted again.
        self.passage.paid = max(models - sum((end.cost for end in ends), Decimal(0)), Decimal(0))
        return found

    async def tools(self, wanted: Sequence[str]) -> Sequence[AgentTool]:
        names = [name for name in wanted if not is_pattern(name)]
        words = await self.house.vocabulary.of(self._ask.actor.workspace_id, needing=names)
        granted = {grant.capability for grant in self._ask.posture.grants}
        found: dict[str, AgentTool] = {}
        for one in wanted:
            if is_pattern(one):
                ids: Iterator[str] | list[str] = (
                    name for name in match_pattern(one, words.capabilities) if name in granted
                )
            else:
                ids = [one]
            for name in ids:
                capability = words.capabilities.get(name)
                if capability is None:
                    raise unknown(name, words.capabilities)
                found[name] = self._offered(capability)
        return list(found.values())

    def _offered(self, capability: Capability) -> AgentTool:
        grants = [one for one in self._ask.posture.grants if one.capability == capability.id]
        if not grants or not capability.grantable or capability.id == AGENT_RUN:
            raise PermissionDenied(
                f"This automation was not granted {capability.id}, so its agent cannot use it.",
                code=NOT_GRANTED,
                suggestion="Add the grant to the definition, or remove the tool from the list.",
            )
        run = self._ask.run
        return AgentTool(
            capability.id,
            capability.description,
            restrict_to_grants(capability.input_schema, grants),
            waits=may_wait(capability, self._ask.posture, run.step if run else ""),
            secrets=capability.annotations.only_secrets,
        )

    async def turn(
        self, number: int, request: ModelRequest, asked: bytes, room: int | None
    ) -> AgentTurn:
        before = self._open.turns.get(number)
        if before is not None:
            if before.asked_hash != asked:
                raise other_question(self._ask.key)
            self._take(before.cost, before.ms)
            return AgentTurn(reply_from_dict(before.reply), before.cost, before.ms, before.at)
        if self._ask.memory is not None:
            then = self._then.get(number)
            if then is not None and then.asked_hash == asked:
                self._take(Decimal(0), then.ms)
                return await self._finished(number, reply_from_dict(then.reply), asked, (), then.ms)
            self._ask.memory.check_live("A model")
        request = _within(request, room)
        took: list[MeteredRequest] = []
        meter = self._meter(number, took)
        started = self.house.clock.monotonic()
        try:
            reply = await meter.complete(request)
        except BaseException:
            self._count(took)
            if took:
                await run_to_completion(self._booked_alone(took))
            raise
        self._count(took)
        ms = self._since(started)
        self._take(Decimal(0), ms)
        return await self._finished(number, reply, asked, took, ms)

    def _since(self, started: float) -> int:
        return round((self.house.clock.monotonic() - started) * 1000)

    def _count(self, took: Sequence[MeteredRequest]) -> None:
        for one in took:
            self._ask.budget.settle(one.promise.usd, one.cost)
            self.passage.paid += one.cost
            self._take(one.cost)

    def _take(self, cost: Decimal, ms: int = 0) -> None:
        self.spent += cost
        self._ms += ms

    def _meter(self, number: int, took: list[MeteredRequest]) -> ModelMeter:
        house = self.house
        ask = replace(self._ask, name=f"{self._open.name}/{number}")
        return ModelMeter(
            house.models, house.database, house.clock, house.limits, ask, AGENT_RUN, took
        )

    async def _finished(
        self, number: int, reply: ModelReply, asked: bytes, took: Sequence[MeteredRequest], ms: int
    ) -> AgentTurn:
        """The turn and its money on record, both or neither."""
        of, now = self._open, self.house.clock.now()
        cost = sum((one.cost for one in took), Decimal(0))

        async def work(tx: Transaction, made: RecordedTurn) -> None:
            await check_fence(tx, self._ask)
            await book(tx, self._ask, took)
            of.turns[number] = await write_turn(tx, of, made, len(reply.calls))

        try:
            shown = self._shown(_as_booked(reply, took))
            made = RecordedTurn(number, now, asked, shown, 0, cost, ms)
            await run_to_completion(self._inside.run_retrying(partial(work, made=made)))
        except BaseException:
            of.turns.pop(number, None)
            # Nothing of it is there: the cost is booked by itself.
            await run_to_completion(self._booked_alone(took))
            raise
        return AgentTurn(reply_from_dict(shown), cost, ms, now)

    def _shown(self, reply: ModelReply) -> dict[str, Any]:
        """A reply as it is kept; one that cannot be is not asked for again."""
        try:
            shown = reply_as_dict(reply, self.house.limits.json_depth)
            return self._ask.known.masked(shown)  # type: ignore[no-any-return]
        except Exception as error:
            log.warning("Could not store a model's response: %s", describe_for_log(error))
            raise unkept() from None

    async def _booked_alone(self, took: Sequence[MeteredRequest]) -> None:
        async def work(tx: Connection) -> None:
            async with tx.transaction():
                await book(tx, self._ask, took)

        await self.house.database.run_retrying(work)

    def recorded(self, turn: int, place: int | None = None) -> bool:
        of = self._open
        return turn in of.turns if place is None else f"{of.name}/{turn}.{place}" in of.calls

    def made(self, turn: int, place: int) -> bool:
        """A call without a record, which a later turn followed, was never made."""
        return self._open.last <= turn or self.recorded(turn, place)

    async def call(
        self, turn: int, place: int, capability: str, arguments: Mapping[str, Any]
    ) -> ToolCallResult:
        if capability == AGENT_RUN:
            raise PermissionDenied(
                "An agent cannot be a tool of another agent.", code="agent_in_agent"
            )
        of, started = self._open, self.house.clock.monotonic()
        name = f"{of.name}/{turn}.{place}"
        before = of.calls.get(name)
        if before is None and self._ask.token is not None:
            async with self._inside.transaction() as tx:
                await hold_pass(tx, self._ask)
        ask = replace(
            self._ask,
            capability=capability,
            arguments=arguments,
            name=name,
            spelt=None,
            number=of.turns[turn].first_call + place - 1,
            recorded=before,
            say=None,
        )
        answer = await self.house.call(ask)
        value = await self._kept(ask, answer)
        ms = self._since(started) if before is None else of.calls_ms[name]
        self._take(answer.cost, ms)
        problem = answer.error
        if problem is not None and (problem.code in _FATAL or isinstance(problem, BudgetExceeded)):
            raise problem
        return ToolCallResult(value, problem, answer.outcome, answer.cost, ms)

    async def _kept(self, ask: CapabilityCall, answer: CapabilityResult) -> Any:
        """What the agent may know of an answer, which is what its record knows."""
        words = await self.house.vocabulary.of(ask.actor.workspace_id, needing=[ask.capability])
        called = words.capabilities.get(ask.capability)
        value = answer.value if called is None else mask_result(answer.value, called)
        if answer.record is not None and ask.recorded is None:
            record = replace(answer.record, result=value)

            async def work(tx: Transaction) -> None:
                await check_fence(tx, ask)
                await self.house.keeping.write(tx, ask, record)

            await run_to_completion(self._inside.run_retrying(work))
        return value

    async def say(self, event: Mapping[str, Any]) -> None:
        if self._ask.say is not None:
            shown = self._ask.known.masked(dict(event))
            await self._ask.say(orjson.dumps(shown, default=str).decode() + "\n")

    def used_up(self) -> Problem | None:
        return self._ask.budget.used_up()

    async def keep(self, transcript: Mapping[str, Any]) -> UUID | None:
        """A transcript that cannot be kept does not take the answer with it."""
        ask, house = self._ask, self.house
        key = f"{ask.key}/{self._open.name}/transcript"
        try:
            content = orjson.dumps(ask.known.masked(dict(transcript)), default=str)
            return await keep_transcript(
                self._inside, house.blobs, ask, key, content, house.clock.now(), house.limits
            )
        except Exception as error:
            log.warning("Could not store an agent's transcript: %s", describe_for_log(error))
            return None


def _within(request: ModelRequest, room: int | None) -> ModelRequest:
    """The same question with an answer that there is room for."""
    if room is None:
        return request
    reads = reads_usually(request)
    if reads >= room:
        raise BudgetExceeded(
            f"The agent has {max(room, 0)} tokens left, and its next turn can read up to {reads}.",
            code="agent_tokens",
            suggestion="Raise max_total_tokens, or give it a smaller task.",
        )
    return replace(request, max_tokens=min(request.max_tokens, room - reads))


def _as_booked(reply: ModelReply, took: Sequence[MeteredRequest]) -> ModelReply:
    """The reply with the tokens that are on the books, whatever it says itself."""
    row = took[-1].row if took else None
    if row is None:
        return reply
    used = row.usage
    return replace(
        reply,
        model=used.model,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_tokens=used.cached_tokens,
        stored_tokens=0,
    )
