"""The load client: a fixed number of connections, each sending its next request at once.

It speaks just enough HTTP/1.1 to cost little next to what it measures, and runs in a process
of its own: ``python -m bench.load ADDRESS PATH TOKEN REQUESTS CONNECTIONS PAUSE HEADER`` prints
one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import uvloop

# A server that does not answer is not waited for.
MOST_SECONDS = 600.0
BODY = b'{"say":"hello","n":1}'


@dataclass(frozen=True, slots=True)
class Load:
    """Where to send how much."""

    host: str
    port: int
    path: str
    token: str
    requests: int
    connections: int
    pause: float = 0.0
    # One more header line, such as a signature of ``BODY``.
    header: str = ""


async def _one(
    load: Load, count: int, sent: list[float], took: list[float], said: list[int]
) -> None:
    reader, writer = await asyncio.open_connection(load.host, load.port)
    more = f"{load.header}\r\n" if load.header else ""
    head = (
        f"POST {load.path} HTTP/1.1\r\nHost: {load.host}\r\nAuthorization: Bearer {load.token}\r\n"
        f"{more}Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    ).encode()
    for _ in range(count):
        sent.append(time.time())
        began = time.perf_counter()
        writer.write(head + BODY)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length or 0))
        took.append(time.perf_counter() - began)
        said.append(int(answer[9:12]))
        if load.pause:
            await asyncio.sleep(load.pause)
    writer.close()


async def drive(load: Load) -> dict[str, Any]:
    """Sends everything; answers the statuses and the times."""
    sent: list[float] = []
    took: list[float] = []
    output: list[int] = []
    each, more = divmod(load.requests, load.connections)
    shares = [each + (number < more) for number in range(load.connections)]
    began = time.time()
    await asyncio.gather(*(_one(load, share, sent, took, output) for share in shares))
    took.sort()
    return {
        "began": began,
        "seconds": time.time() - began,
        "statuses": {str(code): output.count(code) for code in sorted(set(output))},
        "p50_ms": round(took[len(took) // 2] * 1000, 2),
        "p99_ms": round(took[int(len(took) * 0.99)] * 1000, 2),
        "sent": sent if load.pause else [],
    }


def run(load: Load) -> dict[str, Any]:
    """The same in a process of its own."""
    words = [
        load.host,
        load.port,
        load.path,
        load.token,
        load.requests,
        load.connections,
        load.pause,
        load.header,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "bench.load", *map(str, words)],
        check=True,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    host, port, path, token, requests, connections, pause, header = sys.argv[1:]
    load = Load(host, int(port), path, token, int(requests), int(connections), float(pause), header)
    print(json.dumps(uvloop.run(drive(load))))


if __name__ == "__main__":
    main()
