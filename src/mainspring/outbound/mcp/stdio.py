"""A server of tools that is a program on this machine, for connections the operator has made.

It is started by a parent that ends it with everything that it started, when it is no longer used
or when we are lost; ``program_pool`` keeps it between uses. Of our environment it knows where
programs and its home are; what else it needs comes from the connection's secrets in the vault,
where ``env_github_token`` becomes ``GITHUB_TOKEN``. What it prints to stderr goes to the log, short
and masked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from mainspring.contracts.errors import Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.outbound.mcp import program_parent, sdk
from mainspring.outbound.mcp.session import McpSession
from mainspring.outbound.mcp.tool_results import sentence
from mainspring.settings import bare_environment
from mainspring.workspace.connections.rows import McpConnection
from mainspring.workspace.redaction import Redactor
from mainspring.workspace.vault import Vault, connection_scope

log = logging.getLogger(__name__)

ENV: Final = "env_"
# How long a program may take to end by itself once nothing more is sent to it.
_GRACE_SECONDS: Final = 1.0
_TAIL_BYTES: Final = 2_000

FromServer = MemoryObjectReceiveStream[SessionMessage | Exception]
ToServer = MemoryObjectSendStream[SessionMessage]


@dataclass(slots=True)
class ProgramPipes:
    """What lies between us and a program, and remembers why it broke."""

    alias: str
    redactor: Redactor
    problem: Problem | None = None
    status: int | None = None
    retry_after: float | None = None
    # The end of what it printed beside the protocol.
    tail: bytearray = field(default_factory=bytearray)
    cut: bool = False

    def overhear(self, piece: bytes) -> None:
        self.tail += piece
        self.cut = self.cut or len(self.tail) > _TAIL_BYTES
        del self.tail[:-_TAIL_BYTES]

    def last_words(self) -> str:
        """Whole lines only: half a secret would not be known for one."""
        whole = self.tail.partition(b"\n")[2] if self.cut else self.tail
        return sentence(self.redactor.data(bytes(whole)).decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class McpProgram:
    """A running program and the session with it."""

    session: McpSession
    pipes: ProgramPipes

    @property
    def usable(self) -> bool:
        """Whether another call can be made: it has not ended, and no call broke the session."""
        return self.pipes.problem is None and self.session.broken is None


@asynccontextmanager
async def run_program(
    connection: McpConnection, values: Mapping[str, str], limits: Limits
) -> AsyncIterator[McpProgram]:
    """A program that runs for as long as the context."""
    pipes = ProgramPipes(connection.alias, Redactor(values))
    environment = bare_environment() | {
        name.removeprefix(ENV).upper(): value for name, value in values.items()
    }
    process = await _start_process(connection, environment, limits.mcp_response_bytes)
    try:
        streams = _streams(process, pipes)
        async with sdk.over(streams, pipes, connection.alias, limits) as session:
            yield McpProgram(session, pipes)
    finally:
        await _end_process(process)
        if said := pipes.last_words():
            log.info("The program of %s said: %s", connection.alias, said)


async def read_values(connection: McpConnection, vault: Vault) -> dict[str, str]:
    """The secrets of a connection that its program gets as environment variables."""
    scope = connection_scope(connection.workspace_id, connection.id)
    names = [secret.name for secret in await vault.names(scope) if secret.name.startswith(ENV)]
    return await vault.reveal(scope, names)


async def _start_process(
    connection: McpConnection, environment: dict[str, str], most_bytes: int
) -> asyncio.subprocess.Process:
    home = environment.get("HOME", "/")
    name = connection.command[0]
    where = os.path.join(home, name) if "/" in name else name
    if shutil.which(where, path=environment.get("PATH")) is None:
        raise _not_started(connection)
    # Neither our environment nor what is installed matters to the parent.
    parent = [sys.executable, "-I", "-S", program_parent.__file__, str(os.getpid())]
    try:
        return await asyncio.create_subprocess_exec(
            *parent,
            *connection.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            cwd=home,
            start_new_session=True,
            limit=most_bytes,
        )
    except (OSError, ValueError):
        raise _not_started(connection) from None


def _not_started(connection: McpConnection) -> UpstreamError:
    return UpstreamError(
        f"The program of {connection.alias} could not be started.",
        code="program_failed",
        suggestion="An operator must check its command.",
        retryable=False,
    )


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """Ends the program and all that it started, whatever happens to us meanwhile."""
    assert process.stdin is not None
    with anyio.CancelScope(shield=True):
        # By itself, by the parent's hand, or at last without it.
        for end in (process.stdin.close, process.terminate, process.kill):
            with contextlib.suppress(TimeoutError, ProcessLookupError):
                end()
                async with asyncio.timeout(_GRACE_SECONDS):
                    await process.wait()
                    return


@asynccontextmanager
async def _streams(
    process: asyncio.subprocess.Process, pipes: ProgramPipes
) -> AsyncIterator[tuple[FromServer, ToServer]]:
    """The two directions as the library wants them, one message a line."""
    told, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, telling = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(_read, process, told, pipes)
        group.start_soon(_write, process, telling)
        group.start_soon(_overhear, process, pipes)
        try:
            yield from_server, to_server
        finally:
            for stream in (from_server, to_server, told, telling):
                stream.close()
            group.cancel_scope.cancel()


async def _read(
    process: asyncio.subprocess.Process,
    told: MemoryObjectSendStream[SessionMessage | Exception],
    pipes: ProgramPipes,
) -> None:
    assert process.stdout is not None
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError), told:
        while line := await _line(process.stdout, pipes):
            message = _parse_message(pipes.redactor.data(line))
            # A program that prints something else in between is not worth ending for.
            if message is not None:
                await told.send(SessionMessage(message))


async def _line(stdout: asyncio.StreamReader, pipes: ProgramPipes) -> bytes:
    """The next line; nothing at the end, and for one that is too long."""
    try:
        line = await stdout.readline()
    except ValueError:
        pipes.problem = UpstreamError(
            f"An answer of the program of {pipes.alias} is larger than what is read.",
            code="response_too_large",
            retryable=False,
        )
        return b""
    if not line and pipes.problem is None:
        pipes.problem = UpstreamError(
            f"The program of {pipes.alias} has ended.",
            code="program_failed",
            suggestion="An operator finds what it said in the log.",
        )
    return line


def _parse_message(line: bytes) -> Any:
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None


async def _write(
    process: asyncio.subprocess.Process, telling: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, anyio.ClosedResourceError), telling:
        async for session_message in telling:
            text = session_message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()


async def _overhear(process: asyncio.subprocess.Process, pipes: ProgramPipes) -> None:
    """Reads on, so that the program never waits for us, and keeps the end."""
    assert process.stderr is not None
    with contextlib.suppress(OSError):
        while piece := await process.stderr.read(65_536):
            pipes.overhear(piece)
