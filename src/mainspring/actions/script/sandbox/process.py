"""One sandbox process, as the worker sees it.

Frames are sent to its standard input. Its standard output carries frames and the script's own
output; a frame starts with a marker that only this process knows, so the two cannot be confused by
accident. When a limit is exceeded, the process is ended and the reason recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.frames import (
    Frame,
    FrameParser,
    FrameTooLong,
    OutputChunk,
    OutputDecoder,
    ProtocolError,
)
from mainspring.actions.script.sandbox.launcher_client import LauncherClient, open_pipe_pair

__all__ = ["ExitReason", "Frame", "OutputChunk", "ProcessExit", "SandboxProcess"]

ExitReason = Literal["wall", "cpu", "memory", "output", "answer", "killed", "crashed"]

# The maximum per read, so that other processes are read in between.
_READ_BYTES = 1 << 14
_MOST_PIECES_IN_A_PIPE = 128
# The maximum buffered output; above it, the process blocks.
_MOST_WAITING = 1 << 20
_LEAST_WEIGHT = 256
_TAIL_BYTES = 8192
_LAST_WORDS = ("done", "failed", "built")
_OUT_OF_MEMORY = (b"out of memory", b"memory allocation of", b"Cannot allocate memory")
_SIGKILL = 9


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How it ended; ``reason`` is None when the script ended by itself."""

    exit_code: int
    reason: ExitReason | None
    cpu_ms: int
    peak_kb: int


