"""``up``: the whole server by one command.

The database and the tables come first, then everything is imported once, and then the
parts are split off: what answers requests, what watches for moments, and the workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import importlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Problem
from mainspring.settings import without_model_keys
from mainspring.store.embedded import EmbeddedServer
from mainspring.surfaces.cli import exits, parts
from mainspring.surfaces.cli.children import ServerPart
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.listen_address import is_loopback, reserve_port
from mainspring.surfaces.cli.local_session import ensure_local_session
from mainspring.surfaces.cli.log_format import keep_logbook
from mainspring.surfaces.cli.migrate import bring_up_to_date
from mainspring.surfaces.cli.running_server import hold_data_folder, refuse_second
from mainspring.surfaces.cli.screen import as_json, clean
from mainspring.surfaces.cli.signals import STOPPING
from mainspring.surfaces.cli.supervisor import ServerStateChange, Supervisor
from mainspring.surfaces.web.files import BUILT, is_built

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen

# How much nicer parts are that nobody waits for: each gets a third of what it would get.
_BEHIND = 5
_NEEDED = ("mainspring.surfaces.rest.app", "mainspring.surfaces.rest.serve")


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What the command line says about this server."""

    host: str | None = None
    port: int | None = None
    workers: int | None = None
    show_token: bool = False


def up(desk: CommandContext, screen: Screen, wishes: UpOptions) -> int:
    """The server, until it is told to stop; for a program every line is JSON, the last too."""
    try:
        return _up(desk, screen, wishes)
    except Problem as problem:
        if not screen.for_programs:
            raise
        told = {"state": "failed", "pid": os.getpid(), "problem": problem.as_dict()}
        screen.note(as_json(told, indent=None))
        return exits.of_problem(problem)


def _up(context: CommandContext, screen: Screen, options: UpOptions) -> int:
    """Stays until it is told to stop: once for in order, twice for at once."""
    wanted = _settings(context.server_settings(), options)
    refuse_second(wanted.home)
    keep_logbook("up", wanted.log)
    # Until the supervisor takes over, a stop breaks off whatever is under way.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with (
            reserve_port(wanted) as settings,
            hold_data_folder(settings),
            _database(settings) as found,
        ):
            server, reached = found
            token, link = _prepare(context, reached, embedded=server is not None)
            shown = ServerStatusView(screen, settings, token, options.show_token, link)
            # The vault has the keys of models now, and the parts are born without them.
            in_order = _supervise(context, without_model_keys(reached), server, shown)
    finally:
        # All that could be stopped has stopped; only words are left.
        for sign in STOPPING:
            signal.signal(sign, signal.SIG_IGN)
    shown.stopped()
    return exits.DONE if in_order else exits.INTERRUPTED


def _settings(settings: Settings, options: UpOptions) -> Settings:
    settings = parts.at(settings, options.host, options.port)
    return settings if options.workers is None else replace(settings, workers=options.workers)


@contextlib.contextmanager
def _database(settings: Settings) -> Iterator[tuple[EmbeddedServer | None, Settings]]:
    """The embedded server, if it is ours to run, and settings that say where to reach it."""
    if settings.database_url is not None:
        yield None, settings
        return
    server = EmbeddedServer(settings.home)
    server.start()
    try:
        yield server, replace(settings, database_url=server.dsn)
    finally:
        server.stop()


def _prepare(
    context: CommandContext, settings: Settings, *, embedded: bool
) -> tuple[Path, str | None]:
    """Tables, workspace and the owner's way in, once for all parts; its loop is gone after."""
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(_make_ready(context, settings, embedded=embedded))


async def _make_ready(
    context: CommandContext, settings: Settings, *, embedded: bool
) -> tuple[Path, str | None]:
    await bring_up_to_date(settings, alone=embedded)
    async with context.doors.open(settings) as services:
        await ensure_local_session(services)
        return await parts.owner_token(services), await parts.first_link(services)


def _supervise(
    context: CommandContext,
    settings: Settings,
    server: EmbeddedServer | None,
    shown: ServerStatusView,
) -> bool:
    _load()
    supervisor = Supervisor(
        _parts(context, settings),
        server=server,
        stop_seconds=settings.stop_seconds,
        tell=shown.change,
    )
    # What is there now stays: no child's collector touches, and so copies, those pages.
    gc.collect()
    gc.freeze()
    return supervisor.run()


