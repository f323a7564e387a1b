"""Administration pages: sign-in, members, tokens, workspaces, costs and the audit log."""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.commands import definition, step
from tests.kit.browsers import BrowserSession, violations

_PASSWORD = "a few words in a row"
_MARK = (
    '[[llm_usage]]{"model": "tiny-1", "input_tokens": 1200, "output_tokens": 300, '
    '"cost_usd": 0.25}[[/llm_usage]]'
)


def _signed_out_and_in_again(guest: Page, strangers: BrowserContext) -> None:
    """A session ends while somebody writes: they sign in over the screen, and lose nothing."""
    guest.goto("/settings/tokens")
    guest.get_by_role("textbox", name="Name").fill("ci of the tower")
    strangers.clear_cookies()
    guest.get_by_role("button", name="Create token").click()
    entry_point = guest.get_by_role("dialog", name="You were signed out")
    expect(entry_point.get_by_role("textbox", name="Email")).to_have_value("grace@example.org")
    assert violations(guest) == []
    entry_point.get_by_label(re.compile("^Password")).fill("something else entirely")
    entry_point.get_by_role("button", name="Sign in").click()
    expect(entry_point.get_by_role("alert")).to_be_visible()
    entry_point.get_by_label(re.compile("^Password")).fill(_PASSWORD)
    entry_point.get_by_role("button", name="Sign in").click()
    expect(entry_point).to_have_count(0)
    expect(guest.get_by_role("textbox", name="Name")).to_have_value("ci of the tower")
    guest.get_by_role("button", name="Create token").click()
    expect(guest.get_by_label("The new token")).to_be_visible()


def test_somebody_is_invited_comes_in_by_the_link_and_is_welcomed(
    browser_session: BrowserSession, page: Page, strangers: BrowserContext
) -> None:
    page.goto("/settings/members")
    page.get_by_role("textbox", name="Email").fill("grace@example.org")
    page.get_by_role("button", name="Invite", exact=True).click()
    link = page.get_by_label("Invitation link").inner_text()
    expect(page.get_by_role("list", name="Open invitations")).to_contain_text("grace@example.org")

    oauth_client = strangers.new_page()
    oauth_client.goto("/audit")
    expect(oauth_client).to_have_url(f"{browser_session.address}/sign-in")
    # A link in the address of this very page is taken out of it before anything else is done.
    oauth_client.goto(link)
    expect(oauth_client.get_by_role("heading", level=1)).to_contain_text(
        "invites you to Clockmakers"
    )
    expect(oauth_client).to_have_url(f"{browser_session.address}/sign-in")
    expect(oauth_client.get_by_text("You will be an editor there.")).to_be_visible()
    # Looking uses nothing up.
    assert browser_session.ask("GET", "/members")["invitations"]
    oauth_client.get_by_role("button", name="Join Clockmakers").click()
    oauth_client.get_by_role("textbox", name="Your name").fill("Grace")
    oauth_client.get_by_label(re.compile("^Password")).fill("short")
    oauth_client.get_by_role("button", name="Save and continue").click()
    expect(oauth_client).to_have_url(f"{browser_session.address}/sign-in")
    oauth_client.get_by_label(re.compile("^Password")).fill(_PASSWORD)
    oauth_client.get_by_role("button", name="Save and continue").click()
    # Back to where she wanted to go first; an editor may not read the log, and is refused.
    expect(oauth_client).to_have_url(f"{browser_session.address}/audit")
    expect(
        oauth_client.get_by_role("heading", name="Only admins can read the audit log")
    ).to_be_visible()

    oauth_client.get_by_role("link", name="Home").click()
    expect(oauth_client.get_by_role("heading", level=1, name="Welcome, Grace")).to_be_visible()
    oauth_client.get_by_role("textbox", name="Describe what should happen").fill("Wind the clocks")
    oauth_client.get_by_role("button", name="Create a proposal").click()
    expect(oauth_client).to_have_url(re.compile(r"/proposals/[0-9a-f-]{36}"))

    page.reload()
    page.get_by_role("combobox", name="Role of Grace").click()
    page.get_by_role("option", name="Admin Can also").click()
    expect(page.get_by_text("Grace is now admin.")).to_be_visible()
    oauth_client.goto("/audit")
    expect(oauth_client.get_by_text("changed the role of").first).to_be_visible()

    _signed_out_and_in_again(oauth_client, strangers)

    page.get_by_role("button", name="Remove Grace").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("list", name="Members")).not_to_contain_text("Grace")


