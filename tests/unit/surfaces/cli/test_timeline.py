"""A run's moments become lines that say what happened, each of them once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import UpstreamError
from mainspring.runs.rows import Kind, RunEnd, RunEvent
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.timeline import RunTimeline, TimelineEntry, paint

RUN = UUID(int=1)


def moment(kind: Kind, step: str = "", status: str = "", **more: Any) -> RunEvent:
    return RunEvent(kind, RUN, step, more.pop("item", ""), status, **more)


def test_a_step_is_shown_when_it_starts_and_when_it_ends() -> None:
    timeline = RunTimeline()

    started = timeline.see(moment("step_started", "fetch"), 10.0)
    assert started == TimelineEntry("started", "fetch")
    assert list(timeline.going) == [("fetch", "")]

    ended = timeline.see(
        moment("step_finished", "fetch", "succeeded", ms=12, detail={"a": 1}), 10.1
    )
    assert ended == TimelineEntry("succeeded", "fetch", "", "12 ms", {"a": 1})
    assert timeline.going == {}


def test_a_retry_tells_its_reason_and_its_pause() -> None:
    timeline = RunTimeline()
    broken = UpstreamError("Nobody answered.")

    timeline.see(moment("step_started", "fetch"), 10.0)
    again = timeline.see(moment("step_retrying", "fetch", "retrying", ms=31, detail=broken), 10.0)
    assert again is not None
    assert again.kind == "retrying"
    assert "attempt 1 failed after 31 ms: Nobody answered." in again.words
    assert timeline.going["fetch", ""].trouble == "Nobody answered."

    second = timeline.see(moment("step_started", "fetch", attempt=2), 11.5)
    assert second == TimelineEntry("started", "fetch", "", "attempt 2, after a pause of 1.5 s")

    last = timeline.see(
        moment("step_finished", "fetch", "failed", attempt=2, ms=3, detail=broken), 11.6
    )
    assert last == TimelineEntry(
        "failed", "fetch", "", "attempt 2 failed after 3 ms: Nobody answered."
    )


def test_a_sleeping_run_says_until_when_and_only_once() -> None:
    timeline = RunTimeline()
    until = datetime.now(UTC) + timedelta(seconds=2)

    timeline.see(moment("step_started", "nap"), 1.0)
    assert timeline.see(moment("step_finished", "nap", "waiting"), 1.0) is None
    line = timeline.see(
        moment("run_ended", "", "waiting", detail=RunEnd("waiting", due_at=until)), 1.0
    )
    assert line is not None
    assert line.kind == "waiting"
    assert line.step == "nap"
    assert timeline.sleep(until) is None

    timeline.see(moment("run_resumed"), 3.0)
    woken = timeline.see(moment("step_finished", "nap", "succeeded"), 3.0)
    assert woken is not None
    assert woken.kind == "succeeded"
    assert timeline.asleep_until is None


def test_what_was_heard_and_then_read_is_reported_once() -> None:
    timeline = RunTimeline()
    ended = moment("step_finished", "a", "succeeded")

    assert timeline.see(ended, 1.0) is not None
    assert timeline.see(ended, 2.0) is None


def test_steps_of_an_earlier_round_are_not_reported_again() -> None:
    timeline = RunTimeline()
    timeline.remember([{"step": "a", "item": "", "attempt": 1, "status": "succeeded"}])

    assert timeline.see(moment("step_finished", "a", "succeeded"), 1.0) is None


@pytest.mark.parametrize("status", ["pending", "lost", "failed", "cancelled"])
def test_nothing_goes_on_after_the_run_has_left(status: str) -> None:
    timeline = RunTimeline()
    timeline.see(moment("step_started", "a"), 1.0)

    timeline.see(moment("run_ended", "", status), 2.0)

    assert timeline.going == {}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (TimelineEntry("succeeded", "fetch", "", "12 ms"), "  ✓ fetch                    12 ms"),
        (TimelineEntry("succeeded", "turn", "0", "1 ms"), "    ✓ turn[0]                  1 ms"),
        (
            TimelineEntry("skipped", "tell", "2.1", "skipped"),
            "      – tell[2.1]                skipped",
        ),
        (TimelineEntry("failed", "x", "", "\x1b[2J"), "  ✗ x                        \\u001b[2J"),
    ],
)
def test_a_line_has_its_sign_its_place_and_clean_words(
    capsys: pytest.CaptureFixture[str], line: TimelineEntry, shown: str
) -> None:
    screen = Screen()

    screen.say(paint(line, screen))

    assert capsys.readouterr().out.rstrip("\n") == shown
