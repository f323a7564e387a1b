"""Events per second through the filter index, against asking every filter in turn.

Run it with the package importable: ``python bench/matcher.py``. Each row takes both
figures in the same run, so the ratio holds on any machine.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from mainspring.contracts.limits import Limits
from mainspring.definition.filters import FilterIndex, compile_filter

SIZES = (100, 1_000, 10_000, 100_000)
SECONDS = 1.0
TYPES = [f"source{number}.changed" for number in range(20)]
Filter = Mapping[str, Any]


def some_filter(dice: random.Random, spread: int, equalities: float) -> Filter:
    """A filter like those people write; a share of them names no exact value."""
    if dice.random() >= equalities:
        return {"size": {"gt": dice.randrange(900, 1000)}, "name": {"ends_with": ".pdf"}}
    return dice.choice(
        [
            {"folder": f"folder{dice.randrange(spread)}", "size": {"gt": 10}},
            {"owner.id": dice.randrange(spread)},
            {"$or": [{"folder": f"folder{dice.randrange(spread)}"}, {"owner.id": -1}]},
            {"folder": {"in": [f"folder{dice.randrange(spread)}" for _ in range(3)]}},
            {"kind": "file", "folder": f"folder{dice.randrange(spread)}"},
        ]
    )


def some_event(dice: random.Random, spread: int) -> tuple[str, dict[str, Any]]:
    return dice.choice(TYPES), {
        "kind": "file",
        "folder": f"folder{dice.randrange(spread)}",
        "name": f"report{dice.randrange(1000)}.pdf",
        "size": dice.randrange(1000),
        "owner": {"id": dice.randrange(spread), "name": "someone"},
        "tags": ["a", "b"],
    }


def events_per_second(
    ask: Callable[[str, Mapping[str, Any]], object], events: list[tuple[str, dict[str, Any]]]
) -> float:
    done, begun = 0, time.perf_counter()
    while (spent := time.perf_counter() - begun) < SECONDS:
        ask(*events[done % len(events)])
        done += 1
    return done / spent


def row(triggers: int, equalities: float) -> tuple[float, float, float]:
    dice = random.Random(7)
    limits, spread = Limits(), max(10, triggers // 10)
    index: FilterIndex[int] = FilterIndex(limits)
    naive = []
    for key in range(triggers):
        event_type, written = dice.choice(TYPES), some_filter(dice, spread, equalities)
        index.add(key, event_type, written)
        naive.append((key, event_type, compile_filter(written, limits)))
    events = [some_event(dice, spread) for _ in range(2_000)]

    def loop(event_type: str, payload: Mapping[str, Any]) -> list[int]:
        return [key for key, expected, holds in naive if expected == event_type and holds(payload)]

    for event in events[:20]:
        assert sorted(index.match(*event)) == loop(*event)
    found = sum(len(index.match(*event)) for event in events) / len(events)
    return events_per_second(index.match, events), events_per_second(loop, events), found


def main() -> None:
    print(f"{'filters':>8} {'equality':>9} {'index/s':>10} {'loop/s':>10} {'ratio':>8} {'hits':>6}")
    for equalities in (1.0, 0.95):
        for triggers in SIZES:
            indexed, looped, found = row(triggers, equalities)
            print(
                f"{triggers:>8,} {equalities:>9.0%} {indexed:>10,.0f} {looped:>10,.0f} "
                f"{indexed / looped:>8,.1f} {found:>6.1f}"
            )


if __name__ == "__main__":
    main()
