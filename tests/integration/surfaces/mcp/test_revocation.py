"""A revoked token is refused from the next request on, however many come at once."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import httpx2

from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.tokens import make_token, revoke_token
from tests.kit.api import Api
from tests.kit.mcp import NEW, RawMcpClient

AT_ONCE = 50


async def test_no_request_that_is_sent_after_the_revocation_is_answered(
    api: Api, wire: RawMcpClient
) -> None:
    database, workspace_id = api.application.database, api.application.workspace_id
    stored, plain = await make_token(database, workspace_id, FIRST_MEMBER, "a test")
    seen: list[tuple[float, int]] = []

    async def come(number: int) -> None:
        """Comes again and again, over REST or MCP, until it is turned away."""
        status = 200
        while status != 401:
            sent = time.monotonic()
            if number % 2:
                known = {"authorization": f"Bearer {plain}"}
                answer = await http.get(f"{api.address}/api/v1/automations", headers=known)
            else:
                answer = await one.send("tools/list")
            status = answer.status_code
            seen.append((sent, status))

    bounds = httpx2.Limits(max_connections=AT_ONCE)
    async with (
        httpx2.AsyncClient(timeout=30, limits=bounds, verify=False) as http,
        asyncio.timeout(60),
        asyncio.TaskGroup() as burst,
    ):
        one = replace(wire, http=http, token=plain, version=NEW)
        for number in range(AT_ONCE):
            burst.create_task(come(number))
        while len(seen) < 2 * AT_ONCE:
            await asyncio.sleep(0.001)
        await revoke_token(database, workspace_id, stored.id)
        committed = time.monotonic()
        burst.create_task(come(0))
        burst.create_task(come(1))

    after = [status for sent, status in seen if sent > committed]
    assert {status for sent, status in seen if sent < committed} <= {200, 401}
    assert [status for _, status in seen].count(200) >= 2 * AT_ONCE
    assert after
    assert set(after) == {401}
