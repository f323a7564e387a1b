"""Multipart and binary bodies: parsed while they arrive, with files kept outside of memory.

Every limit holds before the data is stored: the declared length, the number of parts, the size of
their headers, of a file, of all text fields, and of the body. A slow client must keep up with a
minimum rate. Files are spooled to disk, one at a time, and handed to ``save`` when they are whole.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import Any, Final, Protocol

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser

from mainspring.contracts.errors import Finding, Invalid, TooLarge
from mainspring.contracts.limits import Limits

# Kept in memory until it is this large.
_SPOOLED: Final = 65_536
_HEADER_BYTES: Final = 4_096
_HEADERS: Final = 8
_LONGEST_NAME: Final = 200
_START_SECONDS: Final = 20.0
# A body that arrives more slowly than this, in bytes a second, is given up.
_SLOWEST: Final = 16_384
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]{0,80}/[a-z0-9][a-z0-9.+-]{0,80}")
BINARY: Final = "application/octet-stream"


class Spool(Protocol):
    """Where the content of a file is until it is saved."""

    def read(self) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...

    def write(self, data: bytes, /) -> int: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """What one body with files may contain."""

    body_bytes: int
    file_bytes: int
    text_bytes: int
    parts: int
    files: int

    @classmethod
    def of(cls, limits: Limits) -> UploadLimits:
        """The limits of an installation."""
        return cls(
            body_bytes=limits.upload_bytes,
            file_bytes=limits.artifact_bytes,
            text_bytes=limits.payload_bytes,
            parts=limits.upload_parts,
            files=limits.upload_files,
        )


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A whole file; its content can be read until ``save`` returns."""

    field: str
    name: str
    media_type: str
    size: int
    sha256: bytes
    spool: Spool

    def read(self) -> bytes:
        """The content. It reads from the disk: call it on a thread."""
        self.spool.seek(0)
        return self.spool.read()


# Saves a file, and returns its value in the parsed body.
SaveFile = Callable[[UploadedFile], Awaitable[Any]]


@dataclass(slots=True)
class MultipartBody:
    """The fields of a body in their order: text, or what ``save`` returned for a file."""

    fields: list[tuple[str, Any]] = field(default_factory=list)
    size: int = 0


class _Part:
    """One part while it arrives."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.field = ""
        self.file_name: str | None = None
        self.media_type = "text/plain"
        self.text = bytearray()
        self.size = 0
        self.hash = hashlib.sha256()
        self.spool: Spool | None = None

    def begin(self) -> None:
        """Read the headers, which are complete."""
        name, parameters = _parse_header(self.headers.get("content-disposition", ""))
        if name != "form-data" or not parameters.get("name"):
            raise _malformed("A part has no Content-Disposition with a name.")
        self.field = parameters["name"][:_LONGEST_NAME]
        media_type, _ = _parse_header(self.headers.get("content-type", ""))
        named = parameters.get("filename")
        if named is not None:
            self.file_name = clean_file_name(named)
            self.media_type = clean_media_type(media_type)
            self.spool = tempfile.SpooledTemporaryFile(max_size=_SPOOLED)  # noqa: SIM115

    def close(self) -> None:
        if self.spool is not None:
            self.spool.close()


class _PartCollector:
    """Receives the events of the parser; finished parts wait to be taken."""

    def __init__(self, limits: UploadLimits) -> None:
        self._limits = limits
        self._parts = 0
        self._files = 0
        self._text = 0
        self._part: _Part | None = None
        self._header = b""
        self._value = b""
        self.finished: list[_Part] = []
        self.ended = False

    def on_part_begin(self) -> None:
        self._parts += 1
        if self._parts > self._limits.parts:
            raise _too_many("parts", self._limits.parts)
        self._part = _Part()

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        assert self._part is not None
        name = self._header.decode("latin-1").strip().lower()
        if name in self._part.headers:
            raise _malformed("A part has the same header twice.")
        self._part.headers[name] = self._value.decode("utf-8", "replace").strip()
        self._header = self._value = b""

    def on_headers_finished(self) -> None:
        assert self._part is not None
        self._part.begin()
        if self._part.spool is not None:
            self._files += 1
            if self._files > self._limits.files:
                raise _too_many("files", self._limits.files)

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        part, piece = self._part, data[start:end]
        assert part is not None
        part.size += len(piece)
        if part.spool is None:
            self._text += len(piece)
            if self._text > self._limits.text_bytes:
                raise too_large("The text fields are", self._limits.text_bytes)
            part.text += piece
            return
        if part.size > self._limits.file_bytes:
            raise too_large("A file is", self._limits.file_bytes)
        part.hash.update(piece)
        part.spool.write(piece)

    def on_part_end(self) -> None:
        assert self._part is not None
        self.finished.append(self._part)
        self._part = None

    def on_end(self) -> None:
        self.ended = True

    def close(self) -> None:
        for part in [*self.finished, *([] if self._part is None else [self._part])]:
            part.close()


async def read_multipart(
    chunks: AsyncIterator[bytes], content_type: str, limits: UploadLimits, save: SaveFile
) -> MultipartBody:
    """The fields of a multipart body; each file is saved as soon as it is whole."""
    boundary = read_boundary(content_type)
    collector = _PartCollector(limits)
    body = MultipartBody()
    try:
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": collector.on_part_begin,
                "on_header_field": collector.on_header_field,
                "on_header_value": collector.on_header_value,
                "on_header_end": collector.on_header_end,
                "on_headers_finished": collector.on_headers_finished,
                "on_part_data": collector.on_part_data,
                "on_part_end": collector.on_part_end,
                "on_end": collector.on_end,
            },
            max_header_count=_HEADERS,
            max_header_size=_HEADER_BYTES,
        )
        async for chunk in paced(chunks):
            body.size += len(chunk)
            if body.size > limits.body_bytes:
                raise too_large("The body is", limits.body_bytes)
            parser.write(chunk)
            while collector.finished:
                await _take_part(collector.finished[0], body, save)
                collector.finished.pop(0)
        parser.finalize()
    except FormParserError as error:
        raise _malformed(f"The multipart body cannot be read: {error}"[:300]) from None
    finally:
        collector.close()
    if not collector.ended:
        raise _malformed("The multipart body ends before its last boundary.")
    return body


async def read_file(
    chunks: AsyncIterator[bytes], media_type: str, limits: UploadLimits, save: SaveFile
) -> MultipartBody:
    """A body that is one file."""
    part = _Part()
    part.spool = tempfile.SpooledTemporaryFile(max_size=_SPOOLED)  # noqa: SIM115
    try:
        async for chunk in paced(chunks):
            part.size += len(chunk)
            if part.size > limits.file_bytes:
                raise too_large("The body is", limits.file_bytes)
            part.hash.update(chunk)
            part.spool.write(chunk)
        # An empty body is no file.
        part.file_name = "body" if part.size else ""
        part.media_type = clean_media_type(media_type)
        body = MultipartBody(size=part.size)
        await _take_part(part, body, save)
        return body
    finally:
        part.close()


async def _take_part(part: _Part, body: MultipartBody, save: SaveFile) -> None:
    if part.spool is None:
        body.fields.append((part.field, part.text.decode("utf-8", "replace")))
        return
    if part.size == 0 and not part.file_name:
        # A browser sends this for a file input that was left empty.
        part.close()
        return
    file = UploadedFile(
        part.field,
        part.file_name or "file",
        part.media_type,
        part.size,
        part.hash.digest(),
        part.spool,
    )
    body.fields.append((part.field, await save(file)))
    part.close()


async def paced(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks of a client that keeps up with the minimum rate; ``TimeoutError`` for another."""
    loop = asyncio.get_running_loop()
    allowed = loop.time() + _START_SECONDS
    iterator = aiter(chunks)
    while True:
        async with asyncio.timeout_at(allowed):
            try:
                chunk = await anext(iterator)
            except StopAsyncIteration:
                return
        asked = loop.time()
        yield chunk
        # The time that the chunk was processed in is not the client's.
        allowed += len(chunk) / _SLOWEST + loop.time() - asked


