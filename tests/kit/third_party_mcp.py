"""A server of tools that others have made: ``server-everything`` of the protocol's authors.

It is a program for Node, pinned with all it needs by the lock file in
tests/conformance/mcp_third_party and installed outside the Python environment when it is
missing, never into it. Node itself comes with the development dependencies.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from scripts.node_packages import NODE, installed

_START_SECONDS: Final = 120.0
_PINS: Final = Path(__file__).resolve().parent.parent / "conformance" / "mcp_third_party"
_PROGRAM: Final = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"


def prepare() -> Path:
    """The folder with the installed server."""
    return installed(_PINS, "mcp-third-party")


def stdio_command() -> list[str]:
    """How the server is started as a program that speaks over its pipes."""
    return [str(NODE), str(prepare() / _PROGRAM), "stdio"]


@contextlib.asynccontextmanager
async def third_party_server() -> AsyncIterator[str]:
    """The address of the server, on a free port, until the block ends."""
    place, port = await asyncio.to_thread(prepare), _free_port()
    process = await asyncio.create_subprocess_exec(
        NODE,
        place / _PROGRAM,
        "streamableHttp",
        env={"PORT": str(port)},
        cwd=place,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await _until_listening(process, port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _until_listening(process: asyncio.subprocess.Process, port: int) -> None:
    async with asyncio.timeout(_START_SECONDS):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            await writer.wait_closed()
            return
    raise RuntimeError("the server of tools has ended")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
