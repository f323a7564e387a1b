"""A rehearsal over REST: made, looked at again, and offered where a change is proposed."""

from __future__ import annotations

from uuid import UUID

from mainspring.contracts.ids import generate_id
from tests.kit.api import Api
from tests.kit.bench import Bench, document, step

V1 = "/api/v1"


async def test_a_change_is_rehearsed_before_it_is_saved(api: Api, bench: Bench) -> None:
    plan = document(step("say", "notification", {"title": "Hello"}), name="greets")
    made = await api.client.post(f"{V1}/automations", json=plan)
    one = made.json()["id"]
    place = f"{V1}/automations/{one}/rehearsals"
    early = await api.client.post(place, json={})
    assert (early.status_code, early.json()["code"]) == (422, "no_firings")
    change = {"automation_id": one, "text": "greet with another title", "by": "rules"}
    proposed = await api.client.post(f"{V1}/proposals", json=change)
    assert (proposed.status_code, proposed.json()["rehearsal"]) == (201, None), proposed.text
    async with bench.worker():
        run = await api.client.post(f"{V1}/automations/{one}/run", json={})
        await bench.until(UUID(run.json()["run_id"]))
        whole = (await api.client.get(f"{V1}/proposals/{proposed.json()['proposal_id']}")).json()
        offered = whole["rehearsal"]
        assert offered == {
            "tool": "rehearse_automation",
            "arguments": {
                "automation_id": one,
                "candidate": {"proposal_id": whole["proposal_id"]},
            },
        }
        plan["plan"][0]["config"]["title"] = "Good morning"
        result = await api.client.post(place, json={"candidate": {"definition": plan}})
    assert result.status_code == 201, result.text
    [difference] = result.json()["firings"][0]["differences"]
    assert (difference["kind"], difference["fields"]) == (
        "changed",
        [{"pointer": "/title", "then": "Hello", "now": "Good morning"}],
    )
    again = await api.client.get(f"{V1}/rehearsals/{result.json()['rehearsal_id']}")
    assert again.json() == result.json()
    listed = (await api.client.get(f"{V1}/runs")).json()
    assert len(listed["items"]) == 1, "rehearsals are no runs of the automation"
    assert (await api.client.get(f"{V1}/rehearsals/{generate_id()}")).status_code == 404
    assert (await api.anonymous.post(place, json={})).status_code == 401
