"""The desk where webhooks are taken in.

Whoever calls waits for one thing: that the call is on record. Calls that come together are
recorded together, so that a hundred of them pay for one flush to disk. Nobody waits for a
run to be worked on.

Who calls is looked up before the body is read, and the limits of a webhook are spent by its
own callers alone. Everything that may take long (the mapping of the body, the judging of the
inputs) is done before a call joins a group: nothing in the transaction of a group depends on
what one sender sent. There the webhook is looked up once more, and held: if it is not what
the call was prepared for, the call is prepared again.

What came in is a moment of its trigger; the key of the moment is the sender's idempotency
key, the id of a signed message, or one made here. A group whose commit was lost from sight
is written again and finds its own moments.

A call whose inputs do not fit what the automation expects is a moment as well: it is kept as
a failed run, and its sender is told what did not fit.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

from mainspring.contracts.errors import Exhausted, Missing, Problem, TimedOut, from_dict
from mainspring.contracts.limits import Limits
from mainspring.definition.json_text import content_hash
from mainspring.definition.json_values import same
from mainspring.runs.arrivals import Request
from mainspring.runs.dispatch import Dispatched, Dispatcher
from mainspring.store.batch import GroupWriter, Patience
from mainspring.store.database import Database, is_lost_connection
from mainspring.triggers.callers import Callers, find_all
from mainspring.triggers.knock import Knock, sender_key, unknown_webhook
from mainspring.triggers.mapping import Mapper
from mainspring.triggers.rate import Rate
from mainspring.triggers.room import MOST_BYTES, SHARE_BYTES, Room, too_many
from mainspring.triggers.signature import is_genuine
from mainspring.triggers.signing_keys import SigningKeys
from mainspring.triggers.turns import Turns
from mainspring.workspace.vault import Vault
from mainspring.workspace.webhooks import Webhook, note_fired

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Dedicated

KEY_LIFE: Final = timedelta(hours=24)
# A call that is not on record by then is told so; it may be there a moment later.
PATIENCE_SECONDS: Final = 30.0
# Calls of one source that may be recorded together; the others of it wait their turn.
SHARE: Final = 64
# How often a call whose webhook changes under it is prepared.
_TRIES: Final = 3
# How exact the moment of a webhook's last firing is.
_FIRED_SECONDS: Final = 1.0

_ERRORS = "SELECT id, error FROM runs WHERE workspace_id = $1 AND id = ANY($2::uuid[])"

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Accepted:
    """The run that stands for a call."""

    run_id: UUID
    status: str
    reason: str | None = None
    # The sender's key was there before.
    repeated: bool = False
    # Its inputs did not fit; the run is kept as failed.
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class _Moment:
    """A knock that may come in, prepared for the webhook as it was found."""

    knock: Knock
    webhook: Webhook
    request: Request


class _Changed:
    """The webhook is not what the call was prepared for."""


_Answer = Accepted | Problem | _Changed


class WebhookDesk:
    """Takes in calls of webhooks, for one process."""

    def __init__(
        self, database: Database, dispatcher: Dispatcher, vault: Vault, limits: Limits
    ) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._rate = Rate(limits.webhook_burst, limits.webhook_per_second)
        # Buckets of their own: nobody spends the limit of a webhook who may not call it.
        self._strangers = Rate(limits.webhook_burst, limits.webhook_per_second)
        self._callers = Callers(database)
        self._signing = SigningKeys(vault)
        self._mapper = Mapper(limits)
        self._writer: GroupWriter[_Moment, _Answer] = GroupWriter(
            database, self._flush, patience=Patience()
        )
        # A source prepares one call after the other; what is quick never stands in line.
        self._preparing = Turns(1)
        self._turns = Turns(SHARE)
        self._read = Room(limits.payload_bytes, most=MOST_BYTES, share=SHARE_BYTES)
        self._kept = Room(limits.payload_bytes, most=MOST_BYTES, share=SHARE_BYTES)

    @property
    def waiting(self) -> int:
        """Calls that are not being recorded yet."""
        lines = self._callers.waiting + self._preparing.waiting + self._turns.waiting
        return self._writer.waiting + lines

    async def receive(self, knock: Knock) -> Knock:
        """Finds out who calls, from what stands before the body, and charges their limit.

        A webhook that asks for a signature is charged by ``admit``, when there is one.
        """
        self._check_waiting()
        webhook = await self._found(knock)
        if webhook.signing_secret is None:
            self._charge(webhook)
        return replace(knock, webhook=webhook)

    def reading(self, knock: Knock) -> AbstractContextManager[Callable[[int], None]]:
        """What counts the bytes of a body as they come; ``Exhausted`` when they are too many."""
        return self._read.held(knock.source if knock.webhook is None else knock.webhook.id)

    async def admit(self, knock: Knock) -> None:
        """Looks at the signature, if the webhook asks for one: the body is there now."""
        webhook = knock.webhook
        if webhook is not None and webhook.signing_secret is not None:
            await self._check_signature(knock, webhook)
            self._charge(webhook)

    async def take(self, knock: Knock) -> Accepted:
        """Records a call; returns when its run is on disk."""
        self._check_waiting()
        source, size = knock.source, knock.size
        self._kept.take(source, size)
        written: asyncio.Future[_Answer] | None = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                for _ in range(_TRIES):
                    moment = await self._prepared(knock)
                    written = await self._handed_in(moment)
                    # It goes on when nobody waits for it any more: its sender may come
                    # again by its key.
                    await asyncio.wait((written,))
                    answer = written.result()
                    if isinstance(answer, Accepted):
                        return answer
                    if isinstance(answer, Problem):
                        raise answer
                    knock = await self._again(knock)
            raise too_many("This webhook is being changed all the time.", 1.0)
        except TimeoutError:
            raise _too_late() from None
        finally:
            if written is None or written.done():
                self._kept.give(source, size)
            else:
                written.add_done_callback(lambda _: self._kept.give(source, size))

    async def aclose(self) -> None:
        """Records what is waiting, then ends."""
        await self._writer.aclose()
        await self._callers.aclose()
        self._mapper.close()

    def _check_waiting(self) -> None:
        if self.waiting >= self._limits.webhook_waiting:
            raise too_many("Too many calls wait to be recorded.", 1.0)

    def _charge(self, webhook: Webhook) -> None:
        seconds = self._rate.take(webhook.id)
        if seconds:
            raise too_many("This webhook was called more often than it may be.", seconds)

    def _refused(self, knock: Knock) -> Problem:
        """The answer to whoever may not come in, and to a flood of them."""
        seconds = self._strangers.take(knock.source)
        if seconds:
            return too_many("This webhook was called more often than it may be.", seconds)
        return unknown_webhook()

    async def _found(self, knock: Knock, *, fresh: bool = False) -> Webhook:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                webhook = None if fresh else await self._callers.find(knock.source)
                if webhook is None or not knock.may_be_for(webhook):
                    # What was remembered lets in, and never keeps out.
                    webhook = await self._callers.look(knock.source)
        except TimeoutError:
            raise _too_late() from None
        if webhook is None or not knock.may_be_for(webhook):
            raise self._refused(knock)
        return webhook

    async def _again(self, knock: Knock) -> Knock:
        """The same call for the webhook as it is now."""
        webhook = await self._found(knock, fresh=True)
        await self._check_signature(knock, webhook)
        return replace(knock, webhook=webhook)

    async def _check_signature(self, knock: Knock, webhook: Webhook) -> None:
        secret = webhook.signing_secret
        if secret is None:
            return
        name = (webhook.workspace_id, secret)
        key = await _patiently(lambda: self._signing.read(name))
        if key is None or knock.seal is None:
            raise self._refused(knock)
        if not is_genuine(knock.seal, knock.raw, key, webhook.now):
            raise self._refused(knock)

    async def _prepared(self, knock: Knock) -> _Moment:
        """The moment of a call; nothing is held while it is made, and much may be done."""
        if knock.webhook is None:
            knock = await self._again(knock)
        webhook = knock.webhook
        assert webhook is not None
        if self._preparing.waiting_of(webhook.id) >= max(1, self._limits.webhook_waiting // 2):
            raise too_many("Too many calls of this webhook wait to be recorded.", 1.0)
        if not self._preparing.begin(webhook.id):
            await self._preparing.stand_in_line(webhook.id)
        try:
            request = await self._request(knock, webhook)
            prepared = await _patiently(lambda: self._dispatcher.prepare(request))
        finally:
            self._preparing.end(webhook.id)
        return _Moment(knock, webhook, prepared)

    async def _request(self, knock: Knock, webhook: Webhook) -> Request:
        if knock.seal is not None and webhook.signing_secret is not None:
            key: str | None = knock.seal.id
        else:
            key = sender_key(knock.idempotency_keys, knock.value)
        inputs, broken = await self._mapped(knock, webhook)
        return Request(
            webhook.workspace_id, webhook.automation_id, "webhook", webhook.id,
            inputs=inputs,
            static=webhook.inputs,
            payload=knock.value,
            key=None if key is None else f"key:{key}",
            run_id=knock.run_id,
            key_expires_at=webhook.now + KEY_LIFE,
            body_hash=None if key is None else content_hash(knock.value),
            last_fired_at=webhook.last_fired_at,
            measured=True,
            problem=broken,
        )  # fmt: skip

    async def _mapped(
        self, knock: Knock, webhook: Webhook
    ) -> tuple[Mapping[str, Any], Problem | None]:
        mapping = webhook.config.get("input_mapping")
        if not mapping:
            return {}, None
        try:
            return await self._mapper.mapped(mapping, knock.value, knock.size), None
        except Exhausted:
            raise
        except Problem as problem:
            return {}, problem

    async def _handed_in(self, moment: _Moment) -> asyncio.Future[_Answer]:
        source = moment.webhook.id
        if not self._turns.begin(source):
            await self._turns.stand_in_line(source)
        written = self._writer.submit(moment)
        written.add_done_callback(lambda _: self._turns.end(source))
        return written

    async def _flush(self, connection: Dedicated, moments: Sequence[_Moment]) -> Sequence[_Answer]:
        async with connection.transaction():
            sources = {one.knock.source for one in moments}
            found = await find_all(connection, sources, hold=True)
            judged = [_judged(one, found.get(one.knock.source)) for one in moments]
            good = [one for one in judged if isinstance(one, _Moment)]
            taken, problems = await self._taken(connection, good)
        self._dispatcher.wake(list(taken.values()))
        fired = await _note(connection, good)
        for source, webhook in found.items():
            last = fired.get(webhook.id, webhook.last_fired_at)
            self._callers.keep(source, replace(webhook, last_fired_at=last))
        return [
            _answer(one, taken[one.knock.run_id], problems) if isinstance(one, _Moment) else one
            for one in judged
        ]

    async def _taken(
        self, tx: Transaction, moments: Sequence[_Moment]
    ) -> tuple[dict[UUID, Dispatched | Problem], dict[UUID, Problem]]:
        """What became of each moment, by the knock's own key, and what is wrong with which run.

        Workspaces are taken one after another, in one order everywhere.
        """
        groups: dict[UUID, list[_Moment]] = defaultdict(list)
        for one in moments:
            groups[one.webhook.workspace_id].append(one)
        made: dict[UUID, Dispatched | Problem] = {}
        problems: dict[UUID, Problem] = {}
        for workspace_id in sorted(groups):
            group = groups[workspace_id]
            taken = await self._dispatcher.take(tx, [one.request for one in group])
            made |= {one.knock.run_id: what for one, what in zip(group, taken, strict=True)}
            problems |= await _input_problems(tx, workspace_id, taken)
        return made, problems


async def _note(tx: Transaction, moments: Sequence[_Moment]) -> dict[UUID, datetime]:
    """Best effort, after the commit: the runs are there, whatever becomes of this."""
    late = timedelta(seconds=_FIRED_SECONDS)
    due = {
        (one.webhook.workspace_id, one.webhook.id)
        for one in moments
        if one.webhook.last_fired_at is None or one.webhook.now - one.webhook.last_fired_at > late
    }
    if due:
        with contextlib.suppress(Exception):
            return await note_fired(tx, sorted(due), seconds=_FIRED_SECONDS)
    return {}


def _judged(moment: _Moment, webhook: Webhook | None) -> _Moment | Problem | _Changed:
    """The moment with what is known of its webhook now, if that is what it was made for."""
    if webhook is None or not moment.knock.may_be_for(webhook):
        return unknown_webhook()
    before = moment.webhook
    if webhook.id != before.id or not same(webhook.config, before.config):
        return _Changed()
    if not same(webhook.inputs, before.inputs):
        return _Changed()
    request = replace(
        moment.request,
        key_expires_at=webhook.now + KEY_LIFE,
        last_fired_at=webhook.last_fired_at,
    )
    return _Moment(moment.knock, webhook, request)


async def _patiently(work: Callable[[], Awaitable[Found]]) -> Found:
    """A database that is away is waited for as long as a caller waits."""
    ends, pause = time.monotonic() + PATIENCE_SECONDS, 0.02
    while True:
        try:
            return await work()
        except Problem as problem:
            if not is_lost_connection(problem) or time.monotonic() + pause > ends:
                raise
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.5)


async def _input_problems(
    tx: Transaction, workspace_id: UUID, taken: Sequence[Dispatched | Problem]
) -> dict[UUID, Problem]:
    """What was wrong with the inputs of runs that failed before they began."""
    failed = {
        one.run_id
        for one in taken
        if isinstance(one, Dispatched) and (one.status, one.reason) == ("failed", "invalid_inputs")
    }
    if not failed:
        return {}
    rows = await tx.fetch(_ERRORS, workspace_id, sorted(failed))
    return {row["id"]: from_dict(row["error"]) for row in rows if row["error"]}


def _answer(one: _Moment, made: Dispatched | Problem, problems: Mapping[UUID, Problem]) -> _Answer:
    if isinstance(made, Missing):
        # Archived in between: like a token that is gone.
        return unknown_webhook()
    if isinstance(made, Problem):
        return made
    repeated = made.existed
    return Accepted(made.run_id, made.status, made.reason, repeated, problems.get(made.run_id))


def _too_late() -> TimedOut:
    return TimedOut(
        "The call could not be recorded in time; it may still be.",
        code="not_recorded",
        suggestion="Send it again with the same idempotency key.",
        retry_after=5.0,
    )
