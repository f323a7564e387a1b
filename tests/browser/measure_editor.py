"""How long a key press keeps scripts busy in a form of forty open steps.

Run it by hand: python -m tests.browser.measure_editor. It is no test, since time is not a promise
that a busy machine can keep. It counts what the page's own thread worked, not what the clock
said, and the number belongs into a report.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from playwright.sync_api import CDPSession, Page

from tests.acceptance.commands import definition, step
from tests.kit.browsers import opened_house, opened_street

STEPS: Final = 40
KEYS: Final = "the quick brown fox jumps over it"
PLACES: Final = ("/name", "/plan/20/step_id", "/plan/20/config/message_template")


def large() -> dict[str, Any]:
    """A definition whose form is as large as one is likely to be."""
    plan = [
        step(f"tell_{number}", "notification", title=f"Note {number} of {{{{ run.id }}}}",
             message_template="It is {{ run.started_at }} in run {{ run.id }}.")
        for number in range(STEPS)
    ]  # fmt: skip
    return dict(definition("The largest form", plan))


def spent(devtools: CDPSession) -> float:
    """Seconds that scripts have worked so far."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "ScriptDuration"))


def milliseconds_per_key(page: Page, devtools: CDPSession, pointer: str) -> float:
    """What one key costs in the field of this place, everything that follows from it included."""
    field = page.locator(f'[data-pointer="{pointer}"]').locator("input, textarea, .cm-content")
    field.first.click()
    page.keyboard.press("End")
    page.wait_for_timeout(1500)
    before = spent(devtools)
    for key in KEYS:
        page.keyboard.type(key)
    return (spent(devtools) - before) * 1000 / len(KEYS)


def main() -> int:
    """Opens every step, writes in three fields, and says what a key cost in each."""
    with opened_street() as street, opened_house(street) as house:
        page = house.open(f"/automations/{house.saved(large())}/edit")
        page.wait_for_selector('[data-pointer="/plan/0"]')
        for number in range(STEPS):
            page.locator(f'[data-pointer="/plan/{number}"] > div > button').first.click()
        page.wait_for_selector(f'[data-pointer="/plan/{STEPS - 1}/config/title"] .cm-content')
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        for pointer in PLACES:
            cost = milliseconds_per_key(page, devtools, pointer)
            sys.stdout.write(f"{pointer}: {cost:.1f} ms of script for each key\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