def check_declared_length(text: str | None, most: int) -> None:
    """Refuse a body by its declared length, before any of it is read."""
    if text is not None and (not text.isdecimal() or int(text[:20]) > most):
        raise too_large("The body is", most)


def is_multipart(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "multipart/form-data"


def read_boundary(content_type: str) -> bytes:
    """The boundary that separates the parts."""
    _, parameters = _parse_header(content_type)
    boundary = parameters.get("boundary", "")
    if not 1 <= len(boundary) <= 70 or not boundary.isascii():
        raise _malformed("The Content-Type of a multipart body needs a boundary.")
    return boundary.encode()


def clean_file_name(name: str) -> str:
    """A name without folders or characters that cannot be shown; empty for none."""
    last = name.replace("\\", "/").rpartition("/")[2]
    shown = "".join(one for one in last if one.isprintable() and one != "\N{REPLACEMENT CHARACTER}")
    shown = shown.strip(" .")
    if len(shown) <= _LONGEST_NAME:
        return shown
    stem, dot, ending = shown.rpartition(".")
    ending = f"{dot}{ending}"[:20]
    return (stem or shown)[: _LONGEST_NAME - len(ending)] + ending


def clean_media_type(text: str) -> str:
    """A media type that can be stored; ``application/octet-stream`` for anything else."""
    kind = text.partition(";")[0].strip().lower()
    return kind if _MEDIA_TYPE.fullmatch(kind) else BINARY


def _parse_header(text: str) -> tuple[str, dict[str, str]]:
    message = Message()
    message["content-type"] = text.replace("\r", " ").replace("\n", " ")
    found = message.get_params(failobj=[], unquote=True)
    if not found:
        return "", {}
    parameters: dict[str, str] = {}
    for name, value in found[1:]:
        # An extended parameter (filename*=) is a triple of charset, language and text.
        parameters.setdefault(name.lower(), collapse_rfc2231_value(value))
    return found[0][0].strip().lower(), parameters


def too_large(what: str, most: int) -> TooLarge:
    return TooLarge(f"{what} larger than {most:,} bytes.", code="body_too_large")


def _too_many(what: str, most: int) -> TooLarge:
    return TooLarge(f"The body has more than {most:,} {what}.", code="too_many_parts")


def _malformed(detail: str) -> Invalid:
    return Invalid(detail, code="multipart", findings=[Finding("", detail, "multipart")])
