"""A server that is stopped and started under an open page: the page stays, and goes on."""

from __future__ import annotations

import contextlib
from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.acceptance.commands import Mainspring, definition, open_folder, step
from tests.acceptance.server import started
from tests.kit.browsers import BrowserEnvironment, signed_in


def test_a_stopped_server_leaves_the_page_as_it_is_until_it_is_back(
    browser_environment: BrowserEnvironment,
) -> None:
    with contextlib.ExitStack() as stack:
        mainspring = Mainspring(stack.enter_context(open_folder()) / "home")
        first = stack.enter_context(contextlib.ExitStack())
        server = first.enter_context(started(mainspring))
        state = signed_in(server, browser_environment.browser)
        context = stack.enter_context(
            contextlib.closing(
                browser_environment.browser.new_context(
                    base_url=server.address, storage_state=state
                )
            )
        )
        page = context.new_page()
        page.goto("/health")
        expect(page.get_by_text("Changes appear immediately.")).to_be_visible()
        reconnecting = page.get_by_role("status").filter(has_text="Reconnecting")
        expect(reconnecting).to_have_count(0)
        page.evaluate("() => { window.same = true }")

        assert server.stop() == 0
        first.close()
        expect(reconnecting).to_be_visible()
        # Screens whose scripts this tab has not fetched yet.
        page.get_by_role("link", name="Boards").click()
        page.get_by_role("link", name="Costs").click()
        page.get_by_role("link", name="Automations").click()
        # Longer than the page waits between two tries to fetch one.
        page.wait_for_timeout(2_500)
        assert page.evaluate("() => window.same")
        expect(reconnecting).to_be_visible()

        port = urlsplit(server.address).port
        assert port is not None
        again = stack.enter_context(started(mainspring, port=port))
        expect(page.get_by_role("heading", level=1, name="Automations")).to_be_visible()
        expect(reconnecting).to_have_count(0)
        made = again.save(definition("Wind it", [step("wind", "transform_data", output="wound")]))
        again.ended(again.run(made))
        # It hears again what happens, in the page that was open all the time.
        expect(page.get_by_role("link", name="Wind it")).to_be_visible()
        assert page.evaluate("() => window.same")
