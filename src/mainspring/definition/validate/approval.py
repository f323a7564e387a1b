"""Approval modes: they are set on steps that write outside, and automatic writes have bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.grant import Grant
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
from mainspring.definition.pointers import join_pointer
from mainspring.definition.templates.tokens import has_syntax
from mainspring.definition.validate.outline import DefinitionOutline, StepOutline
from mainspring.definition.validate.report import FindingCollector
from mainspring.definition.words import suggest_capability

_ASK: Final = 'write "approval": "ask"'


def check_approval(
    outline: DefinitionOutline, vocabulary: Vocabulary, sheet: FindingCollector
) -> None:
    """Judges the approval mode of every step that has one and can be read."""
    broken = [finding.pointer for finding in sheet.findings]
    granted = read_written_grants({"grants": outline.grants})
    for step in outline.steps():
        at = join_pointer(step.pointer, "approval")
        if step.approval is None or not _is_sound(step, broken):
            continue
        writes = list_writes(step.action or "", step.config or {}, vocabulary)
        if not writes:
            sheet.wrong(
                at,
                "This step sends nothing outside, so there is nothing to approve.",
                "approval_without_write",
                "Remove approval from it.",
            )
            continue
        if isinstance(step.approval, Mapping):
            _check_names(step.approval, writes, vocabulary, at, sheet)
        _check_automatic(step, writes, granted, at, sheet)


def list_writes(
    action: str, config: Mapping[str, Any], vocabulary: Vocabulary
) -> dict[str, Capability]:
    """The capabilities that a step may write outside with, by name."""
    found: dict[str, Capability] = {}
    for need in list_needed_grants(action, config, vocabulary):
        capability = vocabulary.capabilities.get(need.capability)
        if capability is None or capability.write is None:
            continue
        if action != capability.id or _may_send(capability, config):
            found[capability.id] = capability
    return found


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
    """Its config and its approval have the right shape; what is wrong there is reported already."""
    places = [join_pointer(step.pointer, part) for part in ("config", "approval", "action")]
    return step.config is not None and not any(
        pointer == at or pointer.startswith(at + "/") for pointer in broken for at in places
    )
