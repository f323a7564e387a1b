"""Sending a draft that somebody has agreed to: at most once, whatever happens.

A draft goes from pending to sending in a transaction of its own, with who agreed and when;
only whoever made that step performs it. Then what came of it is written beside it, and that
is what every later answer says. If the process is lost in between, nobody knows whether the
write has left: the draft says so after a while and is never sent again by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import (
    Clash,
    Denied,
    Exhausted,
    Problem,
    TimedOut,
    Upstream,
)
from mainspring.contracts.grant import Grant
from mainspring.contracts.ids import new_id
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.registry import Vocabularies, Vocabulary
from mainspring.gate.ask import Agreed, Answer, Ask, digest, kept_result, spelled
from mainspring.gate.bound import binding, changed, with_places
from mainspring.gate.drafts import OUTCOME, STATUS, no_draft, not_waiting
from mainspring.gate.fence import hold_run
from mainspring.gate.keeping import Keeping
from mainspring.gate.money import finished
from mainspring.gate.passage import Passage, granted_hosts
from mainspring.gate.policy import Posture
from mainspring.gate.record import dumps
from mainspring.store.audit import append_audit
from mainspring.store.walls import Walled

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

CONFIRM_ACTION: Final = "confirm_action"
# A handler has bounds of its own; this one is below the time after which a draft is in doubt.
_SECONDS: Final = 300.0
# Nobody was reached, or a mail server has said that it did not take the mail.
_REFUSED: Final = frozenset(
    {
        "mail_not_now", "mail_recipients_refused", "mail_refused", "mail_sign_in",
        "mail_sign_in_missing", "mail_tls", "mail_tls_missing", "name_not_found", "tls_failed",
        "unreachable",
    }
)  # fmt: skip
# Said here, before anybody is dialled.
_NOT_DIALLED: Final = frozenset(
    {
        "address_not_public", "bad_header", "bad_method", "bad_url", "host_not_approved",
        "mail_invalid", "request_too_large", "secret_needs_host", "secret_place",
    }
)  # fmt: skip
# Said before anything leaves: it cannot work here until somebody has set something up.
_NOT_SET_UP: Final = frozenset({"mail_not_set_up", "owner_mail_missing", "secret_missing"})
_NOT_LEFT: Final = _REFUSED | _NOT_DIALLED | _NOT_SET_UP
_DID_SOMETHING: Final = frozenset({"sent", "kept"})

_NAMED = "SELECT capability FROM drafts WHERE workspace_id = $1 AND id = $2"
_TAKE = f"""
    SELECT d.*, {STATUS} AS stands, {OUTCOME} AS came_to FROM drafts d
    WHERE d.workspace_id = $1 AND d.id = $2 FOR UPDATE OF d
"""
_UNDER = """
    SELECT v.automation_id, v.version, v.definition_hash, v.grants, a.created_by
    FROM automation_versions v
    JOIN automations a ON a.workspace_id = v.workspace_id AND a.id = v.automation_id
    WHERE v.workspace_id = $1 AND v.automation_id = $2 AND v.version = $3
"""
_BEGIN = """
    UPDATE drafts SET status = 'sending', answered_kind = $3, answered_by = $4,
        answered_at = now(), call_id = $5
    WHERE workspace_id = $1 AND id = $2
"""
_END = """
    UPDATE drafts SET status = $4, outcome = $5, result = $6::text::json, error = $7::text::json
    WHERE workspace_id = $1 AND id = $2 AND call_id = $3 AND status = 'sending'
    RETURNING id
"""
# Nothing has left, and another moment may be better: it waits on.
_GIVE_BACK = """
    UPDATE drafts SET status = 'pending', answered_kind = NULL, answered_by = NULL,
        answered_at = NULL, call_id = NULL
    WHERE workspace_id = $1 AND id = $2 AND call_id = $3 AND status = 'sending'
    RETURNING id
"""


@dataclass(frozen=True, slots=True)
class _End:
    """What came of a draft."""

    status: str
    outcome: str
    result: Any = None
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Taken:
    """A draft that is this caller's to send."""

    capability: str
    made: Ask
    # What performs it.
    doing: Capability


