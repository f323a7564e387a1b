"""Halts and workers over HTTP: refused with a place, shown where they matter, for their roles."""

from __future__ import annotations

from mainspring.contracts.roles import Role
from tests.kit.api import Api
from tests.kit.bench import document, step
from tests.kit.people import ROOT
from tests.kit.tenants import add_person

WHY = "It writes to the wrong list."


async def test_a_halt_is_made_shown_and_released_over_http(api: Api) -> None:
    client, halts = api.client, f"{ROOT}/halts"
    for path, body, status, pointer in (
        (halts, {}, 422, "/reason"),
        (halts, {"scope": "planet", "reason": WHY}, 422, "/scope"),
        (halts, {"scope": "automation", "reason": WHY}, 422, "/automation_id"),
        (f"{halts}/release", {"scope": "recipe", "recipe": "x"}, 404, "/recipe"),
        (f"{ROOT}/admin/recipes/x/halt", {"reason": WHY}, 404, "/recipe"),
        (f"{ROOT}/admin/workers/drain", {"worker": "nobody/1"}, 404, "/worker"),
    ):
        refused = await client.post(path, json=body)
        assert refused.status_code == status, refused.text
        assert pointer in [one["pointer"] for one in refused.json()["errors"]]
    saved = await client.post(
        f"{ROOT}/automations", json=document(step("a", "transform_data", {"output": 1}))
    )
    one = saved.json()["id"]
    made = await client.post(
        halts, json={"scope": "automation", "automation_id": one, "reason": WHY}
    )
    assert (made.status_code, made.json()["halt"]["held"]) == (200, 0), made.text
    assert (await client.get(f"{ROOT}/automations/{one}")).json()["halted"] == WHY
    run = (await client.post(f"{ROOT}/automations/{one}/run", json={})).json()["run_id"]
    shown = (await client.get(f"{ROOT}/runs/{run}")).json()
    assert (shown["status"], shown["halted"]) == ("pending", WHY)
    listed = (await client.get(f"{ROOT}/runs")).json()["items"]
    assert [entry["halted"] for entry in listed] == [WHY]
    numbers = await client.get(f"{ROOT}/admin/workers")
    assert [entry["queue"] for entry in numbers.json()["queues"]] == ["fast", "medium", "long"]

    for role, status in ((Role.VIEWER, 403), (Role.OPERATOR, 200)):
        person = await add_person(api.application.database, api.application.workspace_id, role)
        headers = {"Authorization": f"Bearer {person.token}"}
        assert (await client.get(halts, headers=headers)).status_code == 200
        hidden = await client.get(f"{ROOT}/admin/workers", headers=headers)
        assert hidden.status_code == 404
        body = {"scope": "automation", "automation_id": one}
        asked = await client.post(f"{halts}/release", json=body, headers=headers)
        assert asked.status_code == status, asked.text
    assert (await client.get(f"{ROOT}/runs/{run}")).json()["halted"] is None
