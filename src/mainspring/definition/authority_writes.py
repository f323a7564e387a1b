"""Compares outside writes that are sent without asking a person.

A write is unchanged while its capability, account, destination and outgoing template are: a change
to any of these is a new write, and a further copy of the same write is one more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.declared_writes import list_default_writes
from mainspring.contracts.errors import Problem
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.write_description import quote_name
from mainspring.definition.approval import (
    AGENTS,
    ASK,
    AUTOMATIC,
    SCRIPT,
    StepApproval,
    read_step_approval,
    read_written_grants,
)
from mainspring.definition.authority_steps import FlattenedStep, flatten_steps
from mainspring.definition.authority_triggers import EnabledTrigger, read_enabled_triggers
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.json_schema.keywords import iterate_subschemas
from mainspring.definition.strict_json import encode_canonical
from mainspring.definition.templates import has_syntax, parse_predicate, parse_template
from mainspring.definition.write_words import (
    any_write_words,
    find_named_account,
    fixed_places,
    outgoing_text,
    owner_account,
    write_words,
)

# What an automation sends, as written: destination and template.

_SCRIPT: Final = "script"
_LOOP: Final = "for_each"
# The actions whose output the definition itself determines.
_COMPUTES: Final = frozenset({"transform_data", _SCRIPT, _LOOP})
# Settings that do not affect what is sent.
_QUIET: Final = frozenset({"timeout_seconds", "max_bytes", "follow_redirects"})
# What a model may call is compared by its bounds.
_TOOLS: Final = dict.fromkeys((AGENT_RUN, AGENT_TASK), frozenset({"tools", "grants"}))
_LIMITS: Final = Limits()

# The constant prefix of the path that a template reads.
Path = tuple[str | int, ...]
# A template that cannot be parsed may refer to anything.
_ANYTHING: Final[frozenset[Path]] = frozenset({("inputs",), ("steps",), ("run",)})


@dataclass(frozen=True, slots=True)
class StepsWithDefaults:
    """The steps of a definition, and the values that their templates read besides run data."""

    steps: Sequence[FlattenedStep] = ()
    # Each default and each reference of the input schema, by its pointer.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    starts: Sequence[EnabledTrigger] = ()
    name: str = ""


def read_input_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """What determines the inputs that a run is not given, by pointer in the input schema."""
    schema = (document.get("inputs") or {}).get("schema") or {}
    return {
        f"{pointer}/{word}": node[word]
        for pointer, node in iterate_subschemas(schema)
        if isinstance(node, Mapping)
        for word in ("default", "$ref", "$dynamicRef")
        if word in node
    }


def hash_outgoing(step: FlattenedStep, written: StepsWithDefaults) -> frozenset[bytes]:
    """A hash of what a step sends and where, as written, for each trigger."""
    quiet = _QUIET | _TOOLS.get(step.action, frozenset())
    said = {key: value for key, value in step.config.items() if key not in quiet}
    if step.action == _SCRIPT:
        said = _of_script(said)
    loops = [config for _, config in _around(step)]
    filled = _fill_settings(_paths_in(said) | _paths_around(step), written)
    return frozenset(encode_canonical([step.action, said, loops, *one]) for one in filled)


def _condition(step: FlattenedStep, written: StepsWithDefaults) -> frozenset[bytes]:
    """The part of a step's condition that the definition itself determines."""
    found = _fill_settings(_paths_of_condition(step.when), written)
    return frozenset(encode_canonical(list(one)) for one in found)


def _of_script(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: config[key] for key in ("source", "input") if key in config}


def _fill_settings(read: frozenset[Path], written: StepsWithDefaults) -> list[tuple[Any, ...]]:
    """The values that the definition provides for these paths, followed across steps."""
    steps, waiting = dict[str, Any](), [read]
    while waiting:
        paths = waiting.pop()
        for one in written.steps:
            if one.action in _COMPUTES and one.pointer not in steps and _gives(one, paths, written):
                config = _of_script(one.config) if one.action == _SCRIPT else one.config
                steps[one.pointer] = [one.id, one.output, config, one.when, [*_around(one)]]
                more = _paths_in(config) | _paths_of_condition(one.when) | _paths_around(one)
                read |= more
                waiting.append(more)
    computed = sorted(steps.values(), key=encode_canonical)
    names = {path[1] if len(path) > 1 else None for path in read if path[0] == "inputs"}
    usual = {at: value for at, value in written.defaults.items() if _decides(at, names)}
    name = written.name if {("run",), ("run", "automation_name")} & read else None
    given = [_read_trigger_inputs(one, names) for one in written.starts]
    return [(computed, usual, name, one) for one in ({}, *(one for one in given if one))]


