"""Approval modes of outside writes, and which steps wait while a write of theirs is held.

A step sets ``on_hold``. Without it, the step waits if another step reads the result of the write: a
draft has no message id. A step whose draft is read, such as its ``draft_id``, continues, because
the plan itself handles the draft.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.errors import Problem
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.approval import (
    AUTOMATIC,
    StepApproval,
    can_be_automatic,
    get_write_bounds,
    is_pinned,
    list_required_pins,
    read_written_grants,
)
from mainspring.definition.grants import list_needed_grants
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_capability
from mainspring.definition.templates import TemplateReference, compile_config
from mainspring.definition.templates.parser import has_syntax
from mainspring.definition.validate.outline import (
    DefinitionOutline,
    FindingCollector,
    StepOutline,
    walk,
)
from mainspring.definition.validate.steps import get_template_schema, parse_condition

# Approval modes apply to steps that write outside, and automatic writes must be bounded.

_ASK: Final = 'write "approval": "ask"'


def check_approval(
    outline: DefinitionOutline, vocabulary: Vocabulary, sheet: FindingCollector
) -> None:
    """Check the approval mode of every readable step that has one."""
    broken = [finding.pointer for finding in sheet.findings]
    granted = read_written_grants({"grants": outline.grants})
    for step in outline.steps():
        at = join_pointer(step.pointer, "approval")
        if step.approval is None or not _is_sound(step, broken):
            continue
        writes = list_writes(step.action or "", step.config or {}, vocabulary)
        held = _list_blocked_writes(step.action or "", step.config or {}, vocabulary)
        if not writes and not held:
            sheet.wrong(
                at,
                "This step sends nothing outside, so there is nothing to approve.",
                "approval_without_write",
                "Remove approval from it.",
            )
            continue
        if isinstance(step.approval, Mapping):
            modes = {k: v for k, v in step.approval.items() if k not in held}
            _check_names(modes, writes, vocabulary, at, sheet)
        _check_automatic(step, writes, granted, at, sheet)


def list_writes(
    action: str, config: Mapping[str, Any], vocabulary: Vocabulary
) -> dict[str, Capability]:
    """The capabilities with which a step may write outside, by name."""
    found: dict[str, Capability] = {}
    for need in list_needed_grants(action, config, vocabulary):
        capability = vocabulary.capabilities.get(need.capability)
        if capability is None or capability.write is None:
            continue
        if action != capability.id or _may_send(capability, config):
            found[capability.id] = capability
    return found


def _list_blocked_writes(
    action: str, config: Mapping[str, Any], vocabulary: Vocabulary
) -> frozenset[str]:
    """The tools of a step that write outside and are blocked until a person agrees to them."""
    needs = {need.capability for need in list_needed_grants(action, config, vocabulary)}
    found = (vocabulary.capabilities.get(name) for name in needs)
    return frozenset(one.id for one in found if one is not None and _is_blocked_write(one))


def _is_blocked_write(capability: Capability) -> bool:
    """The kind of write is known once a person has agreed to the tool; it is not checked before."""
    known = capability.annotations
    return bool(known.held_back) and known.effect is Effect.SEND


def _may_send(capability: Capability, config: Mapping[str, Any]) -> bool:
    reach = capability.annotations.reach
    if reach is None or any(isinstance(one, str) and has_syntax(one) for one in _deciding(config)):
        return True
    return reach(config) is Effect.SEND


def _deciding(config: Mapping[str, Any]) -> Iterable[Any]:
    """The arguments that make a call a read."""
    return (config.get("method"),)


def _check_names(
    modes: Mapping[str, Any],
    writes: Mapping[str, Capability],
    vocabulary: Vocabulary,
    at: str,
    sheet: FindingCollector,
) -> None:
    for name in modes:
        known = vocabulary.capabilities.get(name)
        if name in writes:
            continue
        if known is None:
            detail = f"There is no capability called {name[:100]!r}."
            sheet.wrong(
                join_pointer(at, name),
                detail,
                "unknown_capability",
                suggest_capability(name, [*writes]),
            )
        else:
            detail = f"This step does not send anything with {name}."
            way = f"Remove it, or name one of {', '.join(writes)}."
            sheet.doubtful(join_pointer(at, name), detail, "unused_approval", way)


def _check_automatic(
    step: StepOutline,
    writes: Mapping[str, Capability],
    granted: Iterable[Grant],
    at: str,
    sheet: FindingCollector,
) -> None:
    chosen = StepApproval(
        step.approval, get_write_bounds(step.action or "", step.config or {}, granted)
    )
    for name, capability in writes.items():
        if chosen.mode(name) != AUTOMATIC:
            continue
        here = join_pointer(at, name) if isinstance(step.approval, Mapping) else at
        if not can_be_automatic(capability):
            sheet.wrong(
                here,
                f"{name} works out in the run what it sends, so it cannot be sent automatically.",
                "approval_not_automatic",
                f"Name the integration's own capability, such as slack_post, or {_ASK}.",
            )
        elif chosen.bounds is not None and not any(
            is_pinned(capability, one) for one in chosen.bounds
        ):
            sheet.wrong(
                here,
                f"Nothing fixes where this step may send {name}, so it cannot be sent "
                "automatically.",
                "destination_open",
                f"Fix its destination in tools or grants, as in {_example(capability)}, or {_ASK}.",
            )


def _example(capability: Capability) -> str:
    names = list_required_pins(capability) or [*capability.input_schema.get("properties", {})][:1]
    params = ", ".join(f'"{name}": "…"' for name in names)
    return f'{{"tool": "{capability.id}", "params": {{{params}}}}}'


def _is_sound(step: StepOutline, broken: list[str]) -> bool:
    """Whether config and approval are well-formed; problems there are reported elsewhere."""
    places = [join_pointer(step.pointer, part) for part in ("config", "approval", "action")]
    return step.config is not None and not any(
        pointer == at or pointer.startswith(at + "/") for pointer in broken for at in places
    )


# The arguments of the write as sent, edits included; part of the output of such a step.
SENT: Final = "sent"
# The fields of a draft, which is the output of a step that does not wait.
_DRAFT: Final = frozenset(
    {"kind", "draft_id", "action", "preview", "payload", "expires_at", "hash", "account"}
)
_PROGRAMS: Final = frozenset({AGENT_RUN, AGENT_TASK, "script"})


@dataclass(frozen=True, slots=True)
class HoldBehavior:
    """What a run does with a step whose write is held."""

    waits: bool = False
    # Whether a template reads the arguments as sent.
    reads_sent: bool = False


@dataclass(slots=True)
class _OutputUse:
    """What other steps read of one step's output."""

    result: bool = False
    draft: bool = False
    sent: bool = False