def test_a_token_is_shown_once_and_what_happened_is_reported(
    browser_session: BrowserSession, page: Page
) -> None:
    # Every workspace of this server is called the same; this one is looked for by its name.
    browser_session.ask(
        "PATCH", f"/workspaces/{browser_session.workspace_id}", {"name": "Tower clocks"}
    )
    page.goto("/settings/tokens")
    page.get_by_role("textbox", name="Name").fill("ci of the tower")
    page.get_by_role("button", name="Create token").click()
    text = page.get_by_label("The new token").inner_text()
    assert text.startswith("msk_")
    page.reload()
    expect(page.get_by_role("list", name="Tokens")).to_contain_text("ci of the tower")
    expect(page.get_by_text(text)).to_have_count(0)
    page.get_by_role("button", name="Revoke ci of the tower").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("No tokens yet")).to_be_visible()

    think = step("think", "script", source=f"console.log('{_MARK}');", grants=[])
    made = browser_session.saved(definition("Think aloud", [think]))
    browser_session.ended(browser_session.started_run(made))
    page.get_by_role("link", name="Costs").click()
    asks = page.get_by_role("region", name="Model requests")
    expect(asks.get_by_role("link", name="Think aloud")).to_be_visible()
    page.get_by_text("Model", exact=True).first.click()
    expect(page).to_have_url(re.compile("by=model"))
    page.get_by_role("button", name=re.compile("tiny-1")).click()
    expect(page).to_have_url(re.compile("model=tiny-1"))
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export as CSV").click()
    assert "tiny-1" in saved.value.path().read_text(encoding="utf-8")

    page.get_by_role("link", name="Audit log").click()
    expect(page.get_by_text("created the automation").first).to_be_visible()
    page.get_by_role("combobox", name="Action").fill("delete_token")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("action=delete_token"))
    expect(page.get_by_text("1 entry shown")).to_be_visible()
    page.get_by_role("button", name="Details of delete_token").click()
    expect(page.get_by_label("Entry", exact=True)).to_contain_text("delete_token")

    page.get_by_role("link", name="System health").click()
    expect(page.get_by_text("The database responds.")).to_be_visible()
    page.goto("/settings/workspace")
    page.get_by_role("textbox", name="New workspace").fill("Lab of the tower")
    page.get_by_role("button", name="Create workspace").click()
    expect(page.get_by_role("heading", level=1, name=re.compile("^Welcome"))).to_be_visible()
    expect(page.get_by_role("button", name="Lab of the tower")).to_be_visible()
    page.goto("/settings/workspace")
    page.get_by_role("button", name="Switch to Tower clocks").click()
    expect(page.get_by_role("link", name="Think aloud").first).to_be_visible()


def test_a_tab_shows_and_changes_one_workspace_though_another_tab_goes_elsewhere(
    browser_session: BrowserSession, page: Page
) -> None:
    second = browser_session.ask("POST", "/workspaces", {"name": "Second tower"})["id"]
    elsewhere = page.get_by_role("button", name="Second tower")
    # A tab that hears of it at once shows the other workspace.
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    browser_session.ask("POST", "/session/workspace", {"workspace_id": second})
    expect(elsewhere).to_be_visible()
    browser_session.ask(
        "POST", "/session/workspace", {"workspace_id": browser_session.workspace_id}
    )
    expect(elsewhere).to_have_count(0)

    # One that hears nothing changes nothing there. Requests of a shared worker cannot be held
    # back here; a page without shared workers asks by itself.
    page.add_init_script("delete window.SharedWorker")
    page.route("**/api/v1/stream*", lambda route: None)
    page.goto("/secrets")
    page.get_by_role("button", name="Add a secret").first.click()
    form = page.get_by_role("dialog")
    form.get_by_role("textbox", name="Name").fill("first_key")
    form.get_by_label("Value").first.fill("of the first tower")
    browser_session.ask("POST", "/session/workspace", {"workspace_id": second})
    form.get_by_role("button", name="Save").click()
    expect(elsewhere).to_be_visible()
    assert browser_session.ask("GET", "/secrets")["secrets"] == []
    browser_session.ask(
        "POST", "/session/workspace", {"workspace_id": browser_session.workspace_id}
    )
    assert browser_session.ask("GET", "/secrets")["secrets"] == []
    # A request that is still held back would keep the page from closing.
    page.unroute_all(behavior="ignoreErrors")
