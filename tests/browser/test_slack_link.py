"""Linking a Slack account at the page: the code, the linked account, and unlinking it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from playwright.sync_api import Page, expect

from tests.kit.browsers import BrowserSession, violations
from tests.kit.doubles.slack_app import SIGNING_SECRET


def _call(house: BrowserSession, capability: str, **given: str) -> dict[str, Any]:
    return dict(house.ask("POST", f"/capabilities/{capability}", given))


def _connect(session: BrowserSession, page: Page) -> None:
    """The owner signs in to Slack and agrees to the app's bot."""
    _call(session, "set_oauth_client", provider="slack", client_id="1.2", client_secret="s3cret")
    begun = _call(session, "begin_integration_sign_in", integration="slack")
    state = dict(parse_qsl(urlsplit(begun["sign_in_url"]).query))["state"]
    page.goto(f"/api/v1/integrations/callback/slack?state={state}&code=a-code")


def test_a_slack_account_is_linked_by_a_code_listed_and_unlinked(
    browser_session: BrowserSession, page: Page
) -> None:
    page.goto("/settings/you")
    slack = page.get_by_role("region", name="Slack")
    link = slack.get_by_role("button", name="Link your Slack account")
    # What is missing is named, one thing after the other.
    expect(slack.get_by_text("Slack is not connected.")).to_be_visible()
    expect(link).to_be_disabled()
    _connect(browser_session, page)
    page.goto("/settings/you")
    expect(slack.get_by_text("SLACK_SIGNING_SECRET")).to_be_visible()
    url = f"/api/v1/integrations/slack/interactions/{browser_session.workspace_id}"
    expect(slack.get_by_text(url)).to_be_visible()
    expect(link).to_be_disabled()
    _call(
        browser_session, "publisher_secret_set", name="SLACK_SIGNING_SECRET", value=SIGNING_SECRET
    )
    page.reload()
    expect(slack.get_by_role("status")).to_contain_text("No Slack account is linked.")

    link.click()
    command = slack.get_by_text("/mainspring link").inner_text()
    expect(slack.get_by_text("It works once, until")).to_be_visible()
    double = browser_session.environment.slack
    body = double.command(command.removeprefix("/mainspring "))
    answer = httpx2.post(
        browser_session.address + url, content=body, headers=double.signed(body), timeout=60
    )
    assert (answer.status_code, "is linked" in answer.json()["text"]) == (200, True), answer.text

    # The page learns of it without being loaded again.
    status = slack.get_by_role("status")
    expect(status).to_contain_text("The Slack account U0ADA of the team")
    expect(slack.get_by_role("button", name="Link another Slack account")).to_be_enabled()
    assert violations(page) == []
    # The code was used up.
    body = double.command(command.removeprefix("/mainspring "), user="U0EVE")
    again = httpx2.post(
        browser_session.address + url, content=body, headers=double.signed(body), timeout=60
    )
    assert "is linked" not in again.json()["text"]

    slack.get_by_role("button", name="Unlink").click()
    expect(status).to_contain_text("No Slack account is linked.")
    expect(slack.get_by_role("button", name="Unlink")).to_have_count(0)
    assert _call(browser_session, "get_slack_link")["linked"] is False
