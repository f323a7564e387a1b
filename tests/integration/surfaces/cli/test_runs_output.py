"""What a script says, on the command line: while it runs, and afterwards."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from mainspring.surfaces.cli import exits
from tests.kit.bench import Bench, document, step

SOURCE = """
console.log("first\\x1b[31m line");
console.error("careful");
console.log("last, without an end");
return 7;
"""


async def _started(*text: str) -> tuple[int, str]:
    """A command in a process of its own: one that stays obeys signals."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "mainspring",
        *text,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


async def test_what_a_script_says_is_shown_by_run_and_can_be_read_again(
    bench: Bench, command: Any, tmp_path: Path
) -> None:
    plan = document(
        step("main", "script", {"source": SOURCE}), step("b", "transform_data", {"output": 1})
    )
    file = tmp_path / "said.json"
    file.write_text(json.dumps(plan))

    code, output = await _started("run", str(file))
    assert code == exits.DONE, output
    lines = output.splitlines()
    words = ("first\\u001b[31m line", "last, without an end", "main  ", "b  ")
    shown = [next(n for n, line in enumerate(lines) if one in line) for one in words]
    # A step is over after what it said; both of its pipes are heard.
    assert shown == sorted(shown), output
    assert "! careful" in [line.strip() for line in lines[: shown[2]]]

    code, output = await _started("runs", "output", "last", "--follow")
    assert code == exits.DONE
    result = ["careful", "first\\u001b[31m line", "last, without an end"]
    assert sorted(output.splitlines()) == result
    code, output = await command("runs", "output", "last", "--stderr", "--step", "main")
    assert (code, output) == (exits.DONE, "careful\n")
    code, output = await command("runs", "output", "last", "--json")
    answer = json.loads(output)
    assert answer["status"] == "succeeded"
    out = "".join(piece["text"] for piece in answer["pieces"] if piece["stream"] == "out")
    assert out == "first\x1b[31m line\nlast, without an end\n"
    assert answer["pieces"][-1]["stream"] == "end"

    code, output = await command("runs", "output", "last", "--step", "c")
    assert code == exits.FAILED
    assert "Its steps: b, main." in output
    code, output = await command("logs", "last")
    assert "exit code 0" in output
    assert "of output: " in output
    code, output = await command("runs", "--json", "--limit", "5")
    assert [run["id"] for run in json.loads(output)["runs"]] == [answer["run_id"]]


async def test_the_sdk_is_printed_as_it_is_served(command: Any) -> None:
    code, output = await command("sdk")
    assert code == exits.DONE
    assert "export const brains: Brains" in output
    code, types = await command("sdk", "--types")
    assert "declare global {" in types
    code, result = await command("sdk", "--json")
    assert json.loads(result)["text"] == output


async def test_the_doctor_reports_which_isolation_layers_are_active(command: Any) -> None:
    _, output = await command("doctor", "--json")
    found = {check["name"]: check for check in json.loads(output)["checks"]}
    scripts = found["scripts"]
    assert scripts["verdict"] in ("ok", "doubtful")
    assert ("Only Deno" in scripts["detail"]) == (scripts["verdict"] == "doubtful")
