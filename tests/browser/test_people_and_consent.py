"""People around consent: shared connections, what a member left, terminals, tokens that approve."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.commands import definition, step
from tests.acceptance.server import SOON
from tests.kit.browsers import PHONE, BrowserSession, connect_discord, joined, state_of, violations

CODE = re.compile(r"^\s+([A-Z]{4}-[A-Z]{4})\s*$")


def test_a_connection_is_shared_with_the_workspace_and_withdrawn(
    browser_session: BrowserSession, strangers: BrowserContext
) -> None:
    connect_discord(browser_session)
    oauth_client = joined(browser_session, strangers, "jack@example.org")
    oauth_client.goto("/integrations/discord")
    expect(oauth_client.get_by_role("button", name="Share with the workspace")).to_have_count(0)
    page = browser_session.open("/integrations/discord")
    page.get_by_role("button", name="Share with the workspace").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Automations of every member can use spring")
    assert violations(page) == []
    dialog.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_text("It is shared with the workspace.")).to_be_visible()
    # Another member sees whose it is, and that they use it too.
    oauth_client.goto("/integrations/discord")
    expect(oauth_client.get_by_text("spring", exact=True)).to_be_visible()
    expect(oauth_client.get_by_text("every member's automations can use it")).to_be_visible()
    expect(oauth_client.get_by_role("button", name="Share with the workspace")).to_have_count(0)
    page.get_by_role("button", name="Stop sharing with the workspace").click()
    dialog.get_by_role("button", name="Stop sharing", exact=True).click()
    expect(page.get_by_text("It is no longer shared.")).to_be_visible()
    expect(page.get_by_role("button", name="Share with the workspace")).to_be_visible()


def test_what_a_removed_member_left_is_read_and_taken_over(
    browser_session: BrowserSession, strangers: BrowserContext
) -> None:
    oauth_client = joined(browser_session, strangers, "kate@example.org")
    plan = [step("tell", "send_email", to=["ada@example.org"], subject="Hello", text="x")]
    csrf = oauth_client.evaluate(
        "async () => (await (await fetch('/api/v1/session')).json()).csrf_token"
    )
    answer = oauth_client.request.post(
        "/api/v1/automations",
        data=definition("Kate's letter", plan),
        headers={"X-CSRF-Token": csrf},
    )
    assert answer.ok, answer.text()
    made = str(answer.json()["id"])
    answer = oauth_client.request.post(
        f"/api/v1/automations/{made}/activate", headers={"X-CSRF-Token": csrf}
    )
    assert answer.ok, answer.text()
    page = browser_session.open("/settings/members")
    page.get_by_role("button", name="Remove Kate").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("list", name="Members")).not_to_contain_text("Kate")
    assert state_of(browser_session, made) == "paused"
    # The automation says why it stopped, and the way on.
    page.goto(f"/automations/{made}")
    expect(page.get_by_role("alert", name="Owner left")).to_contain_text("It starts nothing.")
    page.goto("/settings/members")
    page.get_by_role("button", name="Take over from Kate").click()
    dialog = page.get_by_role("dialog", name="Take over from Kate")
    may = dialog.get_by_role("list", name="Permissions of Kate's letter")
    expect(may).to_contain_text("It may mail ada@example.org, with approval each time.")
    assert violations(page) == []
    dialog.get_by_role("button", name="Take over", exact=True).click()
    expect(page.get_by_text("You are the owner now.")).to_be_visible()
    expect(page.get_by_role("button", name="Take over from Kate")).to_have_count(0)
    accepted = browser_session.ask("GET", f"/automations/{made}")
    # Agreed to with that: nobody asks once more.
    assert (accepted["state"], accepted["paused_reason"]) == ("active", None)


def _login(session: BrowserSession, codes: Queue[str]) -> str:
    """``mainspring login`` until it ends; its code is handed on as soon as it is printed."""
    server = session.environment.server
    output = []
    with server.mainspring.started("login", server.address) as process:
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            found = CODE.search(line)
            if found is not None:
                codes.put(found[1])
        process.wait(SOON)
    return "".join(output)


def _sign_terminal_in(page: Page, code: str, answer: str) -> None:
    page.goto("/terminal")
    field = page.get_by_role("textbox", name="Code shown in the terminal")
    field.fill(code)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("requested from 127.0.0.1")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name=answer).click()


def test_a_terminal_is_signed_in_or_declined_by_its_code(browser_session: BrowserSession) -> None:
    page = browser_session.open("/terminal", viewport=PHONE)
    page.get_by_role("textbox", name="Code shown in the terminal").fill("BCDF-GHJK")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("alert")).to_be_visible()
    for answer, shown, result in (
        ("Decline", "The terminal was declined. It has no access.", "declined"),
        ("Sign in this terminal", "The terminal is signed in.", "You are signed in to"),
    ):
        codes: Queue[str] = Queue()
        with ThreadPoolExecutor(1) as pool:
            login = pool.submit(_login, browser_session, codes)
            _sign_terminal_in(page, codes.get(timeout=SOON), answer)
            expect(page.get_by_text(shown)).to_be_visible()
            assert result in login.result(SOON)
    page.get_by_role("link", name="in the settings").click()
    expect(page.get_by_text(re.compile("terminal")).first).to_be_visible()


def test_a_token_that_approves_warns_expires_and_names_its_automations(
    browser_session: BrowserSession,
) -> None:
    plan: list[Any] = [step("wind", "transform_data", output=1)]
    made = browser_session.saved(definition("Wind the clock", plan))
    browser_session.saved(definition("Another clock", plan))
    page = browser_session.open("/settings/tokens")
    page.get_by_role("textbox", name="Name").fill("headless team")
    expect(page.get_by_text("This token approves without a person")).to_have_count(0)
    page.get_by_role("switch", name="Permission to approve without a person").check()
    expect(page.get_by_role("alert", name="This token approves without a person")).to_be_visible()
    assert violations(page) == []
    # None is named yet, and it would never expire: both are refused at their fields.
    page.get_by_role("combobox", name="Automations it can approve").click()
    page.get_by_role("option", name="Wind the clock").click()
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Expires").click()
    page.get_by_role("option", name="When you revoke it").click()
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_role("combobox", name="Expires")).to_have_attribute("aria-invalid", "true")
    assert browser_session.ask("GET", "/tokens")["tokens"] == []
    page.get_by_role("combobox", name="Expires").click()
    page.get_by_role("option", name="In 30 days").click()
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_label("The new token")).to_be_visible()
    row = page.get_by_role("list", name="Tokens")
    expect(row).to_contain_text("approves 1 automation without a person")
    (token,) = browser_session.ask("GET", "/tokens")["tokens"]
    assert token["approves"] == [made]
    assert token["expires_at"] is not None
