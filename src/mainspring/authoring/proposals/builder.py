"""Building a proposal from a request: with a model where available, else by rules.

Both end the same way: the validator checks the result, missing values become questions, and a
review is made. When a model's definitions fail validation, the rules take over, and the proposal
says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.config_places import schema_at
from mainspring.authoring.generate.context import GenerationContext, RequestTurn
from mainspring.authoring.generate.conversation import generate
from mainspring.authoring.json_pointers import NOT_THERE, is_within, parent_of, value_at
from mainspring.authoring.models import (
    AutomationRequest,
    ProposalOrigin,
    ProposalQuestion,
    ProposalSketch,
    QuestionChoice,
)
from mainspring.authoring.proposals.proposal_body import ConversationEntry, ProposalBody, Wanted
from mainspring.authoring.resources import (
    DatasetSummary,
    WorkspaceResources,
    read_workspace_resources,
)
from mainspring.authoring.sketch.sketcher import sketch
from mainspring.contracts.errors import BudgetExceeded, Finding, Invalid, Problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelCatalog, ModelReply, ModelRequest, Price, is_refusal
from mainspring.contracts.preflight import REFUSED, DefinitionOwner
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.strict_json import join_pointer, split_pointer
from mainspring.definition.validate import ValidationReport
from mainspring.workspace.automation_resources import find_missing_secrets

if TYPE_CHECKING:
    from mainspring.authoring.service import AuthoringService
    from mainspring.contracts.context import CallContext


# Appended rows need a dedup key, which is always asked for.

APPEND: Final = "append_board_rows"
_KEY: Final = "dedupe_key_field"
_WHY: Final = (
    "Without it the same row is written again by every run, every replay and every teammate's "
    "automation with the same trigger."
)
_SCHEMA: Final[Mapping[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 100}
_DEEPEST: Final = 20


def key_questions(
    document: Mapping[str, Any], resources: WorkspaceResources, asked: list[str]
) -> Iterator[ProposalQuestion]:
    """Ask for the key of each step that appends rows without one."""
    for at, config in _appending(document.get("plan"), "/plan", 0):
        place = join_pointer(at, "config", _KEY)
        if config.get(_KEY) not in (None, "") or any(is_within(place, one) for one in asked):
            continue
        dataset = _dataset(config, resources)
        if dataset is not None and dataset.dedupe_key_field:
            continue
        columns = () if dataset is None else dataset.columns
        yield ProposalQuestion(
            id="dedupe-key",
            kind="value",
            pointer=place,
            question="Which field of a row says that it is the same row, if it comes again?",
            schema=_SCHEMA,
            choices=tuple(QuestionChoice(one, one) for one in columns[:20]),
            why=_WHY,
        )


def _appending(steps: Any, at: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, step in enumerate(steps if isinstance(steps, list) else ()):
        config = step.get("config") if isinstance(step, Mapping) else None
        if not isinstance(config, Mapping):
            continue
        here = join_pointer(at, place)
        if step.get("action") == APPEND:
            yield here, config
        elif depth < _DEEPEST:
            yield from _appending(
                config.get("steps"), join_pointer(here, "config", "steps"), depth + 1
            )


def _dataset(config: Mapping[str, Any], resources: WorkspaceResources) -> DatasetSummary | None:
    name = config.get("dataset", "default")
    for board in resources.boards:
        if board.id == str(config.get("board_id")).lower():
            return next((one for one in board.datasets if one.name == name), None)
    return None


# Questions for what a document still lacks.

_ANYTHING: Final[Mapping[str, Any]] = {}
_LONGEST: Final = 300
# Codes of an object that lacks one of several keys.
_EITHER: Final = frozenset({"any_of", "one_of"})
_MOST_CHOICES: Final = 20


@dataclass(frozen=True, slots=True)
class OpenItems:
    """Open questions of a document, and its errors."""

    questions: tuple[ProposalQuestion, ...]
    problems: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class LookupContext:
    """Where missing values are looked up."""

    vocabulary: Vocabulary
    resources: WorkspaceResources
    limits: Limits


def still_open(
    document: Mapping[str, Any],
    findings: Iterable[Finding],
    asked: Sequence[ProposalQuestion],
    around: LookupContext,
) -> OpenItems:
    """Return the remaining questions, those raised by findings, and the other findings."""
    remain = [one for one in asked if _is_open(one, document)]
    places = [pointer for one in remain for pointer in (one.pointer, *one.others)]
    problems = []
    for finding in findings:
        if any(is_within(finding.pointer, place) for place in places):
            continue
        if finding.code in _EITHER and finding.pointer in map(parent_of, places):
            continue
        if finding.code == "required":
            made = _question(finding, document, around, {one.id for one in remain})
            remain.append(made)
            places.append(made.pointer)
        else:
            problems.append(finding)
    for question in key_questions(document, around.resources, places):
        remain.append(replace(question, id=_free(question.id, {one.id for one in remain})))
    return OpenItems(tuple(remain), tuple(problems))


def _is_open(question: ProposalQuestion, document: Mapping[str, Any]) -> bool:
    """Report whether a value is still missing; a request for more words is open until there is a
    plan."""
    places = (question.pointer, *question.others)
    return any(value_at(document, place) is NOT_THERE for place in places)


def _question(
    finding: Finding, document: Mapping[str, Any], around: LookupContext, used: set[str]
) -> ProposalQuestion:
    parts = split_pointer(finding.pointer)
    name = parts[-1] if parts else "value"
    schema = schema_at(document, finding.pointer, around.vocabulary) or _ANYTHING
    where = _holder(document, finding.pointer)
    described = schema.get("description")
    said = f" {described}" if isinstance(described, str) else ""
    return ProposalQuestion(
        id=_free(_slug(where, name), used),
        kind="value",
        pointer=finding.pointer,
        question=f"What is {name.replace('_', ' ')!r}{where}?{said}"[:_LONGEST],
        schema=_usable(schema, around.limits),
        choices=_choices(name, around.resources),
    )


def _holder(document: Mapping[str, Any], pointer: str) -> str:
    """Name the step or trigger that a place belongs to."""
    parts = split_pointer(pointer)
    for length in range(len(parts), 1, -1):
        if parts[length - 1] != "config":
            continue
        holder = value_at(document, join_pointer("", *parts[: length - 1]))
        if isinstance(holder, Mapping) and isinstance(holder.get("action"), str):
            return f" of step {str(holder.get('step_id', holder['action']))[:100]!r}"
        if isinstance(holder, Mapping) and isinstance(holder.get("type"), str):
            return f" of the {holder['type'][:100]} trigger"
    return ""


def _usable(schema: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """Return a self-contained part of a schema; otherwise accept anything for now."""
    plain = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
    try:
        if check_schema(plain, limits):
            return _ANYTHING
        compile_schema(plain, limits)
    except Invalid:
        return _ANYTHING
    return plain


def _choices(name: str, resources: WorkspaceResources) -> tuple[QuestionChoice, ...]:
    """Return the workspace's resources that could be meant."""
    if name == "board_id":
        return tuple(QuestionChoice(one.name, one.id) for one in resources.boards[:_MOST_CHOICES])
    if name == "token":
        return tuple(
            QuestionChoice(one, f"{{{{ secrets.{one} }}}}")
            for one in resources.secrets[:_MOST_CHOICES]
        )
    if name in ("page_type", "type"):
        return tuple(QuestionChoice(one, one) for one in resources.page_types[:_MOST_CHOICES])
    return ()


