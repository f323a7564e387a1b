"""Bad input gets a sentence, a place and exit code 2; nothing of it is stored."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.acceptance.commands import EXAMPLES, Mainspring, definition, step
from tests.acceptance.conftest import Write

FIRST = EXAMPLES / "first.json"
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


@pytest.mark.parametrize(("text", "said", "pointer"), BAD_TEXTS)
@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_file_that_is_no_definition_is_refused_with_its_place(
    untouched: Mainspring, tmp_path: Path, command: str, text: bytes, said: str, pointer: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text)

    ended = untouched(command, path)

    assert ended.code == 2, ended.said
    assert said in ended.said
    assert pointer in ended.said
    assert "Traceback" not in ended.said
    assert not untouched.home.exists()


def test_a_file_that_is_not_there_or_no_file_is_named(
    untouched: Mainspring, tmp_path: Path
) -> None:
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.json")
    for path in (tmp_path / "nowhere.json", tmp_path, Path("/dev/zero"), Path(strange)):
        ended = untouched("run", path)

        assert ended.code == 2, ended.said
        assert ended.out == ""
        assert "Traceback" not in ended.err
    assert not untouched.home.exists()


def test_every_problem_of_a_definition_is_shown_at_once(
    untouched: Mainspring, write: Write
) -> None:
    plan = [
        {"step_id": "a", "action": "transfrom_data", "config": {}},
        {"step_id": "b", "action": "delay", "config": {"seconds": -1}},
        {"step_id": "b", "action": "transform_data", "config": {"output": "{{ nothing.here }}"}},
    ]
    path = write({**definition("Broken", plan), "colour": "red"})

    ended = untouched("run", path)

    assert ended.code == 2
    for pointer in ("/plan/0/action", "/plan/1/config/seconds", "/plan/2/step_id", "/colour"):
        assert pointer in ended.err
    assert "/plan/2/config/output" in ended.err
    assert "transform_data" in ended.err
    assert not untouched.home.exists()


def test_a_program_gets_the_problem_document(untouched: Mainspring, write: Write) -> None:
    path = write(definition("Broken", [step("a", "nosuch")]))

    ended = untouched("run", path, "--json")

    assert ended.code == 2
    assert ended.err == ""
    assert ended.json["type"] == "urn:mainspring:problem:invalid"
    assert ended.json["status"] == 422
    assert ended.json["errors"][0]["pointer"] == "/plan/0/action"


@pytest.mark.parametrize(
    "words",
    [
        ["--input", "seconds=soon"],
        ["--input", "seconds=-1"],
        ["--input", "seconds"],
        ["--input", "minutes=1"],
        ["--inputs", "[1]"],
        ["--inputs", '{"seconds": 1, "seconds": 2}'],
        ["--inputs", '{"seconds": "x"}'],
        ["--inputs", "{"],
    ],
)
def test_inputs_that_do_not_fit_are_refused_before_anything_is_stored(
    untouched: Mainspring, words: list[str]
) -> None:
    ended = untouched("run", EXAMPLES / "delay.json", *words)

    assert ended.code == 2, ended.said
    assert ended.err
    assert "Traceback" not in ended.err
    assert not untouched.home.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["nosuch"],
        ["run"],
        ["run", str(FIRST), "--nosuch"],
        ["run", str(FIRST), "--timeout", "soon"],
        ["run", str(FIRST), "--timeout", "-1"],
        ["schema", "nosuch"],
        ["runs", "--limit", "0"],
        ["runs", "--status", "nosuch"],
        ["worker", "--slots", "0"],
        ["worker", "--queues", "slow"],
        ["worker", "--queues", ","],
    ],
)
def test_a_wrong_word_is_a_sentence_and_code_two(untouched: Mainspring, words: list[str]) -> None:
    ended = untouched(*words)

    assert ended.code == 2, ended.said
    assert ended.out == ""
    assert ended.err
    assert "Traceback" not in ended.err
    assert not untouched.home.exists()


@pytest.mark.parametrize(
    ("setting", "text"),
    [("slots", "many"), ("lease_seconds", "0"), ("limit_steps", "none"), ("limit_nosuch", "5")],
)
def test_a_setting_that_cannot_be_used_is_named(
    untouched: Mainspring, setting: str, text: str
) -> None:
    ended = untouched("run", FIRST, **{setting: text})

    assert ended.code == 2, ended.said
    assert setting.removeprefix("limit_") in ended.err.lower()
    assert not untouched.home.exists()
    assert untouched("--help", **{setting: text}).code == 0
    assert untouched("run", "--help", **{setting: text}).code == 0


def test_a_data_folder_that_cannot_be_used_is_named(untouched: Mainspring) -> None:
    untouched.home.write_text("not a folder")

    ended = untouched("runs")

    assert ended.code == 2, ended.said
    assert str(untouched.home) in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("text", ["nosuch", "00000000", "0" * 32, "0" * 200, "x", "", "last"])
@pytest.mark.parametrize("command", ["logs", "cancel", "retry"])
def test_a_run_that_is_not_there_is_a_sentence(
    mainspring: Mainspring, command: str, text: str
) -> None:
    ended = mainspring(command, text)

    assert ended.code in {1, 2}, ended.said
    assert ended.out == ""
    assert "run" in ended.err
    assert "Traceback" not in ended.err


def test_the_value_of_a_secret_is_not_taken_from_the_command_line(untouched: Mainspring) -> None:
    ended = untouched("secrets", "set", "token", "hunter2")

    assert ended.code == 2
    assert "hunter2" not in ended.said
    assert not untouched.home.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("token", b""), ("token", b"x" * 9_000), ("token", b"\xff\xfe"), ("Not A Name", b"x")],
)
def test_a_secret_that_cannot_be_kept_is_refused(
    mainspring: Mainspring, name: str, value: bytes
) -> None:
    ended = mainspring("secrets", "set", name, "--json", stdin=value)

    assert ended.code == 2, ended.said
    assert ended.json["status"] == 422
    assert json.loads(mainspring("secrets", "list", "--json").out) == {"secrets": []}