@dataclass(frozen=True, slots=True)
class Sending:
    """Performs drafts; the pipeline lends it the ways to call and to turn away."""

    vocabulary: Vocabularies
    database: Database
    keeping: Keeping
    call: Callable[[Ask], Awaitable[Answer]]
    turned_away: Callable[[Ask, Capability, Problem], Answer]

    async def confirm(self, ask: Ask, draft_id: UUID) -> Any:
        """Sends a draft, or answers what came of it before; ``ask`` is the confirming call."""
        call_id = new_id()
        inside = Walled(self.database, ask.actor.workspace_id)
        # Asked before the draft is held: nobody waits for locks meanwhile.
        words = await self._words(inside, ask.actor.workspace_id, draft_id)
        taken = await inside.run_retrying(lambda tx: self._taken(tx, ask, draft_id, call_id, words))
        if not isinstance(taken, _Taken):
            return Unchanged(taken)
        ends: list[_End] = []

        async def work() -> None:
            ends.append(await self._sent(taken.made, taken.doing, draft_id))

        # Whoever asked may go away meanwhile; what was begun is brought to its end.
        await finished(work())
        answer = _told(draft_id, taken.capability, ends[0])
        return Unchanged(answer) if ends[0].outcome == "not_sent" else answer

    async def _words(self, inside: Walled, workspace_id: UUID, draft_id: UUID) -> Vocabulary:
        """What the draft's workspace can say, as far as that draft asks for it."""
        async with inside.acquire() as connection:
            row = await connection.fetchrow(_NAMED, workspace_id, draft_id)
        if row is None or row["capability"] in self.vocabulary.capabilities:
            return self.vocabulary
        return await self.vocabulary.of(workspace_id, needing=[row["capability"]])

    async def _taken(
        self, tx: Transaction, ask: Ask, draft_id: UUID, call_id: UUID, words: Vocabulary
    ) -> _Taken | dict[str, Any]:
        """The call that is to be made now and by nobody else, or what came of it before."""
        await hold_run(tx, ask)
        row = await tx.fetchrow(_TAKE, ask.actor.workspace_id, draft_id)
        if row is None:
            raise no_draft()
        _check_who(ask, row)
        if row["stands"] in ("confirmed", "failed"):
            return _told(draft_id, row["capability"], _ended(row))
        # Who finds it taken by this very call has only lost sight of their own commit.
        ours = row["stands"] == "sending" and row["call_id"] == call_id
        if row["stands"] != "pending" and not ours:
            raise not_waiting(row["stands"])
        held = _known(words, row["capability"])
        outside = held.id not in self.vocabulary.capabilities
        under = await _intact(tx, row, held.annotations.pin, outside=outside)
        made, doing = _made(words, ask, row, under, call_id)
        actor = ask.actor
        await tx.execute(_BEGIN, actor.workspace_id, draft_id, actor.kind, actor.id, call_id)
        return _Taken(row["capability"], made, doing)

    async def _sent(self, made: Ask, called: Capability, draft_id: UUID) -> _End:
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await self.call(made)
        except TimeoutError:
            late = TimedOut("It took longer than a write may take.", code="draft_late")
            answer = replace(self.turned_away(made, called, late), begun=True)
        end, problem = _end_of(answer, called), answer.error
        again = problem is not None and _waits_on(problem, begun=answer.begun)
        inside = Walled(self.database, made.actor.workspace_id)
        await inside.run_retrying(
            lambda tx: self._kept(tx, made, draft_id, answer, None if again else end)
        )
        if problem is not None and again:
            raise problem
        return end

    async def _kept(
        self, tx: Transaction, made: Ask, draft_id: UUID, answer: Answer, end: _End | None
    ) -> None:
        """Writes what came of it, with the record of the call; both are there or neither is."""
        place = (made.actor.workspace_id, draft_id, made.id)
        if end is None:
            row = await tx.fetchrow(_GIVE_BACK, *place)
        else:
            result, error = dumps(end.result), dumps(end.error)
            row = await tx.fetchrow(_END, *place, end.status, end.outcome, result, error)
        if row is None or answer.record is None:
            return
        if made.run is None:
            kept = replace(answer.record, result=None if end is None else end.result)
            await self.keeping.write(tx, made, kept)
        else:
            # The run has the record of its call of confirm_action, and the draft tells the rest.
            await append_audit(tx, answer.record.audit)


def _known(words: Vocabulary, name: str) -> Capability:
    found = words.capabilities.get(name)
    if found is None:
        raise Clash(
            f"{name} is not there any more, so this draft cannot be sent.",
            code="capability_gone",
            suggestion="Connect it again, or discard the draft.",
        )
    return found


