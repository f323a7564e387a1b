"""Reading an answer's body: decoded here, piece by piece, and never beyond its bound."""

from __future__ import annotations

import asyncio
import zlib
from contextlib import aclosing
from typing import Protocol

import httpcore2

from mainspring.contracts.errors import UpstreamError

# Offered to servers; what they send beyond it is refused, not guessed at.
ACCEPTED_ENCODINGS = "gzip, deflate"
GZIP_MEMBERS = 32
# A peer may send a body in one-byte chunks; other work gets its turn between them.
PIECES_PER_TURN = 64
# And a body of a million such chunks costs seconds of work without being large.
MOST_PIECES = 32_768
_GZIP = 16 + zlib.MAX_WBITS


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes: ...


class BodyDecoder:
    """Turns the bytes of the wire into the bytes of the body, at most ``room`` of them."""

    def __init__(self, encoding: str, room: int) -> None:
        self._encoding = encoding
        self._room = room
        self._inflate: _Decompressor | None = None
        self._members = 0
        self._held = b""
        self._ended = False
        self._body = bytearray()

    def feed(self, data: bytes) -> None:
        if self._encoding == "identity":
            self._keep(data)
            return
        data = self._held + data
        self._held = b""
        while data and not self._ended:
            if self._inflate is None and len(data) < 2:
                self._held = data
                return
            data = self._decompress(data)

    def finish(self) -> bytes:
        """The whole body; a compressed one that stops in the middle is no answer."""
        if self._held or (self._inflate is not None and not self._inflate.eof):
            raise UpstreamError("The answer's compressed body ended early.", code="bad_response")
        return bytes(self._body)

    def _decompress(self, data: bytes) -> bytes:
        """Decodes some of the data and hands back what is left of it."""
        if self._inflate is None:
            self._inflate = self._opened(data)
        try:
            # One byte beyond the room is enough to know that it is too much.
            self._keep(self._inflate.decompress(data, self._room - len(self._body) + 1))
        except zlib.error as error:
            raise UpstreamError(
                "The answer's body could not be decompressed.", code="bad_response"
            ) from error
        return self._after_member() if self._inflate.eof else self._inflate.unconsumed_tail

    def _after_member(self) -> bytes:
        assert self._inflate is not None
        rest = self._inflate.unused_data
        # A gzip file may be several files in a row; anything else behind the end is padding.
        if self._encoding == "gzip" and rest.startswith(b"\x1f"):
            self._inflate = None
        self._ended = bool(rest) and self._inflate is not None
        return rest

    def _opened(self, data: bytes) -> _Decompressor:
        self._members += 1
        if self._members > GZIP_MEMBERS:
            raise UpstreamError(
                "The answer's body has too many compressed parts.", code="bad_response"
            )
        if self._encoding == "gzip":
            return zlib.decompressobj(_GZIP)
        wrapped = data[0] & 0x0F == 8 and (data[0] * 256 + data[1]) % 31 == 0
        return zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)

    def _keep(self, data: bytes) -> None:
        if len(self._body) + len(data) > self._room:
            raise UpstreamError(
                f"The answer is larger than {self._room} bytes.",
                code="response_too_large",
                retryable=False,
            )
        self._body += data


def content_encoding(headers: dict[str, str]) -> str:
    """The one encoding of a body; what cannot be bounded while decoding is refused."""
    named = [word.strip().lower() for word in headers.get("content-encoding", "").split(",")]
    coded = [word for word in named if word not in {"", "identity"}]
    if not coded:
        return "identity"
    if len(coded) > 1 or coded[0] not in {"gzip", "x-gzip", "deflate"}:
        raise UpstreamError(
            "The answer is compressed in a way that was not asked for.",
            code="bad_encoding",
            retryable=False,
        )
    return "deflate" if coded[0] == "deflate" else "gzip"


async def read_body(response: httpcore2.Response, encoding: str, room: int) -> bytes:
    """Reads to the end, or stops as soon as the body is larger than it may be."""
    decoder = BodyDecoder(encoding, room)
    count = 0
    async with aclosing(response.aiter_stream()) as pieces:
        async for piece in pieces:
            decoder.feed(piece)
            count += 1
            if count > MOST_PIECES:
                raise UpstreamError(
                    "The response arrived in too many small pieces.",
                    code="bad_response",
                    retryable=False,
                )
            if count % PIECES_PER_TURN == 0:
                await asyncio.sleep(0)
    return decoder.finish()
