"""The table of the peers: medians, ratios, and errors in the place of figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bench.peers import table
from bench.peers.contender import FLOOR, OURS, QUEUE, Contender, Figure, Measure
from bench.peers.installs import one_line


@contextmanager
def _nobody() -> Iterator[Measure]:
    yield lambda steps, runs: Figure(runs, float(steps), 0.0)


def _named(name: str) -> Contender:
    return Contender(name, QUEUE, "yes", "rows", {1: 1, 5: 1}, _nobody)


def test_a_row_has_medians_and_ratios_and_a_missing_peer_has_its_error() -> None:
    measured = {
        (QUEUE, FLOOR, 5): [Figure(100, 0.1, 0.05)],
        (QUEUE, OURS, 5): [Figure(100, 0.2, 0.1), Figure(100, 0.2, 0.1), Figure(100, 9.0, 9.0)],
        (QUEUE, "DBOS", 5): [Figure(10, 1.0, 0.1)],
    }
    everyone = [_named(name) for name in (FLOOR, OURS, "DBOS", "Prefect")]
    found = table.rows(everyone, measured, {(QUEUE, "Prefect"): "no such | version"})
    five = {row["who"]: row for row in found if row["steps"] == 5}
    assert five[OURS]["rate"] == 500.0
    assert five[OURS]["of_floor"] == 0.5
    assert (five["DBOS"]["ours_times"], five["DBOS"]["cpu_times"]) == (50.0, 10.0)
    assert table.cells(five["Prefect"])[-1] == "no such | version"
    assert table.verdicts(found) == ["DBOS, five steps: wanted 8 x, seen 50.0 x: held"]
    assert len(table.text(found).splitlines()) == 9
    assert "no such / version" in table.markdown(found)


def test_of_much_output_the_line_with_the_reason_is_kept() -> None:
    text = "npm warn what nobody asked about\nnpm error code E404\nnpm error 404 Not Found"
    assert one_line(text) == "npm error 404 Not Found"
    assert len(one_line("error " + "x" * 500)) == 160
    assert one_line("") == "said nothing"
