"""Starting: from nothing to a database with tables, and once more when it is there.

python -m bench.start
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mainspring.app import open_application
from mainspring.settings import Settings

FIRST_BAR, WARM_BAR = 8.0, 3.0


async def opened(home: Path) -> float:
    """Seconds until the application is open and its tables are there."""
    began = time.perf_counter()
    async with open_application(Settings(home=home)):
        return time.perf_counter() - began


def command(home: Path) -> float:
    """Seconds of a whole ``mainspring runs``: a new process, from its start to its end."""
    began = time.perf_counter()
    environment = {**os.environ, "MAINSPRING_HOME": str(home)}
    subprocess.run(
        [sys.executable, "-m", "mainspring", "runs"],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


def measure() -> dict[str, float]:
    """First and warm start, in the process and as a command."""
    folder = Path(tempfile.mkdtemp(prefix="mainspring-bench-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        return {
            "first start": round(asyncio.run(opened(folder / "home")), 2),
            "warm start": round(asyncio.run(opened(folder / "home")), 2),
            "warm command": round(command(folder / "home"), 2),
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    found = measure()
    for name, seconds in found.items():
        bar = FIRST_BAR if name == "first start" else WARM_BAR
        print(f"{name:>14} {seconds:6.2f} s   bar {bar:.0f} s")


if __name__ == "__main__":
    main()
