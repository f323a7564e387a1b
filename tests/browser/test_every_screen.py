"""Every screen, with data and empty: light and dark, on a desktop and on a phone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kit.browsers import (
    PHONE,
    BrowserEnvironment,
    BrowserSession,
    opened_house,
    settle,
    violations,
)
from tests.kit.sample_workspace import furnished

# Screens that ask for an answer on a phone; the rest is for a desktop.
POCKET = ("home", "inbox", "run", "run-failed", "runs", "automations", "proposal", "new")


@pytest.fixture(scope="module")
def lived_in(
    browser_environment: BrowserEnvironment,
) -> Iterator[tuple[BrowserSession, dict[str, str]]]:
    """An application with something on every screen, shared by the tests of this file."""
    with opened_house(browser_environment) as session:
        yield session, furnished(session)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_screen(
    lived_in: tuple[BrowserSession, dict[str, str]], scheme: str
) -> None:
    application, screens = lived_in
    page = application.open("/")
    page.emulate_media(
        color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce"
    )
    found = {}
    for name, path in screens.items():
        settle(page, path)
        if wrong := violations(page):
            found[name] = wrong
    page.close()
    assert found == {}


def test_nothing_is_wider_than_a_phone(lived_in: tuple[BrowserSession, dict[str, str]]) -> None:
    application, screens = lived_in
    page = application.open("/", viewport=PHONE)
    wider = {}
    for name in POCKET:
        settle(page, screens[name])
        width = page.evaluate("() => document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            wider[name] = width
    page.close()
    assert wider == {}


def test_an_empty_installation_offers_a_next_step_on_every_screen(
    browser_session: BrowserSession,
) -> None:
    page = browser_session.open("/")
    for path in (
        "/",
        "/automations",
        "/runs",
        "/inbox",
        "/codex",
        "/boards",
        "/pages",
        "/workflows",
        "/integrations",
        "/models",
        "/secrets",
        "/connect",
        "/costs",
        "/audit",
        "/health",
    ):
        settle(page, path)
        main = page.locator("main")
        assert violations(page) == [], path
        assert main.get_by_role("button").count() + main.get_by_role("link").count() > 0, path
