"""The page about the peers, made from what was measured, with the machine it was measured on."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.peers import table
from bench.peers.installs import node
from mainspring.store.postgres_programs import find_binaries

RESULTS: Final = Path(__file__).parent / "results.json"
PAGE: Final = Path(__file__).parents[2] / "docs" / "operations" / "benchmarks-peers.md"
_WORDS: Final = Path(__file__).parent / "page.txt"
_POSTGRES: Final = (
    "fsync=on, synchronous_commit=on, full_page_writes=on, shared_buffers=128MB, max_wal_size=1GB"
)


def machine() -> dict[str, str]:
    """What the figures are taken on; to be asked before the first is."""
    postgres = find_binaries().program("postgres")
    return {
        "taken": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "load at the start": f"{os.getloadavg()[0]:.1f}",
        "memory": _memory(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Postgres": f"{_said([str(postgres), '--version'])}; {_POSTGRES}",
        "Redis": _said(["redis-server", "--version"]).partition(" sha")[0],
        "Python": platform.python_version(),
        "Node": _said([str(node()), "--version"]),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _memory() -> str:
    first = Path("/proc/meminfo").read_text().splitlines()[0]
    return f"{int(first.split()[1]) / 1_048_576:.0f} GB"


def _said(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return "not found"
    return done.stdout.strip()


def save(
    found: Sequence[Mapping[str, Any]],
    about: Mapping[str, str],
    rounds: int,
    results: Path = RESULTS,
    page: Path = PAGE,
) -> None:
    """Keeps the figures next to the code and writes the page."""
    stored = {"machine": dict(about), "rounds": rounds, "rows": list(found)}
    results.write_text(json.dumps(stored, indent=2) + "\n")
    page.write_text(text(found, about, rounds))
    print(f"kept in {results.name} and {page.name}", file=sys.stderr)


def text(found: Sequence[Mapping[str, Any]], about: Mapping[str, str], rounds: int) -> str:
    """The page: the words that are in page.txt, with table and machine put in."""
    versions = {row["version"]: None for row in found if row["version"]}
    lines = [f"| {name} | {value} |" for name, value in about.items()]
    lines.append(f"| peers | {', '.join(versions)} |")
    filled = {
        "TABLE": table.markdown(found),
        "BARS": "\n".join(f"- {line}" for line in table.verdicts(found)) or "- nothing measured",
        "MACHINE": "\n".join(["| | |", "| --- | --- |", *lines]),
        "ROUNDS": str(rounds),
    }
    page = _WORDS.read_text()
    for name, value in filled.items():
        page = page.replace(f"{{{{ {name} }}}}", value)
    return page
