"""Recording calls of webhooks together: many moments in one transaction.

Nothing in the transaction of a group depends on what one sender sent: inputs were judged
before. The webhooks are looked up once more and held; a call whose webhook is not what it was
prepared for is not recorded but prepared again.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, NotFound, Problem, problem_from_dict
from mainspring.definition.json_values import is_same_value
from mainspring.runs.admission import LEFT
from mainspring.runs.dispatch import Dispatcher, DispatchResult
from mainspring.runs.run_requests import KEY_LIFE, RunRequest
from mainspring.triggers.webhook_request import Source, WebhookRequest, find_all, unknown_webhook
from mainspring.workspace.webhooks import FIRED_SECONDS, WebhookTrigger, note_fired

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import DedicatedConnection

# How much later the last firing may have been than the one that a call was prepared with.
_LATEST: Final = timedelta(seconds=2)

_ERRORS = "SELECT id, error FROM runs WHERE workspace_id = $1 AND id = ANY($2::uuid[])"


@dataclass(frozen=True, slots=True)
class WebhookReceipt:
    """The run that stands for a call."""

    run_id: UUID
    status: str
    reason: str | None = None
    # The sender's key was there before.
    repeated: bool = False
    # Its inputs did not fit, or the webhook is stopped; the run keeps the call.
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class PreparedWebhook:
    """A knock that may come in, prepared for the webhook as it was found."""

    knock: WebhookRequest
    webhook: WebhookTrigger
    request: RunRequest


class WebhookChanged:
    """The webhook is not what the call was prepared for."""


Answer = WebhookReceipt | Problem | WebhookChanged


class WebhookRecorder:
    """Writes groups of moments; it is told who keeps what was seen of their webhooks."""

    def __init__(
        self, dispatcher: Dispatcher, keep: Callable[[Source, WebhookTrigger | None], None]
    ) -> None:
        self._dispatcher = dispatcher
        self._keep = keep

    async def flush(
        self, connection: DedicatedConnection, moments: Sequence[PreparedWebhook]
    ) -> Sequence[Answer]:
        """What became of each; a group whose commit was lost from sight finds its own."""
        asked = [(one.request, one.webhook.mark) for one in moments]
        made = await self._dispatcher.express(connection, asked)
        self._dispatcher.wake(list(made.values()))
        rest = [one for one in moments if one.knock.run_id not in made]
        judged = await self._judge(connection, rest) if rest else {}
        return [
            _to_receipt(made[run_id]) if run_id in made else judged[run_id]
            for run_id in (one.knock.run_id for one in moments)
        ]

    async def _judge(
        self, connection: DedicatedConnection, moments: Sequence[PreparedWebhook]
    ) -> dict[UUID, Answer]:
        """The long way: the webhooks are looked up once more, and held."""
        async with connection.transaction():
            sources = {one.knock.source for one in moments}
            found = await find_all(connection, sources, hold=True)
            judged = [_validate_prepared(one, found.get(one.knock.source)) for one in moments]
            good = [one for one in judged if isinstance(one, PreparedWebhook)]
            taken, problems = await self._taken(connection, good)
        self._dispatcher.wake(list(taken.values()))
        for source in sources:
            self._keep(source, found.get(source))
        if good:
            await self._note(connection, good, good[0].webhook.now)
        return {
            moment.knock.run_id: _answer(one, taken[one.knock.run_id], problems)
            if isinstance(one, PreparedWebhook)
            else one
            for moment, one in zip(moments, judged, strict=True)
        }

    async def _note(
        self, tx: Transaction, moments: Sequence[PreparedWebhook], at: datetime
    ) -> None:
        """Best effort, after the commit: the runs are there, whatever becomes of this."""
        late = timedelta(seconds=FIRED_SECONDS)
        due = {
            (one.webhook.workspace_id, one.webhook.id)
            for one in moments
            if one.webhook.last_fired_at is None or at - one.webhook.last_fired_at > late
        }
        if not due:
            return
        with contextlib.suppress(Exception):
            fired = await note_fired(tx, sorted(due))
            for one in moments:
                last = fired.get(one.webhook.id)
                if last is not None:
                    self._keep(one.knock.source, replace(one.webhook, last_fired_at=last, now=last))

    async def _taken(
        self, tx: Transaction, moments: Sequence[PreparedWebhook]
    ) -> tuple[dict[UUID, DispatchResult | Problem], dict[UUID, Problem]]:
        """What became of each moment, by the knock's own key, and what is wrong with which run.

        Workspaces are taken one after another, in one order everywhere.
        """
        groups: dict[UUID, list[PreparedWebhook]] = defaultdict(list)
        for one in moments:
            groups[one.webhook.workspace_id].append(one)
        made: dict[UUID, DispatchResult | Problem] = {}
        problems: dict[UUID, Problem] = {}
        for workspace_id in sorted(groups):
            group = groups[workspace_id]
            taken = await self._dispatcher.take(tx, [one.request for one in group])
            made |= {one.knock.run_id: what for one, what in zip(group, taken, strict=True)}
            problems |= await _input_problems(tx, workspace_id, taken)
        return made, problems


def _validate_prepared(
    moment: PreparedWebhook, webhook: WebhookTrigger | None
) -> PreparedWebhook | Problem | WebhookChanged:
    """The moment with what is known of its webhook now, if that is what it was made for."""
    if webhook is None or not moment.knock.may_be_for(webhook):
        return unknown_webhook()
    before = moment.webhook
    if webhook.id != before.id or not is_same_value(webhook.config, before.config):
        return WebhookChanged()
    if not is_same_value(webhook.inputs, before.inputs):
        return WebhookChanged()
    if _is_late(moment.request, webhook):
        return WebhookChanged()
    request = replace(
        moment.request,
        key_expires_at=webhook.now + KEY_LIFE,
        last_fired_at=webhook.last_fired_at,
    )
    return PreparedWebhook(moment.knock, webhook, request)


def _is_late(request: RunRequest, webhook: WebhookTrigger) -> bool:
    """Whether it was prepared with the moment of a firing that was not the last one."""
    given, last = request.prepared, webhook.last_fired_at
    if given is None or not given.timed or last is None:
        return False
    return request.last_fired_at is None or request.last_fired_at + _LATEST < last


async def _input_problems(
    tx: Transaction, workspace_id: UUID, taken: Sequence[DispatchResult | Problem]
) -> dict[UUID, Problem]:
    """What was wrong with the inputs of runs that failed before they began."""
    failed = {
        one.run_id
        for one in taken
        if isinstance(one, DispatchResult)
        and (one.status, one.reason) == ("failed", "invalid_inputs")
    }
    if not failed:
        return {}
    rows = await tx.fetch(_ERRORS, workspace_id, sorted(failed))
    return {row["id"]: problem_from_dict(row["error"]) for row in rows if row["error"]}


def _to_receipt(made: DispatchResult) -> WebhookReceipt:
    return WebhookReceipt(made.run_id, made.status, made.reason)


def _answer(
    one: PreparedWebhook, made: DispatchResult | Problem, problems: Mapping[UUID, Problem]
) -> Answer:
    if isinstance(made, NotFound):
        # Archived in between: like a token that is gone.
        return unknown_webhook()
    if isinstance(made, Problem):
        return made
    problem = problems.get(made.run_id)
    if made.reason == LEFT.reason and one.webhook.suspended:
        problem = _suspended_webhook_error()
    return WebhookReceipt(made.run_id, made.status, made.reason, made.existed, problem)


def _suspended_webhook_error() -> Problem:
    return Conflict(
        "This webhook is stopped until somebody takes it over; the call is kept for then.",
        code=LEFT.reason,
        suggestion="Do not send it again: the run that this answer names can be replayed.",
    )
