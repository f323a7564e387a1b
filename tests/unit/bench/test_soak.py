"""The verdict of a soak, and how the figures of one benchmark are kept next to the others'."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import results
from bench.soak import Seen, Track, figures


def _track(name: str, megabytes: list[float]) -> Track:
    times = len(megabytes)
    moments = [10.0 * number for number in range(times)]
    return Track(name, moments, megabytes, [9] * times, [1] * times)


def _seen(*tracks: Track) -> Seen:
    dead: list[Mapping[str, Any]] = [{"dead": 1, "live": 2, "bytes": 4_000}] * 2
    return Seen({track.name: track for track in tracks}, {202: 4}, dead, {"succeeded": 4})


def test_what_grows_after_warming_up_is_distinguished_from_what_does_not() -> None:
    # Half an hour: one that fills up at first, one that leaks, one that comes and goes.
    warms = [50.0 + min(number, 30) for number in range(180)]
    leaks = [50.0 + 0.1 * number for number in range(180)]
    waves = [50.0 + number % 7 for number in range(180)]
    seen = _seen(_track("warms", warms), _track("leaks", leaks), _track("waves", waves))
    found = figures(seen, 30, 20)
    assert {row["process"]: row["rises"] for row in found["processes"]} == {
        "warms": False,
        "leaks": True,
        "waves": False,
    }
    assert not found["flat"]
    leak = next(row for row in found["processes"] if row["process"] == "leaks")
    assert leak["MB/h"] == 36.0
    # A tenth of a megabyte in three minutes would be much in an hour, and says nothing.
    assert figures(_seen(_track("short", [50.0] * 9 + [50.8] * 9)), 3, 20)["flat"]


def test_figures_of_one_benchmark_leave_those_of_the_others(tmp_path: Path) -> None:
    place = tmp_path / "results.json"
    place.write_text(json.dumps({"gate": 1, "soak": 2}))
    parser = argparse.ArgumentParser()
    results.add_options(parser)
    results.keep(parser.parse_args(["--into", str(place)]), {"soak": 3})
    assert results.before(place) == {"gate": 1, "soak": 2}
    results.keep(parser.parse_args(["--save", "--into", str(place)]), {"soak": 3})
    assert results.before(place) == {"gate": 1, "soak": 3}
