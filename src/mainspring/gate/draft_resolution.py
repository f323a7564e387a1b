"""What came of a draft that a run waits for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import (
    Expired,
    NotFound,
    PermissionDenied,
    Problem,
    problem_from_dict,
)
from mainspring.gate.capability_call import mask_arguments
from mainspring.gate.drafting.resume import LOST_AFTER
from mainspring.gate.drafts import OUTCOME, STATUS
from mainspring.gate.preapproval import build_send_in_doubt_error

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

DECLINED: Final = "declined"
EXPIRED: Final = "expired"
# How much of the write's own words a problem repeats.
_SHOWN: Final = 500

# An answer that is being given at this moment is waited for: an answer in time is never overlooked.
_READ = f"""
    SELECT {STATUS} AS status, {OUTCOME} AS outcome, capability, arguments, result, error, reason,
        preview, answered_kind,
        CASE WHEN status = 'sending' THEN answered_at + interval '{LOST_AFTER} 1 second'
            ELSE expires_at END AS until
    FROM drafts WHERE workspace_id = $1 AND id = $2 FOR SHARE
"""


@dataclass(frozen=True, slots=True)
class DraftResolution:
    """The end of a draft: a result, a problem, or the moment to look again."""

    # When to look again; None: the draft has been answered or its time is over.
    until: datetime | None = None
    problem: Problem | None = None
    result: Any = None
    # The arguments as they left, edits included; a secret is in them by its name.
    sent: Mapping[str, Any] | None = None


def is_draft(value: Any) -> bool:
    """Whether the output of a step is the draft of a held write."""
    return isinstance(value, Mapping) and value.get("kind") == "draft" and "draft_id" in value


async def resolve_draft(
    tx: Transaction, workspace_id: UUID, draft_id: UUID, known: Mapping[str, Capability]
) -> DraftResolution:
    """What came of a draft."""
    row = await tx.fetchrow(_READ, workspace_id, draft_id)
    if row is None:
        return DraftResolution(
            problem=NotFound(
                "The draft that this step waited for no longer exists.", code="draft_gone"
            )
        )
    if row["status"] in ("pending", "sending"):
        return DraftResolution(until=row["until"])
    if row["status"] != "confirmed":
        return DraftResolution(problem=_problem(row))
    held = known.get(row["capability"])
    sent = row["arguments"] if held is None else mask_arguments(row["arguments"], held)
    return DraftResolution(result=row["result"], sent=dict(sent))


def _problem(row: Mapping[str, Any]) -> Problem:
    what = row["preview"][:_SHOWN]
    if row["status"] == "discarded":
        why = f" (reason: {row['reason']})" if row["reason"] else ""
        return PermissionDenied(f"A person declined this write: {what}{why}", code=DECLINED)
    if row["status"] == "expired":
        return Expired(
            f"This write was not approved in time: {what}",
            code=EXPIRED,
            suggestion="Run it again, or give it more time with hold_expires_after.",
        )
    if row["error"] is None:
        return build_send_in_doubt_error()
    problem = problem_from_dict(row["error"])
    problem.retryable = False
    return problem
