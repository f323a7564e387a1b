"""Speaking with servers of tools: good ones, old and new, and those that mean harm."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mainspring.contracts.errors import Conflict, NotFound, Problem, UpstreamError
from mainspring.contracts.ids import generate_id
from mainspring.store.database import Database
from mainspring.workspace.connections.rows import McpConnection
from tests.kit.leaks import Haystack, add_tables
from tests.kit.mcp_server import NEW, OLD, McpDouble, Script, mcp_server, tool
from tests.kit.tool_connections import HERE, ConnectionBench, open_room

TOKEN = "Zx-own-token-of-the-connection-77"


@asynccontextmanager
async def both(
    database: Database, folder: Path, **limits: int
) -> AsyncIterator[tuple[McpDouble, ConnectionBench]]:
    async with mcp_server() as double, open_room(database, folder, [double.pair], **limits) as room:
        yield double, room


@pytest.mark.parametrize("versions", [[OLD], [NEW], [OLD, NEW]], ids=["old", "new", "both"])
async def test_tools_are_listed_and_called_in_every_version_of_the_protocol(
    database: Database, tmp_path: Path, versions: list[str]
) -> None:
    async with both(database, tmp_path) as (double, room):
        hints = {"readOnlyHint": True, "destructiveHint": False}
        double.script = Script(
            versions=versions,
            page=2,
            tools=[tool("one", annotations=hints), tool("two", title="Two"), tool("echo")],
        )
        connection = await room.connect(double)

        async with room.outside.session(HERE, connection.id) as session:
            tools = await session.tools()
            answer = await session.call("echo", {"text": "hello"}, key="run/step//1")

        assert [one.name for one in tools] == ["one", "two", "echo"]
        assert tools[0].hints == hints
        assert tools[1].title == "Two"
        assert answer.value["json"] == {"tool": "echo", "arguments": {"text": "hello"}}
        assert (await room.find(connection.id)).last_ok_at is not None
        assert all(one.method in {"POST", "DELETE"} for one in double.sent)
        assert "run/step" not in str([one.body for one in double.sent])


async def test_only_the_connections_own_token_is_sent_and_only_to_its_own_server(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        double.script.tokens = [TOKEN]
        connection = await room.connect(double, "bearer", TOKEN)
        await room.ask(connection, text="hello")

        assert {one.token for one in double.sent} == {TOKEN}

        double.sent.clear()
        double.script.tokens = None
        open_to_all = await room.connect(double, alias="open")
        await room.ask(open_to_all)

        assert all("authorization" not in one.headers for one in double.sent)
        assert all("cookie" not in one.headers for one in double.sent)


async def test_a_token_that_is_not_taken_asks_for_a_person_and_a_good_one_ends_that(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        double.script.tokens = ["another"]
        connection = await room.connect(double, "bearer", TOKEN)

        with pytest.raises(Conflict) as refused:
            await room.ask(connection)

        assert refused.value.code == "sign_in_needed"
        found = await room.find(connection.id)
        assert (found.state, found.failures_in_row) == ("sign_in", 1)
        assert found.last_error is not None
        assert found.last_error["code"] == "sign_in_needed"

        double.script.tokens = [TOKEN]
        await room.ask(connection)

        found = await room.find(connection.id)
        assert (found.state, found.failures_in_row, found.last_error) == ("ready", 0, None)


async def test_a_connection_without_a_token_asks_for_a_person_before_anything_is_sent(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        connection = await room.connect(double, "bearer")

        with pytest.raises(Conflict, match="signed in"):
            await room.ask(connection)

        assert double.sent == []


async def test_what_a_tool_says_of_its_failure_is_reported_and_does_not_count_against_the_server(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        output = "No such page.\x00\x1b[31m\n" + "x" * 5_000
        double.answer = lambda *_: {"content": [{"type": "text", "text": output}], "isError": True}
        connection = await room.connect(double)

        with pytest.raises(UpstreamError) as failed:
            await room.ask(connection, "fail")
        with pytest.raises(NotFound) as missing:
            await room.ask(connection, "nowhere")

        assert failed.value.detail.startswith("tools.fail failed: No such page. [31m xxx")
        assert (failed.value.code, failed.value.retryable) == ("tool_failed", False)
        assert len(failed.value.detail) < 600
        assert missing.value.detail == "The server of tools has no tool called nowhere."
        found = await room.find(connection.id)
        assert (found.failures_in_row, found.last_error) == (0, None)


async def test_an_answer_is_its_structure_or_its_text_and_pictures_are_only_mentioned(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        connection = await room.connect(double)
        picture = {"type": "image", "data": "QUJD" * 100, "mimeType": "image/png"}
        text = [{"type": "text", "text": "one\x00"}, {"type": "text", "text": "two"}]
        double.answer = lambda *_: {"content": [*text, picture]}

        assert await room.ask(connection) == {
            "text": "one\ufffd\ntwo",
            "others": [{"type": "image", "mime_type": "image/png", "bytes": 300}],
        }

        double.answer = lambda *_: {"content": text, "structuredContent": {"n": [1, 2**70]}}

        assert await room.ask(connection) == {"n": [1, float(2**70)]}


# What each way of doing harm, or of failing, is reported as: when it is opened, listed and called.
TOLD = {
    "many_tools": "too_many_tools",
    "long_description": "response_too_large",
    "endless_pages": "too_many_tools",
    "same_page": "too_many_tools",
    "wrong_id": "timed_out",
    "slow": "timed_out",
    "huge_result": "result_too_large",
    "redirect": "redirected",
    "not_json": "bad_response",
    "html": "bad_response",
    "broken_tool": "bad_response",
    "server_error": "mcp_failed",
    "forbidden": "mcp_forbidden",
    "asks_back": "tool_asks",
    "hang_up": "bad_response",
}
_SILENT = ("slow", "wrong_id")
_QUICK = sorted(TOLD.keys() - set(_SILENT))


async def test_a_server_that_means_harm_gets_a_problem_of_ours_and_nothing_more(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path, mcp_tools=100) as (double, room):
        connection = await room.connect(double)
        result = {mode: await _told(room, double, connection, mode) for mode in _QUICK}
        double.script = Script(mode="server_error")
        with pytest.raises(UpstreamError) as busy:
            await room.ask(connection)

        assert (busy.value.retryable, busy.value.retry_after) == (True, 7.0)

        async with open_room(database, tmp_path, [double.pair], mcp_seconds=1) as hurried:
            result |= {mode: await _told(hurried, double, connection, mode) for mode in _SILENT}

        assert result == TOLD


async def _told(
    room: ConnectionBench, double: McpDouble, connection: McpConnection, mode: str
) -> str:
    double.script = Script(mode=mode)
    with pytest.raises(Problem) as problem:
        await _used(room, connection)
    assert problem.value.status in {404, 409, 502, 504}
    return problem.value.code


async def _used(room: ConnectionBench, connection: McpConnection) -> None:
    async with room.outside.session(HERE, connection.id) as session:
        await session.tools()
        await session.call("echo", {}, key="k")


async def test_a_server_that_asks_for_a_model_is_refused_and_answers_all_the_same(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        double.script.mode = "notes_first"
        connection = await room.connect(double)

        assert (await room.ask(connection))["json"]["tool"] == "echo"

        answers = [one.body for one in double.sent if one.body.get("id") == "ask-1"]
        assert answers
        assert all("error" in answer and "result" not in answer for answer in answers)
        asked = double.sent[0].body["params"]["_meta"]
        assert asked["io.modelcontextprotocol/clientCapabilities"] == {}


async def test_an_answer_that_is_broken_off_is_fetched_where_the_server_keeps_it(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        double.script.mode = "come_again"
        connection = await room.connect(double)

        assert (await room.ask(connection))["json"]["tool"] == "echo"

        assert [one.rpc or one.method for one in double.sent][-2:] == ["tools/call", "GET"]


async def test_schemas_that_are_wrong_or_refer_to_themselves_are_handed_on_as_they_are(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        own = {"type": "object", "properties": {"child": {"$ref": "#"}}}
        odd = {"type": "object", "properties": {"x": {"type": "no such type"}}}
        far = {"type": "object", "$ref": f"{double.origin}/elsewhere.json"}
        double.script.tools = [
            tool("own", inputSchema=own, outputSchema=own),
            tool("odd", inputSchema=odd),
            tool("far", inputSchema=far, outputSchema=far),
        ]
        double.answer = lambda *_: {"content": [], "structuredContent": {"any": "thing"}}
        connection = await room.connect(double)

        async with room.outside.session(HERE, connection.id) as session:
            tools = {one.name: one for one in await session.tools()}
            answer = await session.call("far", {}, key="k")

        assert tools["own"].input_schema == own
        assert tools["odd"].input_schema == odd
        assert answer.value == {"any": "thing"}
        assert all("elsewhere" not in one.path for one in double.sent)


async def test_a_server_that_is_not_there_or_not_allowed_is_reported_and_counted(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        connection = await room.connect(double)
        double.port += 1
        hidden = await room.connect(double, alias="hidden")

        with pytest.raises(Problem) as refused:
            await room.ask(hidden)
        assert refused.value.code == "https_needed"
        with pytest.raises(NotFound, match="no such connection"):
            async with room.outside.session(HERE, generate_id()):
                pass
        with pytest.raises(NotFound, match="no such connection"):
            async with room.outside.session(generate_id(), connection.id):
                pass

    async with open_room(database, tmp_path, [f"127.0.0.1:{double.port - 1}"]) as room:
        with pytest.raises(UpstreamError) as away:
            await room.ask(connection)
        assert away.value.code == "unreachable"
        found = await room.find(connection.id)
        assert found.failures_in_row == 1
        assert found.last_failed_at is not None


async def test_a_cancelled_call_does_not_count_against_the_server(
    database: Database, tmp_path: Path
) -> None:
    async with both(database, tmp_path) as (double, room):
        connection = await room.connect(double)
        opened = asyncio.Event()

        async def hold() -> None:
            async with room.outside.session(HERE, connection.id) as session:
                double.script.mode = "slow"
                opened.set()
                await session.call("echo", {}, key="k")

        using = asyncio.create_task(hold())
        await opened.wait()
        using.cancel()
        await asyncio.gather(using, return_exceptions=True)

        assert using.cancelled()
        found = await room.find(connection.id)
        assert (found.last_ok_at, found.failures_in_row) == (None, 0)


async def test_no_token_is_in_a_row_a_line_of_the_log_or_a_problem(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with both(database, tmp_path) as (double, room):
        double.script.tokens = [TOKEN]
        connection = await room.connect(double, "bearer", TOKEN)
        hay = Haystack()
        result = {"content": [{"type": "text", "text": f"You are {TOKEN}"}]}
        double.answer = lambda name, _: result | {"isError": name == "fail"}

        hay.add("answer", json.dumps(await room.ask(connection)))
        with pytest.raises(UpstreamError) as failed:
            await room.ask(connection, "fail")
        double.script.tokens = []
        with pytest.raises(Conflict) as refused:
            await room.ask(connection)

        hay.add("problems", json.dumps([failed.value.as_dict(), refused.value.as_dict()]))
        hay.add("log", caplog.text)
        hay.add("row", repr(await room.find(connection.id)))
        await add_tables(hay, database)
        assert hay.found({"token": TOKEN}) == []
        assert "[secret access_token]" in failed.value.detail
