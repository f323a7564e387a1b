"""``validate`` and ``schema``: definitions in files, checked before anything is saved.

A workspace that can be asked checks them as ``save`` does: it also knows which parts are missing.
Without one, only the definition itself is checked, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.contracts.grant import Grant
from mainspring.store.data_folder import is_occupied
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import find_named_server, finish_request, open_client
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


@dataclass(frozen=True, slots=True)
class _CheckedFile:
    """A file and its report, or why it could not be read."""

    name: str
    document: Any = None
    report: ValidationReport | None = None
    problem: Invalid | None = None


def validate_files(context: CommandContext, screen: Screen, files: Sequence[str]) -> int:
    """Checks every file, also those after a bad one."""
    limits = context.limits()
    vocabulary = context.doors.vocabulary(limits)
    checked = [_check(file, vocabulary, limits) for file in files]
    checked, reason = finish_request(_check_in_workspace(context, checked))
    answers = []
    for file in checked:
        if file.report is None:
            assert file.problem is not None
            answers.append(_unreadable(file.name, file.problem))
            screen.say(*_failure(screen, file.name, file.problem))
            continue
        answers.append(as_answer(file.name, file.report))
        if file.report.ok:
            screen.say(*judgement(file.name, file.report, vocabulary, screen))
        else:
            screen.say(*_failure(screen, file.name, _refusal(file.report)))
    good = all(answer["valid"] for answer in answers)
    if reason is not None:
        screen.say(f"Only the definition was checked. {one_line(reason, 400)}")
    if screen.for_programs:
        answer: dict[str, Any] = {"valid": good, "files": answers}
        answer["checked"] = "workspace" if reason is None else "definition"
        screen.answer(answer if reason is None else {**answer, "reason": reason})
    return exits.DONE if good else exits.INVALID


def _check(file: str, vocabulary: Vocabulary, limits: Limits) -> _CheckedFile:
    name = display_name(file)
    try:
        document = read_definition_file(file, limits)
    except Invalid as problem:
        return _CheckedFile(name, problem=problem)
    return _CheckedFile(name, document, validate_offline(document, vocabulary, limits).report)


async def _check_in_workspace(
    context: CommandContext, files: list[_CheckedFile]
) -> tuple[list[_CheckedFile], str | None]:
    """The same files with what the workspace adds; or why it could not be asked."""
    settings = context.server_settings()
    is_named = find_named_server(context) is not None
    if not (is_named or settings.database_url or is_occupied(settings.home)):
        return files, (
            f"There is no data folder at {settings.home} yet, so connections, models, mail and "
            "addresses were not. `mainspring up` creates one; --server names another server."
        )
    result = []
    try:
        async with open_client(context) as client:
            for file in files:
                report = file.report
                if report is not None and report.ok:
                    answer = await client.request("POST", "/validate", file.document)
                    report = _with_answer(report, answer)
                result.append(replace(file, report=report))
    except Problem as problem:
        if is_named:
            raise
        # The folder is of an older version, or another program holds it.
        return files, " ".join(filter(None, (problem.detail, problem.suggestion)))
    return result, None


def _with_answer(report: ValidationReport, answer: Mapping[str, Any]) -> ValidationReport:
    errors = tuple(Finding(**one) for one in answer["errors"])
    return replace(
        report,
        findings=errors,
        warnings=tuple(Finding(**one) for one in answer["warnings"]),
        grants=tuple(Grant(one["capability"], one["params"]) for one in answer["grants"]),
        definition=None if errors else report.definition,
    )


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
