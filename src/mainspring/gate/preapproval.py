"""Sending a write that was agreed to beforehand: by its step's approval, or by a standing rule.

The write becomes a draft first, taken for sending in the same transaction, with what agreed to
it. So it is sent at most once: a worker that takes the run over finds what came of it, and
what may have left is not sent again by itself, however often its step is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

from mainspring.contracts.errors import Problem, UpstreamError
from mainspring.gate.capability_call import ApprovedDraft, canonical_json, digest
from mainspring.gate.drafting.attachments import extract_files
from mainspring.gate.drafts import OUTCOME, DraftLifetimes, hold_call
from mainspring.gate.standing.rules import find_standing_rule
from mainspring.workspace.approval_policy import load_approval_policy

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.gate.call_state import CallState

LOOK_THERE: Final = "Check the receiving service. It is not sent again automatically."
_CALLS: Final = UUID("6b0f7a3e-8f0b-5d0c-9a54-2f3c7f0f6d11")

# The same try of the same step, before its worker was lost.
_BEFORE = f"""
    SELECT {OUTCOME} AS came_to, status, result FROM drafts
    WHERE workspace_id = $1 AND call_id = $2 AND run_id = $3 AND answered_kind IN ('rule', 'step')
    ORDER BY id DESC LIMIT 1
"""
# What may have left in this step, or has in an earlier try of it, or says the same: a person
# decides about more.
_MAYBE = f"""
    SELECT 1 AS one FROM drafts
    WHERE workspace_id = $1 AND run_id = $2 AND step = $3 AND item = $4 AND capability = $5
      AND answered_kind IN ('rule', 'step')
      AND (coalesce({OUTCOME}, '') = 'unknown'
          OR (($6 OR arguments_hash = $7) AND coalesce({OUTCOME}, '') <> 'not_sent'))
    LIMIT 1
"""
_BEGIN = """
    UPDATE drafts SET status = 'sending', answered_at = now(), call_id = $3,
        approved_hash = bound_hash, rule_id = $4,
        answered_kind = CASE WHEN $4::uuid IS NULL THEN 'step' ELSE 'rule' END
    WHERE workspace_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class PreapprovedDraft:
    """A draft that is this call's to send now, or what came of it before."""

    call_id: UUID
    agreed: ApprovedDraft | None = None
    result: Any = None
    problem: Problem | None = None


async def claim_preapproved(
    tx: Transaction,
    state: CallState,
    now: datetime,
    lifetimes: DraftLifetimes,
    *,
    by_step: bool = False,
) -> PreapprovedDraft | None:
    """The draft that a rule or its step's approval agrees to; None where a person has to."""
    ask, capability, arguments = state.ask, state.capability, state.shown
    run, space = ask.run, ask.actor.workspace_id
    if run is None:
        return None
    call_id = uuid5(_CALLS, f"{space}/{ask.key}/{run.attempt}")
    before = await tx.fetchrow(_BEFORE, space, call_id, run.id)
    if before is not None and before["came_to"] == "sent":
        return PreapprovedDraft(call_id, result=before["result"])
    if before is not None and before["came_to"] != "not_sent":
        return PreapprovedDraft(call_id, problem=build_send_in_doubt_error())
    place = (space, run.id, run.step, run.item, capability.id)
    same = digest(canonical_json(extract_files(arguments)[0]))
    if await tx.fetchrow(_MAYBE, *place, run.attempt > 1, same) is not None:
        return None
    rule_id = None
    if not by_step:
        rule_id = await find_standing_rule(tx, ask, capability, arguments)
        if rule_id is None:
            return None
    elif (await load_approval_policy(tx, space)).needs_others:
        # No person alone can agree to a write here, so nobody has.
        return None
    held = await hold_call(tx, ask, capability, arguments, now, lifetimes, state.connection)
    await tx.execute(_BEGIN, space, held.draft_id, call_id, rule_id)
    agreed = ApprovedDraft(held.draft_id, state.hosts, held.hash, state.connection)
    return PreapprovedDraft(call_id, agreed)


def build_send_in_doubt_error() -> UpstreamError:
    """Whether a write has left is not known, so it is not tried again."""
    return UpstreamError(
        "The process that sent this was lost, so it is unknown whether it was sent.",
        code="send_in_doubt",
        suggestion=LOOK_THERE,
        retryable=False,
    )
