"""Cost per step and per run.

A step is free, has a fixed price, or calls a model. Its basis is the best available: its own runs,
similar model calls of the workspace, the definition's limits, or the caps alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from statistics import mean
from typing import Any, Final

from mainspring.actions.agent.prompts import build_system_prompt
from mainspring.actions.agent.schema import MOST_TOKENS, MOST_TURNS
from mainspring.actions.agent.task import DEFAULT_TOKENS, DEFAULT_TURNS, AgentLimits, AgentTask
from mainspring.authoring.forecast.amounts import (
    BASES,
    ZERO,
    Basis,
    CostRange,
    at_most,
    format_usd,
    plain,
    sum_ranges,
)
from mainspring.authoring.forecast.assumptions import (
    ANSWER_TOKENS,
    CALL_TOKENS,
    DOCUMENT_TOKENS,
    EXPRESSION_TOKENS,
    FEWEST,
    ITEMS,
    SCRIPT_ASK_TOKENS,
    SHORT_ANSWER_TOKENS,
    TOKEN_CHARACTERS,
    TOOL_TOKENS,
    TURNS_ALONE,
    TURNS_WITH_TOOLS,
)
from mainspring.authoring.forecast.definition_view import (
    ExecutionBounds,
    entries,
    money,
    text,
    whole,
)
from mainspring.authoring.forecast.step_frequency import StepFrequency
from mainspring.authoring.json_pointers import mapping
from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.capability import Capability
from mainspring.contracts.grant import Grant
from mainspring.contracts.model import ModelMessage, ModelRequest, Price
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.tool_patterns import is_pattern, match_pattern, read_tool_name
from mainspring.gate.capability_call import canonical_json
from mainspring.gate.usage_meter import reads_at_most
from mainspring.outbound.models.llm_complete import DEFAULT_TOKENS as ANSWER_DEFAULT
from mainspring.outbound.models.llm_complete import MOST_TOKENS as ANSWER_MOST

# Token estimates of steps that call a model: minimum, usual and maximum.

# Token overhead of a message or tool on the wire.
_AROUND: Final = 10
_MOST_TOOLS: Final = 100
_MOST_PATTERNS: Final = 10
_MARK: Final = "untrusted-0123456789abcdef"
_UNSHOWN: Final = frozenset({"examples", "x-mainspring-anti-examples", "$schema"})
_NOBODY: Final = AgentTask("", "", (), {}, "", None, AgentLimits(1, 1, None, None, None), b"")
_OURS: Final = len(build_system_prompt(_NOBODY, _MARK)) // TOKEN_CHARACTERS.value


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """Input and output tokens of one call or a whole conversation."""

    read: int
    written: int

    def cost(self, price: Price) -> Decimal:
        return price.cost(self.read, self.written)


@dataclass(frozen=True, slots=True)
class ModelUseEstimate:
    """The model use of a step."""

    # The name in the spend ledger.
    caller: str
    # Empty: the default model. None: an expression decides.
    model: str | None
    low: TokenEstimate
    usual: TokenEstimate
    most: TokenEstimate
    # The number of turns assumed for the usual value.
    turns: int = 1
    max_usd: Decimal | None = None
    # The tokens of the first call, for which budget is reserved before it is made.
    first: TokenEstimate = TokenEstimate(0, 0)

    def bound(self, price: Price) -> Decimal:
        """The maximum cost of its tokens, however they split into input and output."""
        read, written = self.most.read, self.most.written
        usd = max(price.most(read, written), price.most(read + written, 0))
        return usd if self.max_usd is None else min(usd, self.max_usd)


def asking_of(
    capability: str, config: Mapping[str, Any], usual_model: str, room: int, vocabulary: Vocabulary
) -> ModelUseEstimate:
    """Estimate the model use of a capability call with unfinished arguments."""
    given = config.get("model")
    model: str | None = given if isinstance(given, str) and given else usual_model
    model = None if "{{" in (model or "") else model
    if capability == AGENT_RUN:
        return _agent(config, model, room, vocabulary)
    return _answer(capability, config, model, room)


def _answer(
    capability: str, config: Mapping[str, Any], model: str | None, room: int
) -> ModelUseEstimate:
    said = [text(one.get("content")) for one in entries(config.get("messages"))]
    texts = [text(config.get("prompt")), text(config.get("system")), *said]
    least, usually, open_ended = _read(texts)
    longest = whole(config.get("max_tokens"), ANSWER_DEFAULT, 1, ANSWER_MOST)
    around = _AROUND * sum(map(bool, texts))
    sends = ModelRequest("", tuple(ModelMessage("user", one) for one in texts if one))
    most = room if open_ended else min(reads_at_most(sends), room)
    written = min(longest, room)
    return ModelUseEstimate(
        caller=capability,
        model=model,
        low=TokenEstimate(least + around, min(SHORT_ANSWER_TOKENS.value, longest)),
        usual=TokenEstimate(usually + around, min(ANSWER_TOKENS.value, longest)),
        most=TokenEstimate(min(most, max(room - written, 0)), written),
        max_usd=money(config.get("max_usd")),
        first=TokenEstimate(reads_at_most(sends), longest),
    )


def _agent(
    config: Mapping[str, Any], model: str | None, room: int, vocabulary: Vocabulary
) -> ModelUseEstimate:
    documents = [text(one.get("text")) for one in entries(config.get("documents"))]
    texts = [text(config.get("prompt")), text(config.get("system"))]
    least, usually, _ = _read(texts)
    small, large, _ = _read(documents, DOCUMENT_TOKENS.value)
    tools = list(_count_tool_tokens(config.get("tools"), vocabulary.capabilities))
    fixed = _OURS + sum(tools) + _shape(config.get("output_schema")) + _AROUND * 4
    allowed = whole(config.get("max_turns"), DEFAULT_TURNS, 1, MOST_TURNS)
    longest = whole(config.get("max_tokens"), DEFAULT_TOKENS, 16, MOST_TOKENS)
    turns = min(allowed, TURNS_WITH_TOOLS.value if tools else TURNS_ALONE.value)
    call, answer = min(CALL_TOKENS.value, longest), min(ANSWER_TOKENS.value, longest)
    grows = sum(turn * (call + TOOL_TOKENS.value) for turn in range(turns))
    first = fixed + usually + large
    room = min(room, whole(config.get("max_total_tokens"), room, 1, room or 1))
    written = min(allowed * longest, room)
    sends = ModelRequest("", tuple(ModelMessage("user", one) for one in (*texts, *documents)))
    at_most = reads_at_most(sends) + fixed * TOKEN_CHARACTERS.value
    return ModelUseEstimate(
        caller=AGENT_RUN,
        model=model,
        low=TokenEstimate(fixed + least + small, min(SHORT_ANSWER_TOKENS.value, longest)),
        usual=TokenEstimate(first * turns + grows, call * (turns - 1) + answer),
        most=TokenEstimate(room - written, written),
        turns=turns,
        max_usd=money(config.get("max_usd")),
        first=TokenEstimate(at_most, longest),
    )


def _read(texts: list[str], alone: int = EXPRESSION_TOKENS.value) -> tuple[int, int, bool]:
    """Count tokens of the written text, with expressions expanded, and whether it has expressions.

    A text that is a single expression counts as ``alone`` tokens.
    """
    characters, filled = 0, 0
    for one in texts:
        begin, *pieces = one.split("{{")
        spoken = len(begin)
        for piece in pieces:
            spoken += len(piece.partition("}}")[2])
        characters += spoken
        bare = len(pieces) == 1 and not begin.strip() and spoken <= 2
        filled += alone if bare else EXPRESSION_TOKENS.value * len(pieces)
    written = -(-characters // TOKEN_CHARACTERS.value)
    return written, written + filled, filled > 0


def _count_tool_tokens(value: Any, capabilities: Mapping[str, Capability]) -> Iterator[int]:
    """Count the tokens of each tool description, sent in every turn."""
    named = map(read_tool_name, (value if isinstance(value, list) else [])[:_MOST_TOOLS])
    names = list(dict.fromkeys(name for name in named if name))
    patterns = [name for name in names if is_pattern(name)][:_MOST_PATTERNS]
    meant = (name for pattern in patterns for name in match_pattern(pattern, capabilities))
    found = dict.fromkeys([*(name for name in names if not is_pattern(name)), *meant])
    for name in islice(found, _MOST_TOOLS):
        known = capabilities.get(name)
        size = 0 if known is None else len(known.description) + _size(known.input_schema)
        yield _AROUND + (len(name) + size) // TOKEN_CHARACTERS.value


def _shape(schema: Any) -> int:
    return _size(mapping(schema)) // TOKEN_CHARACTERS.value


def _size(schema: Mapping[str, Any]) -> int:
    shown = {key: value for key, value in schema.items() if key not in _UNSHOWN}
    try:
        return len(canonical_json(shown))
    except (TypeError, ValueError, RecursionError):
        return 0


_SCRIPT: Final = "script"
_FREE: Final = "It calls nothing that costs money."
_NOTHING: Final = "It costs nothing: no step asks a model or calls anything that costs money."
# A script may call models of its own, which are not visible here.
_MARKS: Final = " What a script reports itself comes on top."
_TYPICAL_ASK: Final = TokenEstimate(SCRIPT_ASK_TOKENS.value, ANSWER_TOKENS.value)
# The safety factor for similar conversations: this one may be twice as long as the longest.
_MARGIN: Final = 2


@dataclass(frozen=True, slots=True)
class PastConversation:
    """A past conversation of the workspace: tokens of each model call."""

    caller: str
    model: str
    asks: tuple[tuple[int, int, int], ...]

    def cost(self, price: Price) -> Decimal:
        return sum((price.cost(*ask) for ask in self.asks), ZERO)


@dataclass(frozen=True, slots=True)
class CostEvidence:
    """Evidence: prices by requested name, and history."""

    prices: Mapping[str, Price] = field(default_factory=dict)
    # For a model without a price: the reason.
    unpriced: Mapping[str, str] = field(default_factory=dict)
    # The names under which the ledger may have a model.
    called: Mapping[str, str] = field(default_factory=dict)
    talks: Sequence[PastConversation] = ()

    def like(self, asking: ModelUseEstimate) -> list[PastConversation]:
        """Return conversations of the same kind with the same model."""
        name = self.called.get(asking.model or "", asking.model or "")
        return [
            one for one in self.talks if one.caller == asking.caller and same_model(one.model, name)
        ]


@dataclass(frozen=True, slots=True)
class StepCost:
    """The cost of one step in a run."""

    step_id: str
    span: CostRange
    basis: Basis
    why: str
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "step_id": self.step_id,
            "usual": plain(self.span.usual),
            "high": plain(self.span.high),
            "basis": self.basis,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class PricedStep:
    """A step that may cost money: a model call, a priced call, or either."""

    place: StepFrequency
    asking: ModelUseEstimate | None = None
    priced: Capability | None = None


def paying_of(
    places: Iterable[StepFrequency],
    bounds: ExecutionBounds,
    vocabulary: Vocabulary,
    grants: Sequence[Grant],
) -> list[PricedStep | StepFrequency]:
    """Mark each step that may cost money."""
    return [_classify_step(place, bounds, vocabulary, grants) for place in places]


def _classify_step(
    place: StepFrequency, bounds: ExecutionBounds, vocabulary: Vocabulary, grants: Sequence[Grant]
) -> PricedStep | StepFrequency:
    called = vocabulary.capabilities.get(AGENT_RUN if place.action == AGENT_TASK else place.action)
    if called is not None:
        if called.annotations.asks_models:
            asking = asking_of(called.id, place.config, bounds.model, bounds.tokens, vocabulary)
            return PricedStep(place, asking=asking)
        return PricedStep(place, priced=called) if called.may_cost else place
    if place.action not in vocabulary.actions:
        return PricedStep(place)
    used = _list_capabilities(place, vocabulary, grants)
    costly = any(
        name in vocabulary.capabilities and vocabulary.capabilities[name].may_cost for name in used
    )
    return PricedStep(place) if costly else place


def _list_capabilities(
    place: StepFrequency, vocabulary: Vocabulary, grants: Sequence[Grant]
) -> list[str]:
    """The capabilities that an action may call; every granted one when it cannot say."""
    try:
        return [grant.capability for grant in vocabulary.actions[place.action].uses(place.config)]
    except Exception:  # an integration's parser may fail on an unfinished text
        return [grant.capability for grant in grants]


def cost_of(
    step: PricedStep | StepFrequency,
    bounds: ExecutionBounds,
    vocabulary: Vocabulary,
    known: CostEvidence,
) -> StepCost:
    """Estimate the cost of a step in a run, below every cap that applies."""
    if isinstance(step, StepFrequency):
        return StepCost(
            step.step_id, CostRange(), "free", _FREE + (_MARKS if step.action == _SCRIPT else "")
        )
    place = step.place
    if step.asking is not None:
        made = _estimate_model_cost(place, step.asking, known, bounds)
    elif step.priced is not None:
        made = _price_step(place, step.priced, bounds)
    elif place.action in vocabulary.actions:
        made = _program(place, bounds, known)
    else:
        made = _open(place, bounds, "What it does is still open, so its cost is not known.")
    span = made.span.times(place.low, place.usual, place.high)
    return replace(
        made, span=span.capped(bounds.most_usd, *place.caps), why=made.why + _often(place)
    )


def _often(place: StepFrequency) -> str:
    if not place.items_open:
        return ""
    return f" How many items there are is only known in the run; {ITEMS.value} are reckoned with."


def _estimate_model_cost(
    place: StepFrequency, asking: ModelUseEstimate, known: CostEvidence, bounds: ExecutionBounds
) -> StepCost:
    if asking.model is None:
        return _open(place, bounds, "Which model it asks is only decided in the run.")
    price = known.prices.get(asking.model)
    if price is None:
        reason = known.unpriced.get(asking.model, "The model it asks is not known here.")
        return replace(_open(place, bounds, "What its model costs is not known."), note=reason)
    bound = asking.bound(price)
    note = _too_dear(place, asking, price, bounds)
    talks = known.like(asking)
    if len(talks) >= FEWEST:
        costs = [talk.cost(price) for talk in talks]
        high = min(max(costs) * _MARGIN, bound)
        span = CostRange(min(costs), mean(costs), high).capped(bound)
        why = (
            f"After {len(costs)} conversations of this workspace with the same model, which "
            f"would cost {format_usd(mean(costs))} each on average at today's price."
        )
        return StepCost(place.step_id, span, "similar", why, note)
    span = CostRange(asking.low.cost(price), asking.usual.cost(price), bound).capped(bound)
    turns = f" in {asking.turns} turns" if asking.turns > 1 else ""
    why = (
        f"Too little like it has run here to go by: about {asking.usual.read} tokens to read and "
        f"{asking.usual.written} to write{turns}, and at most what its bounds allow."
    )
    return StepCost(place.step_id, span, "bounded", why, note)


def _too_dear(
    place: StepFrequency, asking: ModelUseEstimate, price: Price, bounds: ExecutionBounds
) -> str:
    """Budget is reserved for the maximum of a call; without enough, it is not made."""
    caps = [bounds.most_usd, *place.caps]
    # A call with its own cap is truncated to what that affords.
    most = price.most(asking.first.read, 0 if asking.max_usd is not None else asking.first.written)
    if most <= min(caps):
        return ""
    return (
        f"One ask of step {place.step_id!r} can cost {format_usd(most)}, which is more than its "
        f"cap of "
        f"{format_usd(min(caps))} allows, so it would be refused."
    )


def _price_step(place: StepFrequency, capability: Capability, bounds: ExecutionBounds) -> StepCost:
    price = capability.annotations.price
    try:
        most = None if price is None else price(place.config)
    except Exception:  # a price may need an argument that is still missing
        most = None
    if most is None or not most.is_finite() or most < 0:
        return _open(place, bounds, "What a call costs follows from what is still open.")
    span = CostRange(most, most, most)
    return StepCost(place.step_id, span, "bounded", f"A call costs at most {at_most(most)}.")


def _program(place: StepFrequency, bounds: ExecutionBounds, known: CostEvidence) -> StepCost:
    """A script may call models without limit, so only its caps apply."""
    price = known.prices.get(bounds.model)
    usual = ZERO if price is None else _TYPICAL_ASK.cost(price)
    why = "It may ask a model as often as it likes; one ask is reckoned with."
    return StepCost(place.step_id, CostRange(ZERO, usual, bounds.most_usd), "unknown", why)


def _open(place: StepFrequency, bounds: ExecutionBounds, why: str) -> StepCost:
    return StepCost(place.step_id, CostRange(ZERO, ZERO, bounds.most_usd), "unknown", why)


def same_model(one: str, other: str) -> bool:
    """Compare model names, ignoring a provider's date suffix and a connection prefix."""
    mine, theirs = one.rpartition("/")[2], other.rpartition("/")[2]
    if not mine or not theirs:
        return False
    short, long = sorted((mine, theirs), key=len)
    return long == short or (long.startswith(f"{short}-") and long[len(short) + 1 :].isdigit())


