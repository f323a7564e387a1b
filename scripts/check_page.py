"""Judges the sources of the page: types, style, its own tests, and how much a browser must fetch.

    python -m scripts.check_page

The first screen may ask for at most 250 kB of scripts, squeezed: anyone who comes for the first
time waits for all of it. Every number is printed, also when all is well.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.build_page import BUILT, ROOT, deno_environment, find_deno, install
from scripts.page_types import main as check_types

_WEB: Final = ROOT / "web"
# Bytes of scripts, squeezed: of the first load, and of any one part that is fetched later.
FIRST_LOAD: Final = 250_000
LATER_PART: Final = 200_000
_RUN: Final = ("run", "--allow-all")
_STEPS: Final = (
    ("format", ("fmt", "--check", "--quiet")),
    ("lint", ("lint", "--quiet")),
    ("types", (*_RUN, "npm:typescript/tsc", "--noEmit")),
    ("tests", (*_RUN, "npm:vitest", "run", "--reporter=dot")),
)


def main() -> int:
    """Everything is looked at; the exit code says whether all of it was well."""
    install(_WEB)
    wrong = check_types(["--check"])
    for name, words in _STEPS:
        print(f"page: {name}", flush=True)
        around = deno_environment(os.environ)
        wrong |= subprocess.run([find_deno(), *words], cwd=_WEB, env=around, check=False).returncode
    for problem in too_heavy(BUILT):
        print(problem)
        wrong = 1
    return 1 if wrong else 0


def too_heavy(built: Path) -> Iterator[str]:
    """What a browser would wait for too long; tells the sizes along the way."""
    sizes = {path.stem: path.stat().st_size for path in (built / "assets").glob("*.js.gz")}
    document = (built / "index.html").read_text(encoding="utf-8")
    first = [
        Path(found).name for found in re.findall(r'(?:src|href)="/assets/([^"]+\.js)"', document)
    ]
    weight = sum(sizes[name] for name in first)
    print(f"page: first load {weight / 1000:.0f} of {FIRST_LOAD // 1000} kB of scripts, squeezed")
    if weight > FIRST_LOAD:
        yield f"The first load is {weight} bytes of scripts, squeezed; at most {FIRST_LOAD}."
    heaviest = max((size, name) for name, size in sizes.items() if name not in first)
    print(f"page: heaviest later part {heaviest[0] / 1000:.0f} kB, {heaviest[1]}")
    if heaviest[0] > LATER_PART:
        yield f"{heaviest[1]} is {heaviest[0]} bytes, squeezed; at most {LATER_PART}."


if __name__ == "__main__":
    sys.exit(main())
