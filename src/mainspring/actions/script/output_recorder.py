"""Records the output of a script: in whole lines, with little delay, and bounded."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import Final

from mainspring.contracts.context import OutputStream, StepContext

# The maximum delay of a line.
_SOON: Final = 0.1
# After this many chunks, output is recorded in larger chunks and less often.
_PLENTY: Final = 2_000
_LATER: Final = 1.0
# With more changes between the streams than this, each stream is recorded separately.
_CHANGES: Final = 20
# The maximum size of a chunk; a longer text is split.
_PIECE: Final = 16_384
_CUT: Final = "\n… the rest of what the script said was not kept: it is more than {most} bytes.\n"


class OutputRecorder:
    """Collects the output of one script and passes it on in chunks.

    Lines stay whole, so that secrets can be found and masked in them. Each stream has the same
    limit; what exceeds it is counted and dropped, which the last line says.
    """

    def __init__(self, ctx: StepContext, most_bytes: int) -> None:
        self._ctx = ctx
        self._most = most_bytes
        self._waiting: list[tuple[OutputStream, str]] = []
        self._kept: dict[OutputStream, int] = {"out": 0, "err": 0}
        self._cut: set[OutputStream] = set()
        self._pieces = 0
        self._later: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    def hear(self, stream: OutputStream, text: str) -> None:
        """Add text; it is written together with what follows shortly."""
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
        """Write what is still buffered."""
        if self._later is not None:
            self._later.cancel()
            await asyncio.gather(self._later, return_exceptions=True)
        await self._write()

    async def _write_soon(self) -> None:
        await asyncio.sleep(_SOON if self._pieces < _PLENTY else _LATER)
        await asyncio.shield(asyncio.ensure_future(self._write()))

    async def _write(self) -> None:
        async with self._turn:
            waiting, self._waiting = self._waiting, []
            joined = _join_chunks(waiting)
            if len(joined) > (_CHANGES if self._pieces < _PLENTY else 2):
                joined = _join_chunks(sorted(joined, key=lambda piece: piece[0] != "out"))
            for stream, text in joined:
                for start in range(0, len(text), _PIECE):
                    self._pieces += 1
                    await self._ctx.say(stream, text[start : start + _PIECE])


def _join_chunks(pieces: list[tuple[OutputStream, str]]) -> list[tuple[OutputStream, str]]:
    """Join adjacent chunks of one stream."""
    return [
        (stream, "".join(text for _, text in said))
        for stream, said in groupby(pieces, key=lambda piece: piece[0])
    ]
