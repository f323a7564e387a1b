"""Living with an automation over the command line, next to a server that is up."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.acceptance.commands import PATIENCE, Ended, Mainspring
from tests.kit.json_lines import JsonLineReader

NAME = "Call desk"


@contextlib.contextmanager
def _up(mainspring: Mainspring) -> Iterator[str]:
    """The server on any free port, by its address."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            mainspring.command("up", "--json", "--port", "0"),
            env=mainspring.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            assert process.stdout is not None
            yield str(JsonLineReader(process.stdout).until(state="ready")["address"])
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture
def address(untouched: Mainspring) -> Iterator[str]:
    with _up(untouched) as found:
        yield found


def _ok(ended: Ended) -> Ended:
    assert ended.code == 0, ended.output
    assert ended.complaints == ""
    return ended


def test_an_automation_lives_from_its_first_file_to_a_call_from_outside(
    untouched: Mainspring, address: str, tmp_path: Path
) -> None:
    mainspring, file = untouched, tmp_path / "desk.json"

    # Written, judged, saved, set going.
    _ok(mainspring("starter", NAME, "--trigger", "webhook", "-o", file))
    assert NAME in _ok(mainspring("validate", file)).out
    assert f"{NAME} is saved as version 1, paused." in _ok(mainspring.asked("save", file)).out
    (saved,) = _ok(mainspring("list", "--json")).json["automations"]
    active = _ok(mainspring("activate", NAME))
    assert f"{address}/api/v1/automations/{saved['id']}/fire" in active.out

    # Run now by the server's worker, and read afterwards.
    fired = mainspring("fire", NAME, "--input", "message=by hand", "--wait")
    assert "tell" in _ok(fired).out
    assert "Succeeded" in fired.out
    logs = _ok(mainspring("logs", "last", "--follow", "--json")).json
    assert (logs["inputs"], logs["trigger_type"]) == ({"message": "by hand"}, "manual")

    _edit_and_go_back(mainspring, file)
    _copy(mainspring, tmp_path / "export.json")
    _call_from_outside(mainspring, address, saved["id"])


def _edit_and_go_back(mainspring: Mainspring, file: Path) -> None:
    """Paused, edited, saved, compared, and back to what it was."""
    assert "paused" in _ok(mainspring("pause", NAME)).out
    document = json.loads(file.read_text())
    document["plan"][0]["config"]["title"] = "The telephone rang"
    file.write_text(json.dumps(document))
    second = _ok(mainspring("save", file, "--json")).json
    assert (second["version"], second["state"]) == (2, "paused")
    shown = _ok(mainspring("diff", NAME)).out
    assert "/plan/0/config/title" in shown
    assert "The telephone rang" in shown
    back = _ok(mainspring("rollback", NAME, "1", "--json")).json
    assert (back["version"], back["rollback_of"]) == (3, 1)


def _copy(mainspring: Mainspring, file: Path) -> None:
    """A copy under another name, by way of a file."""
    _ok(mainspring("export", NAME, "-o", file))
    document = json.loads(file.read_text())
    assert document["plan"][0]["config"]["title"] == "A user named"
    file.write_text(json.dumps({**document, "name": "Second desk"}))
    (made,) = _ok(mainspring("import", file, "--json")).json["imported"]
    assert (made["name"], made["state"], made["version"]) == ("Second desk", "paused", 1)


def _call_from_outside(mainspring: Mainspring, address: str, automation_id: str) -> None:
    """A token, a call with it, and the run that it became."""
    made = _ok(mainspring("webhook", "token", NAME, "--json")).json
    assert made["url"] == f"{address}/api/v1/automations/{automation_id}/fire"
    _ok(mainspring("activate", NAME))
    answer = httpx2.post(
        made["url"],
        headers={"Authorization": f"Bearer {made['token']}"},
        json={"message": "from outside"},
        timeout=PATIENCE,
    )
    assert answer.status_code == 202, answer.text
    result: dict[str, Any] = answer.json()

    run = _ok(mainspring("logs", "-f", result["run_id"], "--json")).json
    assert (run["status"], run["trigger_type"]) == ("succeeded", "webhook")
    assert run["inputs"] == {"message": "from outside"}
    listed = _ok(mainspring("runs", "--automation", NAME)).out
    assert result["run_id"] in listed
    assert "webhook" in listed