@dataclass(frozen=True, slots=True)
class RunCost:
    """The cost of one run."""

    span: CostRange
    basis: Basis
    why: str
    # For measured runs: their standard deviation and number.
    spread: Decimal = ZERO
    measured: int = 0

    def of_many(self, low: int, usual: int, high: int) -> CostRange:
        """Estimate the cost of several runs.

        Measured runs average out; the fewer were measured, the wider the error. Unmeasured ones are
        multiplied.
        """
        one = self.span
        widest = one.times(Decimal(low), Decimal(usual), Decimal(high))
        if not self.measured:
            return widest
        return CostRange(
            max(widest.low, low * (one.usual - self._off(low))),
            widest.usual,
            min(widest.high, high * (one.usual + self._off(high))),
        )

    def _off(self, runs: int) -> Decimal:
        """Twice the standard error of the mean."""
        if not runs:
            return ZERO
        return 2 * self.spread * (Decimal(1) / runs + Decimal(1) / self.measured).sqrt()


def cost_of_run(
    steps: Sequence[StepCost], bounds: ExecutionBounds, *, may_do_nothing: bool = False
) -> RunCost:
    """Sum all steps; the basis is that of the least certain one."""
    paid = [step for step in steps if step.basis != "free"]
    span = sum_ranges(step.span for step in paid).capped(bounds.most_usd)
    if not paid:
        marks = any(step.why.endswith(_MARKS) for step in steps)
        return RunCost(CostRange(), "free", _NOTHING + (_MARKS if marks else ""))
    basis = max((step.basis for step in paid), key=BASES.index)
    if may_do_nothing:
        why = f"{_WHYS[basis]} Every step has a condition, so a run may cost nothing."
        return RunCost(replace(span, low=ZERO), basis, why)
    return RunCost(span, basis, _WHYS[basis])


_WHYS: Final[Mapping[Basis, str]] = {
    "measured": "Measured in its own runs.",
    "similar": "After what this workspace lately asked of the same models; it has not run often "
    "enough itself.",
    "bounded": "Too little like it has run here to go by: reckoned from its texts and its bounds.",
    "unknown": "A part of it cannot be known before it runs; its caps hold all the same.",
}
