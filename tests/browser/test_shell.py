"""The frame of the page: getting about, the palette, and addresses that are none."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.acceptance.commands import definition, step
from tests.kit.browsers import House


def test_the_palette_goes_anywhere_and_finds_by_name(house: House, page: Page) -> None:
    plan = [step("wind", "transform_data", output="wound")]
    made = house.saved(definition("Wind the tower clock", plan))
    page.keyboard.press("Control+k")
    box = page.get_by_role("textbox", name="Go to, create or find")
    box.fill("audit")
    page.get_by_text("Go to Audit log").click()
    expect(page.get_by_role("heading", level=1, name="Audit log")).to_be_visible()
    page.keyboard.press("Control+k")
    box.fill("tower")
    page.get_by_role("button", name="Wind the tower clock").click()
    expect(page).to_have_url(f"{house.address}/automations/{made}")
    page.get_by_role("link", name="Inbox").click()
    expect(page.get_by_role("link", name="Inbox")).to_have_attribute("aria-current", "page")


def test_an_address_that_is_none_says_so_and_leads_on(house: House) -> None:
    for path in ("/no-such-screen", "/boards/none/of/them"):
        page = house.open(path)
        expect(page.get_by_role("heading", name="There is nothing at this address")).to_be_visible()
        page.get_by_role("link", name="Go to the start").click()
        expect(page).to_have_url(f"{house.address}/")
        page.close()


def test_whoever_is_not_signed_in_signs_in_first(house: House) -> None:
    house.context.clear_cookies()
    page = house.open("/automations?search=clock")
    expect(page).to_have_url(f"{house.address}/sign-in")
    wanted = page.evaluate("() => JSON.parse(localStorage.getItem('mainspring.wanted')).path")
    assert wanted == "/automations?search=clock"
