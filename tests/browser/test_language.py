"""The language of the page: the browser's by default, then the one that was chosen."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.kit.browsers import BrowserEnvironment, BrowserSession, opened_house, settle


def test_a_german_browser_shows_german_until_english_is_chosen(
    browser_environment: BrowserEnvironment,
) -> None:
    with opened_house(browser_environment, locale="de-DE") as session:
        page = session.open("/")
        expect(page.locator("html")).to_have_attribute("lang", "de")
        for name in ("Posteingang", "Automatisierungen", "Rezepte", "Projekte"):
            expect(page.get_by_role("link", name=name).first).to_be_visible()
        settle(page, "/settings/you")
        page.get_by_role("radiogroup", name="Sprache").get_by_text("English").click()
        expect(page.get_by_role("link", name="Automations")).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", "en")
        # The choice belongs to the browser: a new tab has it too, whatever its locale.
        again = session.open("/codex")
        expect(again.get_by_role("heading", level=1, name="Recipes")).to_be_visible()
        expect(again.get_by_role("link", name="Projects")).to_be_visible()


def test_german_is_chosen_and_english_again(browser_session: BrowserSession) -> None:
    page = browser_session.open("/settings/you")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.get_by_role("radiogroup", name="Language").get_by_text("Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    # Every screen brings its own texts: these are loaded after the choice.
    for path, title in (("/automations", "Automatisierungen"), ("/health", "Systemzustand")):
        settle(page, path)
        expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()
    settle(page, "/settings/you")
    page.get_by_role("radiogroup", name="Sprache").get_by_text("English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    settle(page, "/health")
    expect(page.get_by_role("heading", level=1, name="System health")).to_be_visible()
