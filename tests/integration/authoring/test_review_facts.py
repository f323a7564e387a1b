"""What a review knows of the others: what they may call now, and nothing of what is gone."""

from __future__ import annotations

from uuid import UUID

from mainspring.authoring.review.view import read_review_facts
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench


async def test_neither_itself_nor_what_was_put_away_counts_as_another_that_may(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    fetch = {"tool": "http_fetch", "params": {"hosts": ["a.example"]}}
    one = await client.save(
        name="one",
        source="return 1;",
        tool_grants=[fetch],
        acknowledged_http_fetch_hosts=["a.example"],
    )
    two = await client.save(name="two", source="return 2;", tool_grants=[{"tool": "search"}])

    async def known(but: str | None = None) -> tuple[bool, bool, bool]:
        async with bench.application.database.acquire() as tx:
            left_out = None if but is None else UUID(but)
            used, hosts = await read_review_facts(tx, client.space, left_out)
        return "http_fetch" in used, "a.example" in hosts, "search" in used

    assert await known() == (True, True, True)
    assert await known(but=one) == (False, False, True)
    await client.call("delete_automation", {"automation_id": two})
    assert await known() == (True, True, False)
