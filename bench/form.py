"""A key press in the largest form of the page, against one in a form of a single field.

python -m bench.form

It counts what scripts of the page worked on its own thread, everything that follows from the
key included, and not what the clock said: a busy machine makes both dearer, so the ratio is what
two machines can compare. The built page has to be there (scripts/build_page.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from playwright.sync_api import CDPSession, Locator, Page

from tests.acceptance.commands import definition, step
from tests.kit.browsers import BrowserSession, open_environment, opened_house

STEPS: Final = 40
MOST_MS: Final = 16
KEYS: Final = "the quick brown fox jumps over it"
YARDSTICK: Final = "one field alone"
PLACES: Final = {
    "name": "/name",
    "step id": "/plan/20/step_id",
    "template": "/plan/20/config/message_template",
}
# Long enough for the judgement that follows when somebody stops writing.
_QUIET_MS: Final = 1500


def large() -> dict[str, Any]:
    """A definition whose form is as large as one is likely to be."""
    plan = [
        step(
            f"tell_{number}",
            "notification",
            title=f"Note {number} of {{{{ run.id }}}}",
            message_template="It is {{ run.started_at }} in run {{ run.id }}.",
        )
        for number in range(STEPS)
    ]
    return dict(definition("The largest form", plan))


def _spent(devtools: CDPSession) -> float:
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "ScriptDuration"))


def _per_key(page: Page, field: Locator) -> float:
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    field.click()
    page.keyboard.press("End")
    page.wait_for_timeout(_QUIET_MS)
    before = _spent(devtools)
    for key in KEYS:
        page.keyboard.type(key)
    page.wait_for_timeout(_QUIET_MS)
    return (_spent(devtools) - before) * 1000 / len(KEYS)


def _opened(session: BrowserSession) -> Page:
    """The editor with every step of it open."""
    page = session.open(f"/automations/{session.saved(large())}/edit?at={PLACES['step id']}")
    page.wait_for_selector('[data-pointer="/plan/20/step_id"] input')
    for number in range(STEPS):
        head = page.locator(f'[data-pointer="/plan/{number}"] button[aria-expanded]').first
        if head.get_attribute("aria-expanded") == "false":
            head.click()
    page.wait_for_selector(f'[data-pointer="/plan/{STEPS - 1}/config/title"] .cm-content')
    return page


def measure() -> dict[str, dict[str, float]]:
    """Milliseconds of script for each key, in each field, and each against the yardstick."""
    with open_environment() as environment, opened_house(environment) as session:
        alone = session.open("/new")
        floor = _per_key(alone, alone.get_by_role("textbox").first)
        alone.close()
        page = _opened(session)
        found = {YARDSTICK: {"ms": floor, "ratio": 1.0}}
        for name, pointer in PLACES.items():
            holder = page.locator(f'[data-pointer="{pointer}"]')
            cost = _per_key(page, holder.locator("input, textarea, .cm-content").first)
            found[name] = {"ms": cost, "ratio": cost / floor}
        return found


def show(found: Mapping[str, Mapping[str, float]]) -> None:
    print(f"{STEPS} open steps {'ms a key':>16} {'x one field':>12}")
    for name, row in found.items():
        expected = "" if name == YARDSTICK else f"  <= {MOST_MS} ms"
        print(f"{name:<20} {row['ms']:>10.1f} {row['ratio']:>12.1f}{expected}")


if __name__ == "__main__":
    show(measure())
