"""The review of a definition: what a person reads before they agree.

Rules say what it does, what is worth a look, whom it touches, what it will cost and who does
the same already. A model, where one can be asked, may add a summary in better words and more to
look at. It helps and decides nothing: every bound is held elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from mainspring.authoring.forecast.forecasting import ForecastDependencies, forecast
from mainspring.authoring.generate.reviewing import ask_reviewer
from mainspring.authoring.judging import build_overlap_query
from mainspring.authoring.overlaps import ExistingAutomation, alike, living
from mainspring.authoring.review.differences import describe_changes
from mainspring.authoring.review.explain import explain
from mainspring.authoring.review.facts import ReviewFacts, read_review_facts
from mainspring.authoring.review.flags import find_flags, with_warnings
from mainspring.authoring.review.grants import grants_of
from mainspring.authoring.review.impact import impact_of
from mainspring.definition.grants import find_missing_grants
from mainspring.workspace.changes import list_changes
from mainspring.workspace.consent_names import account_names

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.authoring.proposals.making import ProposalBuilder
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.errors import Finding
    from mainspring.contracts.grant import Grant
    from mainspring.contracts.registry import Vocabulary

_MOST_LIKE: Final = 10
_MAKER: Final = "SELECT created_by FROM automations WHERE workspace_id = $1 AND id = $2"
_RULES: Final = "Rules made this review; no model was asked."


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """What is reviewed, and what it is compared with."""

    document: Mapping[str, Any]
    request: str
    # What the validator says that a run of it may call; empty while it is not whole.
    grants: tuple[Grant, ...] = ()
    # What the validator and this house doubt.
    warnings: tuple[Finding, ...] = ()
    # What it was before, for a change.
    before: Mapping[str, Any] | None = None
    before_grants: tuple[Grant, ...] = ()
    # Where its questions are open.
    open_places: tuple[str, ...] = ()


async def review(
    bench: ProposalBuilder, subject: ReviewSubject, *, by_model: bool
) -> dict[str, Any]:
    """Everything that a person should see of a definition before they agree to it."""
    studio, space, words = bench.studio, bench.space, bench.words
    document = subject.document
    grants = subject.grants or await asyncio.to_thread(grants_of, document, words)
    parts = ForecastDependencies(
        studio.inside(space), studio.models, bench.ctx.clock, studio.limits
    )
    priced = await forecast(
        parts, space, document, grants, words, automation_id=bench.automation_id
    )
    cost = priced.as_dict()
    async with studio.inside(space).acquire() as tx:
        used, hosts = await read_review_facts(tx, space, bench.automation_id)
        others = await living(tx, space, studio.natives)
        accounts = await account_names(tx, space, await _owner(tx, bench))
    facts = ReviewFacts(
        subject.request,
        used,
        hosts,
        _usd(cost["usd_per_run"]),
        _usd(cost["usd_per_month"]),
        bench.automation_id,
        subject.before,
    )
    boards = {one.id: one.name for one in bench.resources.boards}
    explained = await asyncio.to_thread(explain, document, words, boards, subject.open_places)
    flags = await asyncio.to_thread(find_flags, document, grants, words, facts)
    flags = with_warnings(flags, subject.warnings)
    told: dict[str, Any] = {
        "summary": explained[0] if explained else "",
        "opinion": None,
        "explained": list(explained),
        "flags": [one.as_dict() for one in flags],
        "impact": await asyncio.to_thread(impact_of, document, grants, words, boards, accounts),
        "forecast": cost,
        "overlaps": await _overlaps(bench, subject, others),
        "change": await asyncio.to_thread(_change, subject, grants, words, boards),
        "reviewed_by": {"by": "rules", "model": None, "note": _RULES},
    }
    return await _with_model(bench, subject, told) if by_model else told


async def _owner(tx: Transaction, bench: ProposalBuilder) -> UUID:
    """By whose accounts it would send: those of its maker, or of the person who asks."""
    row = None
    if bench.automation_id is not None:
        row = await tx.fetchrow(_MAKER, bench.space, bench.automation_id)
    owner: UUID = bench.ctx.actor.id if row is None else row["created_by"]
    return owner


def _usd(range_: Mapping[str, Any]) -> Decimal | None:
    try:
        return Decimal(str(range_["usual"]))
    except (InvalidOperation, KeyError):
        return None


async def _overlaps(
    bench: ProposalBuilder, subject: ReviewSubject, others: Sequence[ExistingAutomation]
) -> dict[str, Any]:
    """Who writes the same way, and who means something alike."""
    wanted = build_overlap_query(subject.document, bench.automation_id, bench.studio.natives)
    rest = [one for one in others if one.id != bench.automation_id]
    strict = [one for one in rest if wanted.strictly(one)]
    same = [one for one in rest if wanted.shares_board(one) and one not in strict]
    known = {one.id for one in (*strict, *same)}
    fresh = [one for one in rest if one.id not in known]
    like, by = await alike(bench.studio.likeness, bench.space, subject.request, fresh)
    shown = [
        *(_match(bench, one, "strict") for one in strict),
        *(_match(bench, one, "board") for one in same),
        *(_match(bench, one, "alike") for one in like),
    ]
    return {"similarity_by": by, "matches": shown[:_MOST_LIKE]}


def _match(bench: ProposalBuilder, one: ExistingAutomation, how: str) -> dict[str, Any]:
    return {
        "automation_id": str(one.id),
        "name": one.name,
        "state": one.state,
        "how": how,
        "admin_url": bench.studio.admin_url(one.id),
    }


def _change(
    subject: ReviewSubject, grants: Sequence[Grant], words: Vocabulary, boards: Mapping[str, str]
) -> dict[str, Any] | None:
    """What is different from before, and what it may do now that it might not."""
    before = subject.before
    if before is None:
        return None
    found = list_changes(before, subject.document)
    widened = find_missing_grants(grants, subject.before_grants)
    return {
        "changes": found,
        "in_words": list(describe_changes(found, before, subject.document, words, boards)),
        "widened": [grant.as_dict() for grant in widened],
    }


async def _with_model(
    bench: ProposalBuilder, subject: ReviewSubject, told: dict[str, Any]
) -> dict[str, Any]:
    facts = [told["forecast"]["sentence"], *(flag["text"] for flag in told["flags"])]
    found = await ask_reviewer(
        bench.desk(), subject.document, subject.request, told["explained"], facts
    )
    if found.problem:
        note = f"A model was asked for a review and gave none: {found.problem}"
        return {**told, "reviewed_by": {"by": "rules", "model": None, "note": note}}
    by = {"by": "model", "model": bench.till.model, "note": "Rules and a model reviewed this."}
    flags = [*told["flags"], *(one.as_dict() for one in found.flags)]
    return {**told, "opinion": found.summary, "flags": flags, "reviewed_by": by}
