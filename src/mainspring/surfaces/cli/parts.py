"""What each part of the server does, and the parts that are started apart.

A part is given the open house, an event that says when to stop, and a word to say when it
works. Beside the others under one supervisor or alone in its own terminal, it is the same.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.contracts.errors import Problem
from mainspring.runs.rows import ignore_event
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.children import SENT_AWAY
from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.gc_tuning import tune_gc
from mainspring.surfaces.cli.listen_address import reserve_port
from mainspring.surfaces.cli.log_format import keep_logbook
from mainspring.surfaces.cli.running_server import make_data_folder
from mainspring.surfaces.cli.screen import clean

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.children import ParentPipe
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.factory import ApplicationFactory
    from mainspring.surfaces.cli.screen import Screen
    from mainspring.surfaces.services import ApplicationServices

Ready = Callable[[], None]
# What it answers is its exit code, where that is not the usual one.
Body = Callable[["ApplicationServices", asyncio.Event, Ready], Awaitable[int | None]]
_ASKED = (signal.SIGINT, signal.SIGTERM)

log = logging.getLogger(__name__)


async def api(services: ApplicationServices, stop: asyncio.Event, ready: Ready) -> None:
    """Answers requests; what is under way when it stops is finished."""
    from mainspring.surfaces.mcp.mount import PATH, McpMount
    from mainspring.surfaces.rest.app import build_api
    from mainspring.surfaces.rest.serve import serve

    app = build_api(services, beside={PATH: McpMount(services)})
    await serve(app, services.settings, ready=lambda _: ready(), stop=stop)


async def scheduler(services: ApplicationServices, stop: asyncio.Event, ready: Ready) -> None:
    """Watches for moments: schedules that are due, events that match; and keeps house."""
    ready()
    await services.watch(stop)


async def worker(rooms: ApplicationServices, stop: asyncio.Event, ready: Ready) -> int | None:
    """Takes runs from the queues; a stop lets steps finish and hands back the rest."""
    hired = rooms.hire(ignore_event)
    work = asyncio.create_task(hired.run(), name="worker")
    stopped = asyncio.create_task(stop.wait(), name="stop")
    ready()
    await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
    hired.stop()
    stopped.cancel()
    await work
    return SENT_AWAY if hired.drained else None


def under_supervision(
    factory: ApplicationFactory, settings: Settings, body: Body, line: ParentPipe
) -> int:
    """A part as a child: SIGTERM stops it, and so does the end of its parent."""

    async def live() -> int | None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()

        def parent_gone() -> None:
            loop.remove_reader(line.fileno())
            stop.set()

        loop.add_signal_handler(signal.SIGTERM, stop.set)
        # Nothing is ever sent to a child: its line becomes readable when the parent is gone.
        loop.add_reader(line.fileno(), parent_gone)
        async with factory.open(settings) as services:
            return await body(services, stop, _tune_gc_when_ready(line.ready))

    try:
        return finish(live()) or exits.DONE
    except Problem as problem:
        log.error("%s", problem.detail)
        return exits.FAILED


def _tune_gc_when_ready(ready: Ready) -> Ready:
    """Whoever says that they are ready has built all that they need."""

    def say() -> None:
        tune_gc()
        ready()

    return say


def api_alone(
    context: CommandContext, screen: Screen, *, host: str | None, port: int | None
) -> int:
    """``api``: answers requests, and leaves the work to workers and schedulers elsewhere."""

    async def answer(rooms: ApplicationServices, stop: asyncio.Event, settled: Ready) -> None:
        text = listening_words(rooms.settings, await owner_token(rooms))

        def ready() -> None:
            settled()
            screen.say(text)

        await api(rooms, stop, ready)

    with reserve_port(at(context.server_settings(), host, port)) as settings:
        make_data_folder(settings)
        return finish(_alone("api", context, settings, answer))


def listening_words(settings: Settings, token: Path) -> str:
    """Where it listens; how others reach it is another thing, and only told where it is set."""
    public = f", for others at {clean(settings.address)}" if settings.public_url else ""
    where = f"Listening on {clean(settings.listening)} with the token in {clean(str(token))}"
    return f"{where}{public}. Ctrl-C stops it."


def scheduler_alone(context: CommandContext, screen: Screen) -> int:
    """``scheduler``: watches for moments; any number of them may do so beside each other."""
    text = "Watching schedules and events. Ctrl-C stops it."
    settings = context.settings()
    return finish(_alone("scheduler", context, settings, scheduler, lambda: screen.say(text)))


async def owner_token(services: ApplicationServices) -> Path:
    """The file with the token that callers of this machine's owner use."""
    from mainspring.workspace.automations import FIRST_MEMBER
    from mainspring.workspace.tokens import ensure_owner_token

    home = services.settings.home
    return await ensure_owner_token(services.database, home, services.workspace_id, FIRST_MEMBER)


async def first_link(services: ApplicationServices) -> str | None:
    """A link for the owner who has neither a password nor a session; None for any other."""
    from mainspring.workspace.automations import FIRST_MEMBER
    from mainspring.workspace.people.sessions import has_session
    from mainspring.workspace.people.sign_in_links import link_address, make_link
    from mainspring.workspace.people.users import read_user

    async with services.database.transaction() as tx:
        owner = await read_user(tx, FIRST_MEMBER)
        if owner.has_password or owner.disabled_at or await has_session(tx, FIRST_MEMBER):
            return None
        plain = await make_link(tx, FIRST_MEMBER, "first")
    return link_address(services.settings.address, plain)


def at(settings: Settings, host: str | None, port: int | None) -> Settings:
    """The settings with what the command line says about the address."""
    settings = settings if host is None else replace(settings, host=host)
    return settings if port is None else replace(settings, port=port)


async def _alone(
    name: str, context: CommandContext, settings: Settings, body: Body, ready: Ready = lambda: None
) -> int:
    keep_logbook(name, settings.log)
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    async with context.doors.open(settings) as services:
        for sign in _ASKED:
            loop.add_signal_handler(sign, stop.set)
        try:
            await body(services, stop, _tune_gc_when_ready(ready))
        finally:
            for sign in _ASKED:
                loop.remove_signal_handler(sign)
    return exits.DONE