def _load() -> None:
    """Imports what the children need, so that they share it."""
    for name in _NEEDED:
        importlib.import_module(name)
    with contextlib.suppress(ImportError):
        importlib.import_module("uvloop")


def _parts(context: CommandContext, settings: Settings) -> list[ServerPart]:
    """In the order in which they are started, and stopped."""

    def part(name: str, kind: str, body: parts.Body) -> ServerPart:
        live = functools.partial(parts.under_supervision, context.doors, settings, body)
        # A call is answered however busy the others are.
        return ServerPart(name, kind, live, settings.log, behind=0 if kind == "api" else _BEHIND)

    names = ["worker"] if settings.workers == 1 else _numbered(settings.workers)
    return [
        part("api", "api", parts.api),
        part("scheduler", "scheduler", parts.scheduler),
        *(part(name, "worker", parts.worker) for name in names),
    ]


def _numbered(workers: int) -> list[str]:
    return [f"worker-{number}" for number in range(1, workers + 1)]


@dataclass(frozen=True, slots=True)
class ServerStatusView:
    """What becomes of the server, for a person or line by line for a program."""

    screen: Screen
    settings: Settings
    token: Path
    show_token: bool
    # Signs the owner in; only while they have no other way.
    link: str | None = None

    def change(self, change: ServerStateChange) -> None:
        if self.screen.for_programs:
            self._line(change)
        elif change.state == "ready":
            self._ready(change)
        elif change.state == "stopping":
            self.screen.say("Stopping gracefully. Press Ctrl-C again to stop immediately.")

    def stopped(self) -> None:
        if self.screen.for_programs:
            self._line(ServerStateChange("stopped"))
        self.screen.say("Stopped.")

    def _ready(self, change: ServerStateChange) -> None:
        named = ", ".join(f"{name} {pid}" for name, pid in change.parts)
        outside = self.settings.database_url is not None
        database = "outside, from MAINSPRING_DATABASE_URL" if outside else "embedded"
        lines = [
            f"Mainspring is up. The API is at {clean(self.settings.address)}/api/v1",
            *self._page_lines(),
            f"  token     {self._token_text()}",
            f"  data      {clean(str(self.settings.home))}, Postgres {database}",
            f"  processes up {os.getpid()}, {named}",
            f"  next      {self._next()}",
            "Ctrl-C stops it in order.",
        ]
        self.screen.say(*lines)
        if not is_loopback(self.settings.host):
            self.screen.say(
                f"Everyone who can reach {clean(self.settings.host)} reaches it, over plain http:"
                " anyone on the way can read tokens. Put a server with https before it."
            )

    def _has_page(self) -> bool:
        return is_built(self.settings.page or BUILT)

    def _page_lines(self) -> list[str]:
        if not self._has_page():
            return ["  page      not built; python scripts/build_page.py builds it or says why not"]
        lines = [f"  page      {clean(self.settings.address)}/"]
        if self.link is not None:
            lines.append(f"  sign in   {clean(self.link)}  (once, for an hour)")
        return lines

    def _next(self) -> str:
        if not self._has_page():
            return f"{hint('new')}, in another terminal"
        first = "open that link in a browser" if self.link else f"{hint('sign-in')} for a new link"
        return f"{first}; or {hint('new')}, in another terminal"

    def _token_text(self) -> str:
        where = f"in {clean(str(self.token))}"
        return f"{self.token.read_text().strip()} ({where})" if self.show_token else where

    def _line(self, change: ServerStateChange) -> None:
        result: dict[str, Any] = {"state": change.state, "pid": os.getpid()}
        if change.state == "ready":
            result["address"] = self.settings.address
            result["token_file"] = str(self.token)
            result["page"] = self._has_page()
            if self.link is not None and self._has_page():
                result["sign_in"] = self.link
            result["database"] = "outside" if self.settings.database_url else "embedded"
            if self.show_token:
                result["token"] = self.token.read_text().strip()
        if change.parts:
            result["parts"] = [{"name": name, "pid": pid} for name, pid in change.parts]
        self.screen.note(as_json(result, indent=None))
