"""From measurements to the one table: medians, ratios, lines."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bench.peers.contender import FLOOR, OURS, STEPS, WAYS, Contender, Figure

HEADS: Final = (
    "way in",
    "who",
    "steps",
    "runs/s",
    "CPU ms/run",
    "of the floor",
    "ours: x runs/s",
    "ours: x less CPU",
    "durable",
    "kept per run",
)
_WORDS: Final = (0, 1, 8, 9)
# By name, on five steps: how many times ours has to be.
BARS: Final = {"n8n": 10, "DBOS": 8, "Celery": 8}

Measured = Mapping[tuple[str, str, int], Sequence[Figure]]


def rows(
    contenders: Iterable[Contender], measured: Measured, errors: Mapping[tuple[str, str], str]
) -> Any:
    """One row for each contender and number of steps; an error replaces the figures."""
    found: list[dict[str, Any]] = []
    all_of_them = list(contenders)
    for way in WAYS:
        for steps in STEPS:
            middles = {
                name: middle(figures)
                for (its_way, name, its_steps), figures in measured.items()
                if its_way == way and its_steps == steps and figures
            }
            found += [
                _row(one, steps, middles, errors.get((way, one.name)))
                for one in all_of_them
                if one.way == way
            ]
    return found


def middle(figures: Sequence[Figure]) -> tuple[float, float]:
    """The median rate, and the median of processor milliseconds for a run."""
    rate = statistics.median(one.runs / one.seconds for one in figures)
    cost = statistics.median(one.cpu * 1000 / one.runs for one in figures)
    return rate, cost


def _row(
    one: Contender, steps: int, middles: Mapping[str, tuple[float, float]], error: str | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "way": one.way,
        "who": one.name,
        "version": one.version,
        "steps": steps,
        "durable": one.durable,
        "kept": one.kept,
    }
    if one.name not in middles:
        return row | {"error": error or "not measured"}
    rate, cost = middles[one.name]
    row |= {"rate": round(rate, 1), "cpu_ms": round(cost, 2)}
    if FLOOR in middles:
        row["of_floor"] = round(rate / middles[FLOOR][0], 3)
    if OURS in middles:
        ours_rate, ours_cost = middles[OURS]
        row |= {"ours_times": round(ours_rate / rate, 2), "cpu_times": round(cost / ours_cost, 2)}
    return row


def cells(row: Mapping[str, Any]) -> list[str]:
    """A row as words, in the order of the heads."""
    start = [row["way"], row["who"], str(row["steps"])]
    if "error" in row:
        return [*start, "-", "-", "-", "-", "-", "-", row["error"]]
    figures = [f"{row['rate']:,.1f}", f"{row['cpu_ms']:.2f}", _or_dash(row, "of_floor")]
    times = [_or_dash(row, "ours_times"), _or_dash(row, "cpu_times")]
    return [*start, *figures, *times, row["durable"], row["kept"]]


def _or_dash(row: Mapping[str, Any], name: str) -> str:
    return f"{row[name]:.2f}" if name in row else "-"


def text(found: Iterable[Mapping[str, Any]]) -> str:
    """The table for a terminal."""
    lines = [list(HEADS), *(cells(row) for row in found)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEADS))]
    return "\n".join(
        "  ".join(
            word.ljust(width) if place in _WORDS else word.rjust(width)
            for place, (word, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown(found: Iterable[Mapping[str, Any]]) -> str:
    """The same table for a page."""
    bars = ["---" if place in _WORDS else "---:" for place in range(len(HEADS))]
    lines = [list(HEADS), bars, *(cells(row) for row in found)]
    return "\n".join(
        "| " + " | ".join(word.replace("|", "/") for word in line) + " |" for line in lines
    )


def verdicts(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """The bars on five steps, and what was seen."""
    output = []
    for row in found:
        expected = BARS.get(row["who"].partition(",")[0])
        if expected and row["steps"] == 5 and "ours_times" in row:
            seen = row["ours_times"]
            word = "held" if seen >= expected else "MISSED"
            output.append(f"{row['who']}, five steps: wanted {expected} x, seen {seen} x: {word}")
    return output
