"""Whatever a script uses up, its limits hold, and other scripts are not affected.

Every bomb is tried behind all isolation layers, every second one with only Deno and the limits of
the process; both as root, where each script has a user of its own, and as an ordinary user.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
from typing import Any

import pytest

from mainspring.runs.output import read_output
from tests.kit.bench import Bench
from tests.kit.escapes.__main__ import ask
from tests.kit.escapes.bombs import MORE, bombs
from tests.kit.scripts import script

ROOT = os.geteuid() == 0


@pytest.mark.parametrize(
    ("ordinary", "modes"),
    [(False, ("bombs:auto", "bombs:none/3")), (ROOT, ("bombs:auto/3.2", "bombs:none/3.1"))],
    ids=["as we are", "as anybody"],
)
async def test_every_bomb_is_contained_and_other_scripts_continue(
    ordinary: bool, modes: tuple[str, ...]
) -> None:
    for result in await asyncio.to_thread(ask, modes, ordinary=ordinary):
        assert result["burst"] == []
        assert result["held"], result["mode"]
        assert result["beside"] > 0
        assert len(result["tried"]) >= len(bombs()) // 3
        assert {"wall", "memory", "output"} & set(result["reasons"].values())


async def _said(bench: Bench, run: dict[str, Any]) -> dict[str, str]:
    async with bench.application.database.acquire() as connection:
        pieces = await read_output(connection, bench.application.workspace_id, run["id"])
    streams = {piece["stream"] for piece in pieces}
    return {
        stream: "".join(piece["text"] for piece in pieces if piece["stream"] == stream)
        for stream in streams
    }


async def test_what_is_kept_of_endless_output_ends_with_a_mark(bench: Bench) -> None:
    """A gigabyte on one stream and a million lines on the other, through the whole application."""
    sources, most = bombs(), bench.application.limits.script_output_bytes
    for name, stream in (("a gigabyte of output", "out"), ("a million lines of errors", "err")):
        # A busy machine prints slowly.
        run = await bench.run(script(sources[name], wall_seconds=30))
        output = await _said(bench, run)
        assert len(output[stream].encode()) <= most + 200, name
        assert "was not kept" in output[stream], name
        assert run["error"]["code"] in {"script_output", "script_wall", "script_cpu"}
        end = json.loads(output["end"])
        assert end["peak_kb"] <= bench.application.limits.script_memory_mb * 1024 * MORE


async def test_questions_that_pile_up_wait_in_the_script_and_not_in_the_worker(
    bench: Bench,
) -> None:
    """Each asks for half a megabyte; the worker holds a bounded part of what is asked."""
    source = 'const a = "x".repeat(1 << 19); for (;;) brains["test.hang"]({ a });'
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    run = await bench.run(script(source, "test.hang", wall_seconds=5))

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert run["error"]["code"] in {"script_wall", "script_cpu", "script_memory"}
    assert grown < 150 * 1024
