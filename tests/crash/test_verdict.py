"""The judge itself: each way to break the promise is found, and a clean bench is not accused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from tests.crash.commit_log import Lease, Move, Written
from tests.crash.crash_bench import FIVE_STEPS_SPOTS
from tests.crash.side_effect_log import Entry
from tests.crash.verdict import SECOND, Evidence, Record, Takeover, offences, takeovers

RUN, OTHER = UUID(int=1), UUID(int=2)
# Moments in seconds: claimed at 1, steps executed at 2, recorded at 3, ended at 4.
CLAIMED, EXECUTED, RECORDED, ENDED = (number * SECOND for number in (1, 2, 3, 4))


def _run(status: str = "succeeded") -> dict[str, Any]:
    return {"status": status, "reason": None, "takeovers": 0, "error": None}


def _written(fence: int = 1, run_fence: int = 1) -> Written:
    return Written(RECORDED, 7, RUN, "enter", "", "succeeded", fence, run_fence, "running")


CLAIM = Move(CLAIMED, 7, RUN, "pending", "running", 1, 1, 0)
CLEAN = Evidence(
    dispatched=[RUN],
    runs={RUN: _run()},
    records=[Record((RUN, *spot), "succeeded") for spot in FIVE_STEPS_SPOTS],
    stored={(RUN, "keep", ""): 1},
    begun=[Entry(f"{RUN}/enter/1", EXECUTED, 7, "begin")],
    moves=[CLAIM, Move(ENDED, 7, RUN, "running", "succeeded", None, 1, 0)],
    writes=[_written()],
    leases=[Lease(CLAIMED, 1, 7, CLAIMED + 2 * SECOND, gone=False)],
)

BROKEN: dict[str, Callable[[Evidence], Evidence]] = {
    "is not there": lambda e: replace(e, runs={}, records=[]),
    "is dead": lambda e: replace(e, runs={RUN: _run("dead")}),
    "is running": lambda e: replace(e, runs={RUN: _run("running")}),
    "was never handed in": lambda e: replace(e, runs={RUN: _run(), OTHER: _run()}),
    "recorded": lambda e: replace(e, records=e.records[1:]),
    "recorded .*2": lambda e: replace(e, records=[*e.records, e.records[0]]),
    "after it was recorded": lambda e: replace(
        e, begun=[Entry(f"{RUN}/enter/1", RECORDED + SECOND, 7, "begin")]
    ),
    "executed 2 times by 1 owners": lambda e: replace(e, begun=[*e.begun, *e.begun]),
    "kept 0 times": lambda e: replace(e, stored={}),
    "kept 2 times": lambda e: replace(e, stored={(RUN, "keep", ""): 2}),
    "under fence 1, the run had 3": lambda e: replace(e, writes=[_written(1, 3)]),
}


def test_a_clean_arena_is_not_accused() -> None:
    assert offences(CLEAN) == []


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_promise_is_found(text: str) -> None:
    found = offences(BROKEN[text](CLEAN))

    assert found
    with pytest.raises(AssertionError, match=text):
        raise AssertionError(found)


def test_a_takeover_is_timed_from_the_last_heartbeat() -> None:
    moves = [
        CLAIM,
        Move(CLAIMED + 3 * SECOND, 8, RUN, "running", "pending", None, 2, 1),
        Move(CLAIMED + 4 * SECOND, 8, RUN, "pending", "running", 2, 3, 1),
    ]

    assert takeovers(replace(CLEAN, moves=moves), lease=2.0) == [Takeover(3.0, 4.0)]


def test_a_run_that_was_handed_back_was_not_taken_over() -> None:
    moves = [
        CLAIM,
        Move(CLAIMED + SECOND, 7, RUN, "running", "pending", None, 1, 0),
        Move(CLAIMED + 2 * SECOND, 8, RUN, "pending", "running", 2, 2, 0),
    ]

    assert takeovers(replace(CLEAN, moves=moves), lease=2.0) == []
