"""Review flags: what a person should check before consenting, with pointer and remedy.

They are rule-based and advisory: permissions are enforced elsewhere. At most the gravest of each
kind are shown, with a count of the rest. For an edit only new flags are shown, by comparing with
those that the same step or trigger raised before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any, Final

from mainspring.authoring.json_pointers import mapping
from mainspring.authoring.models import ReviewFlag
from mainspring.authoring.review.definition_reader import (
    MOST_STEPS,
    MOST_TRIGGERS,
    StepView,
    find_nearest_pointer,
    listing,
    resolves,
    text_of,
    value_at,
)
from mainspring.authoring.review.flags_of_hosts import flags_of_destinations, flags_of_hosts
from mainspring.authoring.review.flags_of_reach import flags_of_reach
from mainspring.authoring.review.flags_of_texts import flags_of_templates, flags_of_texts
from mainspring.authoring.review.flags_of_triggers import flags_of_triggers
from mainspring.authoring.review.grants import MOST_ASKS, MOST_TOOLS, CapabilityUse, matched
from mainspring.authoring.review.quoting import (
    MOST_ENTRIES,
    MOST_FLAGS,
    format_count,
    join_list,
    plain,
    quote_text,
    sentence,
)
from mainspring.authoring.review.secrets import MOST_USES
from mainspring.authoring.review.suspicious import FIXED, RELAYING, THINKING
from mainspring.authoring.review.view import ReviewFacts, ReviewView, view_of
from mainspring.contracts.capability import Effect
from mainspring.contracts.errors import Finding
from mainspring.contracts.grant import Grant
from mainspring.contracts.preflight import WOULD_FAIL
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.script import LONGEST
from mainspring.definition.secret_use import CODE as CREDENTIAL_LITERAL
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.tool_patterns import is_pattern, read_tool_name

# Flags about unread or unshown parts: a limit is never applied silently.

_READ_IT: Final = "Read it yourself, or ask for a smaller one."


def flags_of_cuts(view: ReviewView) -> Iterator[ReviewFlag]:
    for step in view.steps:
        yield from _of_step(step)
    yield from _of_steps(view)
    if len(listing(view.document.get("triggers"))) > MOST_TRIGGERS:
        yield _cut("/triggers", f"Only the first {MOST_TRIGGERS} triggers were reviewed.")
    if len(view.asks) >= MOST_ASKS or len(view.secrets) >= MOST_USES:
        yield _cut("/plan", "It makes too many calls to review all of them.")
    names = {use.name for use in view.secrets}
    for many, of in ((len(view.grants), "grants"), (len(names), "secrets")):
        if many > MOST_ENTRIES:
            yield _cut("", f"It has {many} {of}, and {MOST_ENTRIES} of them are listed.")
    yield from _find_unattributed_grants(view)


def _cut(at: str, text: str) -> ReviewFlag:
    return ReviewFlag(at, "not_read_whole", text, suggestion=_READ_IT)


def _of_step(step: StepView) -> Iterator[ReviewFlag]:
    if step.action == "script" and len(text_of(step.config.get("source"))) > LONGEST:
        yield _cut(step.at("source"), "This program was not reviewed to its end.")
    if step.is_agent and len(listing(step.config.get("tools"))) > MOST_TOOLS:
        text = f"Only the first {MOST_TOOLS} tools of this agent were reviewed."
        yield _cut(step.at("tools"), text)


def _of_steps(view: ReviewView) -> Iterator[ReviewFlag]:
    """Steps beyond the reading limit, or nested too deeply."""
    read = {step.pointer for step in view.steps}
    failing = mapping(view.document.get("execution")).get("on_failure")
    waiting = [("/plan", view.document.get("plan")), ("/execution/on_failure", failing)]
    while waiting:
        at, steps = waiting.pop(0)
        for place, one in enumerate(listing(steps)):
            here = join_pointer(at, place)
            if not isinstance(one, Mapping):
                continue
            if here not in read:
                text = f"Only the first {MOST_STEPS} steps were reviewed; the review ends here."
                yield _cut(here, text)
                return
            waiting += _below(view, one, here)


def _below(view: ReviewView, step: Mapping[str, Any], at: str) -> list[tuple[str, Any]]:
    known = view.vocabulary.actions.get(text_of(step.get("action")))
    if known is None or known.nested is None:
        return []
    nested = mapping(step.get("config")).get(known.nested)
    return [(join_pointer(at, "config", known.nested), nested)]


def _find_unattributed_grants(view: ReviewView) -> Iterator[ReviewFlag]:
    """Grants from the validator that this review could not attribute to a step."""
    if isinstance(view.document.get("grants"), list):
        return
    for ask in view.reach:
        if not ask.pointer:
            yield _cut(
                "/plan",
                (
                    f"It may call {plain(ask.capability, 80)}, and this review found no step "
                    "that needs it."
                ),
            )


# Flags about agents: unnecessary ones, ones with write access, ones without an output schema.

_MOST_PATTERNS: Final = MOST_TOOLS

# Template values say nothing about the task.
_HOLE: Final = re.compile(r"\{\{[^{}]{0,500}\}\}")


def flags_of_agents(view: ReviewView) -> Iterator[ReviewFlag]:
    known = view.vocabulary.capabilities
    sending = [
        ask
        for ask in view.asks
        if ask.as_tool and ask.effect is Effect.SEND and ask.capability in known
    ]
    by_step: dict[str, list[CapabilityUse]] = {}
    for ask in sending:
        by_step.setdefault(ask.step.pointer, []).append(ask)
    for step in view.agents:
        mine = by_step.get(step.pointer, [])
        yield from _without_need(step, view)
        yield from _may_send(step, mine)
        yield from _shapeless(step)
    yield from _patterns(view, sending)


def _tools(step: StepView) -> list[str]:
    listed_tools = listing(step.config.get("tools"))[:MOST_TOOLS]
    return [name for name in map(read_tool_name, listed_tools) if name]


def _without_need(step: StepView, view: ReviewView) -> Iterator[ReviewFlag]:
    """An agent without a need for a model."""
    prompt, tools = text_of(step.config.get("prompt"))[:4_000], _tools(step)
    prompt = _HOLE.sub("a value", prompt)
    if not prompt or THINKING.search(prompt):
        return
    if not tools:
        if FIXED.match(prompt):
            yield ReviewFlag(
                join_pointer(step.pointer, "action"),
                "agent_without_need",
                (
                    "This agent only passes on existing text; a template does that without a "
                    "model, and always in the same way."
                ),
                suggestion="Write the text into the step that uses it.",
            )
        return
    if len(tools) == 1 and not is_pattern(tools[0]) and _relays(step, prompt, tools[0], view):
        yield ReviewFlag(
            join_pointer(step.pointer, "action"),
            "agent_without_need",
            (
                f"This agent only calls {plain(tools[0], 80)}; a step does that without a model, "
                "and always in the same way."
            ),
            suggestion=f"Make it a step with the action {plain(tools[0], 80)}.",
        )


def _relays(step: StepView, prompt: str, tool: str, view: ReviewView) -> bool:
    """Report whether it only calls its tool.

    Filling a declared schema from what was read is work; reporting what was sent is not.
    """
    if RELAYING.match(prompt) is None:
        return False
    known = view.vocabulary.capabilities.get(tool)
    only_writes = (
        known is not None
        and known.annotations.reach is None
        and known.annotations.effect is not Effect.READ
    )
    return "output_schema" not in step.config or only_writes


def _may_send(step: StepView, sending: list[CapabilityUse]) -> Iterator[ReviewFlag]:
    names = list(dict.fromkeys(plain(ask.capability, 60) for ask in sending))
    if names:
        yield ReviewFlag(
            step.at("tools"),
            "agent_may_send",
            f"A model alone decides whether and what is sent with {join_list(names, 4)}.",
            suggestion=(
                "Let the agent only write, with an output_schema, and let a later step send the "
                "result."
            ),
        )


def _shapeless(step: StepView) -> Iterator[ReviewFlag]:
    """The validator has the same warning, with the same pointer and code."""
    if "output_schema" not in step.config and isinstance(step.whole.get("config"), dict):
        yield ReviewFlag(
            join_pointer(step.pointer, "config"),
            "no_output_schema",
            "This agent may return any text, which later steps cannot rely on.",
            "note",
            suggestion="Declare the shape of the result with output_schema.",
        )


def _patterns(view: ReviewView, sending: list[CapabilityUse]) -> Iterator[ReviewFlag]:
    told = 0
    for step in view.agents:
        for place, entry in enumerate(listing(step.config.get("tools"))[:MOST_TOOLS]):
            name = read_tool_name(entry)
            if name is None or not is_pattern(name) or told >= _MOST_PATTERNS:
                continue
            told += 1
            many = len(matched(name, view.vocabulary))
            sends = sum(1 for ask in sending if ask.pattern == name and ask.step is step)
            of = f", {sends} of which send something outside" if sends else ""
            yield ReviewFlag(
                join_pointer(step.pointer, "config", "tools", place),
                "wide_tools",
                f"{quote_text(name, 60)} matches {format_count(many, 'tool')}{of}.",
                "warning" if sends or name.strip("*.") == "" else "note",
                suggestion="List only the tools that are needed.",
            )


# Flags about cost: caps far above the usual cost, unlimited model calls.

# Above this multiple of the usual cost a cap protects from nothing.
FAR_ABOVE: Final = 20
# The default cap is not flagged.
_USUAL_CAP: Final = Decimal(1)
MUCH_A_MONTH: Final = Decimal(50)
MUCH_A_RUN: Final = Decimal(5)
# The limit for a message or a lookup.
MUCH_A_MONTH_FOR_LITTLE: Final = Decimal(10)
MUCH_FOR_LITTLE: Final = Decimal(1)
_MESSAGES: Final = frozenset(
    {
        "inbox.post_notification",
        "automation_kv.set",
        "automation_kv.delete",
    }
)
MANY_TURNS: Final = 40
MANY_TOKENS: Final = 1_000_000
_MODELS: Final = frozenset({"agent_task", "agent.run", "automation_llm_complete"})


def flags_of_cost(view: ReviewView) -> Iterator[ReviewFlag]:
    yield from _caps(view)
    yield from _costs_much(view)
    yield from _tokens(view)
    for step in view.steps:
        yield from _turns(step)
        if step.depth > 0 and step.action in _MODELS:
            yield ReviewFlag(
                step.pointer,
                "model_for_each_item",
                "A model is called for every item of the list, so the cost grows with the list.",
                "note",
                suggestion="Pass the whole list to one step, or limit the list.",
            )


def _caps(view: ReviewView) -> Iterator[ReviewFlag]:
    usual, cap = view.facts.forecast_usd, money(view.execution.get("budget_cap_usd"))
    if usual is None or cap is None or usual <= 0 or cap <= _USUAL_CAP:
        return
    if cap > usual * FAR_ABOVE:
        yield ReviewFlag(
            "/execution/budget_cap_usd",
            "cap_far_above_cost",
            f"A run may spend {format_amount(cap)} and is expected to cost about "
            f"{format_amount(usual)}.",
            suggestion=f"Lower the cap to about {format_amount(max(usual * 5, Decimal('0.01')))}.",
        )


def _costs_much(view: ReviewView) -> Iterator[ReviewFlag]:
    """Flag a high cost in relation to the effect."""
    small = _little(view)
    run = _more_than(view.facts.forecast_usd, MUCH_FOR_LITTLE if small else MUCH_A_RUN)
    month = _more_than(view.facts.monthly_usd, MUCH_A_MONTH_FOR_LITTLE if small else MUCH_A_MONTH)
    if run is None and month is None:
        return
    costs = f"{format_amount(month)} a month" if month is not None else ""
    costs += " and " if costs and run is not None else ""
    costs += f"{format_amount(run)} a run" if run is not None else ""
    yield ReviewFlag(
        "/triggers" if run is None and resolves(view.document, "/triggers") else "/plan",
        "costs_much",
        f"It is expected to cost about {costs}{f', and all it does is {small}' if small else ''}.",
        suggestion="Run it less often, or use a cheaper model."
        if not small
        else "Use a cheaper model, read less, or do without a model.",
    )


def _more_than(amount: Decimal | None, bound: Decimal) -> Decimal | None:
    known = amount is not None and amount.is_finite() and amount >= bound
    return amount if known else None


def _little(view: ReviewView) -> str:
    """Describe a plan whose only effect is a message, or nothing."""
    writes = {ask.capability for ask in view.asks if ask.effect is not Effect.READ}
    if not view.steps or not all(_is_message(name, view) for name in writes):
        return ""
    return "to leave a message" if writes else "to read"


def _is_message(name: str, view: ReviewView) -> bool:
    """Report whether a write only sends a message."""
    known = view.vocabulary.capabilities.get(name)
    family = "" if known is None or known.write is None else known.write.family
    return name in _MESSAGES or family in ("email", "message")


def _tokens(view: ReviewView) -> Iterator[ReviewFlag]:
    tokens = number(view.execution.get("max_llm_tokens"))
    if tokens is not None and tokens > MANY_TOKENS:
        yield ReviewFlag(
            "/execution/max_llm_tokens",
            "many_tokens",
            f"A run may use {tokens:.0f} tokens, which is more than a million.",
            "note",
            suggestion="The default limit is 200000.",
        )


def _turns(step: StepView) -> Iterator[ReviewFlag]:
    turns = number(step.config.get("max_turns")) if step.is_agent else None
    if turns is not None and turns > MANY_TURNS:
        yield ReviewFlag(
            step.at("max_turns"),
            "many_turns",
            f"This agent may call its model {turns:.0f} times in one run.",
            "note",
            suggestion="Most tasks are done within 20 turns.",
        )


def number(value: Any) -> float | None:
    """Return a number of ordinary size, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e12 else None


