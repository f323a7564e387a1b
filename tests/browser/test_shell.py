"""The frame of the page: getting about, the palette, and addresses that are none."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from tests.acceptance.commands import definition, step
from tests.kit.browsers import BrowserSession, settle


def test_the_palette_goes_anywhere_and_finds_by_name(
    browser_session: BrowserSession, page: Page
) -> None:
    plan = [step("wind", "transform_data", output="wound")]
    made = browser_session.saved(definition("Wind the tower clock", plan))
    page.keyboard.press("Control+k")
    box = page.get_by_role("textbox", name="Go to, create or find")
    box.fill("audit")
    page.get_by_text("Go to Audit log").click()
    expect(page.get_by_role("heading", level=1, name="Audit log")).to_be_visible()
    page.keyboard.press("Control+k")
    box.fill("tower")
    page.get_by_role("button", name="Wind the tower clock").click()
    expect(page).to_have_url(f"{browser_session.address}/automations/{made}")
    page.get_by_role("link", name="Inbox").click()
    expect(page.get_by_role("link", name="Inbox")).to_have_attribute("aria-current", "page")


def test_enter_in_the_palette_takes_the_first_match_however_late_it_is_found(
    browser_session: BrowserSession, page: Page
) -> None:
    made = browser_session.saved(
        definition("Tower", [step("wind", "transform_data", output="wound")])
    )
    held: list[Route] = []
    # A list has no attribute for what the library would note on a method of it.
    page.route("**/api/v1/automations?search=*", lambda route: held.append(route))  # noqa: PLW0108
    box = page.get_by_role("textbox", name="Go to, create or find")

    def found() -> None:
        while not held:
            page.wait_for_timeout(20)
        for route in held:
            route.continue_()
        held.clear()

    # Entered before anything is found: the first match is taken when it is there.
    page.keyboard.press("Control+k")
    with page.expect_request("**/api/v1/automations?search=tower*"):
        box.fill("tower")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Searching …")).to_be_visible()
    found()
    expect(page).to_have_url(f"{browser_session.address}/automations/{made}")

    # Entered after it was found: the first of the list is chosen, not what was first before.
    settle(page, "/health")
    page.keyboard.press("Control+k")
    with page.expect_request("**/api/v1/automations?search=tower*"):
        box.fill("tower")
    found()
    expect(page.get_by_role("button", name="Tower automation")).to_have_attribute(
        "data-selected", "true"
    )
    expect(page.get_by_role("button", name="New automation: tower")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{browser_session.address}/automations/{made}")

    # Where nothing is found nothing is begun, before somebody has seen that.
    settle(page, "/health")
    page.keyboard.press("Control+k")
    with page.expect_request("**/api/v1/automations?search=steeple*"):
        box.fill("steeple")
    page.keyboard.press("Enter")
    found()
    expect(page.get_by_role("button", name="New automation: steeple")).to_be_visible()
    expect(page).to_have_url(f"{browser_session.address}/health")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{browser_session.address}/new?words=steeple")


def test_an_address_that_is_none_says_so_and_leads_on(browser_session: BrowserSession) -> None:
    for path in ("/no-such-screen", "/boards/none/of/them"):
        page = browser_session.open(path)
        expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
        page.get_by_role("link", name="Go to Home").click()
        expect(page).to_have_url(f"{browser_session.address}/")
        page.close()


def test_an_anonymous_visitor_signs_in_first(browser_session: BrowserSession) -> None:
    browser_session.context.clear_cookies()
    page = browser_session.open("/automations?search=clock")
    expect(page).to_have_url(f"{browser_session.address}/sign-in")
    expected = page.evaluate("() => JSON.parse(localStorage.getItem('mainspring.wanted')).path")
    assert expected == "/automations?search=clock"


def test_a_person_signed_out_while_writing_loses_nothing(browser_session: BrowserSession) -> None:
    made = browser_session.saved(
        definition("Wind it", [step("wind", "transform_data", output="wound")])
    )
    page = browser_session.open(f"/automations/{made}/edit")
    goal = page.locator('[data-pointer="/goal"]').get_by_role("textbox")
    goal.fill("Keep the hour.")
    expect(page.get_by_text("Ready to save.")).to_be_visible()
    known = browser_session.context.cookies()
    browser_session.context.clear_cookies()
    page.get_by_role("button", name="Save as new version").click()
    page.get_by_role("button", name="Save", exact=True).click()
    entry_point = page.get_by_role("dialog", name="You were signed out")
    expect(entry_point).to_be_visible()
    expect(goal).to_have_value("Keep the hour.")
    # Signed in elsewhere, and back at this tab: what was refused is pressed again.
    browser_session.context.add_cookies([{**one} for one in known])  # type: ignore[typeddict-item]
    page.evaluate("() => dispatchEvent(new Event('focus'))")
    expect(entry_point).to_have_count(0)
    page.get_by_role("button", name="Save as new version").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as version 2")).to_be_visible()


def test_a_user_who_signs_out_leaves_no_draft_text(browser_session: BrowserSession) -> None:
    # A session of their own: the others go on with the one that all of them share.
    browser_session.context.clear_cookies()
    link = str(browser_session.environment.server.mainspring("sign-in", "--json").json["link"])
    entered = browser_session.context.request.post(
        "/api/v1/session/link", data={"token": link.partition("#")[2]}
    )
    browser_session.csrf = entered.json()["csrf_token"]
    browser_session.ask(
        "POST", "/session/workspace", {"workspace_id": browser_session.workspace_id}
    )
    page = browser_session.open("/new")
    words = page.get_by_role("textbox", name="What should happen, and when?")
    words.fill("Tell nobody of the bell.")
    # A page from the browser's memory is loaded anew, and what was written is still there.
    page.evaluate("() => { window.old = true }")
    with page.expect_event("load"):
        page.evaluate("() => dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    assert page.evaluate("() => window.old") is None
    expect(words).to_have_value("Tell nobody of the bell.")
    keys = page.evaluate("() => Object.keys(sessionStorage).join()")
    assert browser_session.workspace_id in keys, keys
    page.get_by_role("button", name="Clockmakers").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page).to_have_url(f"{browser_session.address}/sign-in")
    assert "bell" not in page.evaluate("() => JSON.stringify(sessionStorage)")
