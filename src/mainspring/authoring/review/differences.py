"""Describing what another version would change, and whether it widens permissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.authoring.json_pointers import mapping
from mainspring.authoring.review.definition_reader import (
    StepView,
    TriggerView,
    listing,
    read_all_steps,
    read_all_triggers,
    text_of,
)
from mainspring.authoring.review.grants import grants_of
from mainspring.authoring.review.quoting import join_list, plain, quote_text, sentence
from mainspring.authoring.review.step_descriptions import describe_step
from mainspring.authoring.review.system_names import system_of
from mainspring.authoring.review.trigger_descriptions import describe_trigger
from mainspring.authoring.review.values import (
    PLACES,
    Names,
    condition,
    describe_destination,
    describe_value,
    names_of,
)
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.strict_json import split_pointer
from mainspring.workspace.versions import DefinitionChange

MOST_SENTENCES: Final = 60
_MOST_CHANGES: Final = 500
_MOST_WIDENED: Final = 10
_SETTINGS: Final[Mapping[str, str]] = {
    "budget_cap_usd": "what a run may spend",
    "cost_cap_daily_usd": "what runs may spend in a day",
    "max_llm_tokens": "how many tokens a run may use",
    "timeout_seconds": "how long a run may take",
    "max_retries": "how often a step is retried",
    "retry_backoff": "the pause between retries",
    "concurrency": "what happens while a run is in progress",
    "model": "the model",
    "concurrency_key": "which runs wait for each other",
    "write_policy": "who approves safe writes",
    "runs_days": "how many days runs are kept",
    "name": "the name",
    "goal": "the goal",
    "description": "the description",
    "intent": "the intent",
}


def describe_changes(
    changes: Sequence[DefinitionChange],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    vocabulary: Vocabulary,
    boards: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Return one sentence per change, and one per step or trigger however much of it changed."""
    formatter = _DifferenceFormatter(mapping(before), mapping(after), vocabulary, boards)
    told = (one for change in changes[:_MOST_CHANGES] for one in formatter.tell(change))
    lines = list(dict.fromkeys(sentence(one) for one in told))
    unread = max(0, len(changes) - _MOST_CHANGES)
    lines = _some(lines, MOST_SENTENCES - _MOST_WIDENED, "changes", unread)
    return (
        *lines,
        *_some(list(describe_widened(before, after, vocabulary)), _MOST_WIDENED, "grants"),
    )


def _some(lines: list[str], most: int, of: str, unread: int = 0) -> list[str]:
    """Return as many as are shown; the last one counts the rest."""
    if len(lines) <= most and not unread:
        return lines
    shown = lines[: most - 1]
    return [*shown, f"And {len(lines) - len(shown) + unread} more {of}, which are not shown."]


def describe_widened(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    vocabulary: Vocabulary,
    grants: tuple[Sequence[Grant], Sequence[Grant]] | None = None,
) -> tuple[str, ...]:
    """Describe added permissions; empty when there are none."""
    old, new = grants or (_read_grants(before, vocabulary), _read_grants(after, vocabulary))
    try:
        more = find_missing_grants(new, list(old))
    except Exception:  # grant limits that are not JSON cannot be compared
        more = tuple(grant for grant in new if grant not in old)
    by_name: dict[str, list[str]] = {}
    for grant in more[:1_000]:
        hosts = [plain(str(host), 80) for host in listing(grant.params.get("hosts"))]
        by_name.setdefault(grant.capability, []).extend(hosts)
    earlier = {grant.capability for grant in old}
    return tuple(
        sentence(_describe_widened_grant(name, hosts, name in earlier, vocabulary))
        for name, hosts in by_name.items()
    )


