"""Recording calls of webhooks together: what a group of them is answered.

Nothing in the transaction of a group depends on what one sender sent: inputs were checked
before. A call whose webhook is not what it was prepared for is not recorded but prepared again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Conflict, NotFound, Problem, problem_from_dict
from mainspring.runs.admission import LEFT
from mainspring.runs.dispatch import Dispatcher, DispatchResult, Recorded, TriggerChanged
from mainspring.runs.run_requests import RunRequest
from mainspring.triggers.webhook_request import Source, WebhookRequest, unknown_webhook
from mainspring.workspace.webhooks import WebhookTrigger

if TYPE_CHECKING:
    from mainspring.store.database import DedicatedConnection

_ERRORS = """
    SELECT r.id, r.error FROM unnest($1::uuid[], $2::uuid[]) AS k(workspace_id, id)
    JOIN runs r USING (workspace_id, id)
"""


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


Answer = WebhookReceipt | Problem | TriggerChanged


class WebhookRecorder:
    """Writes groups of calls; ``forget`` drops what is remembered of a webhook."""

    def __init__(self, dispatcher: Dispatcher, forget: Callable[[Source], None]) -> None:
        self._dispatcher = dispatcher
        self._forget = forget

    async def flush(
        self, connection: DedicatedConnection, moments: Sequence[PreparedWebhook]
    ) -> Sequence[Answer]:
        """What became of each; a group whose commit was lost from sight finds its own."""
        made = await self._dispatcher.record(connection, [one.request for one in moments])
        problems = await _input_problems(connection, moments, made)
        for one in moments:
            # The inputs of the next call begin where this one has ended.
            if one.request.prepared is not None and one.request.prepared.timed:
                self._forget(one.knock.source)
        return [_answer(one, problems) for one in made]


async def _input_problems(
    connection: DedicatedConnection,
    moments: Sequence[PreparedWebhook],
    made: Sequence[Recorded],
) -> dict[UUID, Problem]:
    """What was wrong with the inputs of runs that failed before they began."""
    failed = {
        (moment.webhook.workspace_id, one.run_id)
        for moment, one in zip(moments, made, strict=True)
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
        # Archived in between: like a token that is gone.
        return unknown_webhook()
    if isinstance(made, (Problem, TriggerChanged)):
        return made
    problem = problems.get(made.run_id)
    if made.reason == LEFT.reason and made.suspended:
        problem = _suspended_webhook_error()
    return WebhookReceipt(made.run_id, made.status, made.reason, made.existed, problem)


def _suspended_webhook_error() -> Problem:
    return Conflict(
        "This webhook is stopped until somebody takes it over; the call is kept for then.",
        code=LEFT.reason,
        suggestion="Do not send it again: the run that this answer names can be replayed.",
    )
