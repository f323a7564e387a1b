"""A step of a run that somebody watches: from its record to its place on the screen.

python -m bench.live

Every step waits for a word from outside, so that the page is at rest before each. The record's
moment is the database's own, on the same clock as the page's. Next to the page a bare reader hears
the stream of the same run: what it waits for is the server's part, and the ratio is what two
machines can compare. The built page has to be there (scripts/build_page.py).
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import httpx2
from playwright.sync_api import expect

from tests.acceptance.commands import definition, step
from tests.kit.browsers import BrowserSession, open_environment, opened_house

STEPS: Final = 12
MOST_MS: Final = 300
YARDSTICK: Final = "a bare reader"
PAGE: Final = "the page"
# Long enough for the reading that follows a step, which shows what it answered.
_QUIET_MS: Final = 700
_WATCH: Final = """() => {
  window.shownAt = {};
  const look = () => {
    for (const row of document.querySelectorAll('.run-row[data-status="succeeded"]')) {
      window.shownAt[row.dataset.step] ??= performance.timeOrigin + performance.now();
    }
  };
  new MutationObserver(look).observe(document.body, {
    subtree: true, childList: true, attributes: true,
  });
}"""


class _Reader(threading.Thread):
    """Hears the stream of one run, and when each step was reported, in milliseconds."""

    def __init__(self, house: BrowserSession, run_id: str) -> None:
        super().__init__(daemon=True)
        self.heard: dict[str, float] = {}
        cookies = {str(one.get("name")): str(one.get("value")) for one in house.context.cookies()}
        self._client = httpx2.Client(base_url=house.address, cookies=cookies, timeout=60)
        self._path = f"/api/v1/runs/{run_id}/stream"

    def run(self) -> None:
        with self._client, self._client.stream("GET", self._path) as answer:
            self._hear(answer.iter_lines())

    def _hear(self, lines: Iterable[str]) -> None:
        kind = ""
        for line in lines:
            name, _, rest = line.partition(": ")
            if name == "event":
                kind = rest
            elif name == "data" and kind == "step":
                self.heard.setdefault(json.loads(rest)["step"], time.time() * 1000)


def _watched(session: BrowserSession) -> tuple[dict[str, Any], dict[str, dict[str, float]]]:
    """A run whose steps were let go one after the other, and when each was seen and heard of."""
    web = session.environment.web
    names = [f"step_{number}" for number in range(STEPS)]
    plan = [step(name, "http_fetch", url=web.url(f"/held/{name}")) for name in names]
    run_id = session.started_run(session.saved(definition("Watched", plan)))
    page = session.open(f"/runs/{run_id}")
    expect(page.locator('.run-row[data-step="step_0"]')).to_be_visible()
    page.evaluate(_WATCH)
    reader = _Reader(session, run_id)
    reader.start()
    for name in names:
        page.wait_for_timeout(_QUIET_MS)
        web.let_go(f"/held/{name}")
        done = f'.run-row[data-step="{name}"][data-status="succeeded"]'
        expect(page.locator(done)).to_have_count(1)
    run = session.ended(run_id)
    reader.join()
    return run, {PAGE: page.evaluate("window.shownAt"), YARDSTICK: reader.heard}


def _delays(run: Mapping[str, Any], result: Mapping[str, float]) -> list[float]:
    ended = {one["step"]: datetime.fromisoformat(one["finished_at"]) for one in run["steps"]}
    return sorted(result[name] - at.timestamp() * 1000 for name, at in ended.items())


def measure() -> dict[str, dict[str, float]]:
    """Milliseconds after the record, the middle and the most, and the middle against the bare."""
    with open_environment() as environment, opened_house(environment) as session:
        run, result = _watched(session)
    took = {name: _delays(run, result[name]) for name in (YARDSTICK, PAGE)}
    floor = statistics.median(took[YARDSTICK])
    return {
        name: {
            "ms": statistics.median(each),
            "most_ms": each[-1],
            "ratio": statistics.median(each) / floor,
        }
        for name, each in took.items()
    }


def show(found: Mapping[str, Mapping[str, float]]) -> None:
    print(f"{STEPS} steps {'ms':>16} {'at most':>10} {'x bare':>8}")
    for name, row in found.items():
        expected = f"  <= {MOST_MS} ms" if name == PAGE else ""
        print(
            f"{name:<14} {row['ms']:>10.0f} {row['most_ms']:>10.0f} {row['ratio']:>8.1f}{expected}"
        )


if __name__ == "__main__":
    show(measure())
