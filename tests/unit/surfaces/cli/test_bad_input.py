"""Bad input gets a sentence, a place and exit code 2, before the application is even opened."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from mainspring.surfaces.cli import run_cli

Command = Callable[..., int]

DELAY = {
    "schema_version": "1.2",
    "name": "Wait",
    "goal": "A test.",
    "inputs": {
        "schema": {
            "type": "object",
            "properties": {"seconds": {"type": "number", "minimum": 0, "default": 3}},
        }
    },
    "plan": [{"step_id": "nap", "action": "delay", "config": {"seconds": "{{ inputs.seconds }}"}}],
}
BAD_TEXTS = [
    (b"", "empty", ""),
    (b'{"name": ', "ends too early", "/name"),
    (b'{"name": "a", "plan": [1,, 2]}', "a value is expected here", "/plan/1"),
    (b'{"execution": {"x": 1, "x": 2}}', "appears twice", "/execution/x"),
    (b'{"plan": [{"config": {"seconds": NaN}}]}', "NaN", "/plan/0/config/seconds"),
    (b'{"name": "\\ud800"}', "surrogate", "/name"),
    (b'{"name": "a\\u0000b"}', "NUL", "/name"),
    (b'{"n": ' + b"1" * 500 + b"}", "digits", "/n"),
    (b"[" * 100_000, "nested", "/0"),
    (b"\x7fELF\x02\x01\xff\xfe" * 10, "UTF-8", ""),
    (b"{}" + b" " * 2_000_000, "larger than", ""),
    (b"[]", "JSON object", ""),
    (b"{} {}", "more text", ""),
]


@pytest.fixture
def command(locked_app: typer.Typer) -> Command:
    """The command line over an application that must not be opened."""
    return lambda *words: run_cli(locked_app, [str(word) for word in words])


@pytest.fixture
def delay(tmp_path: Path) -> Path:
    path = tmp_path / "delay.json"
    path.write_text(json.dumps(DELAY))
    return path


@pytest.mark.parametrize(("text", "message", "pointer"), BAD_TEXTS)
@pytest.mark.parametrize("word", ["run", "validate"])
def test_a_file_that_is_no_definition_is_refused_with_its_place(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    word: str,
    text: bytes,
    message: str,
    pointer: str,
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text)

    assert command(word, path) == 2

    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert message in shown
    assert pointer in shown
    assert "Traceback" not in shown


def test_a_file_that_is_not_there_or_no_file_is_named(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.json"))
    for path in (tmp_path / "nowhere.json", tmp_path, Path("/dev/zero"), strange):
        assert command("run", path) == 2

        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err


def test_a_program_gets_the_problem_document(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({**DELAY, "plan": [{"step_id": "a", "action": "dealy"}]}))

    assert command("run", path, "--json") == 2

    captured = capsys.readouterr()
    problem = json.loads(captured.out)
    assert captured.err == ""
    assert problem["type"] == "urn:mainspring:problem:invalid"
    assert problem["status"] == 422
    assert problem["errors"][0]["pointer"] == "/plan/0/action"
    assert "delay" in problem["errors"][0]["suggestion"]


@pytest.mark.parametrize(
    ("words", "pointer"),
    [
        (["--input", "seconds=soon"], "/inputs/seconds"),
        (["--input", "seconds=-1"], "/inputs/seconds"),
        (["--input", "seconds"], "/inputs"),
        (["--input", "minutes=1"], "/inputs/minutes"),
        (["--inputs", "[1]"], "/inputs"),
        (["--inputs", '{"seconds": 1, "seconds": 2}'], "/seconds"),
        (["--inputs", '{"seconds": "x"}'], "/inputs/seconds"),
        (["--inputs", "{"], "JSON"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    command: Command,
    delay: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    pointer: str,
) -> None:
    assert command("run", delay, *words) == 2

    captured = capsys.readouterr()
    assert pointer in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["nosuch"],
        ["run"],
        ["run", "x.json", "--nosuch"],
        ["run", "x.json", "--timeout", "soon"],
        ["run", "x.json", "--timeout", "-1"],
        ["schema", "nosuch"],
        ["runs", "--limit", "0"],
        ["runs", "--status", "nosuch"],
        ["worker", "--slots", "0"],
        ["worker", "--queues", "slow"],
        ["worker", "--queues", ","],
        ["secrets", "set"],
        ["secrets", "nosuch"],
    ],
)
def test_a_wrong_word_is_a_sentence_and_code_two(
    command: Command, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert command(*words) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err


def test_the_value_of_a_secret_is_not_taken_from_the_command_line(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("secrets", "set", "token", "hunter2") == 2

    captured = capsys.readouterr()
    assert "hunter2" not in captured.out + captured.err


@pytest.mark.parametrize("piped", [b"", b"\n", b"\r\n"])
def test_an_empty_secret_is_refused_without_naming_internals(
    command: Command,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    piped: bytes,
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))

    assert command("secrets", "set", "token") == 2

    message = capsys.readouterr().err
    assert "The value of the secret is empty." in message
    assert "Pipe the value in" in message
    assert "automation_secret_set" not in message


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("MAINSPRING_SLOTS", "many", "MAINSPRING_SLOTS"),
        ("MAINSPRING_LEASE_SECONDS", "0", "MAINSPRING_LEASE_SECONDS"),
        ("MAINSPRING_LIMIT_STEPS", "none", "MAINSPRING_LIMIT_STEPS"),
        ("MAINSPRING_LIMIT_NOSUCH", "5", "nosuch"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_and_hides_no_help(
    command: Command,
    delay: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    text: str,
    message: str,
) -> None:
    monkeypatch.setenv(variable, text)

    assert command("run", delay) == 2
    assert message in capsys.readouterr().err
    assert command("--help") == 0
    assert command("run", "--help") == 0


def test_every_command_explains_itself(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    words: list[list[Any]] = [[], ["run"], ["validate"], ["schema"], ["runs"], ["logs"], ["cancel"]]
    words += [["retry"], ["worker"], ["inbox"], ["doctor"], ["secrets"], ["secrets", "set"]]
    for path in words:
        assert command(*path, "--help") == 0
        assert "Usage: mainspring" in capsys.readouterr().out


@pytest.mark.parametrize("which", [[], ["definition"], ["filter"], ["filter", "--json"]])
def test_the_schemas_are_printed_as_json(
    command: Command, capsys: pytest.CaptureFixture[str], which: list[str]
) -> None:
    assert command("schema", *which) == 0

    assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_validation_judges_every_file_and_tells_a_program_all(
    command: Command, delay: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({**DELAY, "colour": "red"}))

    assert command("validate", broken, tmp_path / "nowhere", delay, "--json") == 2

    result = json.loads(capsys.readouterr().out)
    assert result["valid"] is False
    assert [file["valid"] for file in result["files"]] == [False, False, True]
    assert result["files"][0]["errors"][0]["pointer"] == "/colour"
    assert result["files"][2]["steps"] == 1
    assert command("validate", delay) == 0


def test_an_older_definition_is_valid_and_its_changes_are_reported(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.json"
    old.write_text(json.dumps({**DELAY, "schema_version": "1.0"}))

    assert command("validate", old) == 0
    assert "1.0" in capsys.readouterr().out


def test_help_does_not_load_the_application() -> None:
    heavy = ("asyncio", "asyncpg", "cryptography", "httpcore2", "jinja2", "pydantic", "rich.live")
    script = (
        "import sys, mainspring.__main__ as m; m.command_line(); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert ended.stdout == "[]\n"
