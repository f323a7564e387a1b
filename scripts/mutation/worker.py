"""Runs tests against mutated modules, one child process for each.

Started by ``scripts.mutate``. Each line of stdin is a task as JSON, and is answered by a line with
how it ended. The libraries that tests need are imported once; a child process is forked for each
task, so that it imports the product alone, with one module replaced.

Most mutants are tried in less time: by a process that is forked from one that has collected the
tests, and that replaces the code of one function, or a private value of the module. That is done
only where nothing that ran during the import can have used what is replaced. A mutant that
survives this way is tried again with the module replaced.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final

import pytest

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
# The exit code of a child in which nothing can be replaced, and what the others mean.
_NOT_REPLACED: Final = 71
_OUTCOMES: Final = {0: "survived", None: "timed out", _NOT_REPLACED: "unknown"}


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
    sys.meta_path.insert(0, _Mutated(name, path, source))
    return _run_pytest(tests, NamesFirst(place))


def _run_pytest(tests: Sequence[str], plugin: object) -> int:
    nothing = os.open(os.devnull, os.O_RDWR)
    for pipe in range(3):
        os.dup2(nothing, pipe)
    # Plug-ins are imported already, which pytest would warn about.
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    words = ["-x", "-q", "--no-header", "--tb=no", *quiet, *tests]
    return int(pytest.main(words, plugins=[plugin]))


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
    return _OUTCOMES.get(_wait(child, seconds), "killed")


def _wait(child: int, seconds: float) -> int | None:
    """The exit code of a child process, which is ended when it takes too long."""
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
        return None
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status)


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


class Replacement:
    """Replaces code and values of a module that is imported, where nothing has used them yet."""

    def __init__(self, module: str, path: str) -> None:
        self._module = module
        self._path = path
        # The functions that ran while tests were collected.
        self._ran: dict[str, CodeType] = {}

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """A profiler that notes what runs."""
        if event == "call" and frame.f_code.co_filename == self._path:
            self._ran[frame.f_code.co_qualname] = frame.f_code

    def replace(self, source: str, place: str) -> bool:
        """Whether what the place names is as in the source now."""
        live = sys.modules.get(self._module)
        if live is None:
            return False
        code = compile(source, self._path, "exec")
        found = _find_function(live, code, place.split("."))
        if found is None:
            return place.isidentifier() and self._replace_values(live, code, place)
        function, new = found
        if any(name.split(".<locals>")[0] == function.__qualname__ for name in self._ran):
            return False
        function.__code__ = new
        return True

    def _replace_values(self, live: ModuleType, code: CodeType, place: str) -> bool:
        """Text that only this module uses, and all text that is made of it."""
        made = ModuleType(live.__name__)
        made.__dict__.update(__file__=self._path, __package__=live.__package__)
        exec(code, made.__dict__)  # noqa: S102
        changed = {
            name: value
            for name, value in made.__dict__.items()
            if type(value) is str and not name.startswith("__") and value != live.__dict__.get(name)
        }
        ran = [one for name, one in self._ran.items() if name != "<module>"]
        used = {name for one in ran for name in one.co_names}
        if place not in changed or not used.isdisjoint(changed):
            return False
        if not all(name.startswith("_") and _is_used_here_alone(live, name) for name in changed):
            return False
        live.__dict__.update(changed)
        return True


def _is_used_here_alone(live: ModuleType, name: str) -> bool:
    value = live.__dict__.get(name)
    # A module may have been replaced by an object of another kind.
    others = (getattr(one, "__dict__", {}) for one in sys.modules.values() if one is not live)
    return not any(names.get(name) is value for names in others)


def _find_function(
    live: object, code: CodeType, names: Sequence[str]
) -> tuple[FunctionType, CodeType] | None:
    """The outermost function that the names lead to, and its code in another source."""
    for name in names:
        inner = [one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name]
        live = vars(live).get(name)
        if len(inner) != 1 or live is None:
            return None
        (code,) = inner
        if isinstance(live, type):
            continue
        function = _unwrap(live)
        is_same_kind = (
            isinstance(function, FunctionType)
            and function.__code__.co_qualname == code.co_qualname
            and function.__code__.co_freevars == code.co_freevars
        )
        return (function, code) if isinstance(function, FunctionType) and is_same_kind else None
    return None


def _unwrap(value: object) -> object:
    match value:
        case staticmethod() | classmethod():
            return _unwrap(value.__func__)
        case property(fset=None, fdel=None):
            return _unwrap(value.fget)
    return inspect.unwrap(value) if callable(value) else value


class Forks:
    """Collects the tests of a module once, and runs them in a forked process for each mutant."""

    def __init__(self, replacement: Replacement, tasks: int, answers: int) -> None:
        self._replacement = replacement
        self._tasks = os.fdopen(tasks)
        self._answers = os.fdopen(answers, "w")
        sys.setprofile(replacement.note)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool | None:
        """True in the process that forks; in each forked one, pytest runs the tests."""
        sys.setprofile(None)
        if session.testsfailed:
            return None
        for line in self._tasks:
            task = json.loads(line)
            child = os.fork()
            if child == 0:
                os.setsid()
                self._prepare(session, task)
                return None
            outcome = _OUTCOMES.get(_wait(child, float(task["seconds"])), "killed")
            self._answers.write(outcome + "\n")
            self._answers.flush()
        return True

    def _prepare(self, session: Any, task: Mapping[str, Any]) -> None:
        try:
            replaced = [self._replacement.replace(task["source"], one) for one in task["places"]]
        except BaseException:
            # The mutated module cannot be compiled or imported: the other way shows that.
            replaced = []
        if not any(replaced):
            os._exit(_NOT_REPLACED)
        if len(task["places"]) == 1:
            NamesFirst(task["places"][0]).pytest_collection_modifyitems(session.items)


class Prefork:
    """The process that has collected the tests of a target; it is started when it is needed."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        self.target = (task["module"], task["path"], tuple(task["tests"]))
        tasks, self._tasks = os.pipe()
        self._answers, answers = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            code = 70
            with suppress(BaseException):
                os.setsid()
                os.close(self._tasks)
                os.close(self._answers)
                replacement = Replacement(task["module"], task["path"])
                code = _run_pytest(_words(task["tests"]), Forks(replacement, tasks, answers))
            os._exit(code)
        os.close(tasks)
        os.close(answers)
        self._is_ready: bool | None = None

    def attempt(self, task: Mapping[str, Any], deadline: float) -> str:
        """As ``attempt``, or ``unknown`` where it cannot be decided this way."""
        if self._is_ready is None:
            # With the code of all functions replaced by the same code, the tests have to pass.
            with open(task["path"], encoding="utf-8") as file:
                tree = ast.parse(file.read())
            same = {"source": ast.unparse(tree), "places": [*_functions(tree)]}
            self._is_ready = self._ask(same, deadline) == "survived"
        if not self._is_ready:
            return "unknown"
        return self._ask({"source": task["source"], "places": [task["place"]]}, deadline)

    def _ask(self, task: Mapping[str, Any], deadline: float) -> str:
        left = deadline - time.monotonic()
        if left <= 0:
            return "timed out"
        with suppress(BrokenPipeError):
            _write(self._tasks, json.dumps({**task, "seconds": left}) + "\n")
        ready, _, _ = select.select([self._answers], [], [], left + 2 * _CLEAN_UP_SECONDS)
        answer = os.read(self._answers, 100).decode().strip() if ready else ""
        if not answer:
            self._is_ready = False
        return answer or "unknown"

    def close(self) -> None:
        os.close(self._tasks)
        os.close(self._answers)
        _end(self._process)