def money(value: Any) -> Decimal | None:
    """Parse an amount, written as a number or text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        amount = Decimal(str(value)[:30])
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and abs(amount) < Decimal(10) ** 9 else None


def format_amount(amount: Decimal) -> str:
    """Format an amount with two decimals, or more when it would be zero."""
    places = 2 if amount >= Decimal("0.1") else 4
    return f"${amount:.{places}f}"


MOST_OF_ONE: Final = 8
MORE_FLAGS: Final = "more_flags"
# Shown as warnings: a step would fail, or a credential is stored in plain text.
_WARNED: Final = WOULD_FAIL | {"scope_outdated", CREDENTIAL_LITERAL}
# The number of flags of one family that are compared and counted.
_MOST_COUNTED: Final = 2_000
_FAMILIES: Final[tuple[Callable[[ReviewView], Iterator[ReviewFlag]], ...]] = (
    flags_of_texts,
    flags_of_reach,
    flags_of_hosts,
    flags_of_destinations,
    flags_of_agents,
    flags_of_triggers,
    flags_of_templates,
    flags_of_cost,
    flags_of_cuts,
)


def find_flags(
    document: Mapping[str, Any], grants: Sequence[Grant], vocabulary: Vocabulary, facts: ReviewFacts
) -> tuple[ReviewFlag, ...]:
    """Find the flags of a definition, gravest first; for an edit, the new ones."""
    view = view_of(document, grants, vocabulary, facts)
    found: Sequence[ReviewFlag] = _collect_flags(view)
    if facts.before is not None:
        old = view_of(facts.before, (), vocabulary, replace(facts, before=None))
        found = _new(view, found, old)
    return tuple(_gravest(_some(found)))


def _new(view: ReviewView, found: Iterable[ReviewFlag], old: ReviewView) -> list[ReviewFlag]:
    """Return the flags that an older version does not have, counting duplicates."""
    known = Counter(
        _mark(old, flag) for flag in _collect_flags(old) if flag.code not in _ALWAYS_NEW
    )
    kept = []
    for flag in found:
        mark = _mark(view, flag)
        if known[mark] > 0:
            known[mark] -= 1
        else:
            kept.append(flag)
    return kept


def _mark(view: ReviewView, flag: ReviewFlag) -> tuple[str, str, str, str]:
    """The identity of a flag: code, step or trigger, and text."""
    holder, rest = _holder(view, flag.pointer)
    value = value_at(view.document, flag.pointer)
    told = value if isinstance(value, str) else ""
    return flag.code, flag.text, holder or rest, told


def _holder(view: ReviewView, pointer: str) -> tuple[str, str]:
    """The id of the innermost step or trigger around a pointer; ids survive moves."""
    ids = {one.pointer: one.id for one in view.steps}
    ids.update((one.pointer, one.id) for one in view.triggers)
    at = pointer
    while at:
        if at in ids:
            return ids[at], at
        at = at.rpartition("/")[0]
    return "", pointer


# These depend on more than the definition, so an older version cannot have raised them; and unread
# parts may be anything.
_ALWAYS_NEW: Final = frozenset(
    {
        "first_use",
        "new_host",
        "secret_to_new_host",
        "costs_much",
        "not_read_whole",
    }
)


def with_warnings(
    flags: Iterable[ReviewFlag], warnings: Iterable[Finding]
) -> tuple[ReviewFlag, ...]:
    """Merge flags with the validator's warnings, without duplicates."""
    kept = list(flags)
    told = {(flag.pointer, flag.code) for flag in kept}
    kept += [
        ReviewFlag(
            one.pointer,
            one.code or "doubt",
            sentence(one.detail),
            "warning" if one.code in _WARNED else "note",
            suggestion=one.suggestion,
        )
        for one in warnings
        if (one.pointer, one.code) not in told
    ]
    return tuple(_gravest(kept))


