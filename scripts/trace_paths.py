"""Which modules and functions a request passes: the main paths, traced in a real application.

    python -m scripts.trace_paths                  a table of all paths, with the targets
    python -m scripts.trace_paths --list webhook   the modules of one path, in the order of their
                                                   first call, with the functions of each

Every path is taken three times, and only the last time counts, so that imports and what fills a
cache are left out. What runs in a task that was there before the request (a poll, a heartbeat) is
left out too, apart from the tasks in SHARED: these do the work of many requests together.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import mainspring
from mainspring.app import build_worker
from mainspring.runs.run_requests import RunRequest
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.migrate import PACKAGED, migrate
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, open_bench, step
from tests.kit.codex import Codex, automation, board, needs, says
from tests.kit.mcp import NEW, RawMcpClient
from tests.kit.postgres import open_folder, quickest_place, running_server
from tests.kit.webhooks import hook

SOURCE: Final = Path(mainspring.__file__).parent
# Tasks that serve requests for as long as the process runs, by their names.
SHARED: Final = frozenset({"group-writer", "worker"})
_WARM_UPS: Final = 2
_PATIENCE: Final = 60.0

# Set for everything that the server and the worker begin, and for nothing else.
_SERVING: ContextVar[bool] = ContextVar("serving", default=False)

Action = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class TracedPath:
    """One path: how many modules it may pass, and those that it did."""

    title: str
    target: int
    # The functions of each module, both in the order of their first call.
    modules: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def functions(self) -> int:
        return sum(map(len, self.modules.values()))


PATHS: Final[Mapping[str, TracedPath]] = {
    "webhook": TracedPath("Webhook POST to 202", 18),
    "mcp": TracedPath("MCP read call (list_boards)", 25),
    "run": TracedPath("Run of one step, from dispatch to its record", 40),
    "draft": TracedPath("Draft: a write held, then confirmed", 50),
    "install": TracedPath("Recipe install", 50),
}


class Tracer:
    """Records the functions of the application that run on behalf of requests."""

    def __init__(self) -> None:
        self._own: dict[CodeType, str | None] = {}
        self._before: set[asyncio.Task[Any]] | None = None
        self._found: dict[str, dict[str, None]] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Threads that begin within the block are traced as well."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    async def trace(self, action: Action) -> dict[str, list[str]]:
        """The functions of each module that the action makes the server run."""
        self._found, self._before = {}, asyncio.all_tasks()
        try:
            await action()
            await self._finish_tasks()
        finally:
            self._before = None
        return {module: list(functions) for module, functions in self._found.items()}

    async def _finish_tasks(self) -> None:
        """What the server does after it has answered belongs to the request."""
        assert self._before is not None
        if begun := asyncio.all_tasks() - self._before:
            await asyncio.wait(begun, timeout=_PATIENCE)

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or self._before is None or not _SERVING.get():
            return
        module = self._module(frame.f_code)
        if module is None or not self._is_of_request():
            return
        self._found.setdefault(module, {}).setdefault(frame.f_code.co_qualname)

    def _module(self, code: CodeType) -> str | None:
        """The module of a function of the application; None: it is of a library."""
        if code not in self._own:
            path = Path(code.co_filename)
            inside = path.is_relative_to(SOURCE) and not code.co_name.startswith("<")
            self._own[code] = path.relative_to(SOURCE).as_posix() if inside else None
        return self._own[code]

    def _is_of_request(self) -> bool:
        try:
            task = asyncio.current_task()
        except RuntimeError:
            # A thread: it has the context of the task that waits for it.
            return True
        assert self._before is not None
        return task is None or task not in self._before or task.get_name() in SHARED


@contextmanager
def _serving() -> Iterator[None]:
    """Tasks that begin within the block belong to the server."""
    token = _SERVING.set(True)
    try:
        yield
    finally:
        _SERVING.reset(token)


async def trace_paths(bench: Bench, names: Sequence[str] = ()) -> list[TracedPath]:
    """Takes each of the paths, or of those that are named, and tells what it passed."""
    tracer = Tracer()
    made: dict[str, TracedPath] = {}
    # The run comes first: its worker would claim what the others leave behind.
    order = sorted(_PREPARE, key=lambda name: name != "run")
    with tracer.installed():
        async with _served(bench) as api:
            for name in order:
                if names and name not in names:
                    continue
                async with _PREPARE[name](bench, api) as action:
                    for _ in range(_WARM_UPS):
                        await action()
                    made[name] = replace(PATHS[name], modules=await tracer.trace(action))
    return [made[name] for name in PATHS if name in made]


@asynccontextmanager
async def _served(bench: Bench) -> AsyncIterator[Api]:
    serving = served(bench.application, own_app=True)
    with _serving():
        api = await serving.__aenter__()
    try:
        yield api
    finally:
        await serving.__aexit__(None, None, None)


@asynccontextmanager
async def _webhook(bench: Bench, api: Api) -> AsyncIterator[Action]:
    called = await hook(bench, api, execution={"concurrency": "allow_parallel"})

    async def call() -> None:
        answer = await called.fire({"n": 1})
        assert answer.status_code == 202, answer.text

    yield call


@asynccontextmanager
async def _mcp(bench: Bench, api: Api) -> AsyncIterator[Action]:
    wire = RawMcpClient(api.anonymous, api.address, api.token, NEW)

    async def call() -> None:
        result = await wire.call("list_boards", {})
        assert not result.get("isError"), result

    yield call


@asynccontextmanager
async def _run(bench: Bench, api: Api) -> AsyncIterator[Action]:
    plan = document(step("echo", "test.echo", {"said": "{{ run.attempt }}"}), name="one step")
    saved = await bench.save(plan)
    request = RunRequest(bench.application.workspace_id, saved.automation_id)

    async def call() -> None:
        with _serving():
            dispatching = asyncio.create_task(bench.application.dispatcher.dispatch(request))
        run = await bench.until((await dispatching).run_id, patience=_PATIENCE)
        assert run["status"] == "succeeded", run["error"]

    worker = build_worker(bench.application)
    with _serving():
        working = asyncio.create_task(worker.run(), name="worker")
    try:
        yield call
    finally:
        worker.stop()
        await working


@asynccontextmanager
async def _draft(bench: Bench, api: Api) -> AsyncIterator[Action]:
    async def call() -> None:
        held = await api.program.post("/api/v1/capabilities/test.mail", json={"mark": "hello"})
        assert held.status_code == 200, held.text
        given = {"draft_id": held.json()["draft_id"]}
        sent = await api.client.post("/api/v1/capabilities/confirm_action", json=given)
        assert sent.status_code == 200, sent.text
        assert sent.json()["status"] == "confirmed", sent.text

    yield call


@asynccontextmanager
async def _install(bench: Bench, api: Api) -> AsyncIterator[Action]:
    result = {
        "dependencies": [needs("sites", **{"as": "board"})],
        "plan": [says("{{ install.board.name }}")],
    }
    await Codex(bench.application).publish(board(), automation("checker", **result))

    async def call() -> None:
        answer = await api.client.post("/api/v1/recipes/checker/apply", json={})
        assert answer.status_code == 200, answer.text

    yield call


_PREPARE: Final[Mapping[str, Callable[[Bench, Api], AbstractAsyncContextManager[Action]]]] = {
    "webhook": _webhook,
    "mcp": _mcp,
    "run": _run,
    "draft": _draft,
    "install": _install,
}


def show_table(paths: Sequence[TracedPath]) -> str:
    lines = [f"{'path':<46} {'files':>6} {'target':>7} {'functions':>10}"]
    lines += [
        f"{path.title:<46} {len(path.modules):>6} {path.target:>7} {path.functions:>10}"
        for path in paths
    ]
    return "\n".join(lines)


def show_path(path: TracedPath) -> str:
    lines = [f"{path.title}: {len(path.modules)} files, {path.functions} functions"]
    for number, (module, functions) in enumerate(path.modules.items(), 1):
        lines.append(f"{number:>3} {module}")
        lines += [f"      {name}" for name in functions]
    return "\n".join(lines)


async def _trace_all(database_url: str, home: Path, names: Sequence[str]) -> list[TracedPath]:
    database = await Database.open(Settings(database_url=database_url))
    try:
        await migrate(database, PACKAGED)
        async with open_bench(database, database_url, home) as bench:
            return await trace_paths(bench, names)
    finally:
        await database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=PATHS, metavar="NAME")
    chosen = parser.parse_args()
    names = [chosen.list] if chosen.list else []
    with running_server(place=quickest_place()) as server, open_folder() as home:
        traced = asyncio.run(_trace_all(server.dsn, home, names))
    print(show_path(traced[0]) if chosen.list else show_table(traced))


if __name__ == "__main__":
    main()
