"""The page that an assistant opens for its person: the draft as it is, answered after a sign-in."""

from __future__ import annotations

import contextlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import pytest
from playwright.sync_api import expect

from tests.kit.browsers import BrowserSession

# The install of e-mail is the same in every application.
EMAIL = "6237258d-f06e-5c3f-b02b-2de8231e2326"
PATIENCE = 60.0


class _Assistant:
    """A client of the handshake versions that opens pages."""

    def __init__(self, house: BrowserSession, http: httpx2.Client) -> None:
        token = house.ask("POST", "/tokens", {"name": "assistant"})["text"]
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
        }
        self._http = http
        params = {
            "protocolVersion": "2025-11-25",
            "clientInfo": {"name": "a", "version": "1"},
            "capabilities": {"elicitation": {"url": {}}},
        }
        hello = self._post("initialize", params)
        self._headers["mcp-session-id"] = hello.headers["mcp-session-id"]

    def _post(self, method: str, params: Any) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._http.post("/mcp", json=body, headers=self._headers)
        assert answer.status_code == 200, answer.text
        return answer

    def call(self, name: str, **arguments: Any) -> list[dict[str, Any]]:
        """Every message that came of a call; the last is its result."""
        answer = self._post("tools/call", {"name": name, "arguments": arguments})
        lines = [one[6:] for one in answer.text.splitlines() if one.startswith("data: ")]
        return [json.loads(one) for one in lines or [answer.text]]


@pytest.mark.parametrize("agrees", [True, False])
def test_a_draft_is_answered_by_the_signed_in_person_and_by_no_link(
    browser_session: BrowserSession, agrees: bool
) -> None:
    subject = f"The page {'yes' if agrees else 'no'}"
    mail = {"to": ["noah@example.com"], "subject": subject, "body": "We are in."}
    with (
        httpx2.Client(base_url=browser_session.address, timeout=PATIENCE) as http,
        ThreadPoolExecutor(1) as pool,
    ):
        assistant = _Assistant(browser_session, http)
        given = {"install_id": EMAIL, "action_name": "send_email", "input": mail}
        made = assistant.call("act_on_integration", **given)[-1]["result"]["structuredContent"]
        confirming = pool.submit(assistant.call, "confirm_action", draft_id=made["draft_id"])
        address = f"/inbox?draft={made['draft_id']}"
        # Without a sign-in the link shows nothing and answers nothing.
        nobody = browser_session.environment.browser.new_context(base_url=browser_session.address)
        with contextlib.closing(nobody) as context:
            page = context.new_page()
            page.goto(address)
            expect(page).to_have_url(re.compile("/sign-in"))
            expect(page.get_by_text(subject)).to_have_count(0)
            confirm = f"/api/v1/drafts/{made['draft_id']}/confirm"
            assert context.request.post(confirm, data={}).status == 401
        page = browser_session.open(address)
        chosen = page.get_by_role("region", name="Selected item")
        expect(chosen.locator(".delivered")).to_contain_text(subject)
        expect(chosen.locator(".delivered")).to_contain_text("We are in.")
        assert not confirming.done()
        if agrees:
            chosen.get_by_role("button", name="Approve").click()
            expect(page.get_by_text("Sent exactly as shown.")).to_be_visible()
        else:
            chosen.get_by_role("button", name="Discard").click()
            page.get_by_role("dialog").get_by_role("button", name="Discard").click()
        asked, *_, last = confirming.result(PATIENCE)

    shown = urlsplit(asked["params"]["url"])
    assert (asked["method"], asked["params"]["mode"]) == ("elicitation/create", "url")
    # The owner of this server is in several workspaces, so the link names the one of the draft.
    link, _, workspace = f"{shown.path}?{shown.query}".partition("&workspace=")
    assert link == address
    assert str(UUID(workspace)) == workspace
    came = last["result"]["structuredContent"]
    sent = any(subject.encode() in one for one in browser_session.environment.post.offered)
    expected = ("confirmed", "sent", True) if agrees else ("declined", "not_sent", False)
    assert (came["status"], came["outcome"], sent) == expected
