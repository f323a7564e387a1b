"""Automations at the page: found by address, opened, tried, brought back, called, set at rest."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.kit.browsers import BrowserSession, violations

HOOK = {"id": "orders", "type": "webhook", "config": {}}


def _says(name: str, text: str, **more: Any) -> dict[str, Any]:
    step = {"step_id": "say", "action": "transform_data", "config": {"output": text}}
    return {"schema_version": "1.2", "name": name, "goal": f"Says {text}.", "plan": [step], **more}


def test_an_automation_is_found_tried_and_brought_back(
    browser_session: BrowserSession, page: Page
) -> None:
    page.goto("/automations")
    expect(page.get_by_role("heading", name="No automations yet")).to_be_visible()
    made = browser_session.saved(_says("Greeter", "hello"))
    browser_session.saved(_says("Clock", "tick", triggers=[HOOK]), active=True)
    browser_session.ask("PUT", f"/automations/{made}", _says("Greeter", "good day"))

    # What is searched for and chosen is in the address, and the address alone shows it again.
    page.goto("/automations")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    page.keyboard.press("/")
    expect(page.get_by_label("Search by name or goal")).to_be_focused()
    page.keyboard.type("good day")
    expect(page).to_have_url(re.compile(r"search=good"))
    expect(rows).to_have_count(1)
    page.goto("/automations?trigger=webhook&state=active")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Clock")
    assert violations(page) == []
    page.goto("/automations?sort=name&search=Greet")
    page.get_by_role("link", name="Greeter").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Greeter")

    # A dry run is what is offered first, and leads to its run.
    page.get_by_role("button", name="Run now…").click()
    page.get_by_role("button", name="Start the dry run").click()
    expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}$"))
    run_id = page.url.rpartition("/")[2]
    assert browser_session.ended(run_id)["mode"] == "dry_run"
    page.goto(f"/automations/{made}#run-{run_id}")
    expect(page).to_have_url(re.compile(rf"/runs/{run_id}$"))

    page.goto(f"/automations/{made}/versions")
    expect(page.get_by_text("/plan/0/config/output")).to_be_visible()
    page.get_by_text("Lines", exact=True).click()
    expect(page.locator(".cm-content")).to_contain_text("good day")
    page.get_by_role("button", name="Restore version 1…").click()
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_text("restores version 1")).to_be_visible()
    assert browser_session.ask("GET", f"/automations/{made}")["version"] == 3


def test_a_webhook_gets_a_token_once_and_its_automation_is_paused(
    browser_session: BrowserSession, page: Page
) -> None:
    made = browser_session.saved(_says("Orders", "thanks", triggers=[HOOK]), active=True)
    page.goto(f"/automations/{made}/triggers")
    page.get_by_role("button", name="Create a token").click()
    note = page.get_by_role("alert").filter(has_text="shown once")
    token = note.locator("code").first.inner_text()
    answer = browser_session.context.request.post(
        f"/api/v1/automations/{made}/fire",
        headers={"Authorization": f"Bearer {token}"},
        data={"order": 7},
    )
    assert answer.status == 202, answer.text()
    browser_session.ended(str(answer.json()["run_id"]))
    page.reload()
    expect(page.get_by_text(f"A token that ends in {token[-4:]}")).to_be_visible()
    expect(page.get_by_text(token)).to_have_count(0)
    page.get_by_role("button", name="Last payload").click()
    expect(page.get_by_label("the last payload", exact=True)).to_contain_text("7")
    assert violations(page) == []

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Activate…")).to_be_visible()
    assert browser_session.ask("GET", f"/automations/{made}")["state"] == "paused"
    page.get_by_role("button", name="Activate…").click()
    expect(page.get_by_role("dialog").get_by_text("When its webhook is called")).to_be_visible()
    page.get_by_role("button", name="Activate", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()

    page.goto("/runs?mode=live")
    expect(page.get_by_role("link", name=re.compile("^Orders"))).to_have_count(1)
    page.goto(f"/automations/{made}/grants")
    expect(page.get_by_role("heading", name="No grants")).to_be_visible()
