"""Consent on the page: a person agrees once to what a program made; writes ask or are sent."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.acceptance.commands import definition, step
from tests.acceptance.server import PREFIX, SOON
from tests.kit.browsers import (
    PASSWORD,
    PHONE,
    BrowserEnvironment,
    BrowserSession,
    connect_discord,
    joined,
    state_of,
    violations,
)
from tests.kit.processes import wait_until

CHANNEL = "1100000000000000001"
TEXT = "Good morning.\nThe clock says {{ inputs.hour }}."
HOUR = {"schema": {"type": "object", "properties": {"hour": {"type": "integer", "default": 7}}}}


@pytest.fixture
def channel(browser_environment: BrowserEnvironment) -> list[Any]:
    """What is posted to Discord."""
    browser_environment.discord.channels[CHANNEL] = []
    browser_environment.discord.messages.clear()
    return browser_environment.discord.messages


def digest(name: str = "Morning digest", *after: Any, **more: Any) -> dict[str, Any]:
    post = step("post", "discord.post", channel_id=CHANNEL, content=TEXT)
    return {**definition(name, [{**post, **more}, *after]), "inputs": HOUR}


@contextlib.contextmanager
def program(session: BrowserSession) -> Iterator[httpx2.Client]:
    """A program of the owner, with a token of theirs."""
    token = session.ask("POST", "/tokens", {"name": "program"})["text"]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=session.address + PREFIX, headers=headers, timeout=60) as client:
        yield client


def made_by_program(
    session: BrowserSession, document: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """A program creates an automation and is refused to activate it: its id, and the problem."""
    with program(session) as client:
        made = client.post("/automations", json=document)
        assert made.status_code == 201, made.text
        refused = client.post(f"/automations/{made.json()['id']}/activate")
        assert refused.status_code == 409, refused.text
    return str(made.json()["id"]), refused.json()


def chosen(page: Page) -> Locator:
    return page.get_by_role("region", name="Selected item")


def test_the_link_of_a_refusal_leads_through_signing_in_to_what_is_agreed_to(
    browser_session: BrowserSession, strangers: BrowserContext, channel: list[Any]
) -> None:
    connect_discord(browser_session)
    made, refused = made_by_program(browser_session, digest())
    oauth_client = joined(browser_session, strangers, "iris@example.org")
    strangers.clear_cookies()

    link = urlsplit(refused["consent"]["url"])
    oauth_client.goto(link.path)
    expect(oauth_client).to_have_url(re.compile("/sign-in"))
    expect(oauth_client.get_by_text("Morning digest")).to_have_count(0)
    oauth_client.get_by_role("textbox", name="Email").fill("iris@example.org")
    oauth_client.get_by_label(re.compile("^Password")).fill(PASSWORD)
    oauth_client.get_by_role("button", name="Sign in", exact=True).click()
    expect(oauth_client).to_have_url(re.compile(f"{link.path}$"))

    note = oauth_client.get_by_role("alert", name="Do you agree to its permissions?")
    says = f"It may post to the Discord channel {CHANNEL} as spring, with approval each time."
    expect(note).to_contain_text("A program created it.")
    expect(note).to_contain_text(says)
    assert says in [one["says"] for one in refused["consent"]["additions"]]
    assert violations(oauth_client) == []
    note.get_by_role("button", name="Review and agree…").click()
    oauth_client.get_by_role("dialog").get_by_role("button", name="Agree and activate").click()
    expect(oauth_client.get_by_text("It is active.").first).to_be_visible()
    assert state_of(browser_session, made) == "active"
    agreed = browser_session.ask("GET", f"/automations/{made}")["agreed"]
    assert agreed["via"] == "page"
    assert channel == []


def test_what_waits_in_the_inbox_is_agreed_to_with_one_click_on_a_phone(
    browser_session: BrowserSession,
) -> None:
    plan = [step("tell", "send_email", to=["ada@example.org"], subject="Hello", text="x")]
    made, _ = made_by_program(browser_session, dict(definition("Write to Ada", plan)))
    page = browser_session.open("/inbox", viewport=PHONE)
    page.get_by_role("link", name="Write to Ada needs your consent").click()
    pane = chosen(page)
    expect(
        pane.get_by_text("It may mail ada@example.org, with approval each time.")
    ).to_be_visible()
    # Its id is there as well, and no sentence is made of it.
    expect(pane.get_by_text("send_email", exact=True)).to_be_visible()
    assert violations(page) == []
    pane.get_by_role("button", name="Agree and keep it paused").click()
    expect(page.get_by_text("Nothing is waiting for you")).to_be_visible()
    assert state_of(browser_session, made) == "paused"
    browser_session.ask("POST", f"/automations/{made}/activate")


def test_what_cannot_be_activated_leads_to_where_it_is_fixed(
    browser_session: BrowserSession,
) -> None:
    made, _ = made_by_program(browser_session, digest())
    page = browser_session.open("/inbox")
    chosen(page).get_by_role("button", name="Agree and activate").click()
    note = chosen(page).get_by_role("alert")
    expect(note).to_contain_text("Discord is not connected")
    assert state_of(browser_session, made) == "paused"
    note.get_by_role("link", name="Go to Integrations").click()
    expect(page.get_by_role("heading", level=1, name="Integrations")).to_be_visible()


def test_a_run_waits_for_its_draft_and_goes_on_with_the_result(
    browser_session: BrowserSession, channel: list[Any]
) -> None:
    """A person who saves it and runs it on the page is asked about the message and nothing else."""
    connect_discord(browser_session)
    note = step("note", "notification", title="Posted as {{ steps.post.message_id }}")
    made = browser_session.saved(digest("Hold on", note))
    page = browser_session.open(f"/automations/{made}")
    page.get_by_role("button", name="Run now…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio", name="Live").check()
    sent = dialog.get_by_role("listitem").filter(has_text="Post a message to Discord")
    expect(sent).to_contain_text("asks for approval each time")
    dialog.get_by_role("button", name="Run live").click()
    expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}"))
    run = page.url.rpartition("/")[2]
    wait_until(lambda: browser_session.run(run)["status"] == "waiting", SOON, "the held write")
    page.get_by_role("link", name=re.compile("^Inbox")).click()
    pane = chosen(page)
    expect(pane.locator(".delivered")).to_contain_text("The clock says 7.")
    expect(pane.get_by_text("waits for your answer and then continues")).to_be_visible()
    assert channel == []
    pane.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Sent exactly as shown.")).to_be_visible()
    ended = browser_session.ended(run)
    assert (ended["status"], len(channel)) == ("succeeded", 1), ended["error"]
    posted = next(one["output"] for one in ended["steps"] if one["step"] == "post")
    page.goto("/inbox?tab=messages")
    expect(page.get_by_text(f"Posted as {posted['message_id']}").first).to_be_visible()


def test_automatic_is_chosen_alongside_destination_account_and_text(
    browser_session: BrowserSession, channel: list[Any]
) -> None:
    connect_discord(browser_session)
    made = browser_session.saved(digest(), active=True)
    page = browser_session.open(f"/automations/{made}/edit")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text(f"Post to the Discord channel {CHANNEL}", exact=True)).to_be_visible()
    expect(page.get_by_text("Account: spring")).to_be_visible()
    expect(page.get_by_label("Text of post")).to_have_text(TEXT)
    expect(page.get_by_text("a draft waits in the inbox until you approve it")).to_be_visible()
    page.get_by_text("Send automatically", exact=True).click()
    expect(page.get_by_text("with this text only")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Save as new version").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as version 2")).to_be_visible()
    saved = browser_session.ask("GET", f"/automations/{made}")
    assert saved["definition"]["plan"][0]["approval"] == "automatic"
    # The person who saved it has agreed: it stays active, and sends without another question.
    assert (saved["state"], saved["agreed"]["version"]) == ("active", 2)
    ended = browser_session.ended(browser_session.started_run(made))
    assert ended["status"] == "succeeded", ended["error"]
    assert [one["content"] for one in channel] == ["Good morning.\nThe clock says 7."]
    page.goto(f"/automations/{made}")
    expect(page.get_by_text("sends outside without asking").first).to_be_visible()


def test_a_program_that_makes_a_write_automatic_asks_with_destination_account_and_text(
    browser_session: BrowserSession, channel: list[Any]
) -> None:
    connect_discord(browser_session)
    made = browser_session.saved(digest(), active=True)
    with program(browser_session) as client:
        change = client.put(f"/automations/{made}", json=digest(approval="automatic"))
        assert change.status_code == 200, change.text
    assert state_of(browser_session, made) == "paused"
    page = browser_session.open("/inbox")
    page.get_by_role("link", name="Morning digest asks for more permissions").click()
    pane = chosen(page)
    says = (
        f"It now posts to the Discord channel {CHANNEL} as spring without approval: "
        "“Good morning. ↵ The clock says {{ inputs.hour }}.”."
    )
    expect(pane.get_by_text(says)).to_be_visible()
    expect(pane.get_by_role("link", name="See the difference")).to_be_visible()
    pane.get_by_role("button", name="Agree and activate").click()
    expect(page.get_by_text("Nothing is waiting for you")).to_be_visible()
    assert state_of(browser_session, made) == "active"
    ended = browser_session.ended(browser_session.started_run(made))
    assert (ended["status"], len(channel)) == ("succeeded", 1), ended["error"]


def test_a_program_copies_a_link_where_only_a_person_approves(
    browser_session: BrowserSession,
) -> None:
    plan = [step("tell", "send_email", to=["ada@example.org"], subject="Hello", text="x")]
    run = browser_session.ended(
        browser_session.started_run(browser_session.saved(dict(definition("Write to Ada", plan))))
    )
    draft = run["output"]["draft_id"]
    page = browser_session.open(f"/inbox?draft={draft}")
    expect(chosen(page).get_by_role("button", name="Approve")).to_be_visible()
    page.get_by_role("button", name="Copy for programs").click()
    menu = page.get_by_role("menu")
    expect(menu).not_to_contain_text("Send a draft")
    menu.get_by_role("menuitem", name="Copy the link").click()
    copied = str(page.evaluate("navigator.clipboard.readText()"))
    assert copied == f"{browser_session.address}/inbox?draft={draft}"
