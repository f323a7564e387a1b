"""The command line from outside: processes, arguments, exit codes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.acceptance.commands import (
    EXAMPLES,
    PATIENCE,
    ROOT,
    Ended,
    Mainspring,
    definition,
    nap,
    step,
)
from tests.acceptance.conftest import Write

RUN_LINE = re.compile(r"^  run +([0-9a-f]{8}-[0-9a-f-]{27})$", re.MULTILINE)


# --- bad input; the unit tests hold the whole list


def test_bad_files_are_refused_and_nothing_is_stored(untouched: Mainspring, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(b'{"name": "a", "name": "b"}')

    ended = untouched.cold("run", bad)
    assert ended.code == 2
    assert "/name" in ended.err
    ended = untouched("validate", bad, tmp_path, tmp_path / "nowhere.json", "/dev/zero")
    assert ended.code == 2
    assert "Traceback" not in ended.output
    assert not untouched.home.exists()


def test_inputs_that_do_not_fit_store_nothing(untouched: Mainspring) -> None:
    ended = untouched("run", EXAMPLES / "delay.json", "--input", "seconds=-1")

    assert ended.code == 2
    assert "/inputs/seconds" in ended.err
    assert not untouched.home.exists()


def test_a_data_folder_that_cannot_be_used_is_named(untouched: Mainspring) -> None:
    untouched.home.write_text("not a folder")

    ended = untouched("runs")

    assert ended.code == 2, ended.output
    assert str(untouched.home) in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("words", [("logs", "00000000"), ("cancel", "nosuch"), ("retry", "")])
def test_a_run_that_is_not_there_is_a_sentence(
    mainspring: Mainspring, words: tuple[str, ...]
) -> None:
    ended = mainspring(*words)

    assert ended.code in {1, 2}, ended.output
    assert ended.answer == ""
    assert "run" in ended.err
    assert "Traceback" not in ended.err


# --- a run from its first line to its history


def test_a_run_is_shown_step_by_step_and_can_be_read_afterwards(
    mainspring: Mainspring, write: Write
) -> None:
    path = write(
        definition(
            "Greeter",
            [
                step("names", "transform_data", output=["Ada", "Grace"]),
                step(
                    "greet",
                    "for_each",
                    items="{{ steps.names }}",
                    steps=[step("hello", "transform_data", output="Hello {{ item }}")],
                ),
                {**step("never", "transform_data", output=1), "when": "steps.names == []"},
                step("tell", "notification", title="Greeted \u001b[31mall"),
            ],
        )
    )

    ended = mainspring("run", path)

    assert ended.code == 0, ended.output
    assert ended.complaints == ""
    lines = [line.split()[:2] for line in ended.out.splitlines() if line.startswith("  ")]
    for expected in (["✓", "names"], ["✓", "hello[0]"], ["✓", "hello[1]"], ["✓", "greet"]):
        assert expected in lines
    assert ["–", "never"] in lines
    assert "may call inbox.post_notification" in ended.out
    assert "Succeeded" in ended.out
    found = RUN_LINE.search(ended.out)
    assert found is not None
    _check_history(mainspring, found[1])


def _check_history(mainspring: Mainspring, run_id: str) -> None:
    listed = mainspring("runs", "--automation", "Greeter", "--status", "succeeded", "--json").json
    assert [run["id"] for run in listed["runs"]] == [run_id]
    assert run_id in mainspring("runs").out

    run = mainspring("logs", run_id[:-4], "--json").json
    assert run["status"] == "succeeded"
    assert run["outcome"] == "effects"
    assert {row["step"]: row["status"] for row in run["steps"]}["never"] == "skipped"
    assert [call["capability"] for call in run["calls"]] == ["inbox.post_notification"]

    shown = mainspring("logs", run_id, "--calls")
    assert shown.code == 0
    assert "inbox.post_notification: kept" in shown.out
    assert "\x1b" not in shown.out

    inbox = mainspring("inbox")
    assert "Greeted \\u001b[31mall" in inbox.out
    assert "\x1b" not in inbox.out
    assert mainspring("inbox", "--json").json["notifications"][0]["title"] == "Greeted \x1b[31mall"


def test_a_program_gets_one_json_value_and_nothing_else(
    mainspring: Mainspring, write: Write
) -> None:
    path = write(definition("For programs", [step("answer", "transform_data", output={"n": 42})]))

    ended = mainspring.cold("run", path, "--json")

    assert ended.code == 0
    assert ended.complaints == ""
    assert ended.json["output"] == {"n": 42}
    assert [row["step"] for row in ended.json["steps"]] == ["answer"]


def test_a_definition_may_come_by_a_pipe(mainspring: Mainspring, write: Write) -> None:
    path = write(definition("Piped", [step("answer", "transform_data", output="{{ run.id }}")]))

    ended = mainspring.cold("run", "-", "--json", stdin=path.read_bytes())

    assert ended.code == 0, ended.output
    assert ended.json["output"] == ended.json["id"]


def test_a_reader_who_goes_away_does_not_break_off_the_run(
    mainspring: Mainspring, write: Write
) -> None:
    path = write(definition("Unread", [step("a", "transform_data", output=1)]))

    ended = subprocess.run(
        [
            "/bin/sh",
            "-c",
            '"$@" | head -n 1; exit ${PIPESTATUS:-0}',
            "sh",
            *mainspring.command("run", path),
        ],
        env=mainspring.environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert Ended(ended.returncode, ended.stdout, ended.stderr).complaints == ""
    run = mainspring("logs", "last", "--json").json
    assert (run["automation"], run["status"]) == ("Unread", "succeeded")


# --- the exit code is the outcome


def test_nothing_to_do_is_no_success(mainspring: Mainspring, write: Write) -> None:
    idle = {**step("a", "transform_data", output=1), "when": "{{ inputs.go }}"}
    inputs = {"schema": {"type": "object", "properties": {"go": {"default": False}}}}

    ended = mainspring("run", write(definition("Idle", [idle], inputs=inputs)))

    assert ended.code == 3, ended.output
    assert "Nothing to do" in ended.out


def test_a_failure_is_reported_with_its_step_and_can_be_retried_from_there(
    mainspring: Mainspring, write: Write
) -> None:
    plan = [
        step("first", "automation_kv.set", key="k", value="{{ run.id }}"),
        step("then", "http_fetch", url="http://127.0.0.1:9/"),
    ]
    path = write(definition("Doomed", plan))

    failed = mainspring("run", path)
    assert failed.code == 4, failed.output
    assert "then: 127.0.0.1 leads to an address that is not public" in failed.out
    assert "MAINSPRING_EGRESS_ALLOW" in failed.out

    # The local owner may run a file without a prompt, and repeat that run in the same way.
    again = mainspring("retry", "last")
    assert again.code == 4, again.output
    assert "done before" in again.out
    run = mainspring("logs", "last", "--json").json
    assert run["attempt"] == 2
    rows = [(row["step"], row["attempt"]) for row in run["steps"]]
    assert rows == [("first", 1), ("then", 1), ("then", 2)]


def test_a_run_that_ended_well_is_neither_cancelled_nor_retried(
    mainspring: Mainspring, write: Write
) -> None:
    path = write(definition("Done", [step("a", "transform_data", output=1)]))
    done = mainspring.asked("run", path, answers=[])
    assert done.code == 0, done.output

    for command in ("cancel", "retry"):
        ended = mainspring(command, "last", "--json")
        assert ended.code == 1
        assert ended.json["status"] == 409


# --- on a terminal


def _on_a_terminal(
    command: list[str], environment: dict[str, str], typed: Sequence[tuple[str, str]] = ()
) -> Ended:
    """Runs a command on a terminal of 100 columns; types each text when it is asked for."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = subprocess.Popen(
        command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    output, answered, waiting = b"", 0, list(typed)
    with contextlib.suppress(OSError):
        while select.select([ours], [], [], PATIENCE)[0]:
            output += os.read(ours, 65_536)
            if waiting and waiting[0][0].encode() in output[answered:]:
                answered = len(output)
                _until_hidden(ours)
                os.write(ours, waiting.pop(0)[1].encode() + b"\n")
    os.close(ours)
    return Ended(process.wait(PATIENCE), output.decode(), "")


