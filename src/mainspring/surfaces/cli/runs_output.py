"""``runs output``: what the steps of a run have said, and what they still say."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.runs.history import read_run
from mainspring.runs.output import OutputPosition, read_output
from mainspring.runs.rows import FINAL
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import local
from mainspring.surfaces.cli.runs import find
from mainspring.surfaces.cli.step_output import OutputLines

if TYPE_CHECKING:
    from mainspring.contracts.context import OutputStream
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen
    from mainspring.surfaces.services import ApplicationServices

_PAGE: Final = 500
_LOOK_SECONDS: Final = 0.25
_LEAVING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class OutputFilter:
    """Which part of the output is asked for."""

    step: str | None = None
    stderr: bool = False

    @property
    def stream(self) -> OutputStream | None:
        return "err" if self.stderr else None


async def show_output(
    context: CommandContext, screen: Screen, text: str, part: OutputFilter, *, follow: bool = False
) -> int:
    """What was said so far; with ``follow`` also what is said until the run has ended."""
    async with context.doors.open(context.settings()) as services:
        run_id = await find(services, text)
        await _check_step(services, run_id, part.step)
        saying, pieces = OutputLines(screen, bare=True), []
        async for piece in _pieces(services, run_id, part, follow=follow):
            pieces.append(piece) if screen.for_programs else screen.say(*saying.hear(piece))
        screen.say(*saying.rest())
        run = await _read(services, run_id)
    if screen.for_programs:
        screen.answer({"run_id": str(run_id), "status": run["status"], "pieces": pieces})
    return exits.UNFINISHED if follow and run["status"] not in FINAL else exits.DONE


async def _read(services: ApplicationServices, run_id: UUID) -> dict[str, Any]:
    async with local(services).acquire() as connection:
        return await read_run(connection, services.workspace_id, run_id)


async def _check_step(services: ApplicationServices, run_id: UUID, step: str | None) -> None:
    """A step that was never begun may still come; one of an ended run may not."""
    if step is None:
        return
    run = await _read(services, run_id)
    names = sorted({row["step"] for row in run["steps"]})
    if run["status"] in FINAL and step not in names:
        raise NotFound(
            f"The run has no step called {step[:64]!r}.",
            code="no_step",
            suggestion=f"Its steps: {', '.join(names)}." if names else hint("logs", run_id),
        )


async def _pieces(
    services: ApplicationServices, run_id: UUID, part: OutputFilter, *, follow: bool
) -> AsyncIterator[dict[str, Any]]:
    place: OutputPosition | None = None
    with _until_left() if follow else nullcontext(asyncio.Event()) as left:
        while True:
            # The run before its output: an end that is seen has all of it in place.
            over = not follow or left.is_set() or await _is_over(services, run_id)
            while rows := await _page(services, run_id, part, place):
                for row in rows:
                    yield row
                place = OutputPosition.of(rows[-1])
            if over:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await left.wait()


async def _page(
    services: ApplicationServices, run_id: UUID, part: OutputFilter, place: OutputPosition | None
) -> list[dict[str, Any]]:
    async with local(services).acquire() as connection:
        return await read_output(
            connection,
            services.workspace_id,
            run_id,
            after=place,
            step=part.step,
            stream=part.stream,
            most=_PAGE,
        )


async def _is_over(services: ApplicationServices, run_id: UUID) -> bool:
    return (await _read(services, run_id))["status"] in FINAL


@contextmanager
def _until_left() -> Iterator[asyncio.Event]:
    """Ctrl-C only leaves: it does nothing to the run."""
    loop, left = asyncio.get_running_loop(), asyncio.Event()
    for sign in _LEAVING:
        loop.add_signal_handler(sign, left.set)
    try:
        yield left
    finally:
        for sign in _LEAVING:
            loop.remove_signal_handler(sign)
