"""Tests that already show a part of a promise, run as they are and counted."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Sequence

from tests.chaos.check import Figure
from tests.kit.processes import ROOT

_COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)")


async def battery(what: str, files: Sequence[str], only: str = "") -> Figure:
    """How many tests of these files hold; a test that was not run does not hold."""
    words = ["-q", "-x", "-p", "no:cacheprovider", *files, *(["-k", only] if only else [])]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "pytest",
        *words,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output = (await process.communicate())[0].decode(errors="replace")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    counted = counts(output)
    passed = counted.pop("passed", 0)
    others = ", ".join(f"{number} {word}" for word, number in sorted(counted.items()) if number)
    stored = process.returncode == 0 and passed > 0 and not others
    if not stored:
        sys.stderr.write(output[-4_000:])
    return Figure(what, f"{passed} tests hold" + (f", {others}" if others else ""), "all", stored)


def counts(text: str) -> dict[str, int]:
    """The last line of what pytest says, as numbers."""
    lines = [line for line in text.splitlines() if _COUNTED.search(line)]
    return {word: int(number) for number, word in _COUNTED.findall(lines[-1])} if lines else {}
