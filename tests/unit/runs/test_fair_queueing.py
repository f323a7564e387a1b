"""Whose turn it is: crowds wait for others, nobody is forgotten, and old places are not gone
through again and again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from mainspring.runs.claim_fairness import LONG_AGO, ClaimFairness, ClaimQuery

A, B = UUID(int=1), UUID(int=2)
START = datetime(2026, 1, 1, tzinfo=UTC)
QUEUES = ("fast", "slow")


@dataclass(frozen=True)
class _Run:
    workspace_id: UUID
    queue: str
    due_at: datetime


def _at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def _runs(count: int, space: UUID | None, seconds: float, queue: str = "fast") -> list[_Run]:
    """So many of one workspace, or each of another one."""
    return [_Run(space or uuid4(), queue, _at(seconds)) for _ in range(count)]


def _looked(
    turns: ClaimFairness, found: list[_Run], now: float, *, holding: dict[UUID, int]
) -> ClaimQuery:
    """A claim that brought this at that second, and cost a lot."""
    look = turns.look(holding, 8, now)
    turns.record_claim(look, found, _at(now), now, 1.0)
    return look


def test_the_first_look_is_at_everything_and_the_next_ones_begin_where_it_ended() -> None:
    turns = ClaimFairness(QUEUES, 8)
    first = _looked(turns, _runs(2, A, 9.0), 10.0, holding={})
    assert first.floors == (LONG_AGO, LONG_AGO)
    # There was less than could have been taken: nothing is left from before that moment.
    then = _looked(turns, [], 11.0, holding={})
    assert then.floors == (_at(9.0), _at(9.0))
    # Whatever came in behind it is found by another look at everything before long.
    assert turns.look({}, 8, 14.0).floors == (LONG_AGO, LONG_AGO)


def test_a_look_that_takes_all_it_may_says_nothing_of_what_comes_after() -> None:
    turns = ClaimFairness(QUEUES, 8)
    _looked(turns, _runs(8, None, 4.0), 10.0, holding={})
    # Taken up to second four in the first queue; the second was not looked at.
    then = _looked(turns, [*_runs(3, None, 6.0), *_runs(5, None, 2.0, "slow")], 11.0, holding={})
    assert then.floors == (_at(3.0), LONG_AGO)
    assert turns.look({}, 8, 12.0).floors == (_at(10.0), _at(1.0))


def test_more_than_can_be_taken_far_behind_is_taken_bit_by_bit() -> None:
    turns = ClaimFairness(QUEUES, 8)
    _looked(turns, [], 10.0, holding={})
    behind = _looked(turns, _runs(8, None, 2.0), 14.0, holding={})
    assert behind.whole
    assert turns.look({}, 8, 14.5).floors[0] == _at(1.0)


def test_a_workspace_with_half_of_the_slots_waits_and_leaves_capacity() -> None:
    turns = ClaimFairness(QUEUES, 8)
    alone = turns.look({A: 4}, 8, 1.0)
    assert (alone.busy_workspaces, alone.busy_most) == ((A,), 8)
    # Where there is no crowd, nothing is looked for in its name.
    assert ClaimFairness(QUEUES, 8).look({}, 8, 1.0).busy_most == 0
    # Somebody else comes: while they are about, half of the slots are theirs.
    turns.record_claim(alone, [*_runs(1, B, 1.0), *_runs(3, A, 0.5)], _at(1.0), 1.0, 0.0)
    beside = turns.look({A: 7, B: 1}, 8, 1.1)
    assert (beside.busy_workspaces, beside.busy_most) == ((A,), 0)
    assert turns.look({A: 3}, 8, 2.0).busy_most == 1
    # Nobody came for a while, and all of it is the crowd's again.
    assert turns.look({A: 3}, 8, 5.0).busy_most == 8
    # One that holds little is none.
    assert turns.look({A: 1}, 8, 5.1).busy_workspaces == ()


def test_a_burst_that_is_kept_waiting_is_looked_at_when_its_runs_end() -> None:
    turns = ClaimFairness(QUEUES, 8)
    look = turns.look({A: 6, B: 1}, 8, 1.0)
    turns.record_claim(look, _runs(1, B, 1.0), _at(1.0), 1.0, 0.0)
    assert not turns.has_throttled_runs({A: 6}, 1.1)
    assert turns.has_throttled_runs({A: 3}, 1.2)
    # All that there was of it came along: there is nothing to look for.
    look = turns.look({A: 3}, 8, 5.0)
    turns.record_claim(look, _runs(2, A, 1.0), _at(5.0), 5.0, 0.0)
    assert not turns.has_throttled_runs({A: 3}, 5.1)


def test_others_are_looked_for_behind_the_crowd_only_and_what_it_left_is_not_lost() -> None:
    turns = ClaimFairness(QUEUES, 8)
    _looked(turns, _runs(8, A, 1.0), 10.5, holding={})
    # Everybody else's are taken up to now, the crowd's up to second two.
    _looked(turns, [*_runs(1, B, 9.0), *_runs(7, A, 2.0)], 11.0, holding={A: 8})
    then = turns.look({A: 7, B: 1}, 8, 12.0)
    assert then.floors == (_at(10.0), _at(10.0))
    assert then.busy_floors[0] == _at(1.0)
    # No crowd any more, and its own are still looked for from where they were left.
    after = turns.look({A: 1}, 8, 13.2)
    assert after.busy_workspaces == ()
    assert after.floors[0] == _at(1.0)


def test_runs_that_end_while_a_claim_is_on_its_way_are_no_trouble() -> None:
    turns = ClaimFairness(QUEUES, 8)
    _looked(turns, [], 10.0, holding={})
    _looked(turns, _runs(4, A, 10.5), 11.0, holding={A: 4})
    look = turns.look({A: 4}, 8, 13.5)
    # While the answer is awaited, nothing of the crowd is left, and it is one of many again.
    turns.record_claim(look, _runs(8, A, 2.0), _at(13.5), 13.5, 1.0)
    again = turns.look({A: 8, B: 1}, 8, 13.6)
    turns.has_throttled_runs({B: 1}, 16.0)
    turns.record_claim(again, _runs(8, A, 2.5), _at(16.0), 16.0, 0.0)


def test_a_worker_with_one_slot_serves_a_burst_among_others() -> None:
    turns = ClaimFairness(QUEUES, 1)
    turns.record_claim(turns.look({A: 1}, 1, 1.0), _runs(1, B, 1.0), _at(1.0), 1.0, 0.0)
    assert turns.look({}, 1, 1.1).busy_most == 1


def test_who_had_much_once_is_no_crowd_for_ever() -> None:
    turns = ClaimFairness(QUEUES, 8)
    _looked(turns, _runs(8, A, 1.0), 1.0, holding={})
    assert turns.look({}, 8, 1.5).busy_workspaces == (A,)
    for second in range(2, 6):
        _looked(turns, [], float(second), holding={})
    assert turns.look({}, 8, 6.0).busy_workspaces == ()


def test_a_queue_that_never_empties_yields_to_others_now_and_then() -> None:
    turns = ClaimFairness(("fast", "medium", "long"), 8)
    firsts = []
    for number in range(16):
        look = turns.look({}, 8, number / 10)
        firsts.append((look.queues[0], look.most))
        found = _runs(look.most, None, 0.0, look.queues[0])
        turns.record_claim(look, found, _at(1.0), number / 10, 0.0)
    fast, medium, long = ("fast", 8), ("medium", 1), ("long", 1)
    assert firsts == [fast, fast, fast, medium, fast, fast, fast, long] * 2
    # Where all of it could be taken, the order stays.
    assert turns.look({}, 8, 9.0).queues == ("fast", "medium", "long")
    turns.record_claim(turns.look({}, 8, 9.0), [], _at(9.0), 9.0, 0.0)
    assert turns.look({}, 8, 9.1).queues == ("fast", "medium", "long")


def test_an_empty_claim_from_a_lower_queue_does_not_defer_the_full_scan() -> None:
    turns = ClaimFairness(QUEUES, 8)
    for second in (1.0, 1.1, 1.2):
        _looked(turns, _runs(8, None, second), second, holding={})
    turned = _looked(turns, [], 1.3, holding={})
    assert turned.queues == ("slow", "fast")
    # A run that a slow transaction made visible late has a due time behind the floors.
    later = turns.look({}, 8, 10.0)
    assert later.whole
    assert later.floors == (LONG_AGO, LONG_AGO)


def test_queues_behind_hold_a_quarter_at_most_of_what_the_first_one_wants() -> None:
    turns = ClaimFairness(QUEUES, 8)
    for number in range(3):
        look = turns.look({}, 8, number / 10)
        turns.record_claim(look, _runs(8, None, 0.0), _at(1.0), number / 10, 0.0)
    turns.begun("slow")
    assert turns.look({}, 8, 1.0).queues == ("slow", "fast")
    turns.begun("slow")
    assert turns.look({}, 8, 1.0).queues == ("fast", "slow")
    turns.ended("slow")
    assert turns.look({}, 8, 1.0).queues == ("slow", "fast")


def test_the_floors_of_a_look_belong_to_its_queues_in_their_order() -> None:
    turns = ClaimFairness(QUEUES, 64)
    for second in (1, 2, 3):
        _looked(turns, _runs(8, None, second), 10.0 + second / 10, holding={})
    # One at everything is due, and goes in order: the next one is turned, and begins where
    # each of its queues was left.
    turned = turns.look({}, 8, 10.5)
    assert (turned.queues, turned.whole) == (("slow", "fast"), False)
    assert turned.floors == (LONG_AGO, _at(2.0))
    turns.record_claim(
        turned, [*_runs(2, None, 5.0, "slow"), *_runs(6, None, 4.0)], _at(11.0), 11.0, 0.0
    )
    assert turns.look({}, 8, 11.1).floors == (_at(3.0), _at(10.0))


def test_a_busy_workspace_is_served_less_often_when_others_had_to_wait() -> None:
    turns = ClaimFairness(("fast",), 64)

    def beside(second: float, waited: float) -> float | None:
        """A claim that brought somebody else's run, which had waited, and a portion."""
        look = turns.look({A: 16}, 64, second)
        found = [*_runs(1, B, second - waited), *_runs(look.busy_most, A, 0.0)]
        turns.record_claim(look, found, _at(second), second, 0.0)
        return turns.pause({A: 16, B: 1}, second)

    turns.record_claim(turns.look({}, 64, 0.0), _runs(32, A, 0.0), _at(0.0), 0.0, 0.0)
    # Nobody else was about until now: a crowd had all it wanted.
    assert beside(0.5, 0.0) is None
    late = [beside(0.6 + number / 10, 0.05) for number in range(5)]
    assert late == [pytest.approx(one) for one in (0.02, 0.04, 0.08, 0.08, 0.08)]
    assert turns.look({A: 16, B: 1}, 64, 1.05).busy_most == 0
    assert turns.look({A: 16, B: 1}, 64, 1.09).busy_most == 8
    quick = [beside(1.2 + number / 10, 0.001) for number in range(3)]
    assert quick == [pytest.approx(one) for one in (0.064, 0.0512, 0.04096)]
