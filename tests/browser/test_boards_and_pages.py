"""Boards and pages: a long table is scrolled, written in and drawn; a page is found and opened."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from playwright.sync_api import Page, Route, expect

from tests.kit.boards import MANY_ROWS
from tests.kit.browsers import BrowserSession, violations

MANY = 100_000
COLUMNS = [
    {"key": "company", "label": "Company"},
    {"key": "state", "label": "State", "field_type": "select", "options": ["open", "won"]},
    {"key": "price", "label": "Price", "field_type": "number"},
]


def long_board(session: BrowserSession) -> str:
    datasets = [{"name": "default", "columns": COLUMNS}]
    made = session.ask("POST", "/boards", {"name": "Deals", "datasets": datasets})
    # The browser has the loop of this thread.
    with ThreadPoolExecutor(1) as other:
        other.submit(session.environment.server.sql, MANY_ROWS, UUID(made["id"]), MANY).result()
    return str(made["id"])


def test_a_board_whose_rows_are_on_their_way_points_at_no_cell(
    browser_session: BrowserSession,
) -> None:
    datasets = [{"name": "default", "columns": COLUMNS}]
    made = browser_session.ask("POST", "/boards", {"name": "Late", "datasets": datasets})
    page, held = browser_session.open("/boards"), list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/boards/*/rows*", hold)
    page.goto(f"/boards/{made['id']}")
    grid = page.get_by_role("grid", name="Rows of default")
    expect(grid).to_be_visible()
    assert grid.get_attribute("aria-activedescendant") is None
    assert violations(page) == []
    for one in held:
        one.continue_()
    expect(grid).to_have_count(0)


def test_a_board_of_a_hundred_thousand_rows_is_read_written_and_drawn(
    browser_session: BrowserSession,
) -> None:
    board = long_board(browser_session)
    page = browser_session.open("/boards")
    page.get_by_role("link", name="Deals").click()
    grid = page.get_by_role("grid", name="Rows of default")
    expect(grid.get_by_role("gridcell", name="Company 1", exact=True)).to_be_visible()
    expect(page.get_by_text("100,000 rows", exact=True)).to_be_visible()

    # To the very end, by the keyboard, and only a few rows are drawn there.
    grid.focus()
    page.keyboard.press("Control+ArrowDown")
    last = grid.get_by_role("gridcell", name="Company 100000", exact=True)
    expect(last).to_be_visible()
    assert grid.get_by_role("row").count() < 80

    # A cell is written by its type: what does not fit is said and stays, what fits is kept.
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    cell = page.get_by_role("textbox", name="Price")
    cell.fill("much")
    cell.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Enter a number such as 12.5.")
    cell.fill("123456.5")
    cell.press("Enter")
    expect(grid.get_by_role("gridcell", name="123,456.5")).to_be_visible()
    assert violations(page) == []

    # After a reload it is there, and sorting by its column shows it first.
    page.goto(f"/boards/{board}?sort=price&order=down")
    expect(grid.get_by_role("gridcell", name="123,456.5")).to_be_visible()
    expect(grid.locator('[data-row="0"]')).to_contain_text("Company 100000")

    # A deleted row comes back.
    grid.locator('[data-row="0"] [data-number]').click()
    page.get_by_role("button", name="Delete 1 row").click()
    expect(page.get_by_text("99,999 rows found")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("100,000 rows found")).to_be_visible()

    # A word that is in every row is found at once; so many are not counted.
    search = page.get_by_role("textbox", name="Search rows")
    search.fill("company")
    expect(page.get_by_text("More than 11,000 rows found")).to_be_visible()
    search.fill("company 99999")
    expect(page.get_by_text("1 row found")).to_be_visible()
    search.fill("")

    page.get_by_role("tab", name="Charts").click()
    chart = page.get_by_role("img", name=re.compile("Number of rows: 2 values"))
    expect(chart.locator(".recharts-bar-rectangle")).to_have_count(2)
    page.get_by_role("button", name="Data").click()
    expect(page.get_by_role("cell", name="50,000")).to_have_count(2)


def test_a_page_is_written_found_by_search_and_opened(
    browser_session: BrowserSession, page: Page
) -> None:
    text = "We open at **nine**.\n\n## Where\n\n- Bell Street\n\n<img src=x onerror=alert(1)>"
    browser_session.ask("POST", "/pages", {"type": "note", "title": "Office hours", "body": text})
    browser_session.ask(
        "POST", "/pages", {"type": "derived", "title": "Weekly report", "body": "Sales."}
    )
    page.goto("/pages")
    expect(page.get_by_role("link", name=re.compile("Weekly report"))).to_be_visible()
    page.get_by_role("textbox", name="Search pages").fill("nine")
    hit = page.get_by_role("link", name=re.compile("Office hours"))
    expect(hit.locator("mark")).to_have_text("nine")
    expect(page.get_by_role("link", name=re.compile("Weekly report"))).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="found by")).to_contain_text("words")
    hit.click()
    expect(page.get_by_role("heading", level=1, name="Office hours")).to_be_visible()
    expect(page.get_by_role("heading", level=2, name="Where")).to_be_visible()
    expect(page.get_by_text("<img src=x onerror=alert(1)>")).to_be_visible()
    assert violations(page) == []

    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Text").fill("We open at *ten*.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("article").get_by_text("ten")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1, name="Pages")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name=re.compile("Office hours"))).to_be_visible()
