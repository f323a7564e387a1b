"""What a script says, on its way into the record: whole lines, soon, and not without end."""

from __future__ import annotations

import asyncio
from typing import Final

from mainspring.contracts.context import StepContext, Stream

# A line that is written appears this much later at most.
_SOON: Final = 0.1
# What is kept in one piece; a longer text is cut into several.
_PIECE: Final = 16_384
_CUT: Final = "\n… the rest of what the script said was not kept: it is more than {most} bytes.\n"


class Voice:
    """Gathers the output of one script and hands it on in pieces.

    Lines stay whole, so that what must not be shown can be found in them. Each stream has
    the same bound; what goes beyond it is counted and left out, which the last line says.
    """

    def __init__(self, ctx: StepContext, most_bytes: int) -> None:
        self._ctx = ctx
        self._most = most_bytes
        self._waiting: list[tuple[Stream, str]] = []
        self._kept: dict[Stream, int] = {"out": 0, "err": 0}
        self._cut: set[Stream] = set()
        self._later: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    def hear(self, stream: Stream, text: str) -> None:
        """Takes some text; it is written with what comes right after it."""
        if stream in self._cut or not text:
            return
        left = self._most - self._kept[stream]
        size = len(text.encode("utf-8", "replace"))
        if size > left:
            text = text.encode("utf-8", "replace")[:left].decode("utf-8", "ignore")
            text += _CUT.format(most=self._most)
            self._cut.add(stream)
        self._kept[stream] += size
        self._waiting.append((stream, text))
        if self._later is None or self._later.done():
            self._later = asyncio.create_task(self._write_soon())

    async def close(self) -> None:
        """Writes what is still waiting."""
        if self._later is not None:
            self._later.cancel()
            await asyncio.gather(self._later, return_exceptions=True)
        await self._write()

    async def _write_soon(self) -> None:
        await asyncio.sleep(_SOON)
        await asyncio.shield(asyncio.ensure_future(self._write()))

    async def _write(self) -> None:
        async with self._turn:
            waiting, self._waiting = self._waiting, []
            for stream, text in _joined(waiting):
                for start in range(0, len(text), _PIECE):
                    await self._ctx.say(stream, text[start : start + _PIECE])


def _joined(pieces: list[tuple[Stream, str]]) -> list[tuple[Stream, str]]:
    """Neighbours of one stream as one text."""
    joined: list[tuple[Stream, str]] = []
    for stream, text in pieces:
        if joined and joined[-1][0] == stream:
            joined[-1] = (stream, joined[-1][1] + text)
        else:
            joined.append((stream, text))
    return joined
