"""Ask a person at a terminal, line by line, without blocking the event loop.

A daemon thread reads each line, so Ctrl-C or a closed terminal ends the command at once.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mainspring.surfaces.cli.connection import enter_event_loop
from mainspring.surfaces.cli.screen import clean, is_terminal

if TYPE_CHECKING:
    from mainspring.surfaces.cli.screen import Screen

# One line of words from a person; None: there is nobody any more.
Ask = Callable[[str], Awaitable[str | None]]
_CHUNK: Final = 4_096


def at_terminal(screen: Screen) -> bool:
    """Whether there is a person to ask: one who reads and can type."""
    return not screen.for_programs and is_terminal()


class TerminalPrompt:
    """Asks on the standard output and reads from the terminal."""

    def __init__(self, screen: Screen, source: int | None = None) -> None:
        self._screen = screen
        self._source = source
        self._rest = b""

    async def __call__(self, question: str) -> str | None:
        await enter_event_loop()
        with self._screen.forgiving():
            sys.stdout.write(f"{clean(question)} ")
            sys.stdout.flush()
        while b"\n" not in self._rest:
            piece = await self._piece()
            if not piece:
                with self._screen.forgiving():
                    sys.stdout.write("\n")
                return None
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    async def _piece(self) -> bytes:
        import asyncio

        loop = asyncio.get_running_loop()
        made: asyncio.Future[bytes] = loop.create_future()
        source = sys.stdin.fileno() if self._source is None else self._source

        def give(piece: bytes) -> None:
            if not made.done():
                made.set_result(piece)

        def read() -> None:
            try:
                piece = os.read(source, _CHUNK)
            except OSError:
                piece = b""
            with suppress(RuntimeError):  # The loop is over: the command has ended.
                loop.call_soon_threadsafe(give, piece)

        threading.Thread(target=read, name="asking", daemon=True).start()
        return await made
