"""Many tabs of one browser: all of them stay usable, and all of them hear what happens."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.acceptance.commands import definition, step
from tests.kit.browsers import BrowserSession

# A browser keeps at most six connections to one server open.
TABS = 8
SAYS = """
for (let at = 0; at < 2400; at++) {
  console.log(`tick ${input.name} ${at}`);
  await new Promise((go) => setTimeout(go, 100));
}
"""


def test_eight_tabs_stay_usable_and_hear_what_happens(browser_session: BrowserSession) -> None:
    made = browser_session.saved(
        definition("Wind it", [step("wind", "transform_data", output="wound")])
    )
    tabs = [browser_session.open("/runs") for _ in range(TABS)]
    for tab in tabs:
        expect(tab.get_by_role("heading", level=1, name="Runs")).to_be_visible()
        expect(tab.get_by_role("link", name="Wind it")).to_have_count(0)
    browser_session.ended(browser_session.started_run(made))
    for tab in tabs:
        expect(tab.get_by_role("link", name="Wind it").first).to_be_visible()
    for tab in tabs:
        tab.get_by_role("link", name="System health").click()
        # The page says whether it receives events.
        expect(tab.get_by_text("Changes appear immediately.")).to_be_visible()


def test_two_tabs_follow_two_runs_at_once(browser_session: BrowserSession) -> None:
    runs = {}
    for name in ("left", "right"):
        plan = [
            step("say", "script", source=SAYS, input={"name": name}, grants=[], wall_seconds=240)
        ]
        runs[name] = browser_session.started_run(browser_session.saved(definition(name, plan)))
    tabs = {name: browser_session.open(f"/runs/{run_id}") for name, run_id in runs.items()}
    again = browser_session.open(f"/runs/{runs['left']}")
    for name, tab in [*tabs.items(), ("left", again)]:
        # From its first line on, also for a tab that comes later, and of no other run.
        expect(tab.get_by_text(f"tick {name} 0", exact=True)).to_be_visible()
        expect(tab.get_by_text(f"tick {name} 20", exact=True)).to_be_visible()
    expect(tabs["left"].get_by_text("tick right 0", exact=True)).to_have_count(0)
    # A tab that is closed takes nothing from the others.
    again.close()
    tabs.pop("right").close()
    expect(tabs["left"].get_by_text("tick left 60", exact=True)).to_be_visible()
    browser_session.ask("POST", f"/runs/{runs['right']}/cancel")
    browser_session.ask("POST", f"/runs/{runs['left']}/cancel")
    expect(tabs["left"].get_by_text("cancelled", exact=True).first).to_be_visible()
