"""Speaking to the MCP server: with raw messages, and with the official client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types.methods import validate_server_result

OLD = "2025-11-25"
NEW = "2026-07-28"
VERSIONS = ("2025-06-18", OLD, NEW)
ENVELOPE: Mapping[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True, slots=True)
class RawMcpClient:
    """One client that writes raw messages."""

    http: httpx2.AsyncClient
    address: str
    token: str | None
    version: str = OLD
    # The query of the address, such as toolset=all.
    query: str = ""

    async def send(
        self, method: str, params: Mapping[str, Any] | None = None, **headers: str
    ) -> httpx2.Response:
        """One request; header names are written with _."""
        given = dict(params or {})
        if self.version == NEW:
            given["_meta"] = dict(ENVELOPE)
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": given}
        shown = {"mcp-method": method}
        named = given.get("name", given.get("uri"))
        if named is not None:
            shown["mcp-name"] = str(named)
        return await self.post(body, **shown, **headers)

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        """Any body at all."""
        shown = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": self.version,
        }
        if self.token is not None:
            shown["authorization"] = f"Bearer {self.token}"
        shown |= {name.replace("_", "-"): value for name, value in headers.items()}
        url = f"{self.address}/mcp?{self.query}" if self.query else f"{self.address}/mcp"
        if isinstance(body, bytes):
            shown.setdefault("content-type", "application/json")
            return await self.http.post(url, content=body, headers=shown)
        return await self.http.post(url, json=body, headers=shown)

    async def result(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """The result of a request, which the schema of its version knows."""
        answer = await self.send(method, params)
        assert answer.status_code == 200, answer.text
        message = answer.json()
        assert message["jsonrpc"] == "2.0"
        assert message["id"] == 7
        assert "error" not in message, message
        validate_server_result(method, self.version, message["result"])
        return message["result"]

    async def error(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """The error of a request."""
        return error_of(await self.send(method, params))

    async def tools(self) -> dict[str, Any]:
        """Every tool by its name."""
        return {tool["name"]: tool for tool in (await self.result("tools/list"))["tools"]}

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return await self.result("tools/call", {"name": name, "arguments": dict(arguments)})


def error_of(answer: httpx2.Response) -> Any:
    """The error that an answer holds, in the shape of the protocol."""
    message = answer.json()
    assert message["jsonrpc"] == "2.0"
    assert message.keys() == {"jsonrpc", "id", "error"}, message
    assert isinstance(message["error"]["code"], int)
    assert message["error"]["message"]
    return message["error"]


def problem_of(result: Mapping[str, Any]) -> Any:
    """The problem of an error result, wherever its version of the protocol has it."""
    return result.get("structuredContent") or result["_meta"]["mainspring/problem"]


@asynccontextmanager
async def connected(
    address: str,
    token: str,
    mode: str = "auto",
    *,
    opens: ElicitationFnT | None = None,
    query: str = "",
) -> AsyncIterator[Client]:
    """The official client over HTTP; the mode ``legacy`` begins with a handshake.

    ``opens`` is called when the server asks the client to open a page for its person.
    """
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        url = f"{address}/mcp?{query}" if query else f"{address}/mcp"
        line = streamable_http_client(url, http_client=http)
        async with Client(line, mode=mode, elicitation_callback=opens) as client:
            yield client
