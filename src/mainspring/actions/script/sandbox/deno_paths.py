"""The paths of Deno and its libraries, and the private folder of one launcher.

The folder holds the bootstrap and an empty cache. It contains no secrets and only its owner can
write to it, so one script can leave nothing for another.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from mainspring.actions.script.sandbox.private_folder import remove_private_folder
from mainspring.contracts.errors import NotFound

_PREFIX = "mainspring-sandbox-"
# The time between creating a folder and locking it; a younger one is not removed.
_SECONDS_TO_LOCK = 60
_HERE = Path(__file__).parent
_PARTS = ("clock.js", "sdk.js", "bootstrap.js")
_FOR_PEOPLE = re.compile(r"(?m)^[ ]*(?://.*)?\n|^[ ]+")
_LIBRARY = re.compile(r"(/\S+) \(0x[0-9a-f]+\)")
# The default library paths of the loader.
_LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_READABLE = ("/etc/ld.so.cache", "/dev/urandom", "/dev/null", "/sys/devices/system/cpu/online")


@dataclass(frozen=True, slots=True)
class DenoPaths:
    """Everything on disk that a Deno process accesses."""

    deno: str
    folder: str
    bootstrap: str
    cache: str
    root: str
    readable: tuple[str, ...]
    runnable: tuple[str, ...]
    # A lock held while the folder is in use, so that it is not removed as a leftover.
    lock: int

    def remove(self) -> None:
        remove_private_folder(self.folder)
        os.close(self.lock)


def find_deno() -> Path:
    """The program of the wheel we depend on, or the one on the path."""
    if importlib.util.find_spec("deno") is not None:
        from deno import find_deno_bin  # type: ignore[import-untyped]

        with contextlib.suppress(FileNotFoundError):
            return Path(find_deno_bin()).resolve()
    if (found := shutil.which("deno")) is not None:
        return Path(found).resolve()
    raise NotFound(
        "Scripts run on Deno, and there is no Deno on this machine.",
        code="no_deno",
        suggestion="Install the Python package deno.",
    )


def make_private_folder(deno: Path | None = None, beside: Path | None = None) -> DenoPaths:
    """Create a new folder; the caller removes it."""
    program = (deno or find_deno()).resolve()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=beside)).resolve()
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    _clear_leftovers(folder.parent)
    cache, root = folder / "cache", folder / "root"
    cache.mkdir()
    root.mkdir()
    bootstrap = folder / "bootstrap.js"
    bootstrap.write_text(read_bootstrap(), encoding="utf-8")
    bootstrap.chmod(0o444)
    for made in (cache, folder):
        # The user of a script may read, and nobody may write.
        made.chmod(0o555)
    libraries, loaders = _list_libraries(program)
    return DenoPaths(
        deno=str(program),
        folder=str(folder),
        bootstrap=str(bootstrap),
        cache=str(cache),
        root=str(root),
        readable=(str(bootstrap), str(cache), *_READABLE, *libraries),
        runnable=(str(program), *loaders),
        lock=lock,
    )


def _clear_leftovers(among: Path) -> None:
    """Remove the folders of workers that were killed together with their launchers."""
    for folder in among.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            found = folder.stat()
            if found.st_uid != os.geteuid() or time.time() - found.st_mtime < _SECONDS_TO_LOCK:
                continue
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_private_folder(str(folder))
            finally:
                os.close(opened)


def read_bootstrap() -> str:
    """The trusted part of the sandbox: its files concatenated to one module.

    Deno parses all of it at every start, so comments are removed.
    """
    text = "\n".join((_HERE / part).read_text(encoding="utf-8") for part in _PARTS)
    return _FOR_PEOPLE.sub("", text)


def _list_libraries(program: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The shared libraries of a program and its loader, as reported by the loader itself."""
    text = subprocess.run(  # noqa: S603  (the loader answers; the program does not start)
        [program],
        env={"LD_TRACE_LOADED_OBJECTS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    found = _LIBRARY.findall(text)
    if not found:
        return _LIBRARY_FOLDERS, _LIBRARY_FOLDERS
    loaders = tuple(path for path in found if Path(path).name.startswith("ld-"))
    return tuple(path for path in found if path not in loaders), loaders
