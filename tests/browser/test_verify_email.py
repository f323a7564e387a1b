"""Somebody who was invited verifies their email on the page, by the link in the mail."""

from __future__ import annotations

import re
import time

from playwright.sync_api import BrowserContext, expect

from tests.kit.browsers import PATIENCE_MS, BrowserEnvironment, BrowserSession, violations

EMAIL = "verify.me@example.org"
LINK = re.compile(r"/settings/you#verify=[A-Z0-9-]+")


def _newest_link(environment: BrowserEnvironment) -> str:
    end = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < end:
        for mail in reversed(environment.post.messages):
            found = LINK.search(mail.get_content()) if EMAIL in str(mail["to"]) else None
            if found is not None:
                return found[0]
        time.sleep(0.05)
    raise AssertionError("no code was mailed")


def test_an_email_is_verified_by_the_link_in_the_mail(
    browser_session: BrowserSession,
    browser_environment: BrowserEnvironment,
    strangers: BrowserContext,
) -> None:
    made = browser_session.ask("POST", "/invitations", {"email": EMAIL, "role": "editor"})
    oauth_client = strangers.new_page()
    oauth_client.goto("/sign-in#" + str(made["link"]).partition("#")[2])
    oauth_client.get_by_role("button", name=re.compile("^Join")).click()
    oauth_client.get_by_role("button", name="Later").click()
    oauth_client.goto("/settings/you")
    note = oauth_client.get_by_role("alert", name=f"{EMAIL} is not verified")
    expect(note).to_contain_text("do not send mail to it until you verify it")
    note.get_by_role("button", name="Send code").click()
    expect(oauth_client.get_by_text(f"We sent a code to {EMAIL}.")).to_be_visible()
    oauth_client.goto("about:blank")
    oauth_client.goto(_newest_link(browser_environment))
    expect(oauth_client.get_by_label("Code from the email")).not_to_have_value("")
    assert "#" not in oauth_client.url
    # The code is for the email that is in force: no other one is kept meanwhile.
    expect(note).to_contain_text("do not send mail to it until you verify it")
    assert violations(oauth_client) == []
    oauth_client.get_by_role("button", name="Verify", exact=True).click()
    expect(oauth_client.get_by_text(f"{EMAIL} is verified.")).to_be_visible()
    expect(note).to_have_count(0)
