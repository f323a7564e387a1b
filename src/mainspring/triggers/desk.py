"""The desk where webhooks are taken in.

Whoever calls waits for one thing: that the call is on record. Calls that come together are
recorded together, so that a hundred of them pay for one flush to disk. Nobody waits for a
run to be worked on.

Who may come in is found out for known and unknown callers alike, by one look-up for the
whole group. What came in is a moment of its trigger; the key of the moment is the sender's
idempotency key, the id of a signed message, or one made here. A group whose commit was lost
from sight is written again and finds its own moments.

A call whose inputs do not fit what the automation expects is a moment as well: it is kept as
a failed run, and its sender is told what did not fit.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Exhausted, Invalid, Missing, Problem, TimedOut, from_dict
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import map_payload
from mainspring.definition.json_text import LARGE, content_hash
from mainspring.definition.paths import parse_path
from mainspring.runs.arrivals import Request
from mainspring.runs.dispatch import Dispatched, Dispatcher
from mainspring.store.batch import GroupWriter
from mainspring.store.database import Database
from mainspring.triggers.knock import Knock, sender_key, unknown_webhook
from mainspring.triggers.rate import Rate
from mainspring.triggers.signature import is_genuine
from mainspring.triggers.signing_keys import SigningKeys
from mainspring.triggers.turns import Turns
from mainspring.workspace.vault import Vault
from mainspring.workspace.webhooks import (
    Webhook,
    find_by_name,
    find_by_token,
    note_fired,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Dedicated

KEY_LIFE: Final = timedelta(hours=24)
# A call that is not on record by then is told so; it may be there a moment later.
PATIENCE_SECONDS: Final = 30.0
# Calls of one source that may be recorded together; the others of it wait their turn.
SHARE: Final = 64
# Bodies that wait, all together.
MOST_WAITING_BYTES: Final = 33_554_432
# What one call's mapping may take of the time of those who are recorded with it.
_MAPPING_SECONDS: Final = 1.0
# How exact the moment of a webhook's last firing is.
_FIRED_SECONDS: Final = 1.0

_ERRORS = "SELECT id, error FROM runs WHERE workspace_id = $1 AND id = ANY($2::uuid[])"


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
    """A knock that may come in."""

    knock: Knock
    webhook: Webhook
    request: Request


_Answer = Accepted | Problem
_Keys = Mapping[tuple[UUID, str], bytes | None]


class WebhookDesk:
    """Takes in calls of webhooks, for one process."""

    def __init__(
        self, database: Database, dispatcher: Dispatcher, vault: Vault, limits: Limits
    ) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._rate = Rate(limits.webhook_burst, limits.webhook_per_second)
        self._signing = SigningKeys(vault)
        self._writer: GroupWriter[Knock, _Answer] = GroupWriter(database, self._flush)
        self._turns = Turns(SHARE)
        self._waiting_bytes = 0

    @property
    def waiting(self) -> int:
        """Calls that are not being recorded yet."""
        return self._writer.waiting + self._turns.waiting

    def admit(self, source: Hashable) -> None:
        """Asks whether there is room for a call from this source; ``Exhausted`` if not."""
        if self.waiting >= self._limits.webhook_waiting:
            raise _too_many("Too many calls wait to be recorded.", 1.0)
        seconds = self._rate.take(source)
        if seconds:
            raise _too_many("This webhook was called more often than it may be.", seconds)

    async def take(self, knock: Knock) -> Accepted:
        """Records a call; returns when its run is on disk."""
        self._make_room(knock)
        if not self._turns.begin(knock.source):
            await self._stand_in_line(knock)
        written = self._writer.submit(knock)
        written.add_done_callback(lambda _: self._leave(knock))
        # It goes on when nobody waits for it any more: its sender may come again by its key.
        done, _ = await asyncio.wait((written,), timeout=PATIENCE_SECONDS)
        if not done:
            raise _too_late()
        answer = written.result()
        if isinstance(answer, Problem):
            raise answer
        return answer

    async def _stand_in_line(self, knock: Knock) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._turns.stand_in_line(knock.source)
        except BaseException as error:
            self._waiting_bytes -= knock.size
            if isinstance(error, TimeoutError):
                raise _too_late() from None
            raise

    async def aclose(self) -> None:
        """Records what is waiting, then ends."""
        await self._writer.aclose()

    def _make_room(self, knock: Knock) -> None:
        full = self._waiting_bytes and self._waiting_bytes + knock.size > MOST_WAITING_BYTES
        if full or self.waiting >= self._limits.webhook_waiting:
            raise _too_many("Too many calls wait to be recorded.", 1.0)
        self._waiting_bytes += knock.size

    def _leave(self, knock: Knock) -> None:
        self._waiting_bytes -= knock.size
        self._turns.end(knock.source)

    async def _flush(self, connection: Dedicated, knocks: Sequence[Knock]) -> Sequence[_Answer]:
        keys = await self._signing_keys(connection, knocks)
        async with connection.transaction():
            webhooks = await _find(connection, knocks)
            judged = [
                await self._judged(knock, webhook, keys)
                for knock, webhook in zip(knocks, webhooks, strict=True)
            ]
            moments = [one for one in judged if isinstance(one, _Moment)]
            taken, problems = await self._taken(connection, moments)
        self._dispatcher.wake(list(taken.values()))
        await _note(connection, moments)
        return [
            _answer(one, taken[one.knock.own_key], problems) if isinstance(one, _Moment) else one
            for one in judged
        ]

    async def _signing_keys(self, tx: Transaction, knocks: Sequence[Knock]) -> _Keys:
        """Read before anything is held; a call that shows no signature needs none of them."""
        sealed = [knock for knock in knocks if knock.seal is not None]
        if not sealed:
            return {}
        found = await _find(tx, sealed, hold=False)
        named = {_signed_with(webhook) for webhook in found if webhook is not None}
        return await self._signing.read(name for name in named if name is not None)

    async def _judged(
        self, knock: Knock, webhook: Webhook | None, keys: _Keys
    ) -> _Moment | Problem:
        try:
            return await self._moment(knock, _let_in(knock, webhook, keys))
        except Problem as problem:
            return problem

    async def _moment(self, knock: Knock, webhook: Webhook) -> _Moment:
        """The moment of a caller who may come in; what is wrong with the call is raised."""
        if knock.problem is not None:
            raise knock.problem
        if knock.seal is not None and webhook.signing_secret is not None:
            key: str | None = knock.seal.id
        else:
            key = sender_key(knock.idempotency_keys, knock.value)
        inputs, broken = await self._mapped(knock, webhook)
        request = Request(
            webhook.workspace_id, webhook.automation_id, "webhook", webhook.id,
            inputs=inputs,
            static=webhook.inputs,
            payload=knock.value,
            key=knock.own_key if key is None else f"key:{key}",
            key_expires_at=webhook.now + KEY_LIFE,
            body_hash=None if key is None else content_hash(knock.value),
            last_fired_at=webhook.last_fired_at,
            measured=True,
            problem=broken,
        )  # fmt: skip
        return _Moment(knock, webhook, request)

    async def _mapped(
        self, knock: Knock, webhook: Webhook
    ) -> tuple[Mapping[str, Any], Problem | None]:
        mapping = webhook.config.get("input_mapping")
        if not mapping:
            return {}, None
        try:
            if knock.size <= LARGE and self._is_quick(mapping):
                return map_payload(mapping, knock.value, self._limits), None
            # A path may look at every place of a body; others are served meanwhile.
            async with asyncio.timeout(_MAPPING_SECONDS):
                work = asyncio.to_thread(map_payload, mapping, knock.value, self._limits)
                return await work, None
        except TimeoutError:
            return {}, Invalid("Mapping this body to inputs takes too long.", code="mapping_slow")
        except Problem as problem:
            return {}, problem

    def _is_quick(self, mapping: Mapping[str, str]) -> bool:
        return all(parse_path(text, self._limits).singular for text in mapping.values())

    async def _taken(
        self, tx: Transaction, moments: Sequence[_Moment]
    ) -> tuple[dict[str, Dispatched | Problem], dict[UUID, Problem]]:
        """What became of each moment, by the knock's own key, and what is wrong with which run.

        Workspaces are taken one after another, in one order everywhere.
        """
        groups: dict[UUID, list[_Moment]] = defaultdict(list)
        for one in moments:
            groups[one.webhook.workspace_id].append(one)
        made: dict[str, Dispatched | Problem] = {}
        problems: dict[UUID, Problem] = {}
        for workspace_id in sorted(groups):
            group = groups[workspace_id]
            taken = await self._dispatcher.take(tx, [one.request for one in group])
            made |= {one.knock.own_key: what for one, what in zip(group, taken, strict=True)}
            problems |= await _input_problems(tx, workspace_id, taken)
        return made, problems


async def _note(tx: Transaction, moments: Sequence[_Moment]) -> None:
    """Best effort, after the commit: the runs are there, whatever becomes of this."""
    late = timedelta(seconds=_FIRED_SECONDS)
    due = {
        (one.webhook.workspace_id, one.webhook.id)
        for one in moments
        if one.webhook.last_fired_at is None or one.webhook.now - one.webhook.last_fired_at > late
    }
    if due:
        with contextlib.suppress(Exception):
            await note_fired(tx, sorted(due), seconds=_FIRED_SECONDS)


async def _find(
    tx: Transaction, knocks: Sequence[Knock], *, hold: bool = True
) -> list[Webhook | None]:
    """Whom each knock is for, known or not, by one look for all of them."""
    digests = {knock.digest for knock in knocks if knock.digest is not None}
    names = {
        (knock.automation_id, knock.slug)
        for knock in knocks
        if knock.digest is None and knock.automation_id is not None
    }
    by_token = await find_by_token(tx, digests, hold=hold) if digests else {}
    by_name = await find_by_name(tx, names, hold=hold) if names else {}
    return [
        by_name.get((knock.automation_id or _NOBODY, knock.slug))
        if knock.digest is None
        else by_token.get(knock.digest)
        for knock in knocks
    ]


_NOBODY: Final = UUID(int=0)


def _signed_with(webhook: Webhook) -> tuple[UUID, str] | None:
    secret = webhook.signing_secret
    return None if secret is None else (webhook.workspace_id, secret)


def _let_in(knock: Knock, webhook: Webhook | None, keys: _Keys) -> Webhook:
    """The webhook whose token the call shows, and whose signature where there is one."""
    if webhook is None or webhook.automation_id != knock.automation_id:
        raise unknown_webhook()
    if knock.digest is not None and not webhook.has_token(knock.digest):
        raise unknown_webhook()
    name = _signed_with(webhook)
    if name is None:
        if knock.digest is None:
            raise unknown_webhook()
        return webhook
    key = keys.get(name)
    if key is None or knock.seal is None:
        raise unknown_webhook()
    if not is_genuine(knock.seal, knock.raw, key, webhook.now):
        raise unknown_webhook()
    return webhook


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
    repeated = made.existed and one.request.key != one.knock.own_key
    return Accepted(made.run_id, made.status, made.reason, repeated, problems.get(made.run_id))


def _too_late() -> TimedOut:
    return TimedOut(
        "The call could not be recorded in time; it may still be.",
        code="not_recorded",
        suggestion="Send it again with the same idempotency key.",
        retry_after=5.0,
    )


def _too_many(detail: str, seconds: float) -> Exhausted:
    return Exhausted(detail, code="too_many_calls", retry_after=seconds)
