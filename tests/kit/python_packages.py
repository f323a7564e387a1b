"""Python programs that need other versions than ours, in an environment of their own."""

from __future__ import annotations

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
    # An environment cannot be moved, so a mark says that it is whole.
    if not (place / _READY).exists():
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=True)
        subprocess.run(
            [place / "bin" / "python", "-m", "pip", "install", "-q", "-r", requirements],
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        )
        (place / _READY).touch()
    return place / "bin"
