"""Runs the state machines of runs and drafts at a size of your own, and writes down how far.

    python -m scripts.fuzz_states                     100 examples of up to 50 steps each
    python -m scripts.fuzz_states --examples 1000 --report PAGE

The machines are tests, which checks run at smaller sizes. Exit code 1 means that one of them has
found an order of events that breaks a promise; it prints the shortest it knows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from scripts.fuzz.sections import table, taken_on, write_section

_ROOT: Final = Path(__file__).resolve().parents[1]
_MACHINES: Final = {
    "runs between two workers": "tests/property/test_run_states.py",
    "runs in a line, then a real worker": "tests/property/test_run_machine.py",
    "drafts": "tests/property/test_draft_machine.py",
}
_SECTION: Final = "states"


def _run(file: str, examples: int, steps: int) -> tuple[bool, float]:
    sizes = {"STATE_EXAMPLES": str(examples), "STATE_STEPS": str(steps)}
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", file, "-q", "-x", "-p", "no:cacheprovider"],
        cwd=_ROOT,
        env={**os.environ, **sizes},
        check=False,
    )
    return ended.returncode == 0, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the state machines.")
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--steps", type=int, default=50, help="the most in one example")
    parser.add_argument("--report", type=Path, default=None, help="a page to write into")
    asked = parser.parse_args()
    rows: list[tuple[object, ...]] = []
    for name, file in _MACHINES.items():
        held, seconds = _run(file, asked.examples, asked.steps)
        rows.append((name, asked.examples, asked.steps, f"{seconds:.0f}", "yes" if held else "NO"))
    head = ("Machine", "Examples", "Steps at most", "Seconds", "Every promise held")
    text = table(head, rows)
    print(text)
    if asked.report is not None:
        write_section(asked.report, _SECTION, f"{taken_on()}\n\n{text}")
    sys.exit(0 if all(row[-1] == "yes" for row in rows) else 1)


if __name__ == "__main__":
    main()