def _read_grants(document: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[Grant, ...]:
    """Return the written grants, or else those derived from the steps."""
    written = mapping(document).get("grants")
    if not isinstance(written, list):
        return grants_of(mapping(document), vocabulary)
    return tuple(
        Grant(name, mapping(entry.get("params")))
        for entry in written[:1_000]
        if isinstance(entry, Mapping) and (name := text_of(entry.get("capability")))
    )


def _describe_widened_grant(
    name: str, hosts: Sequence[str], earlier: bool, vocabulary: Vocabulary
) -> str:
    system = system_of(name, vocabulary.capabilities.get(name))
    where = f" for {join_list(hosts)}" if hosts else ""
    reach = f", which reaches {plain(system, 40)}" if system and not hosts else ""
    if earlier and not hosts:
        return f"It may now call {plain(name, 80)} with wider limits{reach}"
    return f"It may now also call {plain(name, 80)}{where}{reach}"


class _DifferenceFormatter:
    """Formats changes with access to both versions."""

    def __init__(
        self,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        words: Vocabulary,
        boards: Mapping[str, str] | None,
    ) -> None:
        self._old_steps = {step.pointer: step for step in read_all_steps(before, words)}
        self._new_steps = {step.pointer: step for step in read_all_steps(after, words)}
        self._old_triggers = {one.pointer: one for one in read_all_triggers(before)}
        self._old_by_id = {one.id: one for one in self._old_triggers.values() if one.id}
        self._new_triggers = {one.pointer: one for one in read_all_triggers(after)}
        steps = (*self._new_steps.values(), *self._old_steps.values())
        self._names = names_of(steps, boards)

    def tell(self, change: DefinitionChange) -> Iterator[str]:
        pointer = text_of(change.get("pointer"))
        parts = split_pointer(pointer)
        gone = change.get("op") == "remove"
        steps = self._old_steps if gone else self._new_steps
        step = _holder(pointer, steps)
        if step is not None:
            yield self._step(change, step, pointer)
        elif parts[:1] == ["triggers"]:
            yield from self._trigger(change, pointer, len(parts))
        elif parts[:1] == ["inputs"]:
            yield self._input(change, parts)
        elif parts[:1] == ["grants"]:
            return
        elif parts[:1] == ["plan"] and len(parts) == 1:
            yield "The steps are different"
        elif parts:
            yield self._setting(change, parts)

    def _step(self, change: DefinitionChange, step: StepView, pointer: str) -> str:
        name = f"step ‘{plain(step.name, 64)}’"
        deed = describe_step(step, self._names)
        if pointer == step.pointer:
            match change.get("op"):
                case "add":
                    only = self._only(step)
                    return f"A new {name} {deed.short}{deed.more}{only}"
                case "remove":
                    return f"The {name}, which {deed.short}, is removed"
                case "move":
                    return f"The {name} moves to another place in the plan"
        field = split_pointer(pointer.removeprefix(step.pointer))
        if field[:1] == ["when"]:
            if change.get("op") == "remove":
                return f"The {name} always runs now"
            return f"The {name} runs only when {condition(step.whole.get('when'), self._names)}"
        if field[:1] == ["action"]:
            return f"The {name} is replaced: it now {deed.short}{deed.more}"
        return f"In {name} {self._describe_value_change(_name_field(field), change)}"

    def _only(self, step: StepView) -> str:
        if "when" not in step.whole:
            return ""
        return f", only when {condition(step.whole['when'], self._names)}"

    def _trigger(self, change: DefinitionChange, pointer: str, depth: int) -> Iterator[str]:
        op, place = change.get("op"), "/".join(pointer.split("/")[:3])
        if depth == 1:
            yield from self._all_triggers(op)
            return
        old, new = self._old_triggers.get(place), self._new_triggers.get(place)
        if op != "remove" and new is not None:
            old = self._old_by_id.get(new.id, old)
        if depth == 2 and op == "add" and new is not None:
            yield f"It also runs {describe_trigger(new, self._names)}"
        elif depth == 2 and op == "remove" and old is not None:
            yield f"It no longer runs {describe_trigger(old, self._names)}"
        elif old is not None and new is not None and op != "move":
            yield _describe_reschedule(old, new, self._names)

    def _all_triggers(self, op: Any) -> Iterator[str]:
        new = [
            describe_trigger(one, self._names) for one in self._new_triggers.values() if one.enabled
        ]
        if op == "remove" or not new:
            yield "It runs only when started manually"
        else:
            yield f"It runs {join_list(new, 3)}"

    def _input(self, change: DefinitionChange, parts: Sequence[str]) -> str:
        named = parts[3] if len(parts) > 3 and parts[2] == "properties" else None
        if named is None:
            return "Its inputs change"
        shown = quote_text(named, 40)
        if len(parts) == 4 and change.get("op") == "add":
            return f"It takes a new input {shown}"
        if len(parts) == 4 and change.get("op") == "remove":
            return f"It no longer takes the input {shown}"
        return f"The input {shown}: {self._describe_value_change(_name_field(parts[4:]), change)}"

    def _setting(self, change: DefinitionChange, parts: Sequence[str]) -> str:
        known = _SETTINGS.get(parts[-1]) if len(parts) <= 2 else None
        return self._describe_value_change(known or _name_field(parts), change)

    def _describe_value_change(self, what: str, change: DefinitionChange) -> str:
        names: Names = self._names
        named = [one for one in split_pointer(text_of(change.get("pointer"))) if not one.isdigit()]
        say = describe_destination if named[-1:] and named[-1] in PLACES else describe_value
        new, old = say(change.get("after"), names), say(change.get("before"), names)
        match change.get("op"):
            case "add":
                return f"{what} is now {new}"
            case "remove":
                return f"{what}, which was {old}, is removed"
            case "move":
                return f"{what} moves to another place"
        if len(old) + len(new) > 250:
            return f"{what} is a different text now: {new}"
        return f"{what} changes from {old} to {new}"


def _describe_reschedule(old: TriggerView, new: TriggerView, names: Names) -> str:
    before, now = describe_trigger(old, names), describe_trigger(new, names)
    if old.enabled != new.enabled:
        return f"It {'also runs' if new.enabled else 'no longer runs'} {now}"
    if before == now:
        return f"The settings of the trigger change; it still runs {now}"
    if old.type == new.type == "schedule":
        return f"The schedule moves from {before} to {now}"
    return f"It runs {now} instead of {before}"


def _name_field(field: Sequence[str]) -> str:
    """A pointer in words: its last key, without indexes and common prefixes."""
    named = [part for part in field if not part.isdigit() and part not in ("config", "properties")]
    return f"‘{plain(' '.join(named[-2:]), 60)}’" if named else "a part"


def _holder(pointer: str, steps: Mapping[str, StepView]) -> StepView | None:
    """Return the innermost step that contains a pointer."""
    while pointer:
        if pointer in steps:
            return steps[pointer]
        pointer = pointer.rpartition("/")[0]
    return None
