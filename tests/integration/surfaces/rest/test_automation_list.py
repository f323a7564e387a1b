"""The list of automations as people look at it: how each is doing, found, sorted, and paged."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from mainspring.surfaces.rest.automation_shapes import (
    AutomationDetail,
    AutomationSummary,
    GrantsUsed,
)
from mainspring.surfaces.rest.paging import Page
from mainspring.workspace.automation_list import count_success_streak
from tests.kit.api import Api
from tests.kit.bench import Bench, document, step

V1 = "/api/v1"
DAILY = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}


def test_a_streak_ends_at_the_first_failure_and_not_at_what_somebody_stopped() -> None:
    assert count_success_streak([]) == 0
    assert (
        count_success_streak(
            ["running", "succeeded", "cancelled", "succeeded", "failed", "succeeded"]
        )
        == 2
    )
    assert count_success_streak(["timed_out", "succeeded"]) == 0


async def _names(api: Api, query: str) -> list[str]:
    answer = await api.client.get(f"{V1}/automations?{query}")
    assert answer.status_code == 200, answer.text
    Page[AutomationSummary].model_validate(answer.json())
    return [row["name"] for row in answer.json()["items"]]


async def _spent(api: Api, automation_id: UUID, usd: str, days_ago: int) -> None:
    await api.application.database.execute(
        "INSERT INTO spend (workspace_id, automation_id, day, usd)"
        " VALUES ($1, $2, (now() AT TIME ZONE 'UTC')::date - $4::int, $3::numeric)",
        api.application.workspace_id,
        automation_id,
        usd,
        days_ago,
    )


async def test_the_list_says_how_each_automation_is_doing(api: Api, bench: Bench) -> None:
    says = step("say", "transform_data", {"output": "hello"})
    breaks = step("say", "transform_data", {"output": "{{ 1 / 0 }}"})
    good = document(says, name="Alpha", goal="Sends the weekly report", triggers=[DAILY])
    for _ in range(2):
        assert (await bench.run(good))["status"] == "succeeded"
    assert (await bench.run(document(breaks, name="Beta")))["status"] == "failed"
    await bench.save(document(says, name="Gamma"))
    listed = (await api.client.get(f"{V1}/automations?sort=name")).json()["items"]
    by_name: dict[str, dict[str, Any]] = {row["name"]: row for row in listed}
    assert list(by_name) == ["Alpha", "Beta", "Gamma"]
    await _spent(api, UUID(by_name["Beta"]["id"]), "0.25", 0)
    await _spent(api, UUID(by_name["Alpha"]["id"]), "7", 40)

    alpha = (await api.client.get(f"{V1}/automations/{by_name['Alpha']['id']}")).json()
    AutomationDetail.model_validate(alpha)
    assert (alpha["streak"], alpha["recent"]) == (2, ["succeeded", "succeeded"])
    assert (alpha["trigger_types"], alpha["month_usd"]) == (["schedule"], 0)
    assert (by_name["Beta"]["streak"], by_name["Beta"]["recent"]) == (0, ["failed"])
    assert by_name["Gamma"]["recent"] == []

    assert await _names(api, "search=WEEKLY") == ["Alpha"]
    assert await _names(api, "health=failing") == ["Beta"]
    assert await _names(api, "health=healthy") == ["Alpha"]
    assert await _names(api, "health=never_run") == ["Gamma"]
    assert await _names(api, "health=waiting") == []
    assert await _names(api, "trigger=schedule") == ["Alpha"]
    assert (await api.client.get(f"{V1}/automations?sort=luck")).status_code == 422
    orders = {
        "name": ["Alpha", "Beta", "Gamma"],
        "last": ["Beta", "Alpha", "Gamma"],
        "cost": ["Beta", "Gamma", "Alpha"],
        "next": ["Alpha", "Beta", "Gamma"],
        "newest": ["Gamma", "Beta", "Alpha"],
    }
    await api.client.post(f"{V1}/automations/{alpha['id']}/activate")
    for sort, names in orders.items():
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            query = f"sort={sort}&limit=1" + (f"&cursor={cursor}" if cursor else "")
            page = (await api.client.get(f"{V1}/automations?{query}")).json()
            found += [row["name"] for row in page["items"]]
            cursor = page["next"]
        assert found == names, sort

    triggers = (await api.client.get(f"{V1}/automations/{alpha['id']}/triggers")).json()["items"]
    assert [len(one["next_fires"]) for one in triggers] == [5]
    assert triggers[0]["next_fires"] == sorted(triggers[0]["next_fires"])
    assert (await api.client.get(f"{V1}/runs?mode=dry_run")).json()["items"] == []
    assert len((await api.client.get(f"{V1}/runs?mode=live")).json()["items"]) == 3


async def test_grants_are_reported_with_their_use(api: Api, bench: Bench) -> None:
    asks = step("note", "test.echo", {"mark": "a"})
    await bench.run(document(asks, name="Notes"))
    automation_id = (await api.client.get(f"{V1}/automations")).json()["items"][0]["id"]
    shown = (await api.client.get(f"{V1}/automations/{automation_id}/grants")).json()
    GrantsUsed.model_validate(shown)
    assert shown["runs"] == 1
    assert [(one["calls"], one["last_used_at"] is not None) for one in shown["items"]] == [
        (1, True)
    ]
    gone = await api.client.get(f"{V1}/automations/{UUID(int=1)}/grants")
    assert gone.status_code == 404