class SandboxProcess:
    """Use it once: send the first frame, iterate, answer, close."""

    def __init__(self, link: LauncherClient, caps: ProcessLimits) -> None:
        self._link = link
        self._caps = caps
        self._loop = asyncio.get_running_loop()
        self._name = 0
        self._listener = FrameParser()
        self._waiting: deque[OutputChunk | Frame] = deque()
        self._waiting_bytes = 0
        self._said = asyncio.Event()
        self._output = 0
        self._tail = b""
        self._reason: ExitReason | None = None
        self._finished: int | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._to_write: deque[memoryview] = deque()
        self._written = asyncio.Event()
        self._paused = False
        self._stdin, self._child_stdin = open_pipe_pair(reads=False)
        stdout, self._child_stdout = open_pipe_pair(reads=True)
        stderr, self._child_stderr = open_pipe_pair(reads=True)
        self._decoders = (OutputDecoder("stdout", stdout), OutputDecoder("stderr", stderr))
        self.pid: int | None = None
        self._ready: asyncio.Future[bool] = self._loop.create_future()
        self._ended: asyncio.Future[ProcessExit] = self._loop.create_future()

    @property
    def caps(self) -> ProcessLimits:
        return self._caps

    @property
    def is_alive(self) -> bool:
        return not self._ended.done()

    async def start(self, arguments: list[str], data_bytes: int, cpu_seconds: int) -> None:
        theirs = [self._child_stdin, self._child_stdout, self._child_stderr]
        try:
            self._name = await self._link.start(self, arguments, theirs, data_bytes, cpu_seconds)
        except BaseException:
            self._close_streams()
            raise
        finally:
            for number in theirs:
                os.close(number)
        for decoder in self._decoders:
            self._loop.add_reader(decoder.number, self._read, decoder)

    def begin(self, caps: ProcessLimits) -> None:
        """Start applying the limits."""
        self._caps = caps
        self._clock = self._loop.call_later(caps.wall_seconds, self.kill, "wall")
        self._link.bound(self._name, caps.memory_bytes, caps.cpu_seconds)

    async def ready(self) -> bool:
        """Whether the bootstrap waits for its first frame; False when it never will."""
        return await asyncio.shield(self._ready)

    async def send(self, frame: Mapping[str, Any]) -> None:
        """Wait until the process has accepted it; a dead process accepts nothing."""
        if not self._listener.knows_marker:
            self._listener.expect(str(frame["nonce"]))
        if not self.is_alive:
            return
        body = orjson.dumps(frame)
        self._to_write.append(memoryview(struct.pack(">I", len(body)) + body))
        self._write()
        while self._to_write and self.is_alive:
            self._written.clear()
            await self._written.wait()

    async def __aiter__(self) -> AsyncIterator[OutputChunk | Frame]:
        """All of its output and frames, in order, until it has ended."""
        while True:
            while self._waiting:
                item = self._waiting.popleft()
                self._waiting_bytes -= _compute_item_weight(item)
                self._resume()
                yield item
            if not any(decoder.open for decoder in self._decoders):
                return
            self._said.clear()
            await self._said.wait()

    async def ended(self) -> ProcessExit:
        return await asyncio.shield(self._ended)

    def kill(self, reason: ExitReason = "killed") -> None:
        if self._finished is None and self._reason is None and self.is_alive:
            self._reason = reason
        self._link.end(self._name)

    async def close(self) -> None:
        """End it if it is alive, and wait until nothing of it is left."""
        if self.is_alive:
            self.kill()
            await self.ended()
        self._close_streams()

    def heard(self, message: Mapping[str, Any]) -> None:
        """A message of the launcher about this process."""
        if "pid" in message:
            self.pid = message["pid"]
            return
        # Output from before its end is still in the pipes, and explains the end.
        for decoder in self._decoders:
            self._read_out(decoder)
            self._finish_stream(decoder)
        self._settle(message)

    def _settle(self, message: Mapping[str, Any]) -> None:
        if self._clock is not None:
            self._clock.cancel()
        ended = ProcessExit(
            exit_code=self._finished if self._finished is not None else message["ended"],
            reason=self._judged(message),
            cpu_ms=message.get("cpu_ms", 0),
            peak_kb=message.get("peak_kb", 0),
        )
        if not self._ended.done():
            self._ended.set_result(ended)
        if not self._ready.done():
            self._ready.set_result(False)
        self._said.set()
        self._written.set()

    def _judged(self, message: Mapping[str, Any]) -> ExitReason | None:
        if self._finished is not None or self._reason is not None:
            return self._reason
        why: ExitReason | None = message.get("why")
        if why is not None:
            return why
        code = message["ended"]
        if code == -_SIGKILL and message.get("cpu_ms", 0) >= self._caps.cpu_seconds * 1000:
            return "cpu"
        if code != 0 and any(words in self._tail for words in _OUT_OF_MEMORY):
            return "memory"
        return "crashed"

    def _read(self, decoder: OutputDecoder) -> bool:
        """Whether there was something to read, including the end."""
        try:
            data = os.read(decoder.number, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._finish_stream(decoder)
        elif decoder.stream == "stdout":
            self._take(decoder, data)
        else:
            self._tail = (self._tail + data)[-_TAIL_BYTES:]
            self._tell(decoder, data)
        self._said.set()
        return True

    def _read_out(self, decoder: OutputDecoder) -> None:
        """The rest of a pipe that nothing writes to any more: at most its capacity."""
        for _ in range(_MOST_PIECES_IN_A_PIPE):
            if not decoder.open or not self._read(decoder):
                return

    def _finish_stream(self, decoder: OutputDecoder) -> None:
        if not decoder.open:
            return
        self._loop.remove_reader(decoder.number)
        decoder.open = False
        left = self._listener.left if decoder.stream == "stdout" else b""
        if text := decoder.text(left, final=True):
            self._put(OutputChunk(decoder.stream, text))

    def _take(self, decoder: OutputDecoder, data: bytes) -> None:
        try:
            for said in self._listener.hear(data, self._caps.frame_bytes):
                if isinstance(said, Frame):
                    self._hear_frame(said)
                else:
                    self._tell(decoder, said)
        except FrameTooLong:
            self.kill("answer")
        except ProtocolError:
            self.kill("crashed")
        if self._listener.greeted and not self._ready.done():
            self._ready.set_result(True)

    def _hear_frame(self, frame: Frame) -> None:
        if self._finished is not None or self._reason is not None:
            return
        self._put(frame)
        if any(word in frame.body for word in _LAST_WORDS):
            # It has nothing more to say, and a clean exit would only take time.
            self._finished = 1 if "failed" in frame.body else 0
            self._link.end(self._name)

    def _tell(self, decoder: OutputDecoder, data: bytes) -> None:
        self._output += len(data)
        if self._output > self._caps.output_bytes:
            self.kill("output")
            return
        if text := decoder.text(data):
            self._put(OutputChunk(decoder.stream, text))

    def _put(self, item: OutputChunk | Frame) -> None:
        self._waiting.append(item)
        self._waiting_bytes += _compute_item_weight(item)
        if self._waiting_bytes > _MOST_WAITING and not self._paused and self.is_alive:
            self._paused = True
            for decoder in self._decoders:
                self._loop.remove_reader(decoder.number)
        self._said.set()

    def _resume(self) -> None:
        if self._paused and self._waiting_bytes <= _MOST_WAITING // 2:
            self._paused = False
            for decoder in self._decoders:
                if decoder.open:
                    self._loop.add_reader(decoder.number, self._read, decoder)

    def _write(self) -> None:
        while self._to_write:
            piece = self._to_write[0]
            try:
                taken = os.write(self._stdin, piece)
            except BlockingIOError:
                self._loop.add_writer(self._stdin, self._write)
                return
            except OSError:
                # It reads no more; its exit explains why.
                self._to_write.clear()
                break
            if taken < len(piece):
                self._to_write[0] = piece[taken:]
            else:
                self._to_write.popleft()
        self._loop.remove_writer(self._stdin)
        self._written.set()

    def _close_streams(self) -> None:
        for number in (self._stdin, *(decoder.number for decoder in self._decoders)):
            with contextlib.suppress(OSError, ValueError):
                self._loop.remove_reader(number)
                self._loop.remove_writer(number)
            with contextlib.suppress(OSError):
                os.close(number)
        for decoder in self._decoders:
            decoder.open = False
        self._stdin = -1
        self._said.set()


def _compute_item_weight(item: OutputChunk | Frame) -> int:
    """The memory cost of a buffered item; even the smallest one counts."""
    return _LEAST_WEIGHT + (len(item.text) if isinstance(item, OutputChunk) else item.size)