def _collect_flags(view: ReviewView) -> tuple[ReviewFlag, ...]:
    placed = [
        replace(
            flag,
            pointer=find_nearest_pointer(view.document, flag.pointer),
            text=sentence(flag.text),
        )
        for family in _FAMILIES
        for flag in islice(family(view), _MOST_COUNTED)
    ]
    return tuple(dict.fromkeys(placed))


def _some(flags: Iterable[ReviewFlag]) -> Iterator[ReviewFlag]:
    """Limit each kind, with a flag that counts the rest."""
    rest: dict[str, list[ReviewFlag]] = {}
    seen: Counter[str] = Counter()
    for flag in sorted(flags, key=_is_note):
        seen[flag.code] += 1
        if seen[flag.code] <= MOST_OF_ONE:
            yield flag
        else:
            rest.setdefault(flag.code, []).append(flag)
    for more in rest.values():
        yield _summarize_flags(more) if len(more) > 1 else more[0]


def _summarize_flags(more: list[ReviewFlag]) -> ReviewFlag:
    places = join_list([quote_text(flag.pointer or "/", 80) for flag in more], 3)
    text = f"And {len(more)} more like this, at {places}. The first: {more[0].text}"
    return replace(more[0], text=sentence(text))


def _is_note(flag: ReviewFlag) -> bool:
    return flag.level != "warning"


def _gravest(flags: Iterable[ReviewFlag]) -> list[ReviewFlag]:
    """Return as many as are shown, with a count of the rest."""
    found = sorted(flags, key=_is_note)
    if len(found) <= MOST_FLAGS:
        return found
    told = [flag for flag in found if flag.code == MORE_FLAGS]
    rest = [flag for flag in found if flag.code != MORE_FLAGS]
    room = MOST_FLAGS - len(told) - 1
    text = f"{len(rest) - room} more flags are not shown, the first of them: {rest[room].text}"
    more = ReviewFlag(rest[room].pointer, MORE_FLAGS, sentence(text), rest[room].level)
    return [*rest[:room], *told, more]
