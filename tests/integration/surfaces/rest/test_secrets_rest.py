"""Secrets over REST: a value goes in, and only names come out."""

from __future__ import annotations

from mainspring.contracts.ids import generate_id
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api

ROOT = "/api/v1"
VALUE = "a-value-for-nobody"


async def test_a_secret_goes_in_is_listed_and_is_forgotten(api: Api) -> None:
    given = {"name": "billing_key", "value": VALUE, "description": "read only"}
    made = await api.client.post(f"{ROOT}/secrets", json=given)
    assert (made.status_code, made.json()["name"]) == (201, "billing_key")
    assert made.json()["owner_user_id"] == str(FIRST_MEMBER)

    listed = await api.client.get(f"{ROOT}/secrets", params={"owner_user_id": str(FIRST_MEMBER)})
    [entry] = listed.json()["secrets"]
    assert (entry["id"], entry["description"]) == (made.json()["id"], "read only")
    nobody = await api.client.get(f"{ROOT}/secrets", params={"owner_user_id": str(generate_id())})
    assert (nobody.status_code, nobody.json()["code"]) == (404, "no_member")

    clash = await api.client.post(
        f"{ROOT}/publisher-secrets", json={"name": "BILLING_KEY", "value": VALUE}
    )
    assert (clash.status_code, clash.json()["code"]) == (409, "secret_name_case")
    gone = [await api.client.delete(f"{ROOT}/secrets/billing_key") for _ in range(2)]
    assert [answer.json() for answer in gone] == [{"deleted": 1}, {"deleted": 0}]
    stored = await api.client.post(
        f"{ROOT}/publisher-secrets", json={"name": "BILLING_KEY", "value": VALUE}
    )
    assert stored.status_code == 201
    assert (await api.client.delete(f"{ROOT}/publisher-secrets/BILLING_KEY")).json() == {
        "deleted": 1
    }
    for answer in (made, listed, nobody, clash, *gone, stored):
        assert VALUE not in answer.text
    assert (await api.anonymous.get(f"{ROOT}/secrets")).status_code == 401


async def test_bad_input_is_pointed_at_and_nothing_is_kept(api: Api) -> None:
    for given, pointer in (
        ({"name": "Billing", "value": VALUE}, "/name"),
        ({"name": "billing", "value": 7}, "/value"),
        ({"name": "billing"}, "/value"),
    ):
        answer = await api.client.post(f"{ROOT}/secrets", json=given)
        assert answer.status_code == 422
        assert pointer in {entry["pointer"] for entry in answer.json()["errors"]}
        assert VALUE not in answer.text
    wrong = await api.client.delete(f"{ROOT}/secrets/NOT-A-NAME")
    assert wrong.status_code == 422
    assert (await api.client.get(f"{ROOT}/secrets")).json()["secrets"] == []


async def test_an_automation_without_its_secret_is_saved_with_a_warning_and_stays_paused(
    api: Api,
) -> None:
    definition = {
        "schema_version": "1.2",
        "name": "needs one",
        "goal": "Ask with a key.",
        "plan": [
            {
                "step_id": "ask",
                "action": "http_fetch",
                "config": {
                    "url": "https://one.test/",
                    "headers": {"X-Key": "{{ secrets.the_key }}"},
                },
            }
        ],
    }
    saved = await api.client.post(f"{ROOT}/automations", json=definition)
    assert saved.status_code == 201
    [warning] = saved.json()["warnings"]
    assert (warning["pointer"], warning["code"]) == (
        "/plan/0/config/headers/X-Key",
        "secret_missing",
    )
    start = f"{ROOT}/automations/{saved.json()['id']}/activate"

    refused = await api.client.post(start)
    assert (refused.status_code, refused.json()["code"]) == (409, "secrets_missing")
    assert "the_key" in refused.json()["detail"]

    await api.client.post(f"{ROOT}/secrets", json={"name": "the_key", "value": VALUE})
    assert (await api.client.post(start)).json()["state"] == "active"
