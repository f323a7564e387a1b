"""Triggers over REST: read, turned on and off, and their moments read back."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.ids import generate_id
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.consent import agree_to_all
from tests.kit.webhooks import Hook, hook, runs, webhook

CLOCK = {"id": "clock", "type": "schedule", "config": {"cron": "@daily", "timezone": "UTC"}}


def _where(called: Hook, slug: str | None = None) -> str:
    return f"/api/v1/automations/{called.automation_id}/triggers/{slug or called.slug}"


async def _agree(bench: Bench, api: Api, called: Hook) -> None:
    """A token has turned a trigger on: a person agrees to it, and it goes on."""
    assert await agree_to_all(bench.application.database, bench.application.workspace_id)
    place = f"/api/v1/automations/{called.automation_id}/activate"
    assert (await api.client.post(place)).status_code == 200


async def test_the_triggers_of_an_automation_are_listed_as_they_are(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, webhook(), CLOCK)
    answer = await api.client.get(f"/api/v1/automations/{called.automation_id}/triggers")
    clock, hooked = answer.json()["items"]
    assert (clock["slug"], clock["type"], clock["url"]) == ("clock", "schedule", None)
    assert clock["next_due_at"] is not None
    assert hooked["url"].endswith(called.path)
    assert hooked["armed_at"] is not None
    assert hooked["token"]["hint"] == called.token[-4:]
    assert (await api.client.get(_where(called))).json() == hooked


async def test_a_trigger_that_is_turned_off_fires_no_more_and_on_it_fires_again(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api, webhook(), CLOCK)
    off = await api.client.patch(_where(called), json={"enabled": False})
    assert (off.status_code, off.json()["enabled"], off.json()["armed_at"]) == (200, False, None)
    answer = await called.fire({})
    assert (answer.status_code, answer.json()["status"]) == (202, "skipped")
    assert (await api.client.get(_where(called, "clock"))).json()["armed_at"] is not None
    on = await api.program.patch(_where(called), json={"enabled": True})
    assert (on.json()["enabled"], on.json()["armed_at"]) == (True, None)
    await _agree(bench, api, called)
    assert (await called.fire({})).json()["status"] == "pending"


async def test_a_schedule_that_is_turned_off_waits_for_nothing(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, webhook(), CLOCK)
    off = await api.client.patch(_where(called, "clock"), json={"enabled": False})
    assert off.json()["next_due_at"] is None
    await api.program.patch(_where(called, "clock"), json={"enabled": True})
    await _agree(bench, api, called)
    on = await api.client.get(_where(called, "clock"))
    assert on.json()["next_due_at"] is not None


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/enabled"),
        ({"enabled": "yes"}, "/enabled"),
        ({"enabled": True, "slug": "x"}, "/slug"),
    ],
)
async def test_what_cannot_be_changed_is_refused_with_its_place(
    bench: Bench, api: Api, body: dict[str, Any], pointer: str
) -> None:
    called = await hook(bench, api)
    answer = await api.client.patch(_where(called), json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert (await api.client.get(_where(called))).json()["enabled"] is True


async def test_what_is_not_there_is_missing_and_strangers_see_nothing(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api)
    elsewhere = f"/api/v1/automations/{generate_id()}/triggers"
    for path in (elsewhere, f"{elsewhere}/hook", _where(called, "nothing")):
        assert (await api.client.get(path)).status_code == 404
    for tail in ("", "/firings", "/last-payload"):
        assert (await api.client.get(_where(called, "nothing") + tail)).status_code == 404
        assert (await api.anonymous.get(_where(called) + tail)).status_code == 401
    changed = await api.client.patch(_where(called, "nothing"), json={"enabled": False})
    assert changed.status_code == 404


async def test_the_last_payload_is_the_newest_one_with_its_run(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, webhook(), webhook("other"))
    none = await api.client.get(_where(called) + "/last-payload")
    assert (none.status_code, none.json()["code"]) == (404, "no_payload")
    await called.fire({"n": 1})
    made = await called.fire({"n": [2, None]})
    shown = (await api.client.get(_where(called) + "/last-payload")).json()
    assert (shown["payload"], shown["run_id"]) == ({"n": [2, None]}, made.json()["run_id"])
    assert (await api.client.get(_where(called, "other") + "/last-payload")).status_code == 404


async def test_the_moments_of_a_webhook_come_page_by_page_the_newest_first(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api)
    made = [(await called.fire({"n": n}, key=f"{9 - n}")).json()["run_id"] for n in range(7)]
    await called.fire({"n": 0}, key="9")
    seen, cursor, pages, shown = list[str](), None, 0, dict[str, Any]()
    while pages == 0 or cursor:
        query = {"limit": 3, **({"cursor": cursor} if cursor else {})}
        shown = (await api.client.get(_where(called) + "/firings", params=query)).json()
        seen += [entry["run_id"] for entry in shown["items"]]
        cursor, pages = shown["next"], pages + 1
    assert seen == made[::-1]
    assert pages == 3
    assert {entry["status"] for entry in shown["items"]} == {"pending"}
    assert await runs(bench) == 7


async def test_a_moment_that_did_not_fire_is_listed_with_its_reason(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, webhook(), CLOCK)
    trigger = await bench.application.database.fetchrow(
        "SELECT * FROM triggers WHERE slug = 'clock'"
    )
    assert trigger is not None
    for day in (1, 2, 3):
        await bench.application.database.execute(
            "INSERT INTO firings (workspace_id, source_id, key, reason) VALUES ($1, $2, $3, $4)",
            trigger["workspace_id"],
            trigger["id"],
            f"at:2027-03-0{day}T00:00:00+00:00",
            f"r{day}",
        )
    first = await api.client.get(_where(called, "clock") + "/firings", params={"limit": 2})
    assert [entry["reason"] for entry in first.json()["items"]] == ["r3", "r2"]
    assert first.json()["items"][0]["run_id"] is None
    rest = await api.client.get(
        _where(called, "clock") + "/firings", params={"cursor": first.json()["next"]}
    )
    assert [entry["reason"] for entry in rest.json()["items"]] == ["r1"]
    assert rest.json()["next"] is None


@pytest.mark.parametrize("cursor", ["?", "x", "%00", "AA", "Zm9v=", "z" * 401])
async def test_a_cursor_that_is_none_is_refused_or_leads_nowhere(
    bench: Bench, api: Api, cursor: str
) -> None:
    called = await hook(bench, api)
    answer = await api.client.get(_where(called) + "/firings", params={"cursor": cursor})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/query/cursor"
