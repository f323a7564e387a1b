"""Connecting: an account with a key, a secret that is never shown, a model on this machine."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.kit.browsers import BrowserSession, violations


def test_a_secret_is_encrypted_replaced_and_removed_and_its_value_is_never_shown(
    browser_session: BrowserSession,
) -> None:
    page = browser_session.open("/secrets")
    page.get_by_role("button", name="Add a secret").first.click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill("Forge Key")
    form.get_by_role("textbox", name="Value").fill("s3cret-forge-value")
    form.get_by_role("button", name="Save").click()
    # What does not fit is said at its field, and what was written stays.
    expect(form.get_by_text("lower-case letters, digits and underscores")).to_be_visible()
    expect(form.get_by_role("textbox", name="Value")).to_have_value("s3cret-forge-value")
    form.get_by_label("Name").fill("forge_key")
    form.get_by_role("button", name="Save").click()
    expect(form).not_to_be_visible()
    expect(page.get_by_text("forge_key", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_text("forge_key", exact=True)).to_be_visible()
    assert "s3cret-forge-value" not in page.content()
    page.get_by_role("button", name="Remove forge_key").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="No secrets yet")).to_be_visible()


def test_an_integration_is_found_and_what_it_refuses_is_said_at_its_field(
    browser_session: BrowserSession,
) -> None:
    page = browser_session.open("/integrations?search=mailbox")
    page.get_by_role("link", name="E-mail").click()
    expect(page.get_by_role("heading", level=1, name="E-mail")).to_be_visible()
    expect(page.get_by_role("region", name="What it does").get_by_text("reads")).to_be_visible()
    form = page.get_by_role("form", name="Connect E-mail")
    form.get_by_label("IMAP server").fill("imap.example.com")
    form.get_by_label("User").fill("ada@example.com")
    form.get_by_role("textbox", name="Password").fill("only-for-mail")
    form.get_by_label("Security").fill("openly")
    form.get_by_role("button", name="Connect").click()
    expect(form.get_by_text("This must be tls or starttls")).to_be_visible()
    expect(form.get_by_label("Security")).to_have_attribute("aria-invalid", "true")
    # A place that nobody allowed is refused as a whole; everything that was written stays.
    form.get_by_label("IMAP server").fill("127.0.0.1")
    form.get_by_label("Port").fill("143")
    form.get_by_label("Security").fill("tls")
    form.get_by_role("button", name="Connect").click()
    expect(form.get_by_role("alert")).to_contain_text("an operator can add 127.0.0.1:143")
    expect(form.get_by_role("textbox", name="Password")).to_have_value("only-for-mail")
    assert violations(page) == []
    page.goto("/integrations/nobody")
    expect(page.get_by_role("heading", name="There is no integration named nobody")).to_be_visible()


def test_a_model_that_does_not_answer_is_kept_and_said_so(browser_session: BrowserSession) -> None:
    page = browser_session.open("/models")
    page.get_by_role("button", name="Connect a model").first.click()
    form = page.get_by_role("dialog")
    form.get_by_role("combobox", name="Provider").click()
    page.get_by_role("option", name="OpenAI-compatible server").click()
    # Nobody allowed this address, and that is said where it was written.
    form.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    form.get_by_role("button", name="Save and test").click()
    expect(form.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
    # This one is allowed, and speaks another language.
    form.get_by_label("Address").fill(f"http://{browser_session.environment.web.pair}/v1")
    form.get_by_role("button", name="Save and test").click()
    expect(form.get_by_role("status")).to_be_visible()
    form.get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("heading", name="local")).to_be_visible()
    page.get_by_role("button", name="Disconnect").click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
    expect(page.get_by_role("heading", name="No models connected")).to_be_visible()
