"""A sender with a pace of its own, in a process of its own: it need not wait for answers.

Like a program that has called before, it begins with connections that are open.

    python -m tests.chaos.sender HOST PORT PATH TOKEN PER_SECOND SECONDS BEGIN MOST

begins at that moment, in seconds of the clock, so that nobody's start is in the way of others, has
never more than so many calls unanswered (0: any number), and prints one line of JSON: how many
answers of each status there were, how many refusals said when to come again, how many calls broke
off, and the milliseconds of each accepted call.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import uvloop

from tests.kit.processes import ROOT

_BODY = b'{"say":"x"}'
# For how many seconds' calls connections are open when it begins, and how long before.
_AHEAD_SECONDS = 0.1


@dataclass(slots=True)
class Sender:
    """Where to send, the connections that are free, and what was answered."""

    host: str
    port: int
    head: bytes
    free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    told_when: int = 0
    broken: int = 0
    took: list[float] = field(default_factory=list)

    async def one(self) -> None:
        began = time.perf_counter()
        try:
            line = self._open() or await self._dial()
            reader, writer = line
            writer.write(self.head + _BODY)
            answer = await reader.readuntil(b"\r\n\r\n")
            low = answer.lower()
            length = low.partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
        except (OSError, asyncio.IncompleteReadError):
            self.broken += 1
            return
        self.free.append(line)
        status = answer[9:12].decode()
        self.statuses[status] += 1
        self.told_when += b"\r\nretry-after: " in low
        if status == "202":
            self.took.append((time.perf_counter() - began) * 1000)

    def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """One that is free and that the server has not closed meanwhile."""
        while self.free:
            line = self.free.pop()
            if not line[0].at_eof():
                return line
            line[1].close()
        return None

    async def dial_ahead(self, many: int) -> None:
        self.free += await asyncio.gather(*(self._dial() for _ in range(many)))

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port)


async def send(
    host: str,
    port: int,
    path: str,
    token: str,
    per_second: float,
    seconds: float,
    begin: float,
    most: int,
) -> dict[str, Any]:
    """Sends at an even pace, whatever comes back, or as fast as answers come."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(_BODY)}\r\n\r\n"
    ).encode()
    sender = Sender(host, port, head)
    await asyncio.sleep(max(begin - time.time() - _AHEAD_SECONDS, 0))
    await sender.dial_ahead(max(1, int(per_second * _AHEAD_SECONDS)))
    await asyncio.sleep(max(begin - time.time(), 0))
    free = asyncio.Semaphore(most or int(per_second * seconds))
    began, calls = time.perf_counter(), []
    for number in range(int(per_second * seconds)):
        wait = began + number / per_second - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        await free.acquire()
        if most and time.perf_counter() > began + seconds:
            break
        call = asyncio.create_task(sender.one())
        call.add_done_callback(lambda _: free.release())
        calls.append(call)
    sent = time.perf_counter() - began
    await asyncio.gather(*calls)
    return {
        "statuses": dict(sender.statuses),
        "told_when": sender.told_when,
        "broken": sender.broken,
        "took": sender.took,
        "sent_seconds": sent,
    }


async def apart(
    address: str,
    hook: tuple[str, str],
    pace: float,
    seconds: float,
    *,
    after: float = 0.0,
    most: int = 0,
) -> dict[str, Any]:
    """The same in another process, after some seconds, until it is done.

    Senders have machines of their own; here, a session each, between which processors are shared.
    """
    host, _, port = address.removeprefix("http://").rpartition(":")
    automation, token = hook
    path = f"/api/v1/automations/{automation}/fire"
    words = [host, port, path, token, str(pace), str(seconds), str(time.time() + after), str(most)]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.chaos.sender",
        *words,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    found: dict[str, Any] = json.loads(output)
    return found


def main(words: Sequence[str]) -> None:
    host, port, path, token, *numbers, most = words
    pace, seconds, begin = map(float, numbers)
    found = uvloop.run(send(host, int(port), path, token, pace, seconds, begin, int(most)))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
