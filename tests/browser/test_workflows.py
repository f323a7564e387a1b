"""A workflow at the page: made, its numbers set, its automations started and paused at once."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.kit.browsers import PHONE, BrowserSession, violations

GREETING = {
    "schema_version": "1.2",
    "name": "Greet customers",
    "goal": "Say hello.",
    "plan": [{"step_id": "say", "action": "transform_data", "config": {"output": "hello"}}],
}


def test_a_workflow_is_made_measured_started_paused_and_deleted(
    browser_session: BrowserSession,
) -> None:
    browser_session.saved(GREETING, active=True)
    page = browser_session.open("/workflows")
    expect(page.get_by_role("heading", name="No projects yet")).to_be_visible()
    recipes = page.get_by_role("link", name="Start from a recipe")
    expect(recipes).to_have_attribute("href", "/codex?kind=workflow")
    _make(page)
    _measure(page)
    _switch(page)
    assert violations(page) == []
    _delete(browser_session, page)


def _make(page: Page) -> None:
    page.get_by_role("button", name="New project").first.click()
    form = page.get_by_role("dialog")
    form.get_by_label("Title").fill("Launch")
    form.get_by_label("Charter").fill("Reach the first hundred customers.")
    form.get_by_label("Name of KPI 1").fill("Paying customers")
    form.get_by_label("Target of KPI 1").fill("100")
    form.get_by_label("Name of deadline 1").fill("Beta")
    form.get_by_label("Day of deadline 1").fill("2099-12-31")
    form.get_by_label("Track KPIs").check()
    form.get_by_role("button", name="Create project").click()
    expect(page.get_by_role("heading", level=1, name="Launch")).to_be_visible()
    expect(page.get_by_role("link", name="Board", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Deadlines").get_by_text("Beta")).to_be_visible()


def _measure(page: Page) -> None:
    kpis = page.get_by_role("region", name="KPIs")
    expect(kpis.get_by_text("— of 100, 0%")).to_be_visible()
    kpis.get_by_role("button", name="Update Paying customers").click()
    page.get_by_label("Current value").fill("12")
    page.get_by_role("button", name="Save").click()
    expect(kpis.get_by_text("12 of 100, 12%")).to_be_visible()


def _switch(page: Page) -> None:
    """What is attached rests with the workflow, and goes on with it; each is named."""
    automations = page.get_by_role("region", name="Automations")
    automations.get_by_role("combobox", name="Attach an automation").click()
    page.get_by_role("option", name="Greet customers").click()
    expect(automations.get_by_role("link", name="Greet customers")).to_be_visible()
    result = page.get_by_role("status").filter(has_text="It is")
    page.get_by_role("button", name="Start").click()
    expect(result).to_contain_text("It is active.")
    expect(result).to_contain_text("Greet customers")
    page.get_by_role("button", name="Pause all").click()
    expect(result).to_contain_text("It is paused.")
    expect(result).to_contain_text("Greet customers")
    expect(page.get_by_role("button", name="Resume all")).to_be_visible()
    automations.get_by_role("button", name="Detach Greet customers").click()
    expect(automations.get_by_role("link", name="Greet customers")).not_to_be_visible()


def _delete(session: BrowserSession, page: Page) -> None:
    """With its board, because somebody said so; the phone shows the same without scrolling."""
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    # The menu at the side takes a moment to go.
    page.wait_for_function(
        "wide => document.documentElement.scrollWidth <= wide", arg=PHONE["width"]
    )
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Delete").click()
    question = page.get_by_role("dialog")
    question.get_by_label("Also archive its board").check()
    question.get_by_role("button", name="Delete project").click()
    expect(page).to_have_url(re.compile("/workflows$"))
    expect(page.get_by_role("heading", name="No projects yet")).to_be_visible()
    assert session.ask("GET", "/boards")["boards"] == []
