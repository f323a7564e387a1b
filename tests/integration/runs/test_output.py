"""What steps say: sent once and in order, to watchers and to those that reconnect."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.context import OutputStream, RunRef
from mainspring.runs.output import (
    OutputPosition,
    StepOutputChunk,
    read_log,
    read_output,
    write_output,
)
from mainspring.runs.progress import RunStreamPosition, RunWatch, with_positions
from tests.kit.bench import Bench, document, step

TWO = document(
    step("a", "transform_data", {"output": 1}), step("b", "transform_data", {"output": 2})
)


def piece(
    run: dict[str, Any],
    name: str,
    seq: int,
    text: str,
    stream: OutputStream = "out",
    item: str = "",
    attempt: int = 1,
) -> StepOutputChunk:
    return StepOutputChunk(
        RunRef(run["id"], run["automation_id"], name, item, attempt), seq, stream, text
    )


async def keep(bench: Bench, *pieces: StepOutputChunk) -> None:
    async with bench.application.database.transaction() as tx:
        await write_output(tx, [(bench.application.workspace_id, one) for one in pieces])


class Counted:
    """A connection that counts what it is asked."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.asked = inner, 0

    async def execute(self, query: str, /, *args: Any) -> str:
        raise AssertionError("a look writes nothing")

    async def fetch(self, query: str, /, *args: Any) -> list[Any]:
        self.asked += 1
        found: list[Any] = await self.inner.fetch(query, *args)
        return found

    async def fetchrow(self, query: str, /, *args: Any) -> Any:
        self.asked += 1
        return await self.inner.fetchrow(query, *args)


async def test_output_and_steps_are_reported_once_wherever_a_reader_comes_back(
    bench: Bench,
) -> None:
    run = await bench.run(TWO)
    await keep(bench, piece(run, "a", 1, "one\n"), piece(run, "a", 2, "odd\n", "err"))
    await keep(bench, piece(run, "b", 1, "two\n"), piece(run, "a", 3, "{}", "end"))
    await keep(bench, piece(run, "b", 1, "x", item="0"), piece(run, "b", 1, "y", item="10"))
    await keep(bench, piece(run, "b", 2, "three\n"))
    async with bench.application.database.acquire() as connection:
        counted = Counted(connection)
        whole = await RunWatch(bench.application.workspace_id, run["id"]).look(counted)
        assert counted.asked == 2
        kinds = [kind for kind, _ in whole]
        assert (kinds.count("output"), kinds.count("step"), kinds[-1]) == (7, 2, "end")
        # A step is over after everything that it said.
        ended = kinds.index("step")
        assert ("output", "a", "end") in [_short(change) for change in whole[:ended]]
        marks = [mark.write() for _, mark in with_positions(whole, RunStreamPosition())]
        for number, text in enumerate(marks[:-1]):
            mark = RunStreamPosition.read(text or "")
            assert mark is not None
            again = RunWatch(bench.application.workspace_id, run["id"], place=mark.place)
            again.seen = mark.moment or again.seen
            assert await again.look(connection) == whole[number + 1 :]
            assert await again.look(connection) == []


def _short(change: tuple[str, dict[str, Any]]) -> tuple[str, Any, Any]:
    return change[0], change[1].get("step"), change[1].get("stream")


async def test_a_long_output_is_reported_whole_before_the_end(bench: Bench) -> None:
    run = await bench.run(TWO)
    await keep(bench, *(piece(run, "b", seq, f"{seq}\n") for seq in range(1, 1_101)))
    watch = RunWatch(bench.application.workspace_id, run["id"])
    entries: list[tuple[str, dict[str, Any]]] = []
    async with bench.application.database.acquire() as connection:
        while not entries or entries[-1][0] != "end":
            entries += await watch.look(connection)
        assert await watch.look(connection) == []
    output = "".join(row["text"] for kind, row in entries if kind == "output")
    assert output == "".join(f"{seq}\n" for seq in range(1, 1_101))
    assert [kind for kind, _ in entries][-2:] == ["step", "end"]


async def test_a_try_that_begins_again_leaves_nothing_of_what_it_said_before(bench: Bench) -> None:
    run = await bench.run(TWO)
    space = bench.application.workspace_id
    await keep(bench, *(piece(run, "a", seq, f"{seq} ") for seq in (1, 2, 3, 4)))
    await keep(bench, piece(run, "a", 1, "0 ", attempt=2), piece(run, "b", 1, "b "))
    await keep(bench, piece(run, "a", 1, "1 2 3 "))
    await keep(bench, piece(run, "a", 2, "4 5 "))
    async with bench.application.database.acquire() as connection:
        rows = await read_output(connection, space, run["id"], step="a")
        first = [row["text"] for row in rows if row["attempt"] == 1]
        assert first == ["1 2 3 ", "4 5 "]
        # The log is of the newest try at each step, and says where it was cut.
        assert await read_log(connection, space, run["id"]) == "0 b "
        assert (await read_log(connection, space, run["id"], most_bytes=2)).startswith("0 \n…")
        rest = await read_output(
            connection, space, run["id"], after=OutputPosition.of(rows[0]), most=1
        )
        assert [row["text"] for row in rest] == ["b "]
