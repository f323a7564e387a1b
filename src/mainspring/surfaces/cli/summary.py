"""A definition in a few lines: what it is for, when it starts, what it may call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mainspring.definition.chat_triggers import describe_chat_trigger
from mainspring.surfaces.cli.formatting import as_called_here, count
from mainspring.surfaces.cli.screen import Screen, as_json, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.contracts.errors import Finding
    from mainspring.contracts.grant import Grant
    from mainspring.contracts.registry import Vocabulary
    from mainspring.definition.model import Definition, TriggerEntry
    from mainspring.definition.validate.outline import ValidationReport

_MISFIRES = {
    "skip": "missed fire times are skipped",
    "fire_all": "each missed fire time runs",
}


_NO_BOARDS: Mapping[str, str] = {}
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
        lines.append(Text("  manual start only"))
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


@dataclass(frozen=True, slots=True)
class ListedTrigger:
    """A trigger as the API describes it."""

    id: str
    type: str
    config: Mapping[str, Any]
    enabled: bool

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ListedTrigger:
        return cls(row["slug"], row["type"], row["config"], row["enabled"])


def describe_trigger_summary(
    trigger: TriggerEntry | ListedTrigger, boards: Mapping[str, str] = _NO_BOARDS
) -> str:
    """When a trigger fires; ``boards`` are names of boards by id."""
    config = trigger.config
    match trigger.type:
        case "schedule":
            text = _of_schedule(config)
            missed = _MISFIRES.get(str(config.get("misfire")))
            text = f"{text} ({missed})" if missed else text
        case "webhook":
            text = f"when the webhook {trigger.id!r} is called"
        case "form":
            who = "a member" if config.get("access") == "members" else "anyone with the link"
            text = f"when {who} sends the form {trigger.id!r}"
        case "board_change":
            text = _of_board(config, boards)
        case "page_ingested":
            text = _of_page(config)
        case "chat_message":
            text = f"when {describe_chat_trigger(config, repr)}"
        case "event":
            kept = f" where {_filter(config)}" if config.get("filters") else ""
            text = f"on event {config.get('event_type')!r}{kept}"
        case _:
            text = _of_poll(trigger.type, config)
    return text if trigger.enabled else f"{text} (disabled)"


def _of_schedule(config: Mapping[str, Any]) -> str:
    if set(config) <= {"cron", "timezone", "misfire", "catch_up_seconds"}:
        return f"on the schedule {config.get('cron')!r} in {config.get('timezone')}"
    # Imported on use: most commands describe no such schedule.
    from mainspring.contracts.errors import Invalid
    from mainspring.definition.schedules import describe_schedule, parse_schedule

    try:
        words = describe_schedule(parse_schedule(config))
    except Invalid:
        return "on a schedule that cannot be read"
    return f"{words} in {config.get('timezone')}"


def _of_poll(kind: str, config: Mapping[str, Any]) -> str:
    # Few commands need it, and it reads JSONPath.
    from mainspring.definition.poll_descriptions import describe_poll

    return describe_poll(kind, config, repr)


def _of_board(config: Mapping[str, Any], boards: Mapping[str, str]) -> str:
    board = str(config.get("board_id"))
    known = boards.get(board.lower())
    text = f"when the board {board if known is None else f'{known!r} ({board})'} changes"
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
        words += f", {inside} nested"
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


def step_counts_of(document: Mapping[str, Any]) -> str:
    """How many steps a definition has, including nested ones and those on failure."""
    plan = document.get("plan", ())
    words = count(len(plan), "step")
    inside = sum(_count_nested(step) for step in plan)
    if inside:
        words += f", {inside} nested"
    failing = len((document.get("execution") or {}).get("on_failure") or ())
    return f"{words}, {failing} on failure" if failing else words


def _count_nested(step: Mapping[str, Any]) -> int:
    """The steps in the config of a step: lists of objects that name an action."""
    lists = [
        value
        for value in (step.get("config") or {}).values()
        if isinstance(value, list)
        and value
        and all(isinstance(one, Mapping) and "action" in one for one in value)
    ]
    return sum(1 + _count_nested(one) for steps in lists for one in steps)


def described_grant_lines(grants: Iterable[Mapping[str, Any]]) -> list[Text]:
    """The same as ``grant_lines``, for grants that the API has described."""
    from mainspring.contracts.grant import Grant

    listed = list(grants)
    labels = {one["capability"]: one.get("label") for one in listed}
    return _format_grants([Grant(one["capability"], one["params"]) for one in listed], labels)


# What capabilities are called, by their ids.
Labels = Mapping[str, str]


def labelled_grant_lines(grants: Iterable[Mapping[str, Any]], labels: Labels) -> list[Text]:
    """The same, for grants that the API has not described."""
    return described_grant_lines(
        [{**one, "label": labels.get(one["capability"])} for one in grants]
    )


def grant_lines(grants: Iterable[Grant], vocabulary: Vocabulary) -> list[Text]:
    """What its runs may call, and with which limits."""
    listed = list(grants)
    known = {grant.capability: vocabulary.capabilities.get(grant.capability) for grant in listed}
    labels = {name: one.label for name, one in known.items() if one is not None}
    return _format_grants(listed, labels)


def _format_grants(listed: Sequence[Grant], labels: Mapping[str, str | None]) -> list[Text]:
    from rich.text import Text

    lines = [
        Text.assemble(
            "  may call ",
            (one_line(grant.capability), "bold"),
            _bounds(grant, labels.get(grant.capability)),
        )
        for grant in listed
        if not _its_own(grant)
    ]
    own = sorted({_its_own(grant) for grant in listed} - {""})
    if own:
        lines.append(Text(f"  may use its own {' and its own '.join(own)}"))
    return lines or [Text("  calls no capabilities")]


def _its_own(grant: Grant) -> str:
    """What every script has and needs no agreement to: its own memory and its own history."""
    if grant.params:
        return ""
    if grant.capability.startswith("automation_kv."):
        return "memory"
    return "record of failures" if grant.capability == "automation_recent_failures" else ""


def _bounds(grant: Grant, name: str | None) -> str:
    label = f": {name}" if name else ""
    if not grant.params:
        return label
    bounds = ", ".join(
        f"{name} {', '.join(map(str, bound)) or 'none'}"
        if isinstance(bound, list)
        else f"{name} {as_json(bound, indent=None)}"
        for name, bound in grant.params.items()
    )
    return f"{label} ({one_line(bounds)})"
