"""Tokens that are looked up together: one query for many, and never an older answer."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from mainspring.contracts.errors import Problem
from mainspring.store.database import Database
from mainspring.store.database_errors import database_unavailable_error
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from mainspring.workspace.tokens import (
    TokenHolder,
    TokenHolderLookup,
    TokenLimits,
    hash_token,
    make_token,
    revoke_token,
)
from tests.kit.bench import Bench


class Slow:
    """The real database, whose answers arrive when the test says so."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.read: list[list[bytes]] = []
        self.arrive = asyncio.Event()
        self.broken = False

    async def fetch(self, query: str, *values: Any) -> list[Any]:
        rows = await self._database.fetch(query, *values)
        self.read.append(values[0])
        await self.arrive.wait()
        if self.broken:
            raise database_unavailable_error()
        return rows

    async def has_read(self, times: int) -> None:
        async with asyncio.timeout(60):
            while len(self.read) < times:
                await asyncio.sleep(0.001)


def _over(slow: Slow) -> TokenHolderLookup:
    return TokenHolderLookup(cast("Database", slow))


def _asked(
    holders: TokenHolderLookup, digest: bytes, times: int
) -> list[asyncio.Task[TokenHolder | None]]:
    return [asyncio.create_task(holders.find(digest)) for _ in range(times)]


async def test_a_revocation_that_was_committed_before_a_request_arrived_refuses_it(
    bench: Bench,
) -> None:
    database = bench.application.database
    stored, plain = await make_token(database, FIRST_WORKSPACE, FIRST_MEMBER, "a test")
    slow = Slow(database)
    holders = _over(slow)
    early = _asked(holders, hash_token(plain), 1)
    await slow.has_read(1)
    await revoke_token(database, FIRST_WORKSPACE, stored.id)
    late = _asked(holders, hash_token(plain), 50)
    await asyncio.sleep(0)
    slow.arrive.set()

    assert (await early[0]) is not None
    assert await asyncio.gather(*late) == [None] * 50
    # One query for all of those who came meanwhile.
    assert len(slow.read) == 2


async def test_concurrent_lookups_each_get_the_owner_of_their_own_token(
    bench: Bench,
) -> None:
    database = bench.application.database
    bounds = [
        TokenLimits(),
        TokenLimits(capabilities=("get_page",)),
        TokenLimits(capabilities=("list_pages",)),
    ]
    made = [
        await make_token(database, FIRST_WORKSPACE, FIRST_MEMBER, "a test", one) for one in bounds
    ]
    slow = Slow(database)
    slow.arrive.set()
    holders = _over(slow)
    digests = [*(hash_token(plain) for _, plain in made), hash_token("msk_" + "A" * 43)]
    found = await asyncio.gather(*map(holders.find, digests * 5))

    assert [one and one.token_id for one in found] == [*(one.id for one, _ in made), None] * 5
    limited = found[1]
    assert limited is not None
    assert limited.capabilities == frozenset({"get_page"})
    assert len(slow.read) == 1


async def test_a_lookup_that_breaks_refuses_those_who_waited_for_it_and_nobody_after(
    bench: Bench,
) -> None:
    database = bench.application.database
    _, plain = await make_token(database, FIRST_WORKSPACE, FIRST_MEMBER, "a test")
    slow = Slow(database)
    slow.broken = True
    holders = _over(slow)
    unlucky = _asked(holders, hash_token(plain), 2)
    await slow.has_read(1)
    gone = _asked(holders, hash_token(plain), 1)
    await asyncio.sleep(0)
    gone[0].cancel()
    later = _asked(holders, hash_token(plain), 1)
    slow.arrive.set()
    for one in unlucky:
        with pytest.raises(Problem):
            await one
    slow.broken = False

    assert (await later[0]) is not None
    with pytest.raises(asyncio.CancelledError):
        await gone[0]
