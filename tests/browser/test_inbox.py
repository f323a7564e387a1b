"""The inbox: drafts as they will be delivered, edited, taken back, sent; batches; questions."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

from playwright.sync_api import Locator, Page, expect

from tests.acceptance.commands import definition, step
from tests.acceptance.server import SOON
from tests.kit.browsers import PHONE, BrowserSession
from tests.kit.processes import wait_until

# The install of e-mail is the same in every application.
EMAIL = "6237258d-f06e-5c3f-b02b-2de8231e2326"
FORM = {
    "type": "object",
    "required": ["day"],
    "properties": {
        "day": {"type": "string", "minLength": 3, "title": "Day"},
        "loud": {"type": "boolean", "title": "Tell everybody"},
    },
}


def _letter(subject: str, to: str) -> dict[str, Any]:
    plan = [step("tell", "send_email", to=[to], subject=subject, text="The spring is wound.")]
    return dict(definition(f"Write to {to}", plan))


def _drafted(session: BrowserSession, subject: str, to: str) -> str:
    """The draft of a mail that a run wants to send."""
    run = session.ended(session.started_run(session.saved(_letter(subject, to))))
    return str(run["output"]["draft_id"])


def _draft(session: BrowserSession, draft_id: str) -> dict[str, Any]:
    found: dict[str, Any] = session.ask("GET", f"/drafts/{draft_id}")
    return found


def _run_out(session: BrowserSession, draft_id: str) -> None:
    """Its time is over. The browser has a loop of its own in this thread."""
    ended = "UPDATE drafts SET expires_at = now() WHERE id = $1"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(session.environment.server.sql, ended, UUID(draft_id)).result()


def _tool(session: BrowserSession, token: str, name: str, arguments: dict[str, Any]) -> Any:
    asked = {"name": name, "arguments": arguments}
    answer = session.context.request.post(
        "/mcp",
        data={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked},
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
        },
    )
    assert answer.ok, answer.text()
    return json.loads(answer.json()["result"]["content"][0]["text"])


def _chosen(page: Page) -> Locator:
    return page.get_by_role("region", name="Selected item")


def _read(page: Page) -> None:
    """It has been shown long enough for a key to answer it."""
    expect(_chosen(page)).to_have_attribute("data-keys", "answer")


# Two taps so near to each other that nobody has read what the second one is for.
TWO_TAPS = """async () => {
  const tap = () => dispatchEvent(new KeyboardEvent("keydown", { key: "a" }));
  tap();
  await new Promise((resolve) => setTimeout(resolve, 150));
  tap();
}"""


def test_a_draft_is_seen_as_an_email_edited_taken_back_and_delivered(
    browser_session: BrowserSession,
) -> None:
    draft = _drafted(browser_session, "The tower clock", "ada@example.com")
    other = _drafted(browser_session, "The kitchen clock", "bob@example.com")
    page = browser_session.open(f"/inbox?draft={draft}")
    chosen = _chosen(page)
    mail = chosen.locator(".delivered")
    expect(mail).to_contain_text("The tower clock")
    expect(mail).to_contain_text("ada@example.com")
    expect(mail).to_contain_text("The spring is wound.")
    expect(chosen.get_by_role("link", name="this run")).to_be_visible()
    # Edited: the difference is seen as it is written, and again with the words that are kept.
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Subject").fill("The tower clock goes")
    expect(chosen.locator("ins")).to_have_text(" goes")
    chosen.get_by_role("button", name="Save text").press("Enter")
    expect(mail).to_contain_text("The tower clock goes")
    expect(chosen.get_by_text("Current text")).to_be_visible()
    expect(chosen.get_by_text("edited, revision 2")).to_be_visible()
    expect(chosen.locator(":focus")).to_have_count(1)
    # Taken back: nothing was asked of the server.
    _read(page)
    page.keyboard.press("a")
    waiting = page.get_by_role("navigation", name="Waiting items")
    expect(waiting.get_by_text("sent in")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("Undone. Nothing was sent; it is still waiting.")).to_be_visible()
    assert _draft(browser_session, draft)["status"] == "pending"
    # Approved: it leaves after its seconds, also for anyone who went to another screen.
    page.keyboard.press("k")
    expect(mail).to_contain_text("The tower clock goes")
    _read(page)
    page.evaluate(TWO_TAPS)
    expect(mail).to_contain_text("The kitchen clock")
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
    expect(page.get_by_text("Sent exactly as shown.")).to_be_visible()
    stored = _draft(browser_session, draft)
    assert (stored["status"], stored["outcome"]) == ("confirmed", "sent")
    assert stored["approved_hash"] == stored["hash"]
    sent = b"".join(browser_session.environment.post.offered)
    assert b"The tower clock goes" in sent
    assert b"The kitchen clock" not in sent
    # The other one is discarded, and says why for anyone who asks later.
    page.get_by_role("link", name=re.compile("^Inbox")).click()
    expect(mail).to_contain_text("The kitchen clock")
    expect(page).to_have_url(re.compile(f"item={other}"))
    _read(page)
    page.keyboard.press("d")
    page.get_by_role("textbox", name="Reason").fill("He knows.")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing is waiting for you")).to_be_visible()
    assert _draft(browser_session, other)["reason"] == "He knows."
    page.goto("/inbox?tab=done")
    expect(page.get_by_role("navigation", name="Answered")).to_contain_text("discarded")
    expect(page.get_by_role("navigation", name="Answered")).to_contain_text("sent")


def test_a_batch_is_approved_as_a_set_and_a_question_is_answered_on_a_phone(
    browser_session: BrowserSession,
) -> None:
    token = browser_session.ask("POST", "/tokens", {"name": "assistant"})["text"]
    batch = str(uuid4())

    def drafted(who: str) -> str:
        mail = {"to": [f"{who}@example.com"], "subject": f"For {who}", "body": "Come by."}
        asked = {"install_id": EMAIL, "action_name": "send_email", "batch_id": batch}
        made = _tool(browser_session, token, "act_on_integration", {**asked, "input": mail})
        return str(made["draft_id"])

    drafts = [drafted("carol"), drafted("dave")]
    asks = definition(
        "Publish", [step("day", "approval", title="On which day do we publish?", form=FORM)]
    )
    run = browser_session.started_run(browser_session.saved(asks))
    wait_until(lambda: browser_session.run(run)["status"] == "waiting", SOON, "the question")
    page = browser_session.open("/inbox", viewport=PHONE)
    page.get_by_role("link", name="2 drafts of one step").click()
    chosen = _chosen(page)
    expect(chosen.get_by_text("For carol", exact=True)).to_be_visible()
    expect(chosen.get_by_text("For dave", exact=True)).to_be_visible()
    expect(chosen.get_by_role("button", name="Approve all 2")).to_be_enabled()
    # One is changed and one comes to them while somebody looks: both are read before all may leave.
    seen = {"hash": _draft(browser_session, drafts[1])["hash"]}
    browser_session.ask(
        "POST", f"/drafts/{drafts[1]}/edit", {"edits": {"body": "Come at ten."}, **seen}
    )
    drafts.append(drafted("erin"))
    expect(chosen.get_by_text("2 of these changed while you were reading")).to_be_visible()
    everything = chosen.get_by_role("button", name="Approve all 3")
    for _ in range(2):
        expect(everything).to_be_disabled()
        chosen.get_by_role("button", name="I have read it").first.click()
    everything.click()
    expect(page.get_by_text("3 of 3 were sent.")).to_be_visible()
    assert {_draft(browser_session, one)["status"] for one in drafts} == {"confirmed"}
    # The question: what does not fit is said at its field, and nothing that was written is lost.
    page.goto("/inbox")
    page.get_by_role("link", name="On which day do we publish?").click()
    page.get_by_role("textbox", name="Day").fill("No")
    chosen.get_by_label("Tell everybody").check()
    chosen.get_by_role("button", name="Approve with this answer").click()
    expect(chosen.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("textbox", name="Day")).to_have_value("No")
    page.get_by_role("textbox", name="Day").fill("Thursday")
    chosen.get_by_role("button", name="Approve with this answer").click()
    expect(page.get_by_text("Approved. The run continues with your answer.")).to_be_visible()
    assert browser_session.ended(run)["output"]["answer"] == {"day": "Thursday", "loud": True}


def test_what_ran_out_is_drafted_again(browser_session: BrowserSession) -> None:
    draft = _drafted(browser_session, "Too late", "eve@example.com")
    _run_out(browser_session, draft)
    page = browser_session.open("/inbox")
    expect(page.get_by_text("Nothing is waiting for you")).to_be_visible()
    page.get_by_role("tab", name="Expired").click()
    expect(_chosen(page)).to_contain_text("Nobody answered in time")
    page.get_by_role("button", name="Draft it again").click()
    expect(_chosen(page).get_by_role("button", name="Approve")).to_be_visible()
    (again,) = browser_session.ask("GET", "/drafts?status=pending")["items"]
    assert (again["redraft_of"], again["arguments"]) == (
        draft,
        _draft(browser_session, draft)["arguments"],
    )
    # A draft that waits no longer is shown at its own address with what became of it.
    page.goto(f"/inbox?draft={draft}")
    expect(_chosen(page)).to_contain_text("Nothing was sent")


def test_what_could_not_be_sent_says_so_where_it_waits(browser_session: BrowserSession) -> None:
    """Nobody has linked a chat here."""
    token = browser_session.ask("POST", "/tokens", {"name": "assistant"})["text"]
    draft = _tool(browser_session, token, "telegram_push", {"text": "Lunch?\u200b\U000e0041"})[
        "draft_id"
    ]
    page = browser_session.open(f"/inbox?draft={draft}")
    chosen = _chosen(page)
    # What hides in the words is spelled out.
    expect(chosen.locator(".delivered")).to_contain_text("Lunch?\\u200b\\ue0041")
    chosen.get_by_role("button", name="Approve").click()
    waiting = page.get_by_role("navigation", name="Waiting items")
    expect(waiting.get_by_text("could not be sent")).to_be_visible()
    assert _draft(browser_session, draft)["status"] == "pending"
    page.goto("/inbox")
    expect(chosen.get_by_text("Could not be sent")).to_be_visible()
    expect(chosen.get_by_role("button", name="Approve")).to_be_enabled()
