"""Whatever goes wrong in a command is one sentence and an exit code, never a trace."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import pytest
import typer

from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.settings import BadSetting
from mainspring.surfaces.cli.problems import run_cli


def _app(act: Callable[[], int]) -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.callback()
    def top() -> None:
        """A group, as the real one is."""

    @app.command()
    def go(for_programs: bool = typer.Option(False, "--json")) -> int:
        del for_programs
        return act()

    return app


def _raising(error: BaseException) -> typer.Typer:
    def act() -> int:
        raise error

    return _app(act)


def test_the_answer_of_a_command_is_its_exit_code() -> None:
    assert run_cli(_app(lambda: 7), ["go"]) == 7


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (Invalid("The inputs do not fit."), 2, "The inputs do not fit."),
        (Conflict("The run has ended."), 1, "The run has ended."),
        (BadSetting("MAINSPRING_SLOTS must be a number."), 2, "MAINSPRING_SLOTS must be a number."),
        (
            RuntimeError("at /secret/path"),
            1,
            ("The operation failed with an unexpected error (RuntimeError)."),
        ),
        (
            OSError(5, "at /secret/path"),
            1,
            ("The operation failed with an unexpected error (OSError)."),
        ),
    ],
)
def test_an_error_is_one_sentence_on_stderr(
    capsys: pytest.CaptureFixture[str], error: Exception, code: int, text: str
) -> None:
    assert run_cli(_raising(error), ["go"]) == code

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[0] == text
    assert "Traceback" not in captured.err
    assert "/secret/path" not in captured.err


def test_every_finding_is_shown_with_its_place_and_a_way_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    findings = [
        Finding("/plan/0/action", "There is no action 'x'.", "unknown_action", "Did you mean 'y'?"),
        Finding("", "It is too large.", "too_large"),
    ]

    run_cli(_raising(Invalid("It has 2 problems.", findings=findings)), ["go"])

    assert capsys.readouterr().err.splitlines() == [
        "It has 2 problems.",
        "  /plan/0/action: There is no action 'x'.",
        "    Did you mean 'y'?",
        "  the whole document: It is too large.",
    ]


def test_a_program_gets_the_problem_document_on_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problem = Conflict("The run has ended.", code="run_ended", suggestion="Start another one.")

    assert run_cli(_raising(problem), ["go", "--json"]) == 1

    captured = capsys.readouterr()
    assert json.loads(captured.out) == problem.as_dict()
    assert captured.err == ""


@pytest.mark.parametrize("words", [["nosuch"], ["go", "--nosuch"], ["go", "extra"], ["--nosuch"]])
def test_a_wrong_word_is_a_problem_with_code_two(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run_cli(_app(lambda: 0), words) == 2
    assert "--help" in capsys.readouterr().err


def test_a_wrong_word_is_a_problem_for_programs_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(_app(lambda: 0), ["go", "--json", "--nosuch"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "usage"


def test_an_interruption_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(_raising(KeyboardInterrupt()), ["go"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_log_lines_outside_a_request_have_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    def act() -> int:
        try:
            raise RuntimeError("inside")
        except RuntimeError:
            logging.getLogger("mainspring.runs").exception("A duty failed.")
        return 0

    run_cli(_app(act), ["go"])

    assert capsys.readouterr().err == "mainspring: A duty failed.\n"


def test_a_sentence_and_its_way_out_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    way = "Name another model."
    why = "Nobody offers it."
    problem = Invalid(
        f"The arguments are not valid: {why}",
        findings=[Finding("/model", why, "unknown_model", way), Finding("/x", "Odd.", "odd", way)],
        suggestion=way,
    )
    run_cli(_raising(problem), ["go"])
    text = capsys.readouterr().err

    assert (text.count(why), text.count(way)) == (1, 1)
    assert "at /model" in text
    assert "/x" in text
