"""A burst is for whoever is alone; beside others a webhook has its lasting rate."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from mainspring.triggers.neighbours import Neighbours

ONE, OTHER = UUID(int=1), UUID(int=2)
BUSY, SELDOM = UUID(int=11), UUID(int=12)


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_alone_nothing_is_refused_and_beside_another_workspace_a_flood_is() -> None:
    clock = Clock()
    neighbours = Neighbours(80, clock=clock)
    assert not any(neighbours.charge(ONE, BUSY) for _ in range(1_000))
    # A second webhook of the same workspace is no neighbour.
    assert neighbours.charge(ONE, SELDOM) == 0.0
    assert neighbours.charge(ONE, BUSY) == 0.0

    assert neighbours.charge(OTHER, SELDOM) == 0.0
    assert neighbours.charge(ONE, BUSY) > 0.0
    taken = 0
    for _ in range(2_000):
        clock.now += 0.001
        taken += neighbours.charge(ONE, BUSY) == 0.0
    assert 158 <= taken <= 162
    # The one that calls seldom is let in, whatever the other does.
    assert neighbours.charge(OTHER, SELDOM) == 0.0


def test_whoever_has_gone_is_not_reckoned_with_for_long() -> None:
    clock = Clock()
    neighbours = Neighbours(80, clock=clock)
    neighbours.charge(OTHER, SELDOM)
    assert any(neighbours.charge(ONE, BUSY) for _ in range(30))
    clock.now += 16.0
    assert not any(neighbours.charge(ONE, BUSY) for _ in range(1_000))
