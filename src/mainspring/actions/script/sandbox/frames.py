"""Parses the output of a process: frames of the bootstrap, and the script's own output.

A frame begins with a marker unique to this process and ends with its line. It may arrive in chunks,
and in the middle of an unfinished line of the script.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

ScriptStream = Literal["stdout", "stderr"]

READY = b"READY\n"


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """A piece of the script's own output."""

    stream: ScriptStream
    text: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A message of the bootstrap, and its size in bytes."""

    body: dict[str, Any]
    size: int = field(default=0, compare=False)


class ProtocolError(Exception):
    """The output violates the protocol."""


class FrameTooLong(ProtocolError):
    """A frame exceeds the maximum size."""


class OutputDecoder:
    """Decodes one output stream incrementally."""

    def __init__(self, stream: ScriptStream, number: int) -> None:
        self.stream = stream
        self.number = number
        self.open = True
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def text(self, data: bytes, *, final: bool = False) -> str:
        return self._decoder.decode(data, final)


class FrameParser:
    """Parses the standard output of one process, from its greeting to its end."""

    def __init__(self) -> None:
        self.greeted = False
        self._marker: bytes | None = None
        self._held = b""
        self._frame: bytearray | None = None

    @property
    def knows_marker(self) -> bool:
        return self._marker is not None

    @property
    def left(self) -> bytes:
        """An incomplete frame at the end, as output."""
        return self._held

    def expect(self, nonce: str) -> None:
        self._marker = b"\0" + nonce.encode() + b" "

    def hear(self, data: bytes, most: int) -> Iterator[bytes | Frame]:
        """Output and frames, in order; ``most`` limits one frame."""
        if self._frame is not None:
            frame, data = self._go_on(data, most)
            if frame is not None:
                yield frame
        buffer, self._held = self._held + data, b""
        if not self.greeted:
            buffer = self._greet(buffer)
        while self.greeted and buffer and self._marker is not None:
            at = buffer.find(self._marker)
            if at < 0:
                kept = _count_partial_marker(self._marker, buffer)
                self._held = buffer[len(buffer) - kept :]
                yield buffer[: len(buffer) - kept]
                return
            yield buffer[:at]
            self._frame = bytearray()
            frame, buffer = self._go_on(buffer[at + len(self._marker) :], most)
            if frame is not None:
                yield frame
        self._held = buffer

    def _greet(self, buffer: bytes) -> bytes:
        if len(buffer) < len(READY):
            return buffer
        if not buffer.startswith(READY):
            self._held = buffer
            raise ProtocolError
        self.greeted = True
        return buffer[len(READY) :]

    def _go_on(self, data: bytes, most: int) -> tuple[Frame | None, bytes]:
        """Add to the current frame; returns it once it is complete, and the rest."""
        assert self._frame is not None
        body, end, rest = data.partition(b"\n")
        self._frame += body
        if len(self._frame) > most:
            self._frame = bytearray()
            raise FrameTooLong
        if not end:
            return None, b""
        whole, self._frame = bytes(self._frame), None
        return _read(whole), rest


def _read(body: bytes) -> Frame:
    try:
        frame = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ProtocolError from None
    if not isinstance(frame, dict):
        raise ProtocolError
    return Frame(frame, len(body))


def _count_partial_marker(marker: bytes, buffer: bytes) -> int:
    """How many bytes at the end may be the beginning of the marker."""
    at = buffer.rfind(b"\0", max(0, len(buffer) - len(marker) + 1))
    return len(buffer) - at if at >= 0 and marker.startswith(buffer[at:]) else 0
