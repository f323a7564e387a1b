"""A server of tools from a package registry, made by others: over HTTP and over its pipes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mainspring.contracts.errors import UpstreamError
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.connections import rows
from mainspring.workspace.connections.rows import McpConnection
from tests.kit.third_party_mcp import stdio_command, third_party_server
from tests.kit.tool_connections import HERE, ConnectionBench, open_room


async def _used(room: ConnectionBench, connection: McpConnection) -> None:
    async with room.outside.session(HERE, connection.id) as session:
        tools = {one.name: one for one in await session.tools()}
        echoed = await session.call("echo", {"message": "hello"}, key="k")
        result = await session.call("get-structured-content", {"location": "Chicago"}, key="k")
        picture = await session.call("get-tiny-image", {}, key="k")

    assert tools["get-sum"].hints["readOnlyHint"] is True
    assert tools["get-structured-content"].output_schema is not None
    assert echoed.value["text"] == "Echo: hello"
    assert result.value.keys() == {"temperature", "conditions", "humidity"}
    assert picture.value["others"][0]["mime_type"] == "image/png"


async def test_a_real_server_is_used_over_http(database: Database, tmp_path: Path) -> None:
    async with third_party_server() as url:
        pair = urlsplit(url).netloc
        async with open_room(database, tmp_path, [pair], mcp_seconds=20) as room:
            async with database.transaction() as tx:
                connection = await rows.add_http(tx, HERE, FIRST_MEMBER, "everything", url)

            await _used(room, connection)
            with pytest.raises(UpstreamError, match=r"everything\.echo failed"):
                await room.ask(connection, wrong=1)

            assert (await room.find(connection.id)).last_ok_at is not None


async def test_a_real_server_is_used_over_its_pipes(database: Database, tmp_path: Path) -> None:
    async with open_room(database, tmp_path, [], mcp_seconds=20) as room:
        async with database.transaction() as tx:
            connection = await rows.add_stdio(tx, HERE, FIRST_MEMBER, "everything", stdio_command())

        await _used(room, connection)
