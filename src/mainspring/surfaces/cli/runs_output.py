"""``runs output``: what the steps of a run have said, and what they still say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import NotFound
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import enter_event_loop, open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.pages_of_rows import FINAL, read_run_at
from mainspring.surfaces.cli.run_watcher import OutputReader, until_left
from mainspring.surfaces.cli.runs import find_run_at
from mainspring.surfaces.cli.step_output import OutputLines

if TYPE_CHECKING:
    from mainspring.contracts.context import OutputStream
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.cli.screen import Screen

_LOOK_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class OutputFilter:
    """Which part of the output is asked for."""

    step: str | None = None
    stderr: bool = False

    @property
    def stream(self) -> OutputStream | None:
        return "err" if self.stderr else None


async def show_output_by_options(
    context: CommandContext,
    screen: Screen,
    text: str,
    step: str | None,
    *,
    stderr: bool,
    follow: bool,
) -> int:
    return await show_output(context, screen, text, OutputFilter(step, stderr), follow=follow)


async def show_output(
    context: CommandContext, screen: Screen, text: str, part: OutputFilter, *, follow: bool = False
) -> int:
    """What was said so far; with ``follow`` also what is said until the run has ended."""
    async with open_client(context) as client:
        run_id = await find_run_at(client, text)
        await _check_step(client, run_id, part.step)
        saying, pieces = OutputLines(screen, bare=True), []
        async for piece in _pieces(client, run_id, part, follow=follow):
            pieces.append(piece) if screen.for_programs else screen.say(*saying.hear(piece))
        screen.say(*saying.rest())
        run = await read_run_at(client, run_id)
    if screen.for_programs:
        screen.answer({"run_id": str(run_id), "status": run["status"], "pieces": pieces})
    return exits.UNFINISHED if follow and run["status"] not in FINAL else exits.DONE


async def _check_step(client: ApiClient, run_id: str, step: str | None) -> None:
    """A step that was never begun may still come; one of an ended run may not."""
    if step is None:
        return
    run = await read_run_at(client, run_id)
    names = sorted({row["step"] for row in run["steps"]})
    if run["status"] in FINAL and step not in names:
        raise NotFound(
            f"The run has no step called {step[:64]!r}.",
            code="no_step",
            suggestion=f"Its steps: {', '.join(names)}." if names else hint("logs", run_id),
        )


async def _pieces(
    client: ApiClient, run_id: str, part: OutputFilter, *, follow: bool
) -> AsyncIterator[dict[str, Any]]:
    output = OutputReader(client, run_id, part.step, part.stream)
    if not follow:
        for piece in await output.read():
            yield piece
        return
    await enter_event_loop()
    with until_left() as left:
        while True:
            # The run before its output: an end that is seen has all of it in place.
            over = left.is_set() or (await read_run_at(client, run_id))["status"] in FINAL
            for piece in await output.read():
                yield piece
            if over:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await left.wait()
