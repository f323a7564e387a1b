"""Programs as servers of tools: started with almost nothing, kept while used, and then gone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import DeadlineExceeded, Invalid, Problem, UpstreamError
from mainspring.outbound.mcp import program_parent
from mainspring.outbound.mcp.program_pool import McpProgramPool
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.connections import rows
from mainspring.workspace.connections.rows import McpConnection
from mainspring.workspace.vault import connection_scope
from tests.kit.tool_connections import HERE, ConnectionBench, open_room

PROGRAM = Path(__file__).parents[3] / "kit" / "mcp_program.py"
SECRET = "Wv-secret-of-the-program-31"


@asynccontextmanager
async def program(
    database: Database, folder: Path, *text: str, seconds: int = 5
) -> AsyncIterator[tuple[ConnectionBench, McpConnection]]:
    async with open_room(database, folder, [], mcp_seconds=seconds) as room:
        command = [sys.executable, str(PROGRAM), *text]
        async with database.transaction() as tx:
            made = await rows.add_stdio(tx, HERE, FIRST_MEMBER, "program", command)
        await room.vault.set(connection_scope(HERE, made.id), "env_greeting", SECRET)
        yield room, made


async def test_a_program_knows_its_own_values_and_nothing_else_of_ours(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_TOKEN", "ours")
    monkeypatch.setenv("DATABASE_PASSWORD", "ours")
    async with program(database, tmp_path) as (room, connection):
        result = await room.ask(connection, "environment")

        # What it was given comes back masked, as any secret does.
        assert result.pop("GREETING") == "[secret env_greeting]"
        assert result.keys() <= {"PATH", "HOME", "LC_CTYPE", "PWD", "SHLVL", "_"}
        assert await room.ask(connection, "say", text="hello") == {"text": "hello"}
        assert (await room.find(connection.id)).last_ok_at is not None


async def test_output_outside_the_protocol_is_skipped_and_logged_without_secrets(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with program(database, tmp_path, "noise") as (room, connection):
        assert await room.ask(connection, "say", text="hello") == {"text": "hello"}

    assert "The program of program said: I was told [secret env_greeting]." in caplog.text
    assert SECRET[-8:] not in caplog.text
    assert max(len(record.getMessage()) for record in caplog.records) < 3_000


@pytest.mark.parametrize(
    ("mode", "code"),
    [("crash", "program_failed"), ("huge", "response_too_large"), ("silent", "timed_out")],
)
async def test_a_program_that_fails_is_reported_within_its_bounds(
    database: Database, tmp_path: Path, mode: str, code: str
) -> None:
    seconds = 2 if mode == "silent" else 10
    async with program(database, tmp_path, mode, seconds=seconds) as (room, connection):
        with pytest.raises(UpstreamError) as failed:
            await room.ask(connection, "say")

        assert failed.value.code == code
        assert isinstance(failed.value, DeadlineExceeded) is (mode == "silent")
        assert str(PROGRAM) not in str(failed.value.as_dict())


async def test_a_program_is_kept_between_calls(database: Database, tmp_path: Path) -> None:
    async with program(database, tmp_path) as (room, connection):
        first = await room.ask(connection, "process")
        second = await room.ask(connection, "process")
        with pytest.raises(Problem) as failed:
            await room.ask(connection, "fail")
        third = await room.ask(connection, "process")

        assert first == second == third
        assert failed.value.code == "tool_failed"
    await _until_gone([first["pid"]])


async def test_calls_at_the_same_time_have_a_program_each(
    database: Database, tmp_path: Path
) -> None:
    async with program(database, tmp_path) as (room, connection):
        async with room.outside.session(HERE, connection.id) as session:
            held = await session.call("process", {}, key="held")
            other = await room.ask(connection, "process")
        assert held.value["pid"] != other["pid"]


async def test_a_new_secret_or_a_look_at_its_tools_starts_the_program_anew(
    database: Database, tmp_path: Path
) -> None:
    async with program(database, tmp_path) as (room, connection):
        first = await room.ask(connection, "process")
        await room.vault.set(connection_scope(HERE, connection.id), "env_greeting", "another")
        second = await room.ask(connection, "process")
        async with room.outside.session(HERE, connection.id, fresh=True) as session:
            third = (await session.call("process", {}, key="fresh")).value

        assert len({seen["pid"] for seen in (first, second, third)}) == 3
        await _until_gone([first["pid"], second["pid"]])


async def test_listing_tools_during_calls_starts_no_program_twice(
    database: Database, tmp_path: Path
) -> None:
    async with program(database, tmp_path) as (room, connection):

        async def use(*, fresh: bool) -> int:
            async with room.outside.session(HERE, connection.id, fresh=fresh) as session:
                answer = await session.call("process", {}, key="x")
            return int(answer.value["pid"])

        async with asyncio.timeout(60):
            for _ in range(3):
                # Leaves two programs idle, which both of the next calls look at.
                await asyncio.gather(use(fresh=False), use(fresh=False))
                fresh, plain = await asyncio.gather(use(fresh=True), use(fresh=False))
                assert fresh != plain


async def test_a_program_that_ended_while_idle_is_started_again(
    database: Database, tmp_path: Path
) -> None:
    async with program(database, tmp_path) as (room, connection):
        first = await room.ask(connection, "process")
        os.kill(first["pid"], signal.SIGKILL)
        await _until_gone([first["pid"]])
        # The end of its output reaches us a moment after its death.
        async with asyncio.timeout(60):
            while (second := await _ask_again(room, connection)) is None:
                await asyncio.sleep(0.01)
        assert second["pid"] != first["pid"]


async def _ask_again(room: ConnectionBench, connection: McpConnection) -> dict[str, Any] | None:
    try:
        answer: dict[str, Any] = await room.ask(connection, "process")
    except UpstreamError:
        return None
    return answer


async def test_idle_programs_end_by_themselves_and_are_few(
    database: Database, tmp_path: Path
) -> None:
    async with program(database, tmp_path) as (room, connection):
        pool = McpProgramPool(room.vault, room.limits, idle_seconds=0.05, most_idle=1)
        async with pool.use(connection) as one, pool.use(connection) as two:
            pids = [
                (await session.call("process", {}, key="x")).value["pid"] for session in (one, two)
            ]
        await _until_gone(pids)
        await pool.aclose()

        lasting = McpProgramPool(room.vault, room.limits, idle_seconds=600, most_idle=1)
        async with lasting.use(connection) as one, lasting.use(connection) as two:
            pids = [
                (await session.call("process", {}, key="x")).value["pid"] for session in (one, two)
            ]
        # The inner one was put back first, and is the longer idle.
        await _until_gone(pids[1:])
        async with lasting.use(connection) as one:
            assert (await one.call("process", {}, key="x")).value["pid"] == pids[0]
        await lasting.aclose()
        await _until_gone(pids)


@pytest.mark.parametrize("mode", ["child", "daemon"])
async def test_a_program_is_gone_after_its_use_with_all_that_it_started(
    database: Database, tmp_path: Path, mode: str
) -> None:
    open_before = _files()
    async with program(database, tmp_path, mode, str(tmp_path / "pids")) as (room, connection):
        await room.ask(connection, "say")
        first = _pids(tmp_path)
        assert len(first) == 2

        # A caller that is cancelled in the middle of its use takes the program with it.
        using = asyncio.create_task(_hold(room, connection))
        async with asyncio.timeout(60):
            while len(second := _pids(tmp_path)) < 2 or second == first:
                await asyncio.sleep(0.01)
        using.cancel()
        await asyncio.gather(using, return_exceptions=True)
        await _until_gone([*first, *second])
        assert _ended_and_not_taken_in() == []
    async with asyncio.timeout(60):
        while _files() > open_before:
            await asyncio.sleep(0.01)


async def test_a_program_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    result = str(tmp_path / "pids")
    command = [sys.executable, str(PROGRAM), "daemon", result]
    start = (
        "import os, subprocess, sys; "
        "subprocess.run([sys.executable, sys.argv[1], str(os.getpid()), *sys.argv[2:]])"
    )
    hears, speaks = os.pipe()
    try:
        starter = await asyncio.create_subprocess_exec(
            sys.executable, "-c", start, program_parent.__file__, *command, stdin=hears
        )
        async with asyncio.timeout(60):
            while not os.path.exists(result):  # noqa: ASYNC240
                await asyncio.sleep(0.01)
        starter.kill()
        await starter.wait()

        # Nobody has told the program that it is over.
        await _until_gone(_pids(tmp_path))
    finally:
        os.close(hears)
        os.close(speaks)


def _files() -> int:
    """The pipes that this process has open."""
    files = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(file).rpartition("/")[2].startswith("pipe:") for file in files)


def _ended_and_not_taken_in() -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if (state, parent) == ("Z", str(os.getpid())):
                found.append(str(stat))
    return found


def _pids(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "pids").read_text().split()]


async def _hold(room: ConnectionBench, connection: McpConnection) -> None:
    async with room.outside.session(HERE, connection.id, fresh=True):
        await asyncio.Event().wait()


async def _until_gone(pids: list[int]) -> None:
    async with asyncio.timeout(60):
        while any(_alive(pid) for pid in pids):
            await asyncio.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_an_invalid_command_is_refused_and_a_missing_one_is_reported(
    database: Database, tmp_path: Path
) -> None:
    async with open_room(database, tmp_path, []) as room:
        for command in ([], [""], ["a\0b"]):
            async with database.transaction() as tx:
                with pytest.raises(Invalid) as refused:
                    await rows.add_stdio(tx, HERE, FIRST_MEMBER, "program", command)
            assert refused.value.findings[0].pointer == "/command"
        async with database.transaction() as tx:
            made = await rows.add_stdio(tx, HERE, FIRST_MEMBER, "program", ["/nowhere/at/all"])

        with pytest.raises(Problem) as missing:
            await room.ask(made, "say")

        assert missing.value.code == "program_failed"
        assert "nowhere" not in str(missing.value.as_dict())
