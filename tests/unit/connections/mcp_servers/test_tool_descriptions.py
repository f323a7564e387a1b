"""What an outside server says of its tools, and what they answer, is bounded and shown whole."""

from __future__ import annotations

import asyncio
import math
import threading
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID

import pytest

from mainspring.connections.mcp_servers.tool_inspection import (
    MOST_LINES,
    ToolDescription,
    differences,
    inspect_tool,
    inspect_tools,
)
from mainspring.connections.mcp_servers.tool_inspection_pool import ToolInspectionPool
from mainspring.contracts.errors import LimitExceeded, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.outbound.mcp.session import ListedTool
from mainspring.outbound.mcp.tool_results import McpToolResult, read_answer

LIMITS = Limits()
HERE = UUID("01900000-0000-7000-8000-0000000000c1")
THERE = UUID("01900000-0000-7000-8000-0000000000c2")


def seen(name: str = "find", **more: Any) -> ListedTool:
    arguments: dict[str, Any] = {
        "title": "",
        "description": "Finds.",
        "input_schema": {"type": "object"},
        **more,
    }
    return ListedTool(name, **arguments)


class Line(str):
    """A line that counts how often it is compared with another."""

    __slots__ = ()
    compared: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        Line.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


class Text(str):
    """A text of such lines."""

    __slots__ = ()

    def splitlines(self, keepends: bool = False) -> list[str]:
        return [Line(line) for line in str.splitlines(self, keepends)]


def test_many_lines_are_compared_once_each_and_a_person_is_shown_some() -> None:
    before = ToolDescription("find", description=Text("\n".join(f"a{n}" for n in range(2_000))))
    after = replace(before, description=Text("\n".join(f"b{n}" for n in range(2_000))))
    Line.compared = 0
    lines = differences(before, after)

    assert Line.compared < 10_000
    assert (len(lines), lines[-1]) == (MOST_LINES + 1, "… and more")
    assert len(differences(before, after, 5)) == 6


def test_two_long_lines_are_shown_from_where_they_part() -> None:
    begin = "Finds notes. " * 40
    before = ToolDescription(
        "find", description=begin + "Quickly.", input_schema={"a": begin + "x"}
    )
    after = replace(before, description=begin + "Mails them away.", input_schema={"a": begin + "y"})

    lines = differences(before, after)

    assert [line[-8:] for line in lines] == ["Quickly.", "em away.", 'otes. x"', 'otes. y"']
    assert all("… " in line and len(line) < 400 for line in lines)


@pytest.mark.parametrize(
    "names", [("search", "sea\u200brch"), ("x" * 100 + "a", "x" * 100 + "b"), ("", "\u200b")]
)
def test_names_that_look_like_one_are_one_tool_that_cannot_be_used(names: tuple[str, str]) -> None:
    looked = inspect_tools([seen(names[0]), seen("find"), seen(names[1])], LIMITS)

    assert [one.offered.name for one in looked][1:] == ["find"]
    assert [one.reason is None for one in looked] == [False, True]
    assert looked[0].offered.name
    assert "Several" in str(looked[0].reason)


def test_looking_ends_when_nobody_waits_for_it() -> None:
    stop = threading.Event()
    stop.set()

    assert inspect_tools([seen()], LIMITS, stop) == []


@pytest.mark.parametrize(
    "part",
    [
        {"enum": ["a", "b\U000e0041\U000e0042"]},
        {"default": "a\u202eb"},
        {"examples": [{"deep": "a\x1b[31m"}]},
        {"const": "a" + "\ufe01\ufe02\ufe03"},
        {"properties": {"na\u200bme": {}}},
        {"properties": {"\u3164": {}}},
    ],
)
def test_what_nobody_sees_in_a_schema_makes_it_unusable(part: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"a": part}}
    honest = {"type": "object", "properties": {"a": {"enum": ["é ❤️", "line\nline"]}}}

    looked = inspect_tool(seen(input_schema=schema), LIMITS)

    assert "invisible" in str(looked.reason)
    assert "/properties/a" in str(looked.reason)
    assert inspect_tool(seen(input_schema=honest), LIMITS).reason is None


def test_what_the_database_cannot_keep_is_marked_when_a_tool_is_looked_at() -> None:
    looked = inspect_tool(
        seen("a\0b", description="a\0b", input_schema={"type": "object", "default": 1 << 70}),
        LIMITS,
    )

    assert "\0" not in looked.offered.name + looked.offered.description
    assert seen(input_schema={"type": "object", "default": 1 << 70}).size > 0


def answered(text: str = "", structured: Any = None) -> McpToolResult:
    content = [{"type": "text", "text": text}]
    return read_answer(
        content, structured, has_structured=structured is not None, limits=LIMITS, alias="notes.get"
    )


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "value",
    [{"a": math.nan}, {"a": [math.inf]}, deep(64), deep(5_000)],
    ids=["nan", "infinity", "deep", "endless"],
)
def test_an_answer_that_is_no_value_is_the_tools_fault(value: Any) -> None:
    with pytest.raises(UpstreamError) as wrong:
        answered(structured=value)

    assert (wrong.value.code, wrong.value.retryable) == ("tool_answer_invalid", False)
    assert answered(structured=deep(60)).value == deep(60)


@pytest.mark.parametrize("levels", [63, 300, 900])
def test_text_that_is_json_without_end_is_text(levels: int) -> None:
    text = "[" * levels + "]" * levels

    assert answered(text).value == {"text": text}
    assert answered("[[1]]").value == {"text": "[[1]]", "json": [[1]]}


def test_an_answer_that_is_too_long_is_not_read() -> None:
    with pytest.raises(UpstreamError) as wrong:
        answered("[" + "1," * LIMITS.step_output_bytes)

    assert wrong.value.code == "result_too_large"


@pytest.mark.asyncio
async def test_a_workspace_looks_at_one_server_at_a_time_and_others_go_on() -> None:
    room = ToolInspectionPool(patience=0.05)
    async with room.turn(HERE):
        with pytest.raises(LimitExceeded) as waited:
            async with room.turn(HERE):
                pass
        async with room.turn(THERE):
            pass
    async with room.turn(HERE):
        names = [await room.apart(lambda: threading.current_thread().name) for _ in range(2)]
    room.close()

    assert waited.value.retry_after is not None
    assert all(name.startswith("looking") for name in names)


@pytest.mark.asyncio
async def test_what_is_done_in_a_turn_may_take_longer_than_waiting_for_one() -> None:
    room = ToolInspectionPool(patience=0.01)

    async def late() -> None:
        async with room.turn(HERE):
            await asyncio.sleep(0.05)
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await late()
    room.close()
