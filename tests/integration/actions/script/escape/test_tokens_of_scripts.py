"""The token that a script holds: what it is worth once the script is gone, or to others."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Any
from uuid import UUID

import httpx2

from mainspring.gate.run_tokens import find_pass
from tests.kit.api import served
from tests.kit.bench import Bench
from tests.kit.scripts import script

# Tells the test its token, by way of a call that it was granted.
TELL = 'await brains["test.note"]({ mark: Deno.env.get("BRAINS_RUN_TOKEN") });'
# Asks the MCP server for a tool with whatever token it is given.
ASK = """
    const ask = async (token, name, more = {}) => {
        const answer = await fetch(Deno.env.get("BRAINS_MCP_URL"), {
            method: "POST",
            headers: {
                authorization: `Bearer ${token}`, "content-type": "application/json",
                accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25",
            },
            body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call",
                params: { name, arguments: { mark: "m" }, ...more } }),
        });
        const { result } = answer.ok ? await answer.json() : {};
        return [answer.status, result !== undefined && result.isError !== true];
    };
"""
GRANTS = ("test.note", "test.hang", "test.echo")
PATIENCE = 60.0


async def told(bench: Bench, since: int = 0) -> str:
    """The token that a script has just told of."""
    async with asyncio.timeout(PATIENCE):
        while len(bench.outside.order) <= since:
            await asyncio.sleep(0.01)
    token = bench.outside.order[-1]
    assert token.startswith("msr_")
    return token


async def is_refused(bench: Bench, client: httpx2.AsyncClient, token: str) -> bool:
    """At every interface: as the gate sees it, over REST and over MCP."""
    known = {"Authorization": f"Bearer {token}"}
    found = await find_pass(bench.application.database, token)
    called = await client.post("/api/v1/capabilities/test.echo", headers=known, json={"a": 1})
    listed = await client.get("/api/v1/capabilities", headers=known)
    spoken = await client.post(
        "/mcp",
        headers={**known, "Accept": "application/json, text/event-stream"},
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    )
    statuses = {answer.status_code for answer in (called, listed, spoken)}
    return found is None and statuses == {401}


async def gone(bench: Bench, client: httpx2.AsyncClient, token: str) -> None:
    """Returns when the token is refused everywhere."""
    async with asyncio.timeout(PATIENCE):
        while not await is_refused(bench, client, token):
            await asyncio.sleep(0.01)


async def test_the_token_of_a_script_is_worth_nothing_once_it_has_ended(bench: Bench) -> None:
    ends = {
        "done": (TELL, "succeeded"),
        "thrown": (TELL + 'throw new Error("x");', "failed"),
        "killed by its bound": (TELL + "for (;;);", "failed"),
        "left": (TELL + "process.exit(3);", "failed"),
    }
    async with served(bench.application) as api:
        for number, (name, (source, status)) in enumerate(ends.items()):
            plan = script(source, *GRANTS, wall_seconds=5)
            plan["plan"][0]["max_retries"] = 0
            made = await bench.dispatch(plan)
            async with bench.worker():
                token = await told(bench, number)
                run = await bench.until(made.run_id)
                await gone(bench, api.anonymous, token)
            assert run["status"] in {status, "timed_out"}, (name, run["error"])


async def test_the_token_of_a_script_that_is_called_off_or_lost_is_worth_nothing(
    bench: Bench,
) -> None:
    source = TELL + 'await brains["test.hang"]({});'
    database, control = bench.application.database, bench.application.control

    async def call_off(run_id: UUID) -> None:
        await control.cancel(bench.application.workspace_id, run_id)

    async def lose(run_id: UUID) -> None:
        await database.execute("UPDATE runs SET fence = fence + 1 WHERE id = $1", run_id)

    async with served(bench.application) as api:
        for number, stop in enumerate((call_off, lose)):
            made = await bench.dispatch(script(source, *GRANTS))
            async with bench.worker():
                token = await told(bench, number)
                assert not await is_refused(bench, api.anonymous, token)
                await stop(made.run_id)
                await gone(bench, api.anonymous, token)
                bench.outside.release.set()
                if stop is lose:
                    await database.execute("UPDATE runs SET fence = fence - 1")


async def test_another_script_gains_nothing_from_a_token_it_received(bench: Bench) -> None:
    """While its run lives it opens what it opens and no more; afterwards, nothing."""
    first = await bench.dispatch(
        script(TELL + 'await brains["test.hang"]({});', "test.note", "test.hang")
    )
    async with bench.worker():
        token = await told(bench)
        raised = """, { _meta: { grants: ["*"], role: "owner" }, grants: ["test.echo"] }"""
        source = f"""{ASK}
            return [await ask("{token}", "test.note"), await ask("{token}", "test.echo"),
                await ask("{token}", "test.echo"{raised})];
        """
        other = await bench.dispatch({**script(source, "test.mail"), "name": "another"})
        run = await bench.until(other.run_id)
        assert run["output"] == [[200, True], [200, False], [200, False]], run["error"]
        bench.outside.release.set()
        await bench.until(first.run_id)
        source = f'{ASK} return await ask("{token}", "test.note");'
        late = await bench.dispatch({**script(source), "name": "another"})
        run = await bench.until(late.run_id)
    assert run["output"] == [401, False], run["error"]
    assert bench.outside.order == [token, "m"], "one call as the first run, and none after it"


async def test_two_seconds_of_guessing_find_no_token(bench: Bench) -> None:
    made = await bench.dispatch(script(TELL + 'await brains["test.hang"]({});', *GRANTS))
    async with bench.worker():
        token = await told(bench)
        end, guesses = time.monotonic() + 2, 0
        # At least a hundred, however little time a busy machine gives us.
        while time.monotonic() < end or guesses <= 100:
            tries: list[Any] = [
                "msr_" + secrets.token_urlsafe(32),
                token[:-6] + secrets.token_urlsafe(4)[:6],
                token[:4] + secrets.token_urlsafe(4) + token[10:],
            ]
            for guess in tries:
                found = await find_pass(bench.application.database, guess)
                assert found is None or guess == token
            guesses += len(tries)
        bench.outside.release.set()
        await bench.until(made.run_id)
    assert guesses > 100
