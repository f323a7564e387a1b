"""Every parser of outside bytes answers a value or a problem; a short look at each.

The long one is ``python -m scripts.fuzz_parsers``.
"""

from __future__ import annotations

import pytest

from scripts.fuzz.mutate import mutated
from scripts.fuzz.target import SAYS, Target
from scripts.fuzz.targets import targets
from scripts.fuzz_parsers import explore

# scripts/fuzz_parsers.py goes further.
TRIES = 1_000
TARGETS = targets()
# Those two read with libraries that take long for each try.
SLOW = {"calendar", "feed"}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_parser_answers_a_value_or_a_problem(target: Target) -> None:
    tries = TRIES if target.name not in SLOW else TRIES // 10

    found = explore(target, seed=1, most=tries)

    assert found.findings == {}
    assert found.executions == tries
    # A seed that is not understood would lead nowhere.
    assert found.answered > 0


def test_the_look_notices_a_parser_that_breaks() -> None:
    def broken(data: bytes) -> int:
        return int(data)

    found = explore(Target("broken", broken, [b"1"]), seed=1, most=20)

    assert [where.split(" ")[0] for where in found.findings] == ["ValueError"]
    assert issubclass(ValueError, SAYS) is False


def test_the_same_seed_asks_the_same() -> None:
    import random

    made = [
        [mutated(dice, [b"abc", b"{}"], [b"x"]) for _ in range(50)]
        for dice in (random.Random(3), random.Random(3))
    ]
    assert made[0] == made[1]
    assert len(set(made[0])) > 30
