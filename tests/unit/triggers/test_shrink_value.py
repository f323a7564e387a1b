"""Large bodies are shortened to what a payload may hold, and say where."""

from __future__ import annotations

import json

from mainspring.triggers.webhook_bodies import shrink_value


def test_small_parts_are_kept_whole_and_long_ones_are_named() -> None:
    value = {"ref": "main", "a/b": "x" * 5_000, "commits": list(range(5_000)), "n": {"deep": 1}}
    kept, cut = shrink_value(value, 2_000)
    assert (kept["ref"], kept["n"]) == ("main", {"deep": 1})
    assert list(kept) == list(value)
    assert kept["commits"] == list(range(len(kept["commits"])))
    assert set(cut) == {"/a~1b", "/commits"}
    assert len(json.dumps(kept)) <= 2_000


def test_a_value_that_fits_is_unchanged() -> None:
    assert shrink_value({"a": [1, "x"]}, 1_000) == ({"a": [1, "x"]}, [])


def test_what_is_shortened_inside_is_named_by_its_place() -> None:
    kept, cut = shrink_value({"list": [{"text": "x" * 900}] * 3, "é": {"in": "é" * 900}}, 400)
    assert set(cut) == {"/list", "/é/in"}
    assert len(json.dumps(kept, ensure_ascii=False).encode()) <= 400
