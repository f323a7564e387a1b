"""The kill switch at the page: an automation is halted, its run is held, released, and goes on."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.kit.bench import document, step
from tests.kit.browsers import BrowserSession, violations

WHY = "It writes to the wrong list."
NIGHT = "We look at what happened last night."


def _runs_for_real(page: Page) -> str:
    """Starts it manually; answers the id of its run, which the page then shows."""
    page.get_by_role("button", name="Run now…").click()
    form = page.get_by_role("dialog")
    form.get_by_role("radio", name="Live").check()
    form.get_by_role("button", name="Run live").click()
    expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}"))
    return page.url.rpartition("/")[2].partition("?")[0]


def test_an_automation_is_halted_its_run_is_held_and_goes_on_when_released(
    browser_session: BrowserSession,
) -> None:
    made = browser_session.saved(
        document(step("a", "transform_data", {"output": 1}), name="Wind the clock")
    )
    other = browser_session.saved(
        document(step("a", "transform_data", {"output": 1}), name="Ring the bell")
    )
    page = browser_session.open(f"/automations/{made}")
    page.get_by_role("button", name="Halt…").click()
    form = page.get_by_role("dialog")
    yes = form.get_by_role("button", name="Halt")
    # Without a reason there is no halt: somebody will find it standing still, and ask.
    expect(yes).to_be_disabled()
    form.get_by_role("textbox", name="Reason").fill(WHY)
    assert violations(page) == []
    yes.click()
    banner = page.get_by_role("alert").filter(has_text="Halted since")
    expect(banner).to_contain_text("by owner@localhost")
    expect(banner).to_contain_text(WHY)
    expect(page.get_by_role("button", name="Halt…")).to_have_count(0)
    assert violations(page) == []

    run_id = _runs_for_real(page)
    expect(page.get_by_text("Halted: the run resumes")).to_be_visible()
    expect(banner).to_contain_text("1 run held.")
    assert browser_session.run(run_id)["status"] == "pending"
    page.goto("/automations")
    expect(page.get_by_role("row", name=re.compile("Wind the clock"))).to_contain_text("halted")

    # The whole workspace: every screen says so, and both halts have to be released.
    page.goto("/health")
    page.get_by_role("button", name="Halt everything…").click()
    form.get_by_role("textbox", name="Reason").fill(NIGHT)
    form.get_by_role("button", name="Halt everything").click()
    expect(page.get_by_text("The whole workspace is halted.")).to_be_visible()
    expect(page.get_by_role("table", name="Workers").get_by_role("row")).not_to_have_count(1)
    assert violations(page) == []
    page.goto(f"/automations/{other}")
    whole = page.get_by_role("alert").filter(has_text="The whole workspace: halted since")
    expect(whole).to_contain_text(NIGHT)
    whole.get_by_role("button", name="Release").click()
    expect(whole).to_have_count(0)
    assert browser_session.run(run_id)["halted"] == WHY

    page.goto(f"/runs/{run_id}")
    banner.get_by_role("button", name="Release").click()
    expect(page.get_by_text("Succeeded ·")).to_be_visible()
    expect(banner).to_have_count(0)
    assert browser_session.run(run_id)["status"] == "succeeded"
