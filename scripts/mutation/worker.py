"""Runs tests against mutated modules, one child process for each.

Started by ``scripts.mutate``. Each line of stdin is a task as JSON, and is answered by a line with
how it ended. The libraries that tests need are imported once; a child process is forked for each
task, so that it imports the product alone, with one module replaced.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, Final

_LIBRARIES: Final = (
    "asyncpg",
    "cryptography.x509",
    "fastapi",
    "httpx2",
    "hypothesis",
    "jinja2",
    "jsonschema_rs",
    "orjson",
    "pydantic",
    "pytest",
    "pytest_asyncio",
    "re2",
    "rich",
    "typer",
    "uvloop",
)
_PAUSE_SECONDS: Final = 0.02
_CLEAN_UP_SECONDS: Final = 15.0


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from the given source instead of its file."""

    def __init__(self, name: str, path: str, source: str) -> None:
        self._name = name
        self._path = path
        self._source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=self._path)

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._path
        exec(compile(self._source, self._path, "exec"), module.__dict__)  # noqa: S102


class NamesFirst:
    """Runs the tests first that name what is mutated: one of them fails most likely."""

    def __init__(self, place: str) -> None:
        self._name = place.rpartition(".")[2]

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self._name:
            items.sort(key=lambda item: self._name not in _source_of(item))


def _source_of(item: Any) -> str:
    # A test without a source keeps its place; an error here would count as a kill.
    with suppress(Exception):
        return inspect.getsource(item.function)
    return ""


def run_tests(name: str, path: str, source: str, tests: Sequence[str], place: str = "") -> int:
    """The exit code of pytest, in a process that is used for nothing else."""
    import pytest

    nothing = os.open(os.devnull, os.O_RDWR)
    for pipe in range(3):
        os.dup2(nothing, pipe)
    sys.meta_path.insert(0, _Mutated(name, path, source))
    # Plug-ins are imported already, which pytest would warn about.
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    words = ["-x", "-q", "--no-header", *quiet, *tests]
    return int(pytest.main(words, plugins=[NamesFirst(place)]))


def attempt(task: dict[str, object], seconds: float) -> str:
    """``killed``, ``survived`` or ``timed out``."""
    child = os.fork()
    if child == 0:
        # What a child answers that fails before pytest does: the mutated module, most likely.
        code = 70
        with suppress(BaseException):
            os.setsid()
            code = run_tests(
                str(task["module"]),
                str(task["path"]),
                str(task["source"]),
                _words(task["tests"]),
                str(task.get("place", "")),
            )
        os._exit(code)
    deadline = time.monotonic() + seconds
    status: int | None = None
    while status is None and time.monotonic() < deadline:
        ended, found = os.waitpid(child, os.WNOHANG)
        if ended:
            status = found
        else:
            time.sleep(_PAUSE_SECONDS)
    if status is None:
        _end(child)
        return "timed out"
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"


def _end(child: int) -> None:
    """Ends a process and all it has started, with time to remove its files and databases."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGINT)
    deadline = time.monotonic() + _CLEAN_UP_SECONDS
    while time.monotonic() < deadline and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(_PAUSE_SECONDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(child, 0)


def _words(value: object) -> list[str]:
    assert isinstance(value, list)
    return [str(word) for word in value]


@functools.cache
def _share_postgres() -> subprocess.Popen[bytes]:
    """One Postgres for all tests of this process; it ends when this process does.

    The cache keeps the handle: one that is dropped is collected in a child that starts a process of
    its own, and its open pipes fail the test there.
    """
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.kit.postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    socket = server.stdout.readline().decode().strip()
    assert socket, "no Postgres for the tests: see above"
    os.environ["MAINSPRING_TEST_POSTGRES"] = socket
    return server


def main() -> None:
    """Answers tasks until stdin ends."""
    sys.path[:0] = [os.getcwd(), os.path.join(os.getcwd(), "src")]
    for library in _LIBRARIES:
        importlib.import_module(library)
    for line in sys.stdin:
        task = json.loads(line)
        if any("/integration/" in name for name in task["tests"]):
            _share_postgres()
        began = time.monotonic()
        outcome = attempt(task, float(task["seconds"]))
        answer = {"outcome": outcome, "seconds": time.monotonic() - began}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
