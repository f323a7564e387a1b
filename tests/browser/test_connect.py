"""A client connects by itself: the person reads, chooses less, sees it listed, and ends it."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Page, Route, expect

from tests.kit.browsers import BrowserSession, violations

LOOPBACK = "http://127.0.0.1:7777/callback"
WEB = "https://assistant.example/callback"


@dataclass(slots=True)
class Assistant:
    """A program that was given an address and nothing else."""

    session: BrowserSession
    client_id: str
    verifier: str

    def link(self, uri: str, scope: str = "read operate edit") -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": uri,
            "state": "a state",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "scope": scope,
        }
        return f"/oauth/authorize?{urlencode(query)}"

    def exchanged(self, address: str, uri: str) -> dict[str, Any]:
        result = parse_qs(urlsplit(address).query)
        assert result["state"] == ["a state"]
        form: dict[str, str | float | bool] = {
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "code": result["code"][0],
            "code_verifier": self.verifier,
            "redirect_uri": uri,
        }
        answer = self.session.context.request.post("/oauth/token", form=form)
        assert answer.ok, answer.text()
        return dict(answer.json())


def _assistant(session: BrowserSession) -> Assistant:
    def arrived(route: Route) -> None:
        route.fulfill(content_type="text/html", body="<title>Arrived</title><h1>Arrived</h1>")

    # Where the client waits for the answer.
    session.context.route("http://127.0.0.1:7777/**", arrived)
    session.context.route("https://assistant.example/**", arrived)
    output = {
        "client_name": "Assistant",
        "redirect_uris": [LOOPBACK, WEB],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
    }
    answer = session.context.request.post("/oauth/register", data=output)
    assert answer.ok, answer.text()
    return Assistant(session, answer.json()["client_id"], secrets.token_urlsafe(48))


def _tools(session: BrowserSession, token: str) -> int:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
    return session.context.request.post("/mcp", data=message, headers=headers).status


def test_a_client_is_granted_less_than_it_asks_and_revoked(
    browser_session: BrowserSession, page: Page
) -> None:
    assistant = _assistant(browser_session)
    page.goto(assistant.link(LOOPBACK))
    expect(page.get_by_role("heading", level=1)).to_have_text("Allow “Assistant” to connect?")
    expect(page.get_by_text("a program on this computer")).to_be_visible()
    expect(page.get_by_role("radio", name="View, operate and edit")).to_be_checked()
    assert violations(page) == []
    page.get_by_role("button", name="tools").click()
    expect(page.get_by_text("confirm_action", exact=True)).to_be_visible()
    page.get_by_role("radio", name="View", exact=True).click()
    expect(page.get_by_text("none of which makes changes")).to_be_visible()
    page.get_by_role("button", name="Allow", exact=True).click()
    expect(page.get_by_role("heading", name="Arrived")).to_be_visible()
    arguments = assistant.exchanged(page.url, LOOPBACK)
    assert arguments["scope"] == "read"
    assert _tools(browser_session, arguments["access_token"]) == 200

    page.goto("/connect")
    expect(page.get_by_text("connected", exact=True)).to_be_visible()
    expect(page.get_by_text("redirects to a program on this computer")).to_be_visible()
    page.get_by_role("tab", name="Cursor").click()
    expect(page.get_by_role("link", name="Add to Cursor")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Disconnect Assistant").click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect", exact=True).click()
    expect(page.get_by_text("No connected clients")).to_be_visible()
    assert _tools(browser_session, arguments["access_token"]) == 401

    # A refusal is sent to the client, and a question that is over says so.
    page.goto(assistant.link(LOOPBACK))
    question = page.url
    page.get_by_role("button", name="Don’t allow").click()
    expect(page.get_by_role("heading", name="Arrived")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["error"] == ["access_denied"]
    page.goto(question)
    expect(page.get_by_role("heading", name="This request has ended")).to_be_visible()


def test_what_was_agreed_to_passes_and_a_token_fills_the_snippets(
    browser_session: BrowserSession, page: Page
) -> None:
    assistant = _assistant(browser_session)
    # A client of the web opens the question in a window, and hears of the answer from it.
    page.goto("https://assistant.example/begin")
    with page.expect_popup() as opened:
        page.evaluate(
            "link => { window.open(link) }", browser_session.address + assistant.link(WEB, "read")
        )
    window = opened.value
    expect(window.get_by_text("assistant.example")).to_be_visible()
    window.get_by_role("button", name="Allow", exact=True).click()
    expect(window.get_by_role("heading", name="Arrived")).to_be_visible()
    assert window.evaluate("window.opener !== null")
    window.close()
    page.goto(assistant.link(WEB, "read"))
    expect(page.get_by_role("heading", name="Arrived")).to_be_visible()
    assert assistant.exchanged(page.url, WEB)["scope"] == "read"
    page.goto(assistant.link(WEB, "edit"))
    expect(page.get_by_text("You agreed to “View” for this client")).to_be_visible()

    # Anyone who chooses the workspace in which they agreed is asked there all the same.
    browser_session.ask(
        "PATCH", f"/workspaces/{browser_session.workspace_id}", {"name": "Agreed tower"}
    )
    other = browser_session.ask("POST", "/workspaces", {"name": "Other tower"})["id"]
    browser_session.ask("POST", "/session/workspace", {"workspace_id": other})
    page.goto(assistant.link(WEB, "read"))
    choice = page.get_by_role("combobox", name="Workspace")
    expect(choice).to_have_value("Other tower")
    choice.click()
    page.get_by_role("option", name="Agreed tower").click()
    expect(page.get_by_text("You agreed to “View” for this client")).to_be_visible()
    expect(page.get_by_role("button", name="Allow", exact=True)).to_be_enabled()

    page.goto("/connect?with=token&client=other")
    page.get_by_role("textbox", name="Name").fill("a script")
    page.get_by_role("button", name="Create token").click()
    snippet = page.get_by_role("region", name="Other: Settings")
    expect(snippet).to_contain_text("Bearer msk_")
    expect(page.get_by_text("It is filled in below")).to_be_visible()
