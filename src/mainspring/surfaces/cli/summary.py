"""A definition in a few lines: what it is for, when it starts, what it may call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mainspring.surfaces.cli.formatting import as_called_here, count
from mainspring.surfaces.cli.screen import Screen, as_json, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.contracts.errors import Finding
    from mainspring.contracts.grant import Grant
    from mainspring.contracts.registry import Vocabulary
    from mainspring.definition.model import Definition, TriggerEntry
    from mainspring.definition.validate.outline import ValidationReport
    from mainspring.workspace.automation_resources import WatchedBoard

_MISFIRES = {
    "skip": "missed moments do not fire",
    "fire_all": "each missed moment fires",
}


_NO_BOARDS: Mapping[str, WatchedBoard] = {}
_FILTER_WIDE = 200


def introduction(
    definition: Definition, grants: Iterable[Grant], vocabulary: Vocabulary
) -> list[Text]:
    """What a person should know before a run begins."""
    from rich.text import Text

    lines = [Text(one_line(definition.name), style="bold"), Text(f"  {one_line(definition.goal)}")]
    return [*lines, *grant_lines(grants, vocabulary)]


def judgement(
    file: str, report: ValidationReport, vocabulary: Vocabulary, screen: Screen
) -> list[Text]:
    """What the validator has to say about a definition without mistakes."""
    from rich.text import Text

    definition = report.accepted()
    sign, colour = screen.mark("succeeded")
    lines = [
        Text.assemble((sign, colour), f" {one_line(file)}: ", (one_line(definition.name), "bold")),
        Text(f"  {step_counts(definition, vocabulary)}"),
        *(
            Text(f"  once active, starts {one_line(describe_trigger_summary(entry))}")
            for entry in definition.triggers
        ),
    ]
    if not definition.triggers:
        lines.append(Text("  starts by hand only"))
    lines += grant_lines(report.grants, vocabulary)
    lines += [Text(f"  {one_line(note.detail, 400)}") for note in report.notes]
    return lines + warning_lines(report.warnings, screen)


def warning_lines(warnings: Iterable[Finding], screen: Screen) -> list[Text]:
    """What is doubtful about a definition without mistakes."""
    from rich.text import Text

    sign, colour = screen.mark("warning")
    lines = []
    for warning in warnings:
        text = f" {warning.pointer}: {one_line(warning.detail, 400)}"
        lines.append(Text.assemble("  ", (sign, colour), text))
        if warning.suggestion:
            lines.append(Text(f"    {one_line(as_called_here(warning.suggestion), 400)}"))
    return lines


def as_answer(file: str, report: ValidationReport) -> dict[str, Any]:
    """The same for a program."""
    answer: dict[str, Any] = {
        "file": file,
        "valid": report.ok,
        "errors": [finding.as_dict() for finding in report.findings],
        "warnings": [finding.as_dict() for finding in report.warnings],
    }
    if report.definition is not None:
        answer["name"] = report.definition.name
        answer["steps"] = len(report.definition.plan)
        answer["triggers"] = [
            describe_trigger_summary(entry) for entry in report.definition.triggers
        ]
        answer["grants"] = [grant.as_dict() for grant in report.grants]
    return answer


def describe_trigger_summary(
    trigger: TriggerEntry, boards: Mapping[str, WatchedBoard] = _NO_BOARDS
) -> str:
    """When a trigger goes off, in words; with ``boards``, a board is called by its name."""
    config = trigger.config
    match trigger.type:
        case "schedule":
            text = f"on the schedule {config.get('cron')!r} in {config.get('timezone')}"
            missed = _MISFIRES.get(str(config.get("misfire")))
            text = f"{text} ({missed})" if missed else text
        case "webhook":
            text = f"when the webhook {trigger.id!r} is called"
        case "board_change":
            text = _of_board(config, boards)
        case "page_ingested":
            text = _of_page(config)
        case _:
            kept = f" where {_filter(config)}" if config.get("filters") else ""
            text = f"at an event {config.get('event_type')!r}{kept}"
    return text if trigger.enabled else f"{text} (switched off)"


def _of_board(config: Mapping[str, Any], boards: Mapping[str, WatchedBoard]) -> str:
    board = str(config.get("board_id"))
    known = boards.get(board.lower())
    text = f"when the board {board if known is None else f'{known.name!r} ({board})'} changes"
    if "dataset" in config:
        text += f" in the dataset {config['dataset']!r}"
    if "change" in config:
        text += f" by {' or '.join(config['change'])}"
    return f"{text}, where {_filter(config)}" if config.get("filters") else text


def _of_page(config: Mapping[str, Any]) -> str:
    what = {None: "a page is written", True: "a new page is written", False: "a page changes"}
    text = f"when {what[config.get('created')]}"
    if "page_type" in config:
        text += f" of the type {config['page_type']!r}"
    if "source" in config:
        text += f" from {config['source']!r}"
    return f"{text}, where {_filter(config)}" if config.get("filters") else text


def _filter(config: Mapping[str, Any]) -> str:
    """A filter as it is written: whoever agrees to it sees what it lets through."""
    return one_line(as_json(config["filters"], indent=None), _FILTER_WIDE)


def step_counts(definition: Definition, vocabulary: Vocabulary) -> str:
    """How many steps there are, also inside others and on failure."""
    inside = sum(_nested(step.action, step.config, vocabulary) for step in definition.plan)
    words = count(len(definition.plan), "step")
    if inside:
        words += f", {inside} more inside"
    failing = len(definition.execution.on_failure)
    return f"{words}, {failing} on failure" if failing else words


def _nested(action: str, config: Mapping[str, Any], vocabulary: Vocabulary) -> int:
    known = vocabulary.actions.get(action)
    if known is None or known.nested is None:
        return 0
    steps = config.get(known.nested, ())
    return len(steps) + sum(
        _nested(step["action"], step.get("config", {}), vocabulary) for step in steps
    )


def grant_lines(grants: Iterable[Grant], vocabulary: Vocabulary) -> list[Text]:
    """What its runs may call, and how far; what an automation has of its own is one line."""
    from rich.text import Text

    listed = list(grants)
    lines = [
        Text.assemble(
            "  may call ", (one_line(grant.capability), "bold"), _bounds(grant, vocabulary)
        )
        for grant in listed
        if not _its_own(grant)
    ]
    own = sorted({_its_own(grant) for grant in listed} - {""})
    if own:
        lines.append(Text(f"  may use its own {' and its own '.join(own)}"))
    return lines or [Text("  calls nothing outside its own steps")]


def _its_own(grant: Grant) -> str:
    """What every script has and needs no agreement to: its own memory and its own history."""
    if grant.params:
        return ""
    if grant.capability.startswith("automation_kv."):
        return "memory"
    return "record of failures" if grant.capability == "automation_recent_failures" else ""


def _bounds(grant: Grant, vocabulary: Vocabulary) -> str:
    known = vocabulary.capabilities.get(grant.capability)
    label = f": {known.label}" if known is not None else ""
    if not grant.params:
        return label
    bounds = ", ".join(
        f"{name} {', '.join(map(str, bound)) or 'none'}"
        if isinstance(bound, list)
        else f"{name} {as_json(bound, indent=None)}"
        for name, bound in grant.params.items()
    )
    return f"{label} ({one_line(bounds)})"
