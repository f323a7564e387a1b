"""MCP calls and lists: the product against the bare low-level server of the protocol's library.

python -m bench.mcp [--rounds N]

Both serve a tool of the same shape over HTTP without sessions, in a process of their own, and
are driven by the same client with 16 requests at a time. The bare server knows no callers, no
rules and no records; what is measured is what ours costs next to that. A figure is the median
of the rounds; the ratio is what counts, because machines differ and are shared.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvloop

from bench.environment import NOOP
from bench.server import family, folder

CALL_BAR, LIST_BAR = 0.7, 100.0
TOOLS = 80
CALLS, LISTS = 2_000, 320
AT_A_TIME = 16
VERSIONS = ("2025-11-25", "2026-07-28")
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}


# --- the two servers


async def _ours(home: Path) -> None:
    from mainspring.app import application_services, build_registry, open_application
    from mainspring.contracts.limits import Limits
    from mainspring.settings import Settings
    from mainspring.surfaces.mcp.mount import PATH, McpMount
    from mainspring.surfaces.rest.app import build_api
    from mainspring.surfaces.rest.serve import serve
    from mainspring.workspace.automations import FIRST_MEMBER
    from mainspring.workspace.tokens import ensure_owner_token

    more = [replace(NOOP, id=f"bench.tool_{number}") for number in range(TOOLS)]
    registry = build_registry(Limits(), capabilities=[NOOP, *more])
    # The rate limit is for others; here we are the flood.
    free = {"direct_burst": 1_000_000, "direct_per_second": 1_000_000}
    settings = Settings(home=home, port=0, limits=free)
    async with open_application(settings, registry=registry) as application:
        file = await ensure_owner_token(
            application.database, home, application.workspace_id, FIRST_MEMBER
        )
        services = application_services(application)
        token = file.read_text().strip()
        await serve(
            build_api(services, beside={PATH: McpMount(services)}),
            services.settings,
            ready=lambda port: print(json.dumps({"port": port, "token": token}), flush=True),
            stop=asyncio.Event(),
        )


async def _bare() -> None:
    import mcp_types as types
    import uvicorn
    from mcp.server.lowlevel.server import Server

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        names = ["bench.noop", *(f"bench.tool_{number}" for number in range(TOOLS))]
        return types.ListToolsResult(tools=[_tool(types, name) for name in names])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        value = {"said": (params.arguments or {})["say"]}
        text = types.TextContent(type="text", text=json.dumps(value))
        return types.CallToolResult(content=[text], structured_content=value)

    server: Server[Any] = Server(
        "bare",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # Without this it would list all its tools to look at the headers of each call.
        get_tool_input_schema=lambda _: NOOP.input_schema,
    )
    app = server.streamable_http_app(stateless_http=True, json_response=True)
    config = uvicorn.Config(app, port=0, log_level="warning", http="httptools", access_log=False)
    listening = uvicorn.Server(config)
    serving = asyncio.create_task(listening.serve())
    while not listening.started:
        await asyncio.sleep(0.01)
    port = listening.servers[0].sockets[0].getsockname()[1]
    print(json.dumps({"port": port, "token": "none"}), flush=True)
    await serving


def _tool(types: Any, name: str) -> Any:
    return types.Tool(
        name=name,
        description=NOOP.description,
        input_schema=dict(NOOP.input_schema),
        output_schema=dict(NOOP.output_schema),
    )


# --- the client


@dataclass(frozen=True, slots=True)
class Load:
    """What to send where, how often."""

    port: int
    token: str
    version: str
    method: str
    params: Mapping[str, Any]
    requests: int

    def request(self) -> bytes:
        modern = self.version == VERSIONS[-1]
        params = {**self.params, "_meta": _META} if modern else dict(self.params)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": self.method, "params": params})
        head = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"Authorization: Bearer {self.token}",
            f"MCP-Protocol-Version: {self.version}",
            f"Mcp-Method: {self.method}",
            f"Content-Length: {len(body)}",
        ]
        if "name" in self.params:
            head.append(f"Mcp-Name: {self.params['name']}")
        return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


async def _one(load: Load, count: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
    request = load.request()
    for _ in range(count):
        writer.write(request)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        body = await reader.readexactly(int(length))
        if not answer.startswith(b"HTTP/1.1 200") or b'"result"' not in body:
            raise SystemExit(f"It was refused: {answer!r} {body[:300]!r}")
    writer.close()


async def _drive(load: Load) -> float:
    share = load.requests // AT_A_TIME
    began = time.perf_counter()
    await asyncio.gather(*(_one(load, share) for _ in range(AT_A_TIME)))
    return share * AT_A_TIME / (time.perf_counter() - began)


def _rate(server: Mapping[str, Any], version: str, method: str, requests: int) -> float:
    params = {"name": "bench.noop", "arguments": {"say": "hello"}} if "call" in method else {}
    load = Load(server["port"], server["token"], version, method, params, requests)
    return uvloop.run(_drive(load))


@contextmanager
def _started(*text: str) -> Iterator[dict[str, Any]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.mcp", *text], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield {**json.loads(process.stdout.readline()), "pid": process.pid}
    finally:
        process.terminate()
        process.wait(30)


def _spent(pid: int) -> float:
    """Seconds of processor time of a server, its database included."""
    found = 0
    for one in family(pid):
        try:
            text = Path(f"/proc/{one}/stat").read_text()
        except OSError:
            continue
        found += sum(map(int, text.rpartition(")")[2].split()[11:13]))
    return found / os.sysconf("SC_CLK_TCK")


def measure(rounds: int = 3) -> dict[str, float]:
    """Calls a second of both with the processor time of each, and lists a second of ours."""
    rates: dict[str, list[float]] = {}
    with folder() as made, _started("ours", str(made / "home")) as ours, _started("bare") as bare:
        for _ in range(rounds + 1):  # the first round warms both up
            for version in VERSIONS:
                for name, server in (("bare", bare), ("ours", ours)):
                    before = _spent(server["pid"])
                    rate = _rate(server, version, "tools/call", CALLS)
                    cost = (_spent(server["pid"]) - before) * 1000 / CALLS
                    rates.setdefault(f"{name} {version}", []).append(rate)
                    rates.setdefault(f"{name} {version} ms", []).append(cost)
                rate = _rate(ours, version, "tools/list", LISTS)
                rates.setdefault(f"lists {version}", []).append(rate)
    return {name: round(statistics.median(found[1:]), 2) for name, found in rates.items()}


def show(found: Mapping[str, float]) -> None:
    for version in VERSIONS:
        ours, bare = found[f"ours {version}"], found[f"bare {version}"]
        print(
            f"tools/call {version}   {ours:7.0f} a second, bare {bare:7.0f}   "
            f"ratio {ours / bare:4.2f}   bar {CALL_BAR}"
        )
        ours, bare = found[f"ours {version} ms"], found[f"bare {version} ms"]
        print(f"  processor time of one call {ours:7.2f} ms, bare {bare:11.2f} ms")
    for version in VERSIONS:
        lists = found[f"lists {version}"]
        print(f"tools/list {version}   {lists:7.0f} a second, {TOOLS} tools   bar {LIST_BAR:.0f}")


def main() -> None:
    match sys.argv[1:]:
        case ["ours", home]:
            uvloop.run(_ours(Path(home)))
        case ["bare"]:
            uvloop.run(_bare())
        case _:
            parser = argparse.ArgumentParser(description=__doc__)
            parser.add_argument("--rounds", type=int, default=3)
            show(measure(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