def can_hold(step: StepOutline) -> bool:
    """Whether a call of this step itself may be held for approval."""
    if step.known is not None:
        return step.known.holds
    found = step.capability
    return found is not None and (
        found.write is not None or found.annotations.reach is not None or _is_blocked_write(found)
    )


def compute_holds(outline: DefinitionOutline, limits: Limits) -> dict[str, HoldBehavior]:
    """The hold behaviour of each step that may hold a write, by step id."""
    uses = _uses(outline, limits)
    found = {}
    for step in outline.steps():
        if step.step_id is None or not can_hold(step):
            continue
        use = uses[step.step_id]
        waits = use.result and not use.draft
        if step.on_hold in ("wait", "continue"):
            waits = step.on_hold == "wait"
        found[step.step_id] = HoldBehavior(waits, use.sent)
    return found


def check_holding(outline: DefinitionOutline, limits: Limits, sheet: FindingCollector) -> None:
    """Hold options require a step that can hold a write, and must fit what is read of it."""
    uses: Mapping[str, _OutputUse] | None = None
    for step in outline.steps():
        given = [
            name
            for name, value in (
                ("on_hold", step.on_hold),
                ("hold_expires_after", step.hold_expires_after),
            )
            if value is not None
        ]
        if not given or (step.known is None and step.capability is None):
            continue
        if not can_hold(step):
            for name in given:
                sheet.wrong(join_pointer(step.pointer, name), *_nothing_held(step, name))
        elif step.step_id is not None and step.on_hold is not None:
            uses = _uses(outline, limits) if uses is None else uses
            _check_use(step, uses[step.step_id], sheet)