def _until_hidden(terminal: int) -> None:
    """What is typed before the echo is off would be thrown away."""
    deadline = time.monotonic() + PATIENCE
    while termios.tcgetattr(terminal)[3] & termios.ECHO:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_terminal_shows_what_goes_on_and_how_long_it_sleeps(
    mainspring: Mainspring, write: Write
) -> None:
    command = mainspring.command("run", write(nap("Shown", 1)))
    environment = {**mainspring.environment(), "TERM": "xterm-256color"}

    ended = _on_a_terminal(command, environment)

    assert ended.code == 0, ended.output
    assert "continues in" in ended.out
    assert re.search(r"\x1b\[[0-9;]*32m✓", ended.out)
    assert "\x1b[?25h" in ended.out

    quiet = _on_a_terminal(command, {**environment, "NO_COLOR": "1"})
    assert "32m" not in quiet.out


def test_a_hidden_prompt_asks_for_a_secret(mainspring: Mainspring) -> None:
    command = mainspring.command("secrets", "set", "typed")

    ended = _on_a_terminal(
        command, mainspring.environment(), [("Value", "hunter2"), ("Repeat", "hunter2")]
    )

    assert ended.code == 0, ended.output
    assert "hunter2" not in ended.out
    assert "The secret typed is in the vault." in ended.out


