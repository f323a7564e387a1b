"""From words to an automation: what was made of them is read, answered, changed and agreed to."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.kit.browsers import BrowserSession, violations

_PLAIN = "every weekday at 9 Berlin time remind me to plan the day"
_OPEN = "every weekday at 9 London time post good morning on Slack"


def _proposed(page: Page, text: str) -> None:
    page.get_by_label("What should happen, and when?").fill(text)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Summary")).to_be_visible()


def test_words_become_an_automation_that_a_person_has_read(browser_session: BrowserSession) -> None:
    page = browser_session.open("/new")
    _proposed(page, _PLAIN)
    expect(page.get_by_text("Every weekday at 09:00 (Europe/Berlin)").first).to_be_visible()
    expect(page.get_by_text("None: nothing is sent outside.")).to_be_visible()
    assert browser_session.ask("GET", "/automations")["items"] == []

    # What is written in the form survives a reload, and is reviewed before it can be saved.
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("Plan my day")
    expect(page.get_by_text("1 change is not reviewed yet.")).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    page.reload()
    expect(name).to_have_value("Plan my day")
    page.get_by_role("button", name="Review my changes").click()
    expect(page.get_by_role("heading", level=1, name="Plan my day")).to_be_visible()
    assert violations(page) == []

    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Saved. Activate it now?")).to_be_visible()
    (made,) = browser_session.ask("GET", "/automations")["items"]
    assert (made["name"], made["state"]) == ("Plan my day", "paused")
    page.get_by_role("button", name="Start a dry run").click()
    expect(page.get_by_text("The dry run ended.")).to_be_visible()
    page.get_by_role("button", name="Activate", exact=True).click()
    expect(page.get_by_role("heading", name="Plan my day is active")).to_be_visible()
    assert browser_session.ask("GET", f"/automations/{made['id']}")["state"] == "active"

    # The same in words: what would be different is shown next to what is in force.
    browser_session.ended(browser_session.started_run(made["id"]))
    page.goto(f"/new?automation={made['id']}")
    page.get_by_label("What should be different?").fill("run it at 11 instead")
    page.get_by_role("button", name="Create a proposal").click()
    changes = page.get_by_role("region", name="Changes")
    expect(changes.get_by_text("at 11:00 (Europe/Berlin)").first).to_be_visible()
    expect(changes.get_by_text("It gets no new permissions.")).to_be_visible()
    rehearsal = page.get_by_role("region", name="Rehearsal")
    rehearsal.get_by_role("button", name="Rehearse", exact=True).click()
    expect(rehearsal.get_by_text("The rehearsal cost $0.")).to_be_visible()
    expect(rehearsal.get_by_text("the same", exact=True)).to_be_visible()


def test_what_only_a_person_knows_is_asked_and_others_are_not_overwritten(
    browser_session: BrowserSession,
) -> None:
    page = browser_session.open("/new")
    _proposed(page, _OPEN)
    save = page.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_disabled()
    expect(page.get_by_text("Answer 2 questions first.")).to_be_visible()

    # A wrong answer is reported at its question, and everything that was written stays.
    channel = page.get_by_label("To which Slack channel?")
    channel.fill("good morning people")
    page.get_by_role("radio", name="slack_bot_token").check()
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_text("This must be the channel's id, or #name.").first).to_be_visible()
    expect(channel).to_have_value("good morning people")
    channel.fill("#general")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(save).to_be_enabled()
    grants = page.get_by_role("region", name="What it may do")
    expect(grants.get_by_text("asks for approval each time")).to_be_visible()

    # Somebody else goes on with it: what was written here is put aside, and both are offered.
    page.get_by_role("textbox", name="Name", exact=True).fill("Greeting")
    path = f"/proposals/{page.url.rpartition('/')[2]}"
    edit = {"pointer": "/goal", "value": "Say good morning to everybody."}
    browser_session.ask("POST", f"{path}/refine", {"edits": [edit]})
    page.get_by_role("button", name="Review my changes").click()
    expect(page.get_by_text("Someone changed this proposal")).to_be_visible()
    page.get_by_role("button", name="Apply my changes").click()
    page.get_by_role("button", name="Review my changes").click()
    expect(save).to_be_enabled()
    stored = browser_session.ask("GET", path)["definition"]
    assert (stored["name"], stored["goal"]) == ("Greeting", "Say good morning to everybody.")

    # What is thrown away says so, and leads on.
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page).to_have_url(f"{browser_session.address}/new")
    page.goto(path)
    expect(page.get_by_text("Proposal not found")).to_be_visible()