def _nothing_held(step: StepOutline, name: str) -> tuple[str, str, str]:
    why = "This step makes no outside write, so nothing of it can be held."
    if step.action in _PROGRAMS:
        why = (
            "A held call of an agent or a script returns immediately, so the run cannot wait for "
            f"it: {name} does not apply here."
        )
    elif step.nested:
        why = f"Set {name} on the steps inside the loop that write outside."
    return why, "not_held", f"Remove {name}."


def _check_use(step: StepOutline, use: _OutputUse, sheet: FindingCollector) -> None:
    at = join_pointer(step.pointer, "on_hold")
    if step.on_hold == "continue" and use.result:
        sheet.doubtful(
            at,
            f"Another step reads the result of {step.step_id!r}, and with on_hold: continue that "
            "result is only the draft.",
            "held_result",
            "Write on_hold: wait, or read what a draft has, such as draft_id.",
        )
    if step.on_hold == "wait" and use.draft:
        sheet.doubtful(
            at,
            f"Another step reads the draft of {step.step_id!r}, and with on_hold: wait the output "
            "is the result of the write instead.",
            "held_result",
            "Write on_hold: continue, or read what the write answers.",
        )


def _uses(outline: DefinitionOutline, limits: Limits) -> dict[str, _OutputUse]:
    """What is read of each step's output, anywhere in the definition."""
    named = [step for step in outline.steps() if step.step_id is not None]
    uses = {step.step_id: _OutputUse() for step in named if step.step_id is not None}
    references = [one for step in outline.steps() for one in _references(step, limits)]
    for step in named:
        assert step.step_id is not None
        for field in _fields(step, references):
            _count(uses[step.step_id], step, field)
    for loop in named:
        # The output of a loop contains the results of its nested steps.
        if loop.nested and any(field != "count" for field in _fields(loop, references)):
            for inner in walk(loop.nested):
                if inner.step_id is not None:
                    uses[inner.step_id].result = True
    return uses


def _references(step: StepOutline, limits: Limits) -> Iterator[TemplateReference]:
    """What the condition and the config of a step read; unreadable templates are reported
    elsewhere.
    """
    if step.when:
        with contextlib.suppress(Problem):
            yield from parse_condition(step.when, limits).references
    if step.config is not None:
        schema = get_template_schema(step.known, step.capability)
        for _, template in compile_config(step.config, schema, limits).templates:
            yield from template.references


def _fields(step: StepOutline, references: Iterable[TemplateReference]) -> Iterator[str | None]:
    """The fields of a step's output that are read; None means all of them."""
    for reference in references:
        path = reference.path
        if path[0] == "steps":
            if len(path) == 1:
                yield None
            elif path[1] in (step.output_name, step.step_id):
                yield path[2] if len(path) > 2 else None
        elif path[0] == step.output_name:
            yield path[1] if len(path) > 1 else None


def _count(use: _OutputUse, step: StepOutline, field: str | None) -> None:
    if field in _DRAFT and _is_of_draft(step, str(field)):
        use.draft = True
        return
    use.result = True
    use.sent = use.sent or field == SENT


def _is_of_draft(step: StepOutline, field: str) -> bool:
    """Whether a field belongs to the draft and not to the result of the write."""
    known = (step.output_schema or {}).get("properties", {})
    return field not in known or "draft_id" in known
