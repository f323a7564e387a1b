"""Whatever a script does, it ends; and nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.pool import SandboxPool
from mainspring.actions.script.sandbox.process import Frame, SandboxProcess
from tests.integration.actions.script.sandbox.script_session import body, first_frame, run
from tests.kit.processes import is_running, session_nice

MB = 1024
WASM = """
  const kept = [];
  for (;;) {
    const memory = new WebAssembly.Memory({ initial: 128 });
    new Uint8Array(memory.buffer).fill(1);
    kept.push(memory);
  }
"""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandboxes() -> AsyncIterator[SandboxPool]:
    async with SandboxPool(warm=1, caps=ProcessLimits(memory_mb=192)) as made:
        yield made


async def seen(fact: Callable[[], bool]) -> bool:
    async with asyncio.timeout(120):
        while not fact():
            await asyncio.sleep(0.01)
    return True


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("await new Promise((done) => setTimeout(done, 60_000))", "wall"),
        ("for (;;);", "cpu"),
        ("Deno.addSignalListener('SIGXCPU', () => {}); for (;;);", "cpu"),
        ("const a = []; for (;;) a.push(new Array(1e5).fill(1.5));", "memory"),
        ("const b = new Uint8Array(65536); for (;;) Deno.stdout.writeSync(b);", "output"),
        ("for (;;) console.error('x'.repeat(65536));", "output"),
        ("await brains.x({ a: 'x'.repeat(1 << 21) })", "answer"),
        ("(await import('node:process')).default.abort()", "crashed"),
    ],
)
async def test_a_bound_ends_the_script_and_is_named(
    sandboxes: SandboxPool, text: str, reason: str
) -> None:
    wall = 0.5 if reason == "wall" else 200.0
    caps = ProcessLimits(
        wall_seconds=wall,
        cpu_seconds=1 if reason == "cpu" else 20,
        memory_mb=192,
        output_bytes=1 << 20,
        frame_bytes=1 << 20,
    )

    result = await run(sandboxes, body(text), caps)

    assert result.reason == reason
    assert "done" not in result.last
    assert result.ended is not None
    assert result.ended.peak_kb <= 192 * MB * 1.2
    assert len(result.stdout) + len(result.stderr) <= 1 << 20
    assert result.pid is not None
    assert not is_running(result.pid)


@pytest.mark.parametrize(
    "text",
    [
        "const a = []; for (;;) a.push(new Uint8Array(8 << 20).fill(1));",
        WASM,
        "const a = []; for (;;) { a.push(new Blob([new Uint8Array(8 << 20).fill(1)])); await 0; }",
    ],
)
async def test_memory_that_v8_does_not_count_is_bounded_too(
    sandboxes: SandboxPool, text: str
) -> None:
    result = await run(sandboxes, body(text), ProcessLimits(memory_mb=192, cpu_seconds=20))

    assert result.ended is not None
    assert result.ended.peak_kb <= 192 * MB * 1.2
    assert result.reason == "memory" or result.failed["name"] == "RangeError"


async def test_a_script_that_works_for_long_lets_others_go_first(sandboxes: SandboxPool) -> None:
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    lowered = min(usual + 10, 19)
    counting = "const end = Date.now() + 60_000; while (Date.now() < end);"
    async with sandboxes.taken() as long, sandboxes.taken() as brief:
        await long.send(first_frame(body(counting)))
        assert await seen(lambda: _nice(long) == (lowered, lowered))
        before = _cpu_seconds(brief)
        await brief.send(first_frame(body("await brains.x({})")))
        # Its call shows that the script runs, and it waits for an answer that never comes.
        assert isinstance(await anext(aiter(brief)), Frame)
        priority = _nice(brief)
        # On a slow machine, starting alone may take longer than what counts as brief.
        assert priority in {(usual, 0), (usual, usual)} or _cpu_seconds(brief) - before > 0.15


def _nice(process: SandboxProcess) -> tuple[int, int] | None:
    """How nice it is, and its session; the same where processors are not shared by session."""
    if process.pid is None:
        return None
    nice = os.getpriority(os.PRIO_PROCESS, process.pid)
    session = session_nice(process.pid)
    return nice, nice if session is None else session


def _cpu_seconds(process: SandboxProcess) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_a_script_can_be_ended_from_outside(sandboxes: SandboxPool) -> None:
    async with sandboxes.taken() as process:
        await process.send(first_frame(body("await brains.x({})")))
        async for item in process:
            assert isinstance(item, Frame)
            process.kill("killed")
        ended = await process.ended()

    assert ended.reason == "killed"


async def test_a_process_serves_one_script_and_no_other() -> None:
    async with SandboxPool(warm=2) as sandboxes:
        pids = []
        for _ in range(4):
            await sandboxes.settled()
            result = await run(
                sandboxes, body("globalThis.left = 1; return typeof globalThis.kept")
            )
            assert result.done == "undefined"
            pids.append(result.pid)

    assert len(set(pids)) == 4


async def test_a_warm_process_is_taken_and_another_made() -> None:
    async with SandboxPool(warm=1) as sandboxes:
        assert await sandboxes.settled() == 1
        waiting = sandboxes.idle_pids()
        result = await run(sandboxes, body("return 1"))

        assert [result.pid] == waiting
        assert await seen(lambda: len(sandboxes.idle_pids()) == 1)
        assert sandboxes.idle_pids() != waiting


async def test_no_more_processes_run_at_once_than_are_allowed() -> None:
    async with SandboxPool(warm=0, most=2) as sandboxes:
        first, second = sandboxes.taken(), sandboxes.taken()
        await first.__aenter__()
        await second.__aenter__()
        third = asyncio.create_task(run(sandboxes, body("return 3")))
        await asyncio.sleep(0)
        assert not third.done()

        await first.__aexit__(None, None, None)

        assert (await third).done == 3
        await second.__aexit__(None, None, None)


async def test_nothing_is_left_when_it_closes() -> None:
    async with SandboxPool(warm=2) as sandboxes:
        await sandboxes.settled()
        pids = sandboxes.idle_pids()
        launcher, folder = sandboxes.launcher_pid, sandboxes.folder
        accepted = sandboxes.taken()
        process = await accepted.__aenter__()
        await process.send(first_frame(body("for (;;);")))
        assert process.pid is not None
        pids.append(process.pid)

    assert launcher is not None
    assert folder is not None
    assert [pid for pid in (*pids, launcher) if is_running(pid)] == []
    assert not await asyncio.to_thread(os.path.lexists, folder)
    await accepted.__aexit__(None, None, None)


async def test_a_launcher_that_dies_takes_its_processes_along_and_is_replaced() -> None:
    async with SandboxPool(warm=1) as sandboxes:
        await sandboxes.settled()
        idle, launcher = sandboxes.idle_pids(), sandboxes.launcher_pid
        assert launcher is not None
        async with sandboxes.taken() as process:
            await process.send(first_frame(body("for (;;);")))
            os.kill(launcher, signal.SIGKILL)
            ended = await process.ended()
            assert process.pid is not None
            pids = [*idle, process.pid]

        assert ended.reason == "crashed"
        assert await seen(lambda: not any(map(is_running, pids)))
        assert (await run(sandboxes, body("return 1"))).done == 1
        assert sandboxes.launcher_pid != launcher
