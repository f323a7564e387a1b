"""Fixtures of the tests at the page: one server and one browser per process, a house per test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.commands import warm
from tests.kit.browsers import DESK, PATIENCE_MS, House, Street, opened_house, opened_street


@pytest.fixture(scope="session")
def street() -> Iterator[Street]:
    """A server and a browser, shared by the tests of this process."""
    expect.set_options(timeout=PATIENCE_MS)
    with opened_street() as made:
        yield made
    if warm.cache_info().currsize:
        warm().close()


@pytest.fixture
def house(street: Street) -> Iterator[House]:
    """A workspace that nobody has seen before."""
    with opened_house(street) as made:
        yield made


@pytest.fixture
def page(house: House) -> Page:
    """A tab of that house's browser, at its first screen."""
    return house.open("/")


@pytest.fixture
def strangers(street: Street) -> Iterator[BrowserContext]:
    """A browser that nobody has signed in with."""
    context = street.browser.new_context(
        base_url=street.server.address,
        viewport={"width": DESK["width"], "height": DESK["height"]},
    )
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()
