"""Thousands of small requests over plain sockets, each target exactly as it is spelt.

A client of the full kind takes longer for its own part of a request than the server for the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

_LINES = 8


async def statuses(address: str, asked: Sequence[tuple[str, str]]) -> list[int]:
    """The status that each method and target is answered with, in their order."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    shares = [asked[number::_LINES] for number in range(_LINES)]
    answered = await asyncio.gather(*(_line(host, int(port), share) for share in shares))
    return [answered[number % _LINES][number // _LINES] for number in range(len(asked))]


async def _line(host: str, port: int, asked: Sequence[tuple[str, str]]) -> list[int]:
    found: list[int] = []
    while len(found) < len(asked):
        reader, writer = await asyncio.open_connection(host, port)
        keeps = True
        while keeps and len(found) < len(asked):
            method, target = asked[len(found)]
            writer.write(f"{method} {target} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            status, keeps = await _answer(reader, method)
            found.append(status)
        writer.close()
    return found


async def _answer(reader: asyncio.StreamReader, method: str) -> tuple[int, bool]:
    """A status, and whether the line may be used once more."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    assert b"\r\ntransfer-encoding:" not in head, head
    length = head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]
    if method != "HEAD":
        await reader.readexactly(int(length or 0))
    return int(head[9:12]), b"\r\nconnection: close" not in head
