"""Python programs that need other versions than ours, in an environment of their own."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

PATIENCE: Final = 300.0
_READY: Final = "installed"


def environment(requirements: Path, name: str) -> Path:
    """The folder of programs of an environment with these packages; new pins mean a new one."""
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
    place = Path(sys.prefix).parent / ".cache" / f"{name}-{digest}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w", encoding="utf-8") as lock:
        # Two processes at once take turns, and the second finds the work done.
        fcntl.flock(lock, fcntl.LOCK_EX)
        # An environment cannot be moved, so a mark says that it is whole.
        if not (place / _READY).exists():
            shutil.rmtree(place, ignore_errors=True)
            _make(place, requirements)
            (place / _READY).touch()
    return place / "bin"


def _make(place: Path, requirements: Path) -> None:
    venv.create(place, with_pip=True)
    done = subprocess.run(
        [place / "bin" / "python", "-m", "pip", "install", "-q", "-r", requirements],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if done.returncode:
        raise RuntimeError(f"pip could not install {requirements}: {done.stderr[-2000:]}")
