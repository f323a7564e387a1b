"""What a newcomer types and reads: wrong words, hints, long texts, settings that are none."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer

from mainspring.app import build_registry
from mainspring.contracts.errors import Conflict, Finding
from mainspring.settings import Settings, read_settings, unknown_settings
from mainspring.surfaces.cli import ApplicationFactory, checks, parts, run_cli
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.doctor import examine
from mainspring.surfaces.cli.formatting import format_in_zone, hint, read_home_option
from mainspring.surfaces.cli.listen_address import is_loopback
from mainspring.surfaces.cli.problems import problem_lines
from mainspring.surfaces.cli.running_server import hold_data_folder
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.supervisor import ServerStateChange, describe_exit
from mainspring.surfaces.cli.up import ServerStatusView
from mainspring.surfaces.cli.versions import values_beside
from mainspring.surfaces.services import ApplicationServices

Command = Callable[..., int]
LIBRARY_WORDS = ("Input should", "Value error", "argument(s)", "No such", "Invalid value")


def _locked(settings: Settings) -> AbstractAsyncContextManager[ApplicationServices]:
    raise AssertionError("the house was opened")


@pytest.fixture
def command(locked_app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line over an application that must not be opened."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path / "home"))
    return lambda *words: run_cli(locked_app, words)


# --- wrong words


@pytest.mark.parametrize(
    ("words", "text", "way_out"),
    [
        (["runs", "--limit", "abc"], "--limit must be a whole number.", "runs --help"),
        (["runs", "--limit", "0"], "--limit must be at least 1.", "runs --help"),
        (["runs", "--limit", "1001"], "--limit must be at most 1000.", "runs --help"),
        (["fire", "x", "--timeout", "soon"], "--timeout must be a number.", "fire --help"),
        (["doctor", "true"], "Unexpected argument: true.", "quotes"),
        (["runs", "true"], "There is no command 'true'.", "runs --help"),
        (
            ["starter", "--trigger", "x"],
            "--trigger: 'x' is not one of 'manual', ",
            "starter --help",
        ),
        (["up", "--prot", "1"], "There is no option --prot here.", "Did you mean --port?"),
        (["--port", "1"], "There is no option --port here.", "after its name"),
        (["save"], "FILE is missing.", "save --help"),
        (["lst"], "There is no command 'lst'. Did you mean 'list'?", "--help"),
        (["runs", "--limit"], "--limit needs a value.", "--help"),
        (["list", "--json=1"], "--json takes no value.", "--help"),
    ],
)
def test_a_wrong_word_is_reported_in_our_words_with_a_remedy(
    command: Command, capsys: pytest.CaptureFixture[str], words: list[str], text: str, way_out: str
) -> None:
    assert command(*words) == 2

    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(text)
    assert way_out in second
    assert not any(word in first for word in LIBRARY_WORDS)


def test_stopping_the_server_is_explained(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("stop") == 2
    assert "No server is running" in capsys.readouterr().err
    settings = Settings(home=tmp_path / "home", database_url="postgresql://nowhere/none")
    with hold_data_folder(settings):
        assert command("stop") == 2
        assert "kill -TERM" in capsys.readouterr().err


def test_json_may_come_before_the_command(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--json", "starter", "Mine") == 0
    assert json.loads(capsys.readouterr().out)["file"] == "mine.json"


def test_help_shows_a_flag_without_a_value(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("fire", "--help") == 0

    message = capsys.readouterr().out
    assert "--json" in message
    assert "<bool>" not in message


@pytest.mark.parametrize(
    ("payload", "pointer"), [("{", "/payload"), ('{"a": NaN}', "/payload/a"), ("", "/payload")]
)
def test_a_payload_that_is_no_json_has_its_place(
    command: Command, capsys: pytest.CaptureFixture[str], payload: str, pointer: str
) -> None:
    assert command("fire", "x", "--payload", payload, "--json") == 2

    problem = json.loads(capsys.readouterr().out)
    assert [entry["pointer"] for entry in problem["errors"]] == [pointer]


# --- settings


def test_a_misspelled_setting_is_reported_to_a_person_alone(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAINSPRING_PROT", "1")

    assert command("starter", "One") == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert "MAINSPRING_PROT is no setting" in line
    assert "MAINSPRING_PORT" in line
    assert command("starter", "Two", "--json") == 0
    assert capsys.readouterr().err == ""


def test_every_setting_and_every_limit_is_known() -> None:
    found = {"MAINSPRING_HOST": "a", "MAINSPRING_LIMIT_STEPS": "1", "MAINSPRING_PROGRAM": "./x"}

    assert unknown_settings({**found, "PATH": "x"}) == []
    assert unknown_settings({**found, "MAINSPRING_": "", "MAINSPRING_LIMITS": ""}) == [
        "MAINSPRING_",
        "MAINSPRING_LIMITS",
    ]
    assert read_settings(found).program == "./x"


# --- hints


@pytest.mark.parametrize(
    ("words", "home"),
    [
        (["--home", "/a b", "list"], "/a b"),
        (["--no-color", "--home=/c", "list"], "/c"),
        (["list", "--home", "/d"], None),
        (["--home"], None),
        ([], None),
    ],
)
def test_the_data_folder_that_was_named_is_found_before_the_command_alone(
    words: list[str], home: str | None
) -> None:
    assert read_home_option(words) == home


def test_a_hint_is_called_as_this_program_was_and_means_the_same_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/mainspring", "--home", "/a b", "list"])
    monkeypatch.setenv("MAINSPRING_PROGRAM", "./start")
    assert hint("fire", "One") == "./start --home '/a b' fire One"
    monkeypatch.delenv("MAINSPRING_PROGRAM")
    monkeypatch.setattr(shutil, "which", lambda _: "/x/mainspring")
    assert hint("fire") == "mainspring --home '/a b' fire"


def test_a_way_out_names_commands_as_they_are_called_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAINSPRING_PROGRAM", "./start")
    finding = Finding("/a", "This is wrong.", "wrong", suggestion="See `mainspring doctor`.")
    lines = problem_lines("It failed.", [finding], "`mainspring workers` lists them.")
    output = [line.plain.strip() for line in lines]
    assert output[:2] == ["It failed.", "/a: This is wrong."]
    assert output[2:] == ["See `./start doctor`.", "`./start workers` lists them."]


# --- texts and moments


def test_an_address_in_a_long_text_is_never_cut() -> None:
    address = "https://example.com/" + "a" * 300

    assert one_line(f"see {address} and more", 50) == f"see {address}…"
    assert one_line(f"{'b' * 60} {address}", 50) == "b" * 49 + "…"
    assert one_line(address, 50) == address


def test_two_long_texts_are_shown_where_they_differ() -> None:
    same = "x" * 150

    before, after = values_beside([f"{same}old{same}", f"{same}new{same}"])
    assert before != after
    assert ("old" in before, "new" in after) == (True, True)
    assert [(text[0], text[-1], len(text)) for text in (before, after)] == [("…", "…", 100)] * 2
    before, after = values_beside([f"{same}1", f"{same}2"])
    assert (before[-2:], after[-2:]) == ('1"', '2"')
    assert values_beside(["y" * 98, "short"]) == [f'"{"y" * 98}"', '"short"']
    assert values_beside(["z" * 200]) == ['"' + "z" * 98 + "…"]


def test_a_time_is_shown_in_its_own_zone() -> None:
    moment = datetime(2026, 11, 16, 7, 0, tzinfo=UTC)

    assert format_in_zone(moment, "Europe/Berlin") == "2026-11-16 08:00 Europe/Berlin"
    assert (
        format_in_zone(moment, None) == format_in_zone(moment, "No/Such") == "2026-11-16 07:00 UTC"
    )


# --- the server and the doctor


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("example.com", False),
    ],
)
def test_it_is_known_who_can_reach_a_host(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_a_server_that_is_up_names_its_api_a_next_command_and_who_can_reach_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], host: str, warned: bool
) -> None:
    settings = Settings(home=tmp_path, host=host, port=8_471)
    shown = ServerStatusView(Screen(), settings, tmp_path / "owner.token", show_token=False)

    shown.change(ServerStateChange("ready", (("api", 7),)))

    message = capsys.readouterr().out
    assert f"The API is at http://{host}:8471/api/v1\n" in message
    assert " new, in another terminal" in message
    assert ("plain http" in message) is warned


@pytest.mark.parametrize(
    ("host", "public", "text"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:8471 with the token in /t"),
        ("::1", None, "http://[::1]:8471 with the token in /t"),
        (
            "0.0.0.0",
            "https://spring.example/",
            "http://0.0.0.0:8471 with the token in /t, for others at https://spring.example",
        ),
    ],
)
def test_an_api_alone_says_where_it_listens_and_then_how_others_reach_it(
    host: str, public: str | None, text: str
) -> None:
    settings = Settings(host=host, port=8_471, public_url=public)

    assert parts.listening_words(settings, Path("/t")) == f"Listening on {text}. Ctrl-C stops it."


def test_links_lead_to_the_server_that_is_up(tmp_path: Path) -> None:
    home = tmp_path / "home"
    outside = "postgresql://nowhere/none"
    result = checks.address(Settings(home=home, port=65_530))
    assert "No server is running on this data folder" in result.detail
    with hold_data_folder(Settings(home=home, database_url=outside, port=8_499)):
        check = checks.public_address(Settings(home=home))
    assert "http://127.0.0.1:8499" in check.detail
    assert check.verdict == "ok"


def test_a_command_knows_the_running_server_and_a_new_server_keeps_its_own_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAINSPRING_PORT", raising=False)
    context = CommandContext(ApplicationFactory(_locked, build_registry), home=tmp_path / "home")
    outside = "postgresql://nowhere/none"
    with hold_data_folder(Settings(home=tmp_path / "home", database_url=outside, port=8_499)):
        assert context.settings().address == "http://127.0.0.1:8499"
        assert context.server_settings().public_url is None
    assert context.settings().address == "http://127.0.0.1:8420"


def test_a_mail_server_that_cannot_be_is_no_fault_of_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Settings] = []

    def enter(settings: Settings) -> AbstractAsyncContextManager[ApplicationServices]:
        asked.append(settings)
        raise Conflict("Nobody is at home.")

    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MAINSPRING_SMTP_URL", "nonsense")
    context = CommandContext(ApplicationFactory(enter, build_registry))

    examine(context, Screen(for_programs=True))

    result = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["checks"]}
    assert result["mail"]["verdict"] == "wrong"
    assert result["database"]["detail"] == "Nobody is at home."
    assert [settings.smtp_url for settings in asked] == [None]


def test_a_part_that_ended_in_order_is_not_called_unexpected() -> None:
    assert "gracefully" in describe_exit(0)
    assert describe_exit(3) == "ended unexpectedly (exit code 3)"
    assert describe_exit(-9) == "ended unexpectedly (signal 9)"


def test_the_banner_offers_no_link_to_a_page_that_is_not_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = read_settings({"MAINSPRING_HOME": str(tmp_path), "MAINSPRING_PAGE": str(tmp_path)})
    link = "http://127.0.0.1:8420/sign-in#msl_x"
    shown = ServerStatusView(
        Screen(), settings, tmp_path / "owner.token", show_token=False, link=link
    )

    shown.change(ServerStateChange("ready", (("api", 7),)))
    unbuilt = capsys.readouterr().out
    for name in ("index.html", "form.html"):
        (tmp_path / name).write_text("<!doctype html>")
    shown.change(ServerStateChange("ready", (("api", 7),)))
    built = capsys.readouterr().out

    assert "  page      not built; python scripts/build_page.py" in unbuilt
    assert link not in unbuilt
    assert "open that link" not in unbuilt
    assert f"  sign in   {link}" in built


def test_a_command_with_a_server_running_reaches_what_the_server_may_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_EGRESS_ALLOW", "shell.internal:1")
    context = CommandContext(ApplicationFactory(_locked, build_registry), home=tmp_path)
    database = "postgresql://u@localhost/d"
    server = Settings(home=tmp_path, database_url=database, egress_allow=frozenset({"a.b:2"}))

    assert context.settings().egress_allow == {"shell.internal:1"}
    with hold_data_folder(server):
        assert context.settings().egress_allow == {"a.b:2"}
    with hold_data_folder(replace(server, egress_allow=frozenset())):
        assert context.settings().egress_allow == frozenset()
    assert context.settings().egress_allow == {"shell.internal:1"}
