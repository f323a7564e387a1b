"""Fixtures of the browser tests: one server and browser per process, one workspace per test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.commands import warm
from tests.kit.browsers import (
    DESK,
    PATIENCE_MS,
    BrowserEnvironment,
    BrowserSession,
    open_environment,
    opened_house,
)


@pytest.fixture(scope="session")
def browser_environment() -> Iterator[BrowserEnvironment]:
    """A server and a browser, shared by the tests of this process."""
    expect.set_options(timeout=PATIENCE_MS)
    with open_environment() as made:
        yield made
    if warm.cache_info().currsize:
        warm().close()


@pytest.fixture
def browser_session(browser_environment: BrowserEnvironment) -> Iterator[BrowserSession]:
    """A workspace that nobody has seen before."""
    with opened_house(browser_environment) as made:
        yield made


@pytest.fixture
def page(browser_session: BrowserSession) -> Page:
    """A tab of that application's browser, at its first screen."""
    return browser_session.open("/")


@pytest.fixture
def strangers(browser_environment: BrowserEnvironment) -> Iterator[BrowserContext]:
    """A browser that nobody has signed in with."""
    context = browser_environment.browser.new_context(
        base_url=browser_environment.server.address,
        viewport={"width": DESK["width"], "height": DESK["height"]},
    )
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()
