"""What a browser may do with what the page asks for: activating, and answering the inbox."""

from __future__ import annotations

from urllib.parse import urlsplit

from mainspring.contracts.roles import Role
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api, served
from tests.kit.authoring import draft
from tests.kit.bench import Bench
from tests.kit.drafts import office
from tests.kit.people import ROOT, browser, make_person


async def test_saving_a_draft_links_to_a_page_where_a_person_activates_it(
    api: Api,
) -> None:
    saved = await api.client.post(f"{ROOT}/capabilities/save_automation_draft", json=draft())
    result = saved.json()
    assert result["state"] == "paused", saved.text
    place = urlsplit(result["admin_url"]).path
    assert place == f"/automations/{result['automation_id']}"

    application = api.application
    vera = await make_person(
        application.database,
        "vera@example.org",
        workspace_id=application.workspace_id,
        role=Role.VIEWER,
    )
    async with browser(api, vera.id) as looking, browser(api, FIRST_MEMBER) as owner:
        moved = {"workspace_id": str(application.workspace_id)}
        assert (await looking.ask("POST", "/session/workspace", json=moved)).status_code == 200
        seen = await looking.ask("GET", place)
        refused = await looking.ask("POST", f"{place}/activate")
        assert (seen.status_code, seen.json()["state"]) == (200, "paused")
        assert (refused.status_code, refused.json()["code"]) == (403, "role_too_small")

        shown = (await owner.ask("GET", place)).json()
        assert "get_board" in {one["capability"] for one in shown["grants"]}
        assert shown["definition"]["plan"][0]["config"]["source"]
        forged = await owner.client.post(f"{ROOT}{place}/activate")
        assert forged.json()["code"] == "csrf"
        agreed = await owner.ask("POST", f"{place}/activate")
        assert (agreed.status_code, agreed.json()["state"]) == (200, "active")
        assert (await owner.ask("GET", place)).json()["next_due_at"] is not None


async def test_a_draft_is_read_and_confirmed_in_the_inbox_by_a_browser(bench: Bench) -> None:
    async with office(bench) as here, served(here.bench.application) as api:
        draft_id = await here.nudge("The shop is open")
        async with browser(api, FIRST_MEMBER) as owner:
            path = "/drafts?status=pending"
            [waiting] = (await owner.ask("GET", path)).json()["items"]
            assert waiting["id"] == draft_id
            assert "The shop is open" in waiting["preview"]
            assert waiting["arguments"]["text"] == "The shop is open"
            assert waiting["expires_at"] > waiting["created_at"]
            forged = await owner.client.post(f"{ROOT}/drafts/{draft_id}/confirm")
            assert (forged.status_code, here.telegram.requests) == (403, [])
            sent = await owner.ask("POST", f"/drafts/{draft_id}/confirm")
            assert (sent.status_code, sent.json()["status"]) == (200, "confirmed")
            assert (await owner.ask("GET", path)).json()["items"] == []
            [decided] = (await owner.ask("GET", "/drafts")).json()["items"]
            assert (decided["status"], decided["answered_by"]) == ("confirmed", str(FIRST_MEMBER))
        assert [one["text"] for one in here.telegram.messages] == ["The shop is open"]