def _gives(step: FlattenedStep, paths: Iterable[Path], written: StepsWithDefaults) -> bool:
    """Whether one of these paths reads the output of a step, or of its enclosing loop."""
    names = {step.output, step.id}
    for one in written.steps:
        if one.action == _LOOP and step.pointer.startswith(f"{one.pointer}/"):
            names |= {one.output, one.id}
    return any(
        (len(path) == 1 or path[1] in names) if path[0] == "steps" else path[0] in names
        for path in paths
    )


def _decides(pointer: str, names: set[Any]) -> bool:
    """Whether a part of the input schema may determine one of these inputs."""
    root, _, rest = pointer.removeprefix("/").partition("/")
    if not names or root != "properties" or None in names:
        return bool(names)
    return rest.partition("/")[0].replace("~1", "/").replace("~0", "~") in names


def _read_trigger_inputs(start: EnabledTrigger, names: set[Any]) -> dict[str, Any]:
    """The inputs that a trigger sets, and those that it maps from its payload."""
    mapping = start.config.get("input_mapping")
    taken = mapping if isinstance(mapping, Mapping) else {}
    return {
        name: [start.inputs.get(name), taken.get(name)]
        for name in sorted({*start.inputs, *taken})
        if name in names or None in names
    }


def _paths_in(value: Any) -> frozenset[Path]:
    """All paths that the templates in a value read."""
    found, waiting = set[Path](), [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        elif isinstance(one, str) and has_syntax(one):
            try:
                read = parse_template(one, _LIMITS, secrets=True).references
            except Problem:
                return _ANYTHING
            found |= {reference.path for reference in read}
    return frozenset(found)


def _paths_of_condition(when: Any) -> frozenset[Path]:
    if not isinstance(when, str):
        return frozenset()
    try:
        return frozenset(one.path for one in parse_predicate(when, _LIMITS).references)
    except Problem:
        return _ANYTHING


def _paths_around(step: FlattenedStep) -> frozenset[Path]:
    """The paths that determine the items of the loops around a step."""
    found = frozenset[Path]()
    for when, config in _around(step):
        found |= _paths_in(config) | _paths_of_condition(when)
    return found


def _around(step: FlattenedStep) -> Iterator[list[Any]]:
    """The condition and the settings of each loop around a step."""
    return (json.loads(frame)[1:] for frame in step.around)


def find_added_sends(
    before: StepsWithDefaults, after: StepsWithDefaults, sends: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """What is sent and was not before: pointer and sentence. ``sends`` are the sending steps."""
    names = {(one.id, one.action) for one in before.steps}
    for one in after.steps:
        if one.pointer not in sends or _was_sent(one, before, after):
            continue
        name = f"the step {quote_name(one.id)} ({quote_name(one.action)})"
        if one.action == _SCRIPT:
            yield one.pointer, f"The script at {name}, which may write outside, is another one now."
        elif (one.id, one.action) in names:
            yield one.pointer, f"It now sends another text, or to somebody else, at {name}."
        else:
            yield one.pointer, f"It now also sends something at {name}."


def _was_sent(step: FlattenedStep, before: StepsWithDefaults, after: StepsWithDefaults) -> bool:
    """Whether the previous steps sent all of this, under the same condition or none."""
    left = hash_outgoing(step, after)
    for one in before.steps:
        if one.action != step.action:
            continue
        # A changed condition is compared where it matters: for writes sent without asking.
        same = one.when == step.when and one.when is not None
        if not same or _condition(step, after) <= _condition(one, before):
            left -= hash_outgoing(one, before)
    return not left


def list_outgoing_by(document: Mapping[str, Any], capability: str) -> frozenset[bytes]:
    """Everything that a definition sends with one capability, as written."""
    written = read_writes(document)
    found = (hash_outgoing(one, written) for one in written.steps if _calls(one, capability))
    return frozenset[bytes]().union(*found)


def read_writes(document: Mapping[str, Any]) -> StepsWithDefaults:
    """What a definition sends and fills in."""
    return StepsWithDefaults(
        flatten_steps(document),
        read_input_defaults(document),
        read_enabled_triggers(document.get("triggers") or ()),
        str(document.get("name") or ""),
    )


def _calls(step: FlattenedStep, capability: str) -> bool:
    if step.action == capability:
        return True
    granted = step.config.get("grants") if step.action == _SCRIPT else None
    return isinstance(granted, list) and any(
        isinstance(one, Mapping) and one.get("tool") == capability for one in granted
    )


# How a request is made; these settings are not sent.
_MANNER: Final = frozenset({"timeout_seconds", "allow_error_status", "idempotency"})


@dataclass(frozen=True, slots=True)
class AutomaticWrite:
    """What one step sends automatically with one capability, or with all of its capabilities."""

    # The step, with what is sent and what determines how often.
    step: FlattenedStep
    # Empty means everything that the step sends.
    capability: str
    # The bounds of what a model or a script sends; None when the step's own config is the bound.
    bounds: tuple[Grant, ...] | None = None

    @property
    def pointer(self) -> str:
        return f"{self.step.pointer}/approval" if self.step.approval else self.step.pointer

    def is_within(self, other: AutomaticWrite) -> bool:
        """Whether consent to the other write covers this one."""
        if other.capability not in ("", self.capability):
            return False
        if self.bounds is None or other.bounds is None:
            return self.bounds is other.bounds and self.step.does_as(other.step)
        if find_missing_grants(self.bounds, other.bounds):
            return False
        return _without_tools(self.step).does_as(_without_tools(other.step))


def list_automatic_writes(document: Mapping[str, Any]) -> tuple[AutomaticWrite, ...]:
    """The automatic writes of a definition in the current format, in step order."""
    granted = read_written_grants(document)
    policy = (document.get("execution") or {}).get("write_policy")
    # Under auto_confirm_safe, safe writes are also sent at once unless their step says otherwise.
    unsaid = list_default_writes(with_safe=policy == "auto_confirm_safe")
    return tuple(
        write
        for step in flatten_steps(document)
        for write in _iterate_step_writes(step, read_step_approval(step, granted), unsaid)
    )


def find_added_writes(
    before: Sequence[AutomaticWrite], after: Sequence[AutomaticWrite], now: str
) -> Iterator[tuple[str, str]]:
    """What is now sent without asking and was not before: pointer and sentence."""
    known = list(before)
    for write in after:
        found = next((one for one in known if write.is_within(one)), None)
        if found is None:
            yield write.pointer, _describe_write(write, now)
        else:
            known.remove(found)


def _iterate_step_writes(
    step: FlattenedStep, said: StepApproval | None, unsaid: frozenset[str]
) -> Iterator[AutomaticWrite]:
    config = {key: value for key, value in step.config.items() if key not in _MANNER}
    sent = replace(step, config=config)
    if said is None:
        if step.action in unsaid:
            yield AutomaticWrite(sent, step.action)
        return
    if said.modes == AUTOMATIC:
        yield AutomaticWrite(sent, "", said.bounds)
    elif isinstance(said.modes, Mapping):
        for name, mode in sorted(said.modes.items()):
            if mode == AUTOMATIC:
                yield AutomaticWrite(sent, name, said.bounds)
    if step.action in unsaid and said.mode(step.action) not in (ASK, AUTOMATIC):
        yield AutomaticWrite(sent, step.action)


def _without_tools(step: FlattenedStep) -> FlattenedStep:
    """The step without the settings that its bounds already describe."""
    config = {key: one for key, one in step.config.items() if key not in ("tools", "grants")}
    return replace(step, config=config)


def _describe_write(write: AutomaticWrite, now: str) -> str:
    step = write.step
    if step.action in AGENTS or step.action == SCRIPT:
        return _describe_generated_write(write, now)
    words = any_write_words(step.action, step.config)
    named = find_named_account(step.config)
    account = f" over the account {named}" if named is not None else ""
    if not account and words.integration:
        account = f" {owner_account(words)}"
    text = outgoing_text(step.config, words.texts)
    said = f": “{text}”" if text else ""
    return f"It{now} {words.third_person}{account} without asking{said}."


def _describe_generated_write(write: AutomaticWrite, now: str) -> str:
    """What a model or a script sends: its text is created in the run, within fixed bounds."""
    who = "program" if write.step.action == SCRIPT else "model"
    begin = f"The {who} of the step {quote_name(write.step.id)}{now}"
    params = fixed_params_of(write.step, write.capability)
    words = None if len(params) != 1 else write_words(write.capability, params[0])
    if words is not None:
        return f"{begin} {words.third_person} without asking."
    what = f" with {quote_name(write.capability)}" if write.capability else ""
    found = [place for one in params for place in fixed_places(one)]
    where = f" ({', '.join(found)})" if found else ""
    return f"{begin} sends{what}{where} without asking."


def fixed_params_of(step: FlattenedStep, capability: str) -> list[Mapping[str, Any]]:
    """The arguments that the tools or grants of a step fix for a capability, or for all of them."""
    tools = step.config.get("tools") or step.config.get("grants")
    return [
        one.get("params") or {}
        for one in (tools if isinstance(tools, list) else ())
        if isinstance(one, Mapping) and one.get("tool") == (capability or one.get("tool"))
    ]
