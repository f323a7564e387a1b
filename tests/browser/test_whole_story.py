"""End to end, in the page alone: from a request to a mail that has been sent."""

from __future__ import annotations

import re

from aiosmtpd.smtp import Envelope
from playwright.sync_api import expect

from tests.acceptance.server import SOON
from tests.kit.browsers import BrowserSession
from tests.kit.processes import wait_until

_WORDS = (
    "every weekday at 9 Berlin time send an email to ada@example.org "
    "with the subject Wind the tower clock"
)
_SAYS = b"Twelve turns, and gently."


def _letters(session: BrowserSession) -> list[Envelope]:
    """The mails of this test; others on the same server are in the same mailbox."""
    return [
        one for one in session.environment.post.envelopes if _SAYS in (one.original_content or b"")
    ]


def test_words_become_a_mail_that_leaves_after_a_person_said_yes(
    browser_session: BrowserSession,
) -> None:
    page = browser_session.open("/new")
    page.get_by_label("What should happen, and when?").fill(_WORDS)
    page.get_by_role("button", name="Create a proposal").click()

    # Read it, answer what only a person knows, and change it in the form.
    expect(page.get_by_role("region", name="Summary")).to_contain_text("ada@example.org")
    page.get_by_label("What should the mail message say?").fill(_SAYS.decode())
    page.get_by_role("button", name="Answer", exact=True).click()
    save = page.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_enabled()
    page.get_by_role("textbox", name="Name", exact=True).fill("Wind the tower clock")
    page.get_by_role("button", name="Review my changes").click()
    expect(page.get_by_role("heading", level=1, name="Wind the tower clock")).to_be_visible()
    save.click()
    page.get_by_role("button", name="Activate", exact=True).click()
    expect(page.get_by_role("heading", name="Wind the tower clock is active")).to_be_visible()

    # Run it for real, and see it stop before the mail leaves.
    page.get_by_role("link", name="Automations", exact=True).click()
    page.get_by_role("link", name="Wind the tower clock").click()
    page.get_by_role("button", name="Run now…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio", name="Live").check()
    dialog.get_by_role("button", name="Run live").click()
    expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}"))
    expect(page.get_by_role("heading", level=1, name="Wind the tower clock")).to_be_visible()
    inbox = page.get_by_role("link", name=re.compile("^Inbox"))
    expect(inbox).to_contain_text("1")
    assert _letters(browser_session) == []

    # Say yes, and it is delivered.
    inbox.click()
    mail = page.get_by_role("region", name="Selected item").locator(".delivered")
    expect(mail).to_contain_text(_SAYS.decode())
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Sent exactly as shown.")).to_be_visible()
    wait_until(lambda: bool(_letters(browser_session)), SOON, "the mail")
    assert [mail.rcpt_tos for mail in _letters(browser_session)] == [["ada@example.org"]]
