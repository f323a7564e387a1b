"""Editing an automation: a form that knows its actions, templates that complete, nothing lost."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.acceptance.commands import definition, step
from tests.kit.browsers import BrowserSession, violations


def _clock() -> dict[str, Any]:
    plan = [
        step("wind", "transform_data", output={"turns": 12, "by": "the keeper"}),
        step("tell", "notification", title="Wound", message_template="It is wound."),
    ]
    return {**definition("Wind the clock", plan), "metadata": {"ticket": 4711}}


def _at(page: Page, pointer: str) -> Locator:
    return page.locator(f'[data-pointer="{pointer}"]')


def _opened(session: BrowserSession, made: str) -> Page:
    page = session.open(f"/automations/{made}/edit")
    expect(_at(page, "/plan/1/config/title").get_by_role("textbox")).to_be_visible()
    return page


def test_a_template_is_completed_and_saved_as_the_next_version(
    browser_session: BrowserSession,
) -> None:
    made = browser_session.saved(_clock())
    browser_session.ended(browser_session.started_run(made))
    page = _opened(browser_session, made)
    title = _at(page, "/plan/1/config/title").get_by_role("textbox", name="Title")
    title.click()
    page.keyboard.press("End")
    page.keyboard.type(" {{")
    # Names of this very step: what came before it, and nothing that comes later.
    expect(page.get_by_role("option", name="wind", exact=False).first).to_be_visible()
    expect(page.get_by_role("option", name="tell")).to_have_count(0)
    page.keyboard.type("steps.wind.")
    page.get_by_role("option", name="turns").click()
    page.keyboard.type(" | upp")
    page.get_by_role("option", name="upper").click()
    expect(title).to_contain_text("Wound {{ steps.wind.turns | upper }}")
    # A real value of the run before is picked, not typed.
    page.get_by_role("button", name="Pick an earlier output for Message template").click()
    page.get_by_role("button", name="Open steps.wind").click()
    page.get_by_role("button", name="Insert steps.wind.by").click()
    expect(_at(page, "/plan/1/config/message_template")).to_contain_text("{{ steps.wind.by }}")
    expect(page.get_by_text("Ready to save.")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Save as new version").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as version 2")).to_be_visible()
    saved = browser_session.ask("GET", f"/automations/{made}")
    assert saved["version"] == 2
    assert saved["definition"]["plan"][1]["config"]["title"] == (
        "Wound {{ steps.wind.turns | upper }}"
    )
    assert saved["definition"]["metadata"]["ticket"] == 4711


def test_what_is_typed_is_shown_and_no_number_is_rounded(
    browser_session: BrowserSession,
) -> None:
    page = _opened(browser_session, browser_session.saved(_clock()))
    title = _at(page, "/plan/1/config/title").get_by_role("textbox", name="Title")
    title.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("Day {{ 1 + 1 }} plan")
    expect(title).to_have_text("Day {{ 1 + 1 }} plan")
    page.keyboard.type(" {{ inputs.nam }}")
    expect(_at(page, "/plan/1/config/title")).to_contain_text("under “Inputs and limits”")
    # A number that a browser would round: the page shows it, and does not save over it.
    plan = [step("wind", "transform_data", output={"turns": 1234567890123456789})]
    made = browser_session.saved(definition("Wind it long", plan))
    page = browser_session.open(f"/automations/{made}/edit")
    expect(page.get_by_text("1234567890123456789")).to_be_visible()
    expect(_at(page, "/goal").get_by_role("textbox")).not_to_be_editable()
    expect(page.get_by_role("button", name="Save as new version")).to_have_count(0)


def test_nothing_is_dropped_between_form_and_json_and_another_action(
    browser_session: BrowserSession,
) -> None:
    page = _opened(browser_session, browser_session.saved(_clock()))
    # Another action: the values of the first one stay until somebody takes it out.
    action = _at(page, "/plan/1/action").get_by_role("combobox")
    action.click()
    action.fill("approval")
    page.get_by_role("option", name="Ask a person before going on (approval)").click()
    expect(page.get_by_text("Not known for this action")).to_be_visible()
    expect(_at(page, "/plan/1/config/message_template")).to_contain_text("It is wound.")
    action.click()
    action.fill("notification")
    page.get_by_role("option", name="Put a message into the inbox (notification)").click()
    # What is wrong is at its field, and its place in the list leads there.
    _at(page, "/name").get_by_role("textbox").fill("")
    expect(_at(page, "/name")).to_contain_text("Problem:")
    _at(page, "/goal").get_by_role("textbox").click()
    page.get_by_role("button", name="name", exact=True).click()
    expect(_at(page, "/name").get_by_role("textbox")).to_be_focused()
    page.keyboard.type("Wind it twice")
    # JSON that cannot be read stays where it is until it can.
    views = page.get_by_role("radiogroup", name="Definition view")
    views.get_by_text("JSON").click()
    text = page.get_by_role("textbox", name="Definition as JSON")
    expect(text).to_contain_text('"ticket": 4711')
    text.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("oh")
    views.get_by_text("Form").click()
    expect(page.get_by_text("Your text stays here")).to_be_visible()
    expect(text).to_contain_text("oh{")
    page.keyboard.press("Control+Home")
    text.click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Delete")
    page.keyboard.press("Delete")
    views.get_by_text("Form").click()
    expect(_at(page, "/name").get_by_role("textbox")).to_have_value("Wind it twice")
    # A reload loses nothing either.
    expect(page.get_by_text("Ready to save.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("unsaved changes are restored")).to_be_visible()
    expect(_at(page, "/name").get_by_role("textbox")).to_have_value("Wind it twice")


def test_a_link_leads_to_its_field_and_a_clash_loses_nothing(
    browser_session: BrowserSession,
) -> None:
    made = browser_session.saved(_clock())
    # A place that is folded away is opened for anyone who comes for it.
    page = browser_session.open(f"/automations/{made}/edit?at=/plan/0/step_id")
    expect(_at(page, "/plan/0/step_id").get_by_role("textbox")).to_be_focused()
    _at(page, "/goal").get_by_role("textbox").fill("Wind it well.")
    # Somebody else saves meanwhile; nothing of what was written here is lost, and both are shown.
    theirs = {**_clock(), "description": "Theirs."}
    browser_session.context.request.put(
        f"/api/v1/automations/{made}",
        data=theirs,
        headers={"X-CSRF-Token": browser_session.csrf, "If-Match": '"1"'},
    )
    expect(page.get_by_text("Ready to save.")).to_be_visible()
    page.keyboard.press("Control+s")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Someone saved another version")).to_be_visible()
    expect(_at(page, "/goal").get_by_role("textbox")).to_have_value("Wind it well.")
    page.get_by_role("button", name="Save on top of version 2").click()
    expect(page.get_by_text("Saved as version 3")).to_be_visible()
    assert (
        browser_session.ask("GET", f"/automations/{made}")["definition"]["goal"] == "Wind it well."
    )
