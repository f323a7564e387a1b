"""A run does what its automation was when the run was accepted, whatever is saved later."""

from __future__ import annotations

from typing import Any

from tests.kit.bench import Bench, document, step


def _plan(mark: str) -> dict[str, Any]:
    return document(step(mark, "test.note", {"mark": mark}), name="changed")


async def test_a_run_keeps_the_version_it_was_accepted_with(bench: Bench) -> None:
    first = await bench.dispatch(_plan("a"))
    await bench.save(_plan("b"))
    second = await bench.dispatch(_plan("c"))
    await bench.save(document(step("a", "test.note"), name="another"))
    async with bench.worker():
        runs = [await bench.until(made.run_id) for made in (first, second)]
    assert [run["version"] for run in runs] == [1, 3]
    assert [[done["step"] for done in run["steps"]] for run in runs] == [["a"], ["c"]]
