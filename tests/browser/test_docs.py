"""The documentation in a browser: search, theme and navigation work under the server's policy."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from mainspring import __version__
from mainspring.surfaces.web.docs_site import BUILT_DOCS
from scripts.build_page import ROOT, build_docs
from tests.kit.browsers import BrowserSession


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    build_docs(ROOT, BUILT_DOCS)


def test_search_theme_and_navigation_work(browser_session: BrowserSession, page: Page) -> None:
    page.goto("/docs/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    # A wide window has tabs, a narrow one a drawer.
    page.set_viewport_size({"width": 1400, "height": 900})
    page.locator(".md-tabs").get_by_role("link", name="Operations").click()
    expect(page).to_have_url(re.compile(r"/docs/operations/"))

    search = page.locator(".md-search__input")
    search.click()
    search.press_sequentially("webhook signature")
    # Several pages match, and the list changes with every key: any page on webhooks will do.
    page.locator(".md-search-result__link[href*='/guides/webhook']").first.click()
    expect(page).to_have_url(re.compile(r"/docs/guides/webhook"))

    # The button appears once the scheme is set.
    toggle = page.locator("label.md-header__button[for^=__palette]:visible")
    expect(toggle).to_be_visible()
    scheme = page.locator("body").get_attribute("data-md-color-scheme")
    toggle.click()
    expect(page.locator("body")).not_to_have_attribute("data-md-color-scheme", scheme or "")
    chosen = page.locator("body").get_attribute("data-md-color-scheme")
    page.reload()
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", chosen or "")

    # A violation of the policy is an error on the console.
    assert browser_session.complaints == []


def test_each_screen_links_to_its_page(browser_session: BrowserSession, page: Page) -> None:
    page.goto("/runs")
    link = page.get_by_role("link", name="Help")
    expect(link).to_have_attribute("href", "/docs/concepts/runs/")
    expect(link).to_contain_text(__version__)
    with page.context.expect_page() as opened:
        link.click()
    expect(opened.value.get_by_role("heading", level=1)).to_be_visible()
    expect(opened.value).to_have_url(re.compile(r"/docs/concepts/runs/$"))
    opened.value.close()
    assert browser_session.complaints == []
