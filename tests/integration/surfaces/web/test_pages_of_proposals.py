"""Words become a proposal, and the proposal an automation, as the pages ask for it."""

from __future__ import annotations

from urllib.parse import urlsplit

from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api
from tests.kit.people import ROOT, browser

EVIL = "Orders <img src=x onerror=alert(1)>"
WORDS = "when a row is added to Orders leave me a message in the inbox"


async def test_a_proposal_is_answered_changed_and_saved_by_a_browser_alone(api: Api) -> None:
    made = await api.client.post(f"{ROOT}/boards", json={"name": EVIL})
    board = made.json()["id"]
    async with browser(api, FIRST_MEMBER) as owner:
        asked = {"text": WORDS, "timezone": "Europe/Berlin"}
        result = (await owner.ask("POST", "/proposals", json=asked)).json()
        place = urlsplit(result["url"]).path
        assert place == f"/proposals/{result['proposal_id']}"
        page = await owner.client.get(place)
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        # Whose names are hostile is reported as it is, and never by the page itself.
        assert EVIL not in page.text
        [question] = result["questions"]
        assert {"label": EVIL, "value": board} in question["choices"]

        wrong = {"revision": result["revision"], "answers": {question["id"]: 7}}
        refused = await owner.ask("POST", f"{place}/refine", json=wrong)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"] == f"/answers/{question['id']}"
        right = {
            "revision": result["revision"],
            "answers": {question["id"]: board},
            "edits": [{"pointer": "/name", "value": EVIL}],
        }
        ready = (await owner.ask("POST", f"{place}/refine", json=right)).json()
        assert (ready["status"], ready["definition"]["name"]) == ("ready", EVIL)
        late = await owner.ask("POST", f"{place}/refine", json={**right, "answers": {}})
        assert (late.status_code, late.json()["code"]) == (409, "proposal_changed")
        bad = {
            "revision": ready["revision"],
            "edits": [{"pointer": "/plan/0/config/odd", "value": 1}],
        }
        found = (await owner.ask("POST", f"{place}/refine", json=bad)).json()
        assert found["code"] == "invalid_definition"
        assert found["errors"][0]["pointer"].startswith("/plan/0/config")

        read = {"digest": ready["digest"]}
        forged = await owner.client.post(f"{ROOT}{place}/save", json=read)
        assert forged.json()["code"] == "csrf"
        program = await api.program.post(f"{ROOT}{place}/save", json=read)
        assert (program.status_code, program.json()["code"]) == (403, "person_needed")
        saved = await owner.ask("POST", f"{place}/save", json=read)
        assert saved.status_code == 201, saved.text
        stored = (await owner.ask("GET", f"/automations/{saved.json()['automation_id']}")).json()
        assert (stored["name"], stored["state"]) == (EVIL, "paused")

        change = {"text": "call it Watch", "automation_id": stored["id"]}
        patch = (await owner.ask("POST", "/proposals", json=change)).json()
        assert patch["review"]["change"] is not None
        assert (await owner.ask("DELETE", f"/proposals/{patch['proposal_id']}")).status_code == 200


async def test_requests_are_kept_under_any_name_and_forgotten(api: Api) -> None:
    async with browser(api, FIRST_MEMBER) as owner:
        name = "Mine%20%2F%20%3Cb%3E%3F%23"
        stored = await owner.ask("PUT", f"/prompts/{name}", json={"text": WORDS})
        assert stored.status_code == 200, stored.text
        listed = (await owner.ask("GET", "/prompts")).json()
        assert [(one["name"], one["text"]) for one in listed["prompts"]] == [
            ("Mine / <b>?#", WORDS)
        ]
        assert listed["starters"]
        await owner.ask("DELETE", f"/prompts/{stored.json()['id']}")
        assert (await owner.ask("GET", "/prompts")).json()["prompts"] == []


async def test_the_filters_of_templates_are_reported_with_what_they_take(api: Api) -> None:
    result = (await api.client.get(f"{ROOT}/schemas/templates")).json()
    filters = {one["name"]: one for one in result["filters"]}
    assert filters["replace"]["parameters"] == ["old", "new", "count=null"]
    assert all(one["description"] for one in (*result["filters"], *result["tests"]))
    assert "defined" in {one["name"] for one in result["tests"]}
