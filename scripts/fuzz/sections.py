"""The report: each command writes its own part of one page, and leaves the rest alone.

A part is between two marks. What people have written around the marks stays.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[2]


def write_section(file: Path, name: str, text: str) -> None:
    """Puts a part in its place, or at the end of a page that has none yet."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    page = file.read_text("utf-8") if file.exists() else "# Fuzz report\n"
    part = f"{begin}\n\n{text.strip()}\n\n{end}"
    before, found, rest = page.partition(begin)
    behind = rest.partition(end)[2]
    made = before + part + behind if found else f"{page.rstrip()}\n\n{part}\n"
    file.write_text(made, encoding="utf-8")


def taken_on() -> str:
    """When, of what and on which machine."""
    commit = _git("rev-parse", "--short", "HEAD").strip() or "unknown"
    changed = _git("--no-optional-locks", "diff", "--stat", "HEAD", "--", "src")
    of = f"commit `{commit}`" + (" with changes" if changed else "")
    day = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"Taken {day}, {of}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, Python {platform.python_version()}."
    )


def _git(*asked: str) -> str:
    command = [shutil.which("git") or "git", *asked]
    ended = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    return ended.stdout


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
