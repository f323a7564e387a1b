"""What a save would add is listed before it is stored, and a save adds nothing else."""

from __future__ import annotations

from typing import Any

from tests.kit.api import Api
from tests.kit.bench import document, step

V1 = "/api/v1"
NOTE = step("note", "transform_data", {"output": "x"})
FETCH = step("get", "http_fetch", {"url": "https://a.example/"})
POST = step("tell", "notification", {"title": "x"})


def _named(*steps: dict[str, Any]) -> dict[str, Any]:
    return document(*steps, name="Previewed")


async def test_a_save_is_refused_if_it_adds_anything_that_was_not_shown(api: Api) -> None:
    made = (await api.client.post(f"{V1}/automations", json=_named(NOTE))).json()
    query = {"adds": "true", "automation_id": made["id"]}
    shown = (await api.client.post(f"{V1}/validate", json=_named(NOTE, FETCH), params=query)).json()
    assert [one["says"] for one in shown["adds"]["additions"]] == [
        "It may now send requests to a.example."
    ]

    path, agreed = f"{V1}/automations/{made['id']}", {"agreed": shown["adds"]["digest"]}
    other = await api.client.put(path, json=_named(NOTE, FETCH, POST), params=agreed)
    same = await api.client.put(path, json=_named(NOTE, FETCH), params=agreed)

    assert (other.status_code, other.json()["code"]) == (409, "additions_changed")
    assert (same.status_code, same.json()["version"]) == (200, 2)


async def test_the_digest_lets_no_program_agree(api: Api) -> None:
    query = {"adds": "true"}
    shown = (await api.program.post(f"{V1}/validate", json=_named(FETCH), params=query)).json()

    agreed = {"agreed": shown["adds"]["digest"]}
    made = await api.program.post(f"{V1}/automations", json=_named(FETCH), params=agreed)

    assert made.status_code == 201
    assert made.json()["consent"]["additions"] == shown["adds"]["additions"]


async def test_a_rollback_lists_what_it_adds(api: Api) -> None:
    made = (await api.client.post(f"{V1}/automations", json=_named(NOTE, FETCH))).json()
    path = f"{V1}/automations/{made['id']}"
    await api.client.put(path, json=_named(NOTE))
    shown = (await api.client.get(f"{path}/versions/1/additions")).json()
    assert len(shown["additions"]) == 1

    refused = await api.client.post(f"{path}/rollback", json={"version": 1, "agreed": "0" * 64})
    done = await api.client.post(f"{path}/rollback", json={"version": 1, "agreed": shown["digest"]})

    assert (refused.status_code, refused.json()["code"]) == (409, "additions_changed")
    assert done.json()["version"] == 3