def _slug(where: str, name: str) -> str:
    words = "".join(one if one.isalnum() and one.isascii() else " " for one in f"{where} {name}")
    return "-".join(words.lower().replace(" of ", " ").split()[-4:]) or "value"


def _free(slug: str, used: set[str]) -> str:
    number, made = 1, slug
    while made in used:
        number += 1
        made = f"{slug}-{number}"
    return made


# The shared budget of the model calls for one proposal.


@dataclass(slots=True)
class ProposalBudget:
    """Calls models within a budget, and counts the cost."""

    ctx: CallContext
    models: ModelCatalog
    cap: Decimal
    spent: Decimal = Decimal(0)
    # The name of the last model that answered.
    model: str = ""

    async def __call__(self, request: ModelRequest) -> ModelReply:
        """Call a model, limited to the remaining budget."""
        left = self.cap - self.spent
        if left <= 0:
            raise BudgetExceeded(
                f"This proposal may cost ${self.cap}, and ${self.spent} are spent.",
                code="proposal_budget",
                suggestion="Allow more with max_usd, or do without a model.",
            )
        most = left if request.max_usd is None else min(left, request.max_usd)
        price = await self._price(self.ctx.actor.workspace_id, request.model)
        try:
            reply = await self.ctx.complete(replace(request, max_usd=most))
        except Problem as problem:
            if not (problem.unsent or is_refusal(problem)):
                # The cost is unknown, and the ledger books the maximum.
                self.spent += most
            raise
        self.model = reply.model or request.model
        self.spent += price.cost(
            reply.input_tokens, reply.output_tokens, reply.cached_tokens, reply.stored_tokens
        )
        return reply

    async def _price(self, workspace_id: UUID, name: str) -> Price:
        found = await self.models.find(workspace_id, name)
        # Without a price the gate rejects the call, and nothing is booked.
        return found.price or Price(Decimal(0), Decimal(0))


DEFAULT_USD: Final = Decimal("0.50")
_OWNER: Final = "SELECT created_by FROM automations WHERE workspace_id = $1 AND id = $2"
_NO_MODEL: Final = "No model is connected here, so rules made this; no model was used."
_NOT_WANTED: Final = "Generated by rules, as requested; no model was used."


