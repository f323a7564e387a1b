"""Runs the escape battery as an ordinary user: ``python -m tests.kit.escapes.unprivileged``.

The interpreter may be in a folder that only its owner can enter. Then this process gets a
view of the disk of its own, in which that folder is another one with nothing but the
interpreter in it; the disk itself stays as it is.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mainspring.actions.script.sandbox.linux import (
    CLONE_NEWNS,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    Kernel,
)
from tests.kit.processes import ROOT

# A number that no account has.
ORDINARY: Final = 54_321
_ANYBODY_MAY_ENTER: Final = 0o001


def main(arguments: Sequence[str]) -> None:
    needed = {Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), ROOT.resolve()}
    barred = {path: bar for path in needed if (bar := _bar(path)) is not None}
    if barred:
        kernel = Kernel()
        kernel.unshare(CLONE_NEWNS)
        kernel.mount(None, "/", None, MS_REC | MS_PRIVATE)
        for bar in set(barred.values()):
            _open(kernel, bar, [path for path in barred if barred[path] == bar])
    os.setgroups([])
    os.setresgid(ORDINARY, ORDINARY, ORDINARY)
    os.setresuid(ORDINARY, ORDINARY, ORDINARY)
    os.execv(sys.executable, [sys.executable, "-m", "tests.kit.escapes", *arguments])


def _bar(path: Path) -> Path | None:
    """The first folder on the way that not everybody may enter."""
    for above in reversed(path.parents):
        if not above.stat().st_mode & _ANYBODY_MAY_ENTER:
            return above
    return None


def _open(kernel: Kernel, bar: Path, paths: Sequence[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        held = {path: Path(folder) / str(number) for number, path in enumerate(paths)}
        for path, place in held.items():
            place.mkdir()
            kernel.mount(str(path), str(place), None, MS_BIND | MS_REC)
        kernel.mount("tmpfs", str(bar), "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755")
        for path, place in held.items():
            path.mkdir(parents=True)
            kernel.mount(str(place), str(path), None, MS_BIND | MS_REC)
            kernel.detach(str(place))


if __name__ == "__main__":
    main(sys.argv[1:])
