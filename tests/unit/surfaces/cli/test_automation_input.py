"""The commands for living with automations refuse bad words before the application is opened."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.surfaces.cli import run_cli

Command = Callable[..., int]
TRIGGERS = ("manual", "schedule", "webhook", "event")
NOT_TEXT = os.fsdecode(b"\xff")


@pytest.fixture
def command(locked_app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line over an application that must not be opened, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: run_cli(locked_app, [str(word) for word in words])


# --- new


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_starter_is_a_valid_definition_with_the_trigger_that_was_asked_for(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], trigger: str
) -> None:
    assert command("starter", "Büro & Co", "--trigger", trigger, "--json") == 0

    result = json.loads(capsys.readouterr().out)
    assert result["file"] == "buro_co.json"
    document = json.loads((tmp_path / result["file"]).read_text())
    assert document["name"] == "Büro & Co"
    kinds = [entry["type"] for entry in document.get("triggers", [])]
    assert kinds == ([] if trigger == "manual" else [trigger])
    report = validate(document, build_registry(Limits()), Limits())
    assert report.ok
    assert any("save" in line for line in result["next"])


def test_a_file_that_is_there_is_never_overwritten(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.json").write_text("precious")

    assert command("starter", "Mine") == 1
    assert command("starter", "-o", "mine.json") == 1

    assert "--output" in capsys.readouterr().err
    assert (tmp_path / "mine.json").read_text() == "precious"


def test_a_name_that_cannot_be_is_refused_with_its_place_and_no_file(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("starter", "x" * 300) == 2
    assert "/name" in capsys.readouterr().err
    assert command("starter", NOT_TEXT) == 2
    assert command("starter", "--output", "nowhere/x.json") == 2
    assert "its folder is not there" in capsys.readouterr().err
    assert command("starter", "--output", ".") in {1, 2}

    assert list(tmp_path.iterdir()) == []


def test_a_name_with_an_escape_in_it_does_not_reach_the_terminal(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("starter", "red \x1b[31malert") == 0

    assert "\x1b" not in capsys.readouterr().out


# --- words that cannot be right


@pytest.mark.parametrize(
    ("words", "pointer"),
    [
        (["fire", "x", "--inputs", '{"a": [1,}'], "/inputs/a/1"),
        (["fire", "x", "--inputs", "[1]"], "/inputs"),
        (["fire", "x", "--inputs", '{"a": NaN}'], "/inputs/a"),
        (["replay", "last", "--inputs", '{"a": 1, "a": 2}'], "/inputs/a"),
        (["replay", "last", "--inputs", '"x"'], "/inputs"),
        (["publish", "orders.paid", "--payload", "{"], "/payload"),
        (["publish", "orders.paid", "--payload", "[]"], "/payload"),
        (["publish", "orders.paid", "--payload", '{"a": "\\ud800"}'], "/payload/a"),
        (["publish", "orders.paid", "--source", ""], "/source"),
        (["events", "--type", NOT_TEXT], "/type"),
        (["list", "--search", NOT_TEXT], "/search"),
    ],
)
def test_what_cannot_be_read_has_its_place(
    command: Command, capsys: pytest.CaptureFixture[str], words: list[str], pointer: str
) -> None:
    assert command(*words, "--json") == 2

    problem = json.loads(capsys.readouterr().out)
    assert problem["status"] == 422
    assert [entry["pointer"] for entry in problem["errors"]] == [pointer]


@pytest.mark.parametrize(
    "words",
    [
        ["starter", "--trigger", "nosuch"],
        ["save"],
        ["list", "--state", "nosuch"],
        ["show"],
        ["activate"],
        ["diff", "x", "0"],
        ["diff", "x", "one"],
        ["rollback", "x"],
        ["rollback", "x", "-1"],
        ["fire"],
        ["fire", "x", "--timeout", "-1"],
        ["replay", "last", "--version", "next"],
        ["import"],
        ["import", "x.json", "--on-clash", "nosuch"],
        ["webhook", "nosuch"],
        ["webhook", "token"],
        ["events", "nosuch"],
        ["events", "--limit", "0"],
        ["publish"],
        ["inbox", "read"],
        ["inbox", "read", "abcd", "--all"],
    ],
)
def test_a_wrong_word_is_a_sentence_and_code_two(
    command: Command, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert command(*words) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err


@pytest.mark.parametrize("word", ["save", "import"])
def test_a_definition_with_problems_is_refused_before_anything_is_stored(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    document: dict[str, Any] = {
        "schema_version": "1.2",
        "name": "A",
        "goal": "A test.",
        "plan": [{"step_id": "a", "action": "dealy"}],
    }
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))

    assert command(word, path, "--json") == 2
    first = json.loads(capsys.readouterr().out)["errors"][0]
    assert first["pointer"] == "/plan/0/action"
    assert "delay" in first["suggestion"]

    path.write_text("{")
    assert command(word, path) == 2
    assert command(word, tmp_path / "nowhere.json") == 2
    assert "There is no file" in capsys.readouterr().err


def test_each_bad_document_of_an_export_is_named_by_its_place(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = {"format": "mainspring.export", "version": 1, "automations": [{}, {"name": 1}]}
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export))

    assert command("import", path, "--json") == 2

    pointers = {entry["pointer"] for entry in json.loads(capsys.readouterr().out)["errors"]}
    assert "/automations/1/name" in pointers
    assert any(pointer.startswith("/automations/0") for pointer in pointers)