def test_a_secret_goes_in_by_a_pipe_and_does_not_come_out(mainspring: Mainspring) -> None:
    stored = mainspring("secrets", "set", "api_token", "--json", stdin=b"s3cr3t-value\n")
    assert stored.code == 0, stored.output
    assert stored.json["name"] == "api_token"

    listed = mainspring("secrets", "list")
    assert "api_token" in listed.out
    assert "s3cr3t-value" not in stored.output + listed.output
    key = mainspring.home / "master.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert mainspring("secrets", "delete", "api_token").code == 0
    assert mainspring("secrets", "delete", "api_token").code == 1


def test_a_new_master_key_decrypts_what_the_old_one_encrypted(mainspring: Mainspring) -> None:
    assert mainspring("secrets", "set", "kept", stdin=b"s3cr3t-value").code == 0
    assert mainspring("secrets", "set", "KEPT", "--publisher", stdin=b"x").code == 1
    before = (mainspring.home / "master.key").read_bytes()

    turned = mainspring("secrets", "rotate", "--json")

    assert turned.code == 0, turned.output
    assert (mainspring.home / "master.key").read_bytes() != before
    retired = Path(turned.json["retired_file"])
    assert retired.read_bytes() == before
    retired.unlink()
    looked = mainspring("doctor", "--json").json
    [opened] = [check for check in looked["checks"] if check["name"] == "secrets"]
    assert (opened["verdict"], " open" in opened["detail"]) == ("ok", True)
    assert "s3cr3t-value" not in turned.output


# --- the machine, and the command itself


def test_the_doctor_finds_a_healthy_machine_healthy(mainspring: Mainspring) -> None:
    ended = mainspring.cold("doctor", "--json")

    assert ended.code == 0, ended.output
    assert ended.json["healthy"] is True
    names = {check["name"] for check in ended.json["checks"]}
    assert {"python", "postgres", "data folder", "disk", "templates", "database"} <= names


def test_the_doctor_names_what_is_wrong_and_what_to_do(untouched: Mainspring) -> None:
    untouched.home.write_text("not a folder")
    key = untouched.home.with_name("open.key")
    key.write_text("not a key")
    key.chmod(0o644)

    ended = untouched("doctor", settings={"master_key_file": str(key)})

    assert ended.code == 1
    wrong = [line for line in ended.out.splitlines() if line.startswith("✗")]
    assert [line.split()[1] for line in wrong] == ["data", "master", "database"]
    assert "MAINSPRING_HOME" in ended.out
    assert "0600" in ended.out


def test_the_version_is_the_packages_own(untouched: Mainspring) -> None:
    text = (ROOT / "src" / "mainspring" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "(.+)"', text)
    assert version is not None

    assert untouched.cold("--version").out == f"mainspring {version[1]}\n"
    assert untouched.cold("version").out == f"mainspring {version[1]}\n"
    assert untouched("--no-color", "version").out == f"mainspring {version[1]}\n"
    assert not untouched.home.exists()


@pytest.mark.parametrize("command", [(), ("runs",), ("runs", "watch")])
def test_help_has_three_spellings(untouched: Mainspring, command: tuple[str, ...]) -> None:
    shown = untouched(*command, "--help")

    assert " ".join(("Usage: mainspring", *command)) in shown.out
    assert untouched(*command, "-h").out == shown.out
    assert untouched("help", *command).out == shown.out


def test_help_for_an_unknown_command_names_the_nearest(untouched: Mainspring) -> None:
    ended = untouched("help", "automatons")

    assert ended.code == 2
    assert "There is no command 'automatons'" in ended.err


def test_bash_completes_commands_and_options(untouched: Mainspring, tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(untouched("completion", "bash").out, encoding="utf-8")
    program = Path(sys.executable).with_name("mainspring")
    ask = f"""
        source {script}
        complete_word() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _mainspring_completion {program}
            echo "${{COMPREPLY[@]}}"
        }}
        complete_word mainspring conn
        complete_word mainspring runs wa
        complete_word mainspring list --js
    """

    ended = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)

    assert ended.stdout.splitlines() == ["connections", "watch", "--json"]


def test_another_data_folder_may_be_named(untouched: Mainspring) -> None:
    other = untouched.home.with_name("other")

    ended = untouched("--home", other, "runs")

    assert ended.code == 0, ended.output
    assert other.is_dir()
    assert not untouched.home.exists()