@dataclass(slots=True)
class ProposalBuilder:
    """The context of building one proposal; the vocabulary is loaded once."""

    service: AuthoringService
    ctx: CallContext
    vocabulary: Vocabulary
    resources: WorkspaceResources
    budget: ProposalBudget
    maker: Wanted
    model: str
    automation_id: UUID | None = None
    # The validation report of the last document.
    report: ValidationReport = field(default_factory=lambda: ValidationReport(()))

    @property
    def space(self) -> UUID:
        return self.ctx.actor.workspace_id

    @property
    def lookup_context(self) -> LookupContext:
        return LookupContext(self.vocabulary, self.resources, self.service.limits)

    def build_generation_context(self) -> GenerationContext:
        """The context of a model conversation about it."""

        async def judge(document: Any) -> Any:
            return await self.service.validate(self.space, document, self.automation_id)

        return GenerationContext(
            ask=self.budget,
            model=self.model,
            vocabulary=self.vocabulary,
            resources=self.resources,
            validate=judge,
            max_usd=self.budget.cap,
            seconds=float(self.service.limits.authoring_seconds),
            clock=self.ctx.clock,
        )


async def build_proposal_builder(
    studio: AuthoringService,
    ctx: CallContext,
    arguments: Mapping[str, Any],
    automation_id: UUID | None = None,
) -> ProposalBuilder:
    """Create the builder for one call."""
    space = ctx.actor.workspace_id
    usd = arguments.get("max_usd")
    cap = DEFAULT_USD if usd is None else Decimal(str(usd))
    resources = await read_workspace_resources(
        studio.open_workspace(space), space, ctx.actor.id, studio.models
    )
    words = await studio.load_vocabulary(space, None)
    till = ProposalBudget(ctx, studio.models, cap)
    return ProposalBuilder(
        studio,
        ctx,
        words,
        resources,
        till,
        arguments.get("by", "auto"),
        arguments.get("model", ""),
        automation_id,
    )


async def make(
    bench: ProposalBuilder, wish: AutomationRequest, talk: Sequence[ConversationEntry] = ()
) -> tuple[ProposalSketch, ProposalOrigin]:
    """Build a proposal from a request, with its origin."""
    if bench.maker == "rules":
        return await _by_rules(bench, wish, _NOT_WANTED)
    if not bench.resources.has_model and bench.maker == "auto" and not bench.model:
        return await _by_rules(bench, wish, _NO_MODEL)
    turns = [RequestTurn(one.by, one.text) for one in talk]
    try:
        made = await generate(bench.build_generation_context(), wish, turns)
    except Problem as problem:
        if bench.maker == "model":
            raise
        note = f"The model could not be called, so rules generated this: {problem.detail}"
        found, making = await _by_rules(bench, wish, note)
        return found, replace(making, cost_usd=_usd(bench.budget.spent))
    spent = _usd(bench.budget.spent)
    if made.sketch is None:
        found, making = await _by_rules(bench, wish, f"{made.note} Rules generated this instead.")
        return found, replace(making, rounds=made.rounds, refused=made.refused, cost_usd=spent)
    by = ProposalOrigin("model", made.note, made.model, made.rounds, made.refused, spent)
    return made.sketch, by


async def _by_rules(
    bench: ProposalBuilder, request: AutomationRequest, note: str
) -> tuple[ProposalSketch, ProposalOrigin]:
    # In a thread: adversarial text is slow to parse.
    made = await asyncio.to_thread(sketch, request, bench.vocabulary, bench.resources)
    return made, ProposalOrigin("rules", note)


def _usd(amount: Decimal) -> str:
    return f"{amount.normalize():f}" if amount else "0"


async def validate_body(
    bench: ProposalBuilder,
    body: ProposalBody,
    document: dict[str, Any],
    asked: Sequence[ProposalQuestion],
) -> ProposalBody:
    """Validate a body's document; return its open questions and other problems."""
    report = await bench.service.validate(
        bench.space, document, bench.automation_id, bench.ctx.actor.id
    )
    # Findings that block every run are errors here: the proposal is not ready.
    blocked = [one for one in report.warnings if one.code in REFUSED]
    doubts = tuple(one for one in report.warnings if one not in blocked)
    bench.report = replace(report, warnings=(*doubts, *await _lacking(bench, document, report)))
    found = still_open(document, (*report.findings, *blocked), asked, bench.lookup_context)
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
    """Find unset secrets and other missing dependencies of an unfinished document."""
    studio, space, author = bench.service, bench.space, bench.ctx.actor.id
    async with studio.open_workspace(space).acquire() as tx:
        kept = None
        if bench.automation_id is not None:
            kept = await tx.fetchrow(_OWNER, space, bench.automation_id)
        owner = author if kept is None else kept["created_by"]
        found = [*await find_missing_secrets(tx, space, owner, document, studio.limits)]
    if report.definition is None:
        # The validator checks these only for a complete document. A rejected address is an error of
        # the complete one.
        whose = DefinitionOwner(space, bench.automation_id, author)
        early = await studio.run_preflight(document, whose, bench.vocabulary)
        found += [one for one in early if one.code not in REFUSED]
    return found
