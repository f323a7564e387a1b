"""New connections are accepted in batches: nobody waits while others are served."""

from __future__ import annotations

import asyncio
import socket

import uvloop

from mainspring.surfaces.rest.accepting import SocketAcceptor

MANY = 48


async def _rounds() -> tuple[int, bool]:
    """Rounds of the event loop until all who wait are in; and whether it is closed in the end."""
    inside: list[asyncio.Protocol] = []

    class Guest(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            inside.append(self)

    bound = socket.create_server(("127.0.0.1", 0))
    address = bound.getsockname()
    acceptor = SocketAcceptor(bound, Guest)
    waiting = [socket.create_connection(address) for _ in range(MANY)]
    rounds = 0
    async with asyncio.timeout(60):
        while len(inside) < MANY:
            # A moment, in which the loop looks at its sockets once.
            await asyncio.sleep(0.001)
            rounds += 1
    acceptor.close()
    acceptor.close()
    with socket.socket() as late:
        refused = late.connect_ex(address) != 0
    for one in waiting:
        one.close()
    return rounds, refused


def test_all_who_wait_are_taken_in_within_a_few_rounds() -> None:
    rounds, refused = uvloop.run(_rounds())
    assert rounds <= MANY // 4
    assert refused
