"""How long a key press keeps the browser busy in a form of forty open steps.

Run it by hand: python -m tests.browser.measure_editor. It is no test, since time is not a promise
that a busy machine can keep; the number belongs into a report.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any, Final

from playwright.sync_api import Page

from tests.acceptance.commands import definition, step
from tests.kit.browsers import opened_house, opened_street

STEPS: Final = 40
KEYS: Final = "the quick brown fox jumps over it"

# Reacting to a key is over when React has drawn, which it does before the event's task ends.
_WATCH: Final = """() => {
  window.spent = [];
  let began = 0;
  addEventListener("keydown", () => { began = performance.now(); }, { capture: true });
  addEventListener("keyup", () => {}, { capture: true });
  const done = new MessageChannel();
  done.port1.onmessage = () => window.spent.push(performance.now() - began);
  addEventListener("input", () => done.port2.postMessage(null), { capture: true });
}"""


def large() -> dict[str, Any]:
    """A definition whose form is as large as one is likely to be."""
    plan = [
        step(f"tell_{number}", "notification", title=f"Note {number} for {{{{ inputs.name }}}}",
             message_template="It is {{ run.started_at }} in run {{ run.id }}.")
        for number in range(STEPS)
    ]  # fmt: skip
    return dict(definition("The largest form", plan))


def typed(page: Page, pointer: str) -> list[float]:
    """Milliseconds for each key in the field of this place."""
    field = page.locator(f'[data-pointer="{pointer}"]').locator("input, textarea, .cm-content")
    field.first.click()
    page.keyboard.press("End")
    page.evaluate("() => { window.spent.length = 0; }")
    for key in KEYS:
        page.keyboard.type(key)
        page.wait_for_timeout(30)
    found: list[float] = page.evaluate("() => window.spent")
    return found


def main() -> int:
    with opened_street() as street, opened_house(street) as house:
        page = house.open(f"/automations/{house.saved(large())}/edit")
        page.wait_for_selector('[data-pointer="/plan/0"]')
        for number in range(STEPS):
            page.locator(f'[data-pointer="/plan/{number}"] > div > button').first.click()
        page.wait_for_selector(f'[data-pointer="/plan/{STEPS - 1}/config/title"] .cm-content')
        page.evaluate(_WATCH)
        for pointer in ("/name", "/plan/20/step_id", "/plan/20/config/message_template"):
            spent = typed(page, pointer)
            usual, worst = statistics.median(spent), max(spent)
            sys.stdout.write(
                f"{pointer}: {len(spent)} keys, median {usual:.1f} ms, worst {worst:.1f} ms\n"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
