"""A script that makes one call: the product with all its isolation layers against bare `deno run`.

python -m bench.scripts [--rounds N]

The bare file says the same, and makes its one call with fetch to a server on loopback. A
script is measured as its step, from its beginning to its end with everything it said on disk,
and as a whole run, from the request to the recorded end with its three durable commits. Cold is
without processes kept ready. Rounds alternate, and a ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import uvloop

from bench.environment import fresh_house, saved
from mainspring.actions.script.sandbox.deno_paths import find_deno
from mainspring.app import Application, build_worker
from mainspring.runs.rows import FINAL
from mainspring.runs.run_requests import RunRequest

ONE_BY_ONE = 30
TOGETHER, AT_A_TIME = 120, 4
WARM_BAR, COLD_BAR, RATE_BAR = 15.0, 1.6, 0.7
# Long enough for the next process to be ready, as it is between the runs of a schedule.
_PAUSE = 0.12

SOURCE = """\
import { brains } from "https://brains/sdks/automation-sdk-v1.ts";
const answer = await brains["bench.noop"]({ say: "one of many" });
console.log(answer.said);
return { said: answer.said as string };
"""
BARE = """\
const response = await fetch("http://127.0.0.1:PORT/", {
  method: "POST", body: JSON.stringify({ say: "one of many" }) });
const answer = await response.json();
console.log(answer.said as string);
"""
_ANSWER = b'{"said":"one of many"}'
_STEPS = """
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)
    FROM (SELECT ms FROM steps ORDER BY finished_at DESC LIMIT $1) AS latest
"""
_STATUS = "SELECT status FROM runs WHERE id = $1"


def document() -> dict[str, Any]:
    return {
        "schema_version": "1.2",
        "name": "one call",
        "goal": "Measure what a script costs.",
        "plan": [
            {
                "step_id": "main",
                "action": "script",
                "config": {"source": SOURCE, "grants": [{"tool": "bench.noop"}]},
            }
        ],
        "execution": {"concurrency": "allow_parallel"},
    }


def measure(rounds: int = 3) -> dict[str, float]:
    """Milliseconds and runs a second, by what was measured."""
    return uvloop.run(_measured(rounds))


def show(found: Mapping[str, float]) -> None:
    for name, value in found.items():
        print(f"  {name:<42} {value:>8.2f}")
    for name, bar, met in (
        ("warm, the script, p50 ms", WARM_BAR, found["warm, the script, p50 ms"] <= WARM_BAR),
        ("cold / bare", COLD_BAR, found["cold / bare"] <= COLD_BAR),
        ("rate / bare rate", RATE_BAR, found["rate / bare rate"] >= RATE_BAR),
    ):
        print(f"  {name}: {bar}, {'met' if met else 'MISSED'}")


async def _measured(rounds: int) -> dict[str, float]:
    async with fresh_house(script_warm=0) as cold, fresh_house(script_warm=4) as warm:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "main.ts"
            file.write_text(BARE.replace("PORT", str(port)))
            bare = _bare(file, folder)
            async with _Working(cold) as cold_run, _Working(warm) as warm_run:
                for run in (bare, cold_run, warm_run):
                    await _one_by_one(run, 5)
                found = [await _round(bare, cold_run, warm_run, warm) for _ in range(rounds)]
        server.close()
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


Run = Callable[[], Awaitable[None]]


async def _round(bare: Run, cold: Run, warm: Run, application: Application) -> dict[str, float]:
    bare_ms = await _one_by_one(bare, ONE_BY_ONE)
    cold_ms = await _one_by_one(cold, ONE_BY_ONE)
    warm_ms = await _one_by_one(warm, ONE_BY_ONE, pause=_PAUSE)
    step_ms = float(await application.database.fetchval(_STEPS, ONE_BY_ONE))
    bare_rate, rate = await _together(bare), await _together(warm)
    return {
        "bare deno, p50 ms": bare_ms,
        "cold, p50 ms": cold_ms,
        "cold / bare": cold_ms / bare_ms,
        "warm, the script, p50 ms": step_ms,
        "warm, the whole run, p50 ms": warm_ms,
        "bare deno, runs/s": bare_rate,
        "with all walls, runs/s": rate,
        "rate / bare rate": rate / bare_rate,
    }


async def _one_by_one(run: Run, times: int, pause: float = 0.0) -> float:
    accepted = []
    for _ in range(times):
        began = time.perf_counter()
        await run()
        accepted.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(pause)
    return statistics.median(accepted)


async def _together(run: Run) -> float:
    left = list(range(TOGETHER))

    async def one_after_another() -> None:
        while left:
            left.pop()
            await run()

    began = time.perf_counter()
    await asyncio.gather(*(one_after_another() for _ in range(AT_A_TIME)))
    return TOGETHER / (time.perf_counter() - began)


def _bare(file: Path, folder: str) -> Run:
    words = [str(find_deno()), "run", "--allow-net", "--no-config", "--no-lock", str(file)]
    environment = {"HOME": folder, "DENO_DIR": f"{folder}/cache", "PATH": os.environ["PATH"]}

    async def run() -> None:
        process = await asyncio.create_subprocess_exec(
            *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment
        )
        output, wrong = await process.communicate()
        assert output == b"one of many\n", wrong

    return run


class _Working:
    """A worker in its own task, and a way to have one run made and wait for its end."""

    def __init__(self, house: Application) -> None:
        self._application = house
        self._ended: dict[UUID, asyncio.Event] = {}
        self._worker = build_worker(house, watch=self._watch)
        self._automation: UUID | None = None

    async def __aenter__(self) -> Run:
        self._automation, _ = await saved(self._application, document())
        self._task = asyncio.create_task(self._worker.run())
        return self._run

    async def __aexit__(self, *_: object) -> None:
        self._worker.stop()
        await self._task

    def _watch(self, moment: Any) -> None:
        if moment.kind == "run_ended":
            self._ended.setdefault(moment.run_id, asyncio.Event()).set()

    async def _run(self) -> None:
        assert self._automation is not None
        made = await self._application.dispatcher.dispatch(
            RunRequest(self._application.workspace_id, self._automation)
        )
        await self._ended.setdefault(made.run_id, asyncio.Event()).wait()
        status = await self._application.database.fetchval(_STATUS, made.run_id)
        assert status == "succeeded", (status, FINAL)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(_ANSWER)}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode() + _ANSWER)
    await writer.drain()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    show(measure(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
