"""Names that somebody else wrote: what they hide is spelled out wherever they are shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import Page, expect

from tests.acceptance.commands import definition, step
from tests.kit.browsers import BrowserSession, settle

# Right-to-left override: what follows it is shown from its end to its beginning.
TURNED = "Pay \u202egnp.eciovni"
SPELLED = "Pay \\u202egnp.eciovni"


def _is_spelled_out(page: Page) -> None:
    expect(page.get_by_text(SPELLED).first).to_be_visible()
    shown = page.evaluate("() => document.body.innerText + document.title")
    assert "\u202e" not in shown, shown


def test_a_name_that_turns_text_around_is_spelled_out(browser_session: BrowserSession) -> None:
    made = browser_session.saved(definition("Pay", [step("pay", "transform_data", output="paid")]))
    run_id = browser_session.started_run(made)
    browser_session.ended(run_id)
    board = browser_session.ask("POST", "/boards", {"name": "Bills"})["id"]
    server = browser_session.environment.server
    # As they were saved before such names were refused, or as an outside service calls something.
    # The browser has a loop of this thread.
    with ThreadPoolExecutor() as pool:
        for table, one in (("automations", made), ("boards", board)):
            statement = f"UPDATE {table} SET name = $1 WHERE id = $2"
            assert pool.submit(server.sql, statement, TURNED, one).result() == "UPDATE 1"
    page = browser_session.open("/")
    for path in (
        "/",
        "/automations",
        f"/automations/{made}",
        f"/automations/{made}/runs",
        "/runs",
        f"/runs/{run_id}",
        "/boards",
        f"/boards/{board}",
    ):
        settle(page, path)
        _is_spelled_out(page)
    page.keyboard.press("Control+k")
    page.get_by_role("textbox", name="Go to, create or find").fill("pay")
    _is_spelled_out(page)
