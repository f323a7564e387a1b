"""A run at the page: watched as it happens, stopped, played again, and shown to somebody else."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Locator, Page, expect

from tests.kit.bench import document, step
from tests.kit.browsers import BrowserSession, settle, violations

SCRIPT = """
console.log("the first line");
console.error("careful");
console.log("the last line");
return { turns: 12 };
"""
WOUND = {
    **document(
        step("look", "transform_data", {"output": {"turns": "{{ inputs.turns }}"}}),
        step("ask", "approval", {"title": "Shall it be wound?"}),
        step("wind", "script", {"source": SCRIPT, "grants": []}),
        name="Wind the clock",
    ),
    "inputs": {
        "schema": {"type": "object", "properties": {"turns": {"type": "integer", "default": 3}}}
    },
}
BROKEN = document(
    step("share", "transform_data", {"output": "{{ 1 // 0 }}"}),
    step("never", "transform_data", {"output": 1}),
    name="Share the cake",
)


def _row(page: Page, key: str, status: str) -> Locator:
    return page.locator(f'.run-row[data-step="{key}"][data-status="{status}"]')


def _write(page: Page, editor: Locator, text: str) -> None:
    """Other words in an editor, written over all that was there, as a hand does it.

    The browser would carry looks over to them, which the policy of the page refuses.
    """
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def _answer(session: BrowserSession, run_id: str) -> None:
    asked = session.ask("GET", "/approvals")["approvals"]
    (mine,) = [one["approval_id"] for one in asked if one["run_id"] == run_id]
    session.ask("POST", f"/approvals/{mine}/answer", {"decision": "approved"})


def test_a_run_is_watched_as_it_happens_and_played_again(browser_session: BrowserSession) -> None:
    automation = browser_session.saved(WOUND)
    run_id = browser_session.started_run(automation)
    page = browser_session.open(f"/runs/{run_id}")
    # It is at its question, which leads to the inbox.
    expect(_row(page, "look", "succeeded")).to_be_visible()
    expect(_row(page, "ask", "waiting")).to_be_visible()
    expect(_row(page, "wind", "planned")).to_be_visible()
    expect(page.get_by_role("link", name="Answer", exact=True)).to_have_attribute(
        "href", re.compile(r"/inbox\?item=")
    )
    assert violations(page) == []
    # What happens from here on is shown without anybody asking again.
    page.evaluate("window.notReloaded = true")
    _answer(browser_session, run_id)
    expect(_row(page, "wind", "succeeded")).to_be_visible()
    expect(_row(page, "@run", "succeeded")).to_be_visible()
    expect(page.get_by_text("Succeeded ·")).to_be_visible()
    assert page.evaluate("window.notReloaded")
    # Each line that a script said has an address, and so has each step.
    _row(page, "wind", "succeeded").click()
    expect(page.get_by_role("log")).to_contain_text("the last line")
    page.get_by_role("link", name="Line 2", exact=True).click()
    expect(page).to_have_url(re.compile(r"step=wind.*#wind/2$"))
    other = browser_session.open(page.url.removeprefix(browser_session.address))
    expect(other.locator(".run-line.chosen a")).to_have_text("2")
    other.keyboard.press("k")
    expect(other.get_by_role("heading", name="ask", exact=True)).to_be_visible()
    other.close()
    # Once more, with something else.
    page.get_by_role("button", name="Replay").click()
    inputs = page.get_by_role("textbox", name="Inputs")
    _write(page, inputs, '{"turns": ')
    expect(page.get_by_text("Invalid JSON")).to_be_visible()
    _write(page, inputs, '{"turns": 7}')
    page.get_by_role("button", name="Start the replay").click()
    expect(page).not_to_have_url(re.compile(run_id))
    expect(_row(page, "ask", "waiting")).to_be_visible()
    again = page.url.rpartition("/")[2].partition("?")[0]
    assert browser_session.run(again)["inputs"] == {"turns": 7}
    # And that is enough of it.
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel run").click()
    expect(_row(page, "@run", "cancelled")).to_be_visible()
    expect(page.get_by_role("button", name="Retry from the failed step")).to_be_visible()


def test_what_failed_is_explained_and_can_be_handed_on(browser_session: BrowserSession) -> None:
    run_id = browser_session.started_run(browser_session.saved(BROKEN))
    browser_session.ended(run_id)
    page = browser_session.open(f"/runs/{run_id}")
    expect(page.get_by_role("heading", name="share", exact=True)).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("divided by zero")
    expect(_row(page, "never", "not_reached")).to_be_visible()
    page.get_by_role("button", name="Copy the problem").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert (copied["run"], copied["step"]) == (run_id, "share")
    assert copied["problem"]["code"] == "template_value"
    page.get_by_role("button", name="More").click()
    expect(page.get_by_role("menuitem", name="Open in the editor")).to_have_attribute(
        "href", re.compile(f"/edit\\?run={run_id}")
    )
    page.keyboard.press("Escape")
    missing = browser_session.open("/runs/01900000-0000-7000-8000-00000000dead")
    expect(missing.get_by_role("heading", name="Run not found")).to_be_visible()


def test_items_that_failed_are_seen_in_badge_step_and_headline(
    browser_session: BrowserSession,
) -> None:
    each = {
        "items": [1, 0, 2],
        "continue_on_error": True,
        "steps": [step("share", "transform_data", {"output": "{{ 6 // item }}"})],
    }
    made = browser_session.saved(document(step("each", "for_each", each), name="Share the cakes"))
    run = browser_session.ended(browser_session.started_run(made))
    assert run["status"] == "succeeded"
    page = browser_session.open(f"/runs/{run['id']}")
    expect(page.get_by_text("Succeeded with 1 of 3 items failed")).to_be_visible()
    expect(page.get_by_text("partly failed", exact=True).first).to_be_visible()
    expect(_row(page, "each", "partly_failed")).to_be_visible()
    expect(_row(page, "share[1]", "failed")).to_be_visible()
    expect(page.get_by_text("succeeded", exact=True)).to_have_count(2)
    for path in ("/", "/runs", "/automations", f"/automations/{made}"):
        settle(page, path)
        expect(page.get_by_text("partly failed", exact=True).first).to_be_visible()
        expect(page.get_by_text("succeeded", exact=True)).to_have_count(0)
