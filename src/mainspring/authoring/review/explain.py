"""Explaining a definition in sentences: when it runs, its steps, and its limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mainspring.authoring.json_pointers import mapping
from mainspring.authoring.review.definition_reader import (
    MOST_STEPS,
    StepView,
    listing,
    read_all_steps,
    read_all_triggers,
    text_of,
)
from mainspring.authoring.review.flags import money
from mainspring.authoring.review.grants import effect_of, may_go_alone, mode_in, waits_for_person
from mainspring.authoring.review.quoting import (
    LONGEST_STEP,
    format_count,
    join_list,
    plain,
    quote_text,
    sentence,
)
from mainspring.authoring.review.step_descriptions import StepDescription, describe_step, thing
from mainspring.authoring.review.trigger_descriptions import STILL_OPEN, describe_triggers
from mainspring.authoring.review.values import Names, condition, describe_value, names_of
from mainspring.contracts.capability import Effect
from mainspring.contracts.display_text import format_usd
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.approval import AUTOMATIC
from mainspring.definition.validate import read_holds

# Descriptions of loops: the list, and what happens for each item.

_PATH: Final = re.compile(r"\s*\{\{-?\s*(?:steps\.)?(\w{1,64})((?:\.\w{1,64}){0,3})\s*-?\}\}\s*")
# Outputs of lookups, described without naming the step.
_FOUND: Final = {
    "list_pages": "the pages found",
    "search": "the pages found",
    "query": "the pages found",
    "search_space.query": "the pages found",
    "get_board": "the rows read",
    "list_calendar_events": "the events found",
}
_LISTS: Final = frozenset({".pages", ".results", ".rows", ".events", ".hits", ".documents"})
_OF_THE_ITEM: Final = ("get_page", "search_space.fetch_document", "update_page", "delete_page")
_ITS_NAMES: Final = frozenset({".id", ".page_id", ".slug"})
_LONGEST: Final = 500


def items_of(loop: StepView, plan: Sequence[StepView], names: Names) -> str:
    """Describe the list that a loop iterates over."""
    value = loop.config.get("items")
    path = _PATH.fullmatch(value[:_LONGEST]) if isinstance(value, str) else None
    if path is not None and path[2] in _LISTS:
        made = {one.id: one.action for one in plan}
        renamed = {text_of(one.whole.get("output_as")): one.action for one in plan}
        found = _FOUND.get(made.get(path[1]) or renamed.get(path[1], ""))
        # When two steps find something, name the step.
        if found is not None and [_FOUND.get(one) for one in made.values()].count(found) == 1:
            return found
    return thing("items") if value in (None, "", [], {}) else describe_value(value, names, 60)


def one_of_each(loop: StepView, step: StepView, names: Names) -> StepDescription:
    """Describe a nested step; a page that is the loop item is called the page."""
    deed = describe_step(step, names)
    item = text_of(loop.config.get("as")) or "item"
    where = [step.config[key] for key in ("id", "slug") if key in step.config]
    path = _PATH.fullmatch(where[0][:_LONGEST]) if where and isinstance(where[0], str) else None
    own = path is not None and path[1] == item and path[2] in _ITS_NAMES
    if step.action in _OF_THE_ITEM and own and len(where) == 1:
        return replace(deed, short=deed.short.replace(" a page", " the page"), more="")
    return deed


MOST_LINES: Final = 120
_AFTER: Final = " after approval"
_CALLBACK: Final = "callback_webhook"
_FETCH: Final = "http_fetch"
_QUIET: Final = frozenset({"transform_data", "automation_kv.get", "automation_kv.set"})
_TOKENS: Final = {
    "$last_fired_at": "the time of the last run",
    "$creator": "its owner",
    "$space_default": "the workspace's default",
}


def explain(
    document: Mapping[str, Any],
    vocabulary: Vocabulary,
    boards: Mapping[str, str] | None = None,
    open_places: Sequence[str] = (),
) -> tuple[str, ...]:
    """Explain a definition, one sentence per line; the first says when it runs and what it does.

    ``boards`` maps known board ids to names; ``open_places`` are pointers of open questions.
    """
    document = mapping(document)
    steps = read_all_steps(document, vocabulary)
    names, alone = names_of(steps, boards), may_go_alone(document)
    plan = [step for step in steps if not step.after_failure]
    triggers = read_all_triggers(document)
    asked = any(place.startswith("/triggers/") for place in open_places)
    woken = any(trigger.enabled for trigger in triggers)
    when = STILL_OPEN if asked and not woken else describe_triggers(triggers, names)
    lines = [f"{when} it {_summary(plan, names, alone)}"]
    lines += _plan(plan, names, alone)
    lines += _waits(document, steps, vocabulary, alone)
    lines += _failure(document, [step for step in steps if step.after_failure], names, alone)
    lines += _inputs(document)
    lines += _bounds(document)
    if len(lines) > MOST_LINES:
        more = len(lines) - MOST_LINES + 1
        lines = [*lines[: MOST_LINES - 1], f"And {more} more sentences, which are not shown"]
    return (*(sentence(line) for line in lines[:1]), *(_whole(line) for line in lines[1:]))


def _whole(line: str) -> str:
    """A sentence with everything that a step sends; a truncated one gives its length."""
    if len(line) < LONGEST_STEP:
        return sentence(line, LONGEST_STEP)
    cut = f" (truncated: {len(line):,} characters in total; the definition shows the rest)"
    return sentence(line[: LONGEST_STEP - len(cut) - 10] + "…" + cut, LONGEST_STEP)


def _summary(plan: Sequence[StepView], names: Names, alone: bool) -> str:
    top = [step for step in plan if step.depth == 0]
    # Steps that only prepare a value do not say what will happen.
    top = [step for step in top if step.action not in _QUIET] or top
    if not top:
        return "does nothing yet: it has no steps"
    return join_list([_short(step, plan, names, alone) for step in top], 5, "and")


def _plan(plan: Sequence[StepView], names: Names, alone: bool) -> Iterator[str]:
    """One sentence per step; a loop around one step is a single sentence."""
    told: set[str] = set()
    for step in plan:
        if step.pointer in told:
            continue
        loops = step.action == "for_each" and "when" not in step.whole
        inside = [one for one in plan if loops and one.pointer.startswith(f"{step.pointer}/")]
        if len(listing(step.config.get("steps"))) == 1 == len(inside):
            told.add(inside[0].pointer)
            yield _loop(step, inside[0], plan, names, alone)
        else:
            yield _line(step, names, alone)


def _waits(
    document: Mapping[str, Any], steps: Sequence[StepView], vocabulary: Vocabulary, alone: bool
) -> Iterator[str]:
    """The steps at which a run waits for approval of a write."""
    held = [step for step in steps if waits_for_person(step.capability, step, safe_go=alone)]
    if not held or len(steps) >= MOST_STEPS:
        return
    holds = read_holds(document, vocabulary, Limits())
    for step in held:
        if step.id in holds and holds[step.id].waits:
            time = step.whole.get("hold_expires_after")
            most = f", for at most {plain(time, 10)}" if isinstance(time, str) else ""
            yield f"At step {step.number} the run waits for approval before it continues{most}"


def _loop(
    loop: StepView, step: StepView, plan: Sequence[StepView], names: Names, alone: bool
) -> str:
    deed = one_of_each(loop, step, names)
    items = items_of(loop, plan, names)
    only = f", only when {condition(step.whole['when'], names)}" if "when" in step.whole else ""
    approval = _describe_approval(step, alone)
    line = f"{loop.number}. For each of {items} it {deed.short}{approval}{deed.more}"
    goes_on = (
        ", and continues when one fails" if loop.config.get("continue_on_error") is True else ""
    )
    return f"{line}{only}{goes_on}{_lacking(step, line)}"


def _short(step: StepView, plan: Sequence[StepView], names: Names, alone: bool) -> str:
    """Describe a step briefly; a loop by what it does for each item."""
    inside = [
        one_of_each(step, one, names).short + _describe_approval(one, alone)
        for one in plan
        if one.depth == step.depth + 1 and one.pointer.startswith(f"{step.pointer}/")
    ]
    if inside and step.action == "for_each":
        return f"{join_list(inside, 2)} for each of {items_of(step, plan, names)}"
    return describe_step(step, names).short + _describe_approval(step, alone)


def _describe_approval(step: StepView, alone: bool) -> str:
    if step.action == _CALLBACK:
        # It is a request that changes something, under another name.
        return " without asking" if mode_in(step, _FETCH) == AUTOMATIC else _AFTER
    effect = effect_of(step.capability, step.config)
    if waits_for_person(step.capability, step, safe_go=alone, effect=effect):
        return _AFTER
    sends = step.capability is not None and step.capability.write is not None
    return " without asking" if sends and effect is not Effect.READ else ""


def _line(step: StepView, names: Names, alone: bool) -> str:
    deed = describe_step(step, names)
    only = f", only when {condition(step.whole['when'], names)}" if "when" in step.whole else ""
    line = f"{step.number}. It {deed.short}{_describe_approval(step, alone)}{deed.more}{only}"
    return line + _lacking(step, line)


def _lacking(step: StepView, line: str) -> str:
    lacks = [thing(key) for key in missing_keys(step) if thing(key) not in line]
    return f". It lacks {join_list(lacks, 3)}" if lacks else ""


def missing_keys(step: StepView) -> list[str]:
    """Return required config keys that are missing, as far as known."""
    schema: Any = None
    if step.known is not None:
        schema = step.known.config_schema
    elif step.capability is not None:
        schema = step.capability.input_schema
    wanted = listing(mapping(schema).get("required"))
    return [key for key in wanted[:20] if isinstance(key, str) and key not in step.config]


def _failure(
    document: Mapping[str, Any], steps: Sequence[StepView], names: Names, alone: bool
) -> Iterator[str]:
    retries = mapping(document.get("execution")).get("max_retries", 2)
    if isinstance(retries, int) and not isinstance(retries, bool) and 0 < retries <= 10:
        times = "once" if retries == 1 else f"up to {retries} times"
        yield f"A failed step is retried {times}, where that can help"
    if not steps:
        yield "If it still fails, the run ends there and shows why"
        return
    yield f"If it still fails, {format_count(len(steps), 'more step')} follow" + (
        "s" if len(steps) == 1 else ""
    )
    for step in steps:
        yield "On failure " + _line(step, names, alone)


def _inputs(document: Mapping[str, Any]) -> Iterator[str]:
    schema = mapping(mapping(document.get("inputs")).get("schema"))
    properties, wanted = mapping(schema.get("properties")), listing(schema.get("required"))
    shown = [
        f"{quote_text(str(name), 40)}{_describe_requirement(mapping(one), name in wanted)}"
        for name, one in list(properties.items())[:8]
    ]
    if shown:
        rest = [""] * max(0, len(properties) - len(shown))
        yield f"Its inputs are {join_list([*shown, *rest], 8)}"


def _describe_requirement(schema: Mapping[str, Any], wanted: bool) -> str:
    if "default" not in schema:
        return " (needed)" if wanted else " (optional)"
    default = schema["default"]
    known = _TOKENS.get(default) if isinstance(default, str) else None
    return f" (default {known or describe_value(default, {}, 40)})"


def _bounds(document: Mapping[str, Any]) -> Iterator[str]:
    execution = mapping(document.get("execution"))
    caps = [money(execution.get(key, 1)) for key in ("budget_cap_usd", "cost_cap_daily_usd")]
    run, day = ("?" if cap is None else format_usd(cap) for cap in caps)
    yield f"A run may spend at most {run}, and all runs of a day at most {day}"
    if may_go_alone(document):
        yield "Writes that are known to be safe are sent without approval"
