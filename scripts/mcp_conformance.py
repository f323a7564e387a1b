"""Runs the protocol's own conformance suite against the MCP server.

    python -m scripts.mcp_conformance           each version of the protocol that we declare
    python -m scripts.mcp_conformance --save    and keeps what it said as evidence

The suite is a program for Node, pinned with all it needs by the lock file in
tests/conformance/mcp_suite and installed outside the Python environment when it is missing.
Node itself comes with the development dependencies. What the suite finds is compared with
tests/conformance/mcp_expected_failures.yml: a check that fails and does not stand there, and
one that is there and passes, are both findings. Exit code 1 means that there were some.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.node_packages import NODE, PATIENCE, installed

VERSIONS: Final = ("2025-06-18", "2025-11-25", "2026-07-28")

_ROOT: Final = Path(__file__).resolve().parent.parent
_PINS: Final = _ROOT / "tests" / "conformance" / "mcp_suite"
EXPECTED: Final = _ROOT / "tests" / "conformance" / "mcp_expected_failures.yml"
_PAGE: Final = _ROOT / "docs" / "contributing" / "mcp-conformance.txt"
_PROGRAM: Final = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the suite says about one version."""

    version: str
    ok: bool
    text: str


def prepare() -> Path:
    """The folder with the installed suite; a new lock file means a new folder."""
    return installed(_PINS, "mcp-suite")


async def judge(url: str, version: str, place: Path, only: str | None = None) -> Verdict:
    """Every scenario of one version, or only one, against a server that listens."""
    scenarios = ("--suite", "all") if only is None else ("--scenario", only)
    with tempfile.TemporaryDirectory(prefix="mcp-suite-") as results:
        process = await asyncio.create_subprocess_exec(
            NODE,
            place / _PROGRAM,
            "server",
            "--url",
            url,
            *scenarios,
            "--spec-version",
            version,
            "--expected-failures",
            EXPECTED,
            "-o",
            results,
            cwd=results,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
        finally:
            if process.returncode is None:
                process.kill()
    return Verdict(version, process.returncode == 0, _told(output.decode()))


def _told(text: str) -> str:
    """The table and the comparison, without the names of folders."""
    plain = _COLOURS.sub("", text)
    begin = plain.find("=== SUMMARY ===")
    return plain[max(begin, 0) :].strip()


def page(verdicts: Sequence[Verdict], place: Path) -> str:
    """What is kept as evidence."""
    lines = (place / "package.json").read_text()
    pinned = re.search(r'conformance": "([^"]+)"', lines)
    assert pinned is not None
    parts = [f"@modelcontextprotocol/conformance {pinned[1]} against the MCP server of Mainspring"]
    parts += [f"== Protocol version {one.version}\n\n{one.text}" for one in verdicts]
    return "\n\n".join(parts) + "\n"


async def _look(home: Path, place: Path) -> list[Verdict]:
    everything = importlib.import_module("tests.kit.mcp_everything").everything
    async with everything(home) as url:
        return [await judge(url, version, place) for version in VERSIONS]


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the MCP conformance suite.")
    parser.add_argument("--save", action="store_true", help="keep what it said")
    asked = parser.parse_args()
    place = prepare()
    folder = Path(tempfile.mkdtemp(prefix="mainspring-mcp-"))
    folder.chmod(0o711)  # the database may run as a user of its own
    try:
        verdicts = asyncio.run(_look(folder / "home", place))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = page(verdicts, place)
    print(text)
    if asked.save:
        _PAGE.write_text(text)
    sys.exit(0 if all(one.ok for one in verdicts) else 1)


if __name__ == "__main__":
    main()