def _made(
    words: Vocabulary, ask: Ask, row: Any, under: Any, call_id: UUID
) -> tuple[Ask, Capability]:
    """The call that was held, for whoever agrees to it now, and what performs it."""
    held = _known(words, row["capability"])
    made = Ask(
        held.id, with_places(row["arguments"], row["secrets"]), ask.actor, ask.run, ask.number,
        _posture(row, under), ask.purse, ask.fence, id=call_id, known=ask.known,
    )  # fmt: skip
    hosts = held.annotations.hosts
    if under is not None:
        hosts = granted_hosts(Passage(made, held, row["arguments"], b"", 0.0))
    doing = held
    if held.write is not None and held.write.performs is not None:
        name, arguments = held.write.performs(made.arguments)
        doing = _known(words, name)
        made, hosts = replace(made, capability=name, arguments=arguments), doing.annotations.hosts
    if ask.run is not None and (doing.write is None or not doing.write.safe):
        raise _needs_a_person(f"{doing.id} is not on the list of safe writes")
    return replace(made, agreed=Agreed(row["id"], hosts)), doing


async def _intact(tx: Transaction, row: Any, pin: str, *, outside: bool) -> Any:
    """The version that a draft was asked under; refuses one that is not what it was."""
    under = None
    if row["automation_id"] is not None:
        under = await tx.fetchrow(_UNDER, row["workspace_id"], row["automation_id"], row["version"])
    arguments, places = row["arguments"], row["secrets"]
    bound = binding(row["capability"], arguments, places, row["preview"], under, pin)
    if bound != row["bound_hash"] or digest(spelled(arguments)) != row["arguments_hash"]:
        raise changed(outside=outside)
    return under


def _posture(row: Any, under: Any) -> Posture:
    """What the call may do, and whose secrets it may use."""
    if under is None:
        return Posture((), owner_id=row["actor_id"])
    grants = tuple(Grant(entry["capability"], entry["params"]) for entry in under["grants"])
    return Posture(grants, owner_id=under["created_by"])


def _check_who(ask: Ask, row: Any) -> None:
    """Who may agree at all: a person, or under one policy the run that asked."""
    if ask.run is not None:
        if ask.posture.write_policy != "auto_confirm_safe":
            raise _needs_a_person("this automation's write policy is always_draft")
        if row["run_id"] != ask.run.id:
            raise _needs_a_person("it is not a draft of this run")
    elif row["run_id"] is None and row["actor_id"] != ask.actor.id:
        raise Denied(
            "This draft is another member's own call, and only they can send it.",
            code="not_your_draft",
        )


def _needs_a_person(reason: str) -> Denied:
    return Denied(
        f"A person has to confirm this draft: {reason}.",
        code="needs_a_person",
        suggestion="Leave it in the inbox; somebody there confirms or discards it.",
    )


def _waits_on(problem: Problem, *, begun: bool) -> bool:
    """Whether nothing has left for certain, and it may be sent another time."""
    if problem.code in _NOT_SET_UP and problem.unsent is not False:
        return True
    return not begun and (isinstance(problem, Exhausted) or problem.retryable)


def _end_of(answer: Answer, called: Capability) -> _End:
    problem = answer.error
    if problem is None:
        outcome = "sent" if answer.outcome in _DID_SOMETHING else "not_sent"
        return _End("confirmed", outcome, kept_result(answer.value, called))
    outcome = "unknown" if answer.begun and _in_doubt(problem) else "not_sent"
    return _End("failed", outcome, None, problem.as_dict())


def _in_doubt(problem: Problem) -> bool:
    """Whether the write may have happened all the same: unless it is proven that it has not.

    Whoever performs it knows best; what nobody has judged counts as proven only by its code.
    """
    if problem.unsent is not None:
        return not problem.unsent
    return problem.code not in _NOT_LEFT


def _ended(row: Any) -> _End:
    return _End(row["stands"], row["came_to"], row["result"], row["error"])


def _told(draft_id: UUID, capability: str, end: _End) -> dict[str, Any]:
    """What came of a draft, the same however often it is asked."""
    error = end.error
    if error is None and end.outcome == "unknown":
        error = Upstream(
            "The process that sent this was lost, so nobody knows whether it has left.",
            code="send_in_doubt",
            suggestion="Look at the other side. It is not sent again by itself.",
        ).as_dict()
    told = {"draft_id": str(draft_id), "status": end.status, "outcome": end.outcome,
            "action": capability}  # fmt: skip
    if end.status == "confirmed":
        return {**told, "result": end.result}
    return {**told, "error": error}
