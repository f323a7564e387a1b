"""Words become a proposal: by a model where one can be asked, else by rules.

Both ways end the same: the one validator judges what was made, what is missing becomes a
question, and the review is made of what stands there. A model whose definitions do not pass is
not believed: rules take its place, and it is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.generate.desk import GenerationContext, RequestTurn
from mainspring.authoring.generate.generating import generate
from mainspring.authoring.proposals.body import ConversationEntry, ProposalBody, Wanted
from mainspring.authoring.proposals.missing import LookupContext, still_open
from mainspring.authoring.proposals.till import ProposalBudget
from mainspring.authoring.resources import WorkspaceResources, read_workspace_resources
from mainspring.authoring.shapes import (
    AutomationRequest,
    ProposalOrigin,
    ProposalQuestion,
    ProposalSketch,
)
from mainspring.authoring.sketch.sketching import sketch
from mainspring.contracts.errors import Problem
from mainspring.contracts.preflight import REFUSED, DefinitionOwner
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.validate import ValidationReport
from mainspring.workspace.secret_use import find_missing_secrets

if TYPE_CHECKING:
    from mainspring.authoring.studio import AuthoringService
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.errors import Finding

DEFAULT_USD: Final = Decimal("0.50")
_OWNER: Final = "SELECT created_by FROM automations WHERE workspace_id = $1 AND id = $2"
_NO_MODEL: Final = "No model is connected here, so rules made this; no model was used."
_NOT_WANTED: Final = "Rules made this, as was asked; no model was used."


@dataclass(slots=True)
class ProposalBuilder:
    """What one proposal is made with; the words of the workspace are looked up once."""

    studio: AuthoringService
    ctx: CallContext
    words: Vocabulary
    resources: WorkspaceResources
    till: ProposalBudget
    wanted: Wanted
    model: str
    automation_id: UUID | None = None
    # The verdict on the document that was judged last.
    report: ValidationReport = field(default_factory=lambda: ValidationReport(()))

    @property
    def space(self) -> UUID:
        return self.ctx.actor.workspace_id

    @property
    def around(self) -> LookupContext:
        return LookupContext(self.words, self.resources, self.studio.limits)

    def desk(self) -> GenerationContext:
        """Where a model works on it."""

        async def judge(document: Any) -> Any:
            return await self.studio.judge(self.space, document, self.automation_id)

        return GenerationContext(
            ask=self.till,
            model=self.model,
            words=self.words,
            resources=self.resources,
            judge=judge,
            max_usd=self.till.cap,
            seconds=float(self.studio.limits.authoring_seconds),
            clock=self.ctx.clock,
        )


async def build_proposal_builder(
    studio: AuthoringService,
    ctx: CallContext,
    given: Mapping[str, Any],
    automation_id: UUID | None = None,
) -> ProposalBuilder:
    """The bench for one call."""
    space = ctx.actor.workspace_id
    usd = given.get("max_usd")
    cap = DEFAULT_USD if usd is None else Decimal(str(usd))
    resources = await read_workspace_resources(
        studio.inside(space), space, ctx.actor.id, studio.models
    )
    words = await studio.words(space, None)
    till = ProposalBudget(ctx, studio.models, cap)
    return ProposalBuilder(
        studio,
        ctx,
        words,
        resources,
        till,
        given.get("by", "auto"),
        given.get("model", ""),
        automation_id,
    )


async def make(
    bench: ProposalBuilder, wish: AutomationRequest, talk: Sequence[ConversationEntry] = ()
) -> tuple[ProposalSketch, ProposalOrigin]:
    """What becomes of a wish, and how it was made."""
    if bench.wanted == "rules":
        return await _by_rules(bench, wish, _NOT_WANTED)
    if not bench.resources.has_model and bench.wanted == "auto" and not bench.model:
        return await _by_rules(bench, wish, _NO_MODEL)
    turns = [RequestTurn(one.by, one.text) for one in talk]
    try:
        made = await generate(bench.desk(), wish, turns)
    except Problem as problem:
        if bench.wanted == "model":
            raise
        note = f"The model could not be asked, so rules made this: {problem.detail}"
        found, making = await _by_rules(bench, wish, note)
        return found, replace(making, cost_usd=_usd(bench.till.spent))
    spent = _usd(bench.till.spent)
    if made.sketch is None:
        found, making = await _by_rules(bench, wish, f"{made.note} Rules made this instead.")
        return found, replace(making, rounds=made.rounds, refused=made.refused, cost_usd=spent)
    by = ProposalOrigin("model", made.note, made.model, made.rounds, made.refused, spent)
    return made.sketch, by


async def _by_rules(
    bench: ProposalBuilder, wish: AutomationRequest, note: str
) -> tuple[ProposalSketch, ProposalOrigin]:
    # Odd words take their time to read; nobody else waits for it.
    made = await asyncio.to_thread(sketch, wish, bench.words, bench.resources)
    return made, ProposalOrigin("rules", note)


def _usd(amount: Decimal) -> str:
    return f"{amount.normalize():f}" if amount else "0"


async def validate_body(
    bench: ProposalBuilder,
    body: ProposalBody,
    document: dict[str, Any],
    asked: Sequence[ProposalQuestion],
) -> ProposalBody:
    """A body with a document in it, its open questions, and what is wrong with it besides."""
    report = await bench.studio.judge(
        bench.space, document, bench.automation_id, bench.ctx.actor.id
    )
    # What no run gets past is no doubt: such a proposal is not ready.
    blocked = [one for one in report.warnings if one.code in REFUSED]
    doubts = tuple(one for one in report.warnings if one not in blocked)
    bench.report = replace(report, warnings=(*doubts, *await _lacking(bench, document, report)))
    found = still_open(document, (*report.findings, *blocked), asked, bench.around)
    return replace(
        body,
        document=document,
        questions=found.questions,
        problems=found.problems,
        grants=tuple(grant.as_dict() for grant in report.grants),
    )


async def _lacking(
    bench: ProposalBuilder, document: dict[str, Any], report: ValidationReport
) -> list[Finding]:
    """Secrets that are not kept, and what else the steps of an unfinished document lack."""
    studio, space, author = bench.studio, bench.space, bench.ctx.actor.id
    async with studio.inside(space).acquire() as tx:
        kept = None
        if bench.automation_id is not None:
            kept = await tx.fetchrow(_OWNER, space, bench.automation_id)
        owner = author if kept is None else kept["created_by"]
        found = [*await find_missing_secrets(tx, space, owner, document, studio.limits)]
    if report.definition is None:
        # The validator looks for these only once the document is complete. A refused address is
        # a problem of the complete one.
        whose = DefinitionOwner(space, bench.automation_id, author)
        early = await studio.lacking(document, whose, bench.words)
        found += [one for one in early if one.code not in REFUSED]
    return found
