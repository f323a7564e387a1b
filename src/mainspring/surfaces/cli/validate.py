"""``validate`` and ``schema``: the language alone, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Invalid, Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.documents import display_name, read_definition_file
from mainspring.surfaces.cli.offline_validation import validate_offline
from mainspring.surfaces.cli.problems import problem_lines
from mainspring.surfaces.cli.screen import one_line
from mainspring.surfaces.cli.summary import as_answer, judgement

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary
    from mainspring.definition.validate.outline import ValidationReport
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen


def validate_files(context: CommandContext, screen: Screen, files: Sequence[str]) -> int:
    """Judges every file, also those after a bad one."""
    limits = context.limits()
    vocabulary = context.doors.vocabulary(limits)
    answers: list[dict[str, Any]] = []
    for file in files:
        try:
            report = _report(file, vocabulary, limits)
        except Invalid as problem:
            answers.append(_unreadable(display_name(file), problem))
            screen.say(*_failure(screen, display_name(file), problem))
            continue
        answers.append(as_answer(display_name(file), report))
        if report.ok:
            screen.say(*judgement(display_name(file), report, vocabulary, screen))
        else:
            screen.say(*_failure(screen, display_name(file), _refusal(report)))
    good = all(answer["valid"] for answer in answers)
    if screen.for_programs:
        screen.answer({"valid": good, "files": answers})
    return exits.DONE if good else exits.INVALID


def _report(file: str, vocabulary: Vocabulary, limits: Limits) -> ValidationReport:
    return validate_offline(read_definition_file(file, limits), vocabulary, limits).report


def _refusal(report: ValidationReport) -> Problem:
    try:
        report.accepted()
    except Invalid as problem:
        return problem
    raise AssertionError("a report with findings accepted its definition")


def _failure(screen: Screen, file: str, problem: Problem) -> list[Text]:
    from rich.text import Text

    sign, colour = screen.mark("failed")
    lines = problem_lines(problem.detail, problem.findings, problem.suggestion)
    for line in lines:
        line.pad_left(2)
    return [Text.assemble((sign, colour), f" {one_line(file)}"), *lines]


def _unreadable(file: str, problem: Problem) -> dict[str, Any]:
    findings = [finding.as_dict() for finding in problem.findings]
    whole = {"pointer": "", "detail": problem.detail, "code": problem.code}
    return {"file": file, "valid": False, "errors": findings or [whole], "warnings": []}


def show_schema(screen: Screen, which: str) -> int:
    from mainspring.definition.filters import FILTER_SCHEMA
    from mainspring.definition.schema import build_definition_schema

    screen.answer(FILTER_SCHEMA if which == "filter" else build_definition_schema())
    return exits.DONE


def show_sdk(context: CommandContext, screen: Screen, *, types: bool) -> int:
    """The file that scripts import, as the server serves it."""
    from mainspring.actions.script.sdk.generator import compute_digest, generate_sdk, generate_types

    vocabulary = context.doors.vocabulary(context.limits())
    text = generate_types(vocabulary) if types else generate_sdk(vocabulary)
    if screen.for_programs:
        screen.answer({"sha256": compute_digest(text), "text": text})
    else:
        screen.note(text.rstrip("\n"))
    return exits.DONE