def _write(pipe: int, text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(pipe, data) :]


def _functions(tree: ast.AST, outer: str = "") -> Iterator[str]:
    """The functions of a module and of its classes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{outer}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{outer}{node.name}"


class Attempts:
    """Tries mutants in the way that takes less time, and in the other one if they survive."""

    def __init__(self) -> None:
        self._prefork: Prefork | None = None

    def outcome(self, task: dict[str, Any]) -> str:
        deadline = time.monotonic() + float(task["seconds"])
        if task.get("place"):
            quick = self._of(task).attempt(task, deadline)
            if quick in ("killed", "timed out"):
                return quick
        return attempt(task, deadline - time.monotonic())

    def _of(self, task: dict[str, Any]) -> Prefork:
        target = (task["module"], task["path"], tuple(task["tests"]))
        if self._prefork is None or self._prefork.target != target:
            self.close()
            self._prefork = Prefork(task)
        return self._prefork

    def close(self) -> None:
        if self._prefork is not None:
            self._prefork.close()
            self._prefork = None


def main() -> None:
    """Answers tasks until stdin ends."""
    sys.path[:0] = [os.getcwd(), os.path.join(os.getcwd(), "src")]
    for library in _LIBRARIES:
        importlib.import_module(library)
    attempts = Attempts()
    for line in sys.stdin:
        task = json.loads(line)
        if any("/integration/" in name for name in task["tests"]):
            _share_postgres()
        began = time.monotonic()
        outcome = attempts.outcome(task)
        answer = {"outcome": outcome, "seconds": time.monotonic() - began}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    attempts.close()


if __name__ == "__main__":
    main()
