"""Multipart bodies: what is read, and what is refused before it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256

import pytest

from mainspring.contracts.errors import Invalid, TooLarge
from mainspring.contracts.limits import Limits
from mainspring.surfaces.rest import multipart_bodies
from mainspring.surfaces.rest.multipart_bodies import (
    MultipartBody,
    UploadedFile,
    UploadLimits,
    clean_file_name,
    read_multipart,
)

TYPE = "multipart/form-data; boundary=xyz"
SMALL = replace(UploadLimits.of(Limits()), body_bytes=20_000, file_bytes=1_000, text_bytes=500)


def part(disposition: str, content: bytes, *headers: str) -> bytes:
    lines = [f"Content-Disposition: {disposition}", *headers]
    return b"--xyz\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n"


END = b"--xyz--\r\n"


class Saved:
    """What a body's files were saved as, and how many bytes were read."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.taken = 0

    async def save(self, file: UploadedFile) -> dict[str, object]:
        content = file.read()
        assert (file.size, file.sha256) == (len(content), sha256(content).digest())
        self.files[file.name] = content
        return {"name": file.name, "type": file.media_type}

    async def read(
        self, raw: bytes, step: int, limits: UploadLimits = SMALL, kind: str = TYPE
    ) -> MultipartBody:
        async def chunks() -> AsyncIterator[bytes]:
            for start in range(0, len(raw), step):
                self.taken += step
                yield raw[start : start + step]

        return await read_multipart(chunks(), kind, limits, self.save)


@pytest.mark.parametrize("step", [1, 7, 64, 100_000])
async def test_fields_and_files_are_read_in_pieces_of_any_size(step: int) -> None:
    raw = (
        part('form-data; name="title"', "Grüße".encode())
        + part(
            'form-data; name="photo"; filename="C:\\a\\cat.png"',
            b"\x89PNG\r\n--xy\x00",
            "Content-Type: image/png",
        )
        + part('form-data; name="empty"; filename=""', b"")
        + part("form-data; name=\"note\"; filename*=UTF-8''%C3%BC.txt", b"hi")
        + END
    )
    saved = Saved()
    body = await saved.read(raw, step)
    assert body.fields == [
        ("title", "Grüße"),
        ("photo", {"name": "cat.png", "type": "image/png"}),
        ("note", {"name": "ü.txt", "type": "application/octet-stream"}),
    ]
    assert saved.files == {"cat.png": b"\x89PNG\r\n--xy\x00", "ü.txt": b"hi"}
    assert body.size == len(raw)


BOMBS = {
    "parts": (part('form-data; name="a"', b"") * 10_000, "too_many_parts"),
    "files": (part('form-data; name="a"; filename="f"', b"x") * 21, "too_many_parts"),
    "text": (part('form-data; name="a"', b"x" * 501), "body_too_large"),
    "file": (part('form-data; name="a"; filename="f"', b"x" * 1_001), "body_too_large"),
    "body": (part('form-data; name="a"; filename="f"', b"x" * 999) * 19 + b"y" * 9_000, ""),
}


@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_is_refused_before_it_is_read_to_its_end(name: str) -> None:
    bomb, code = BOMBS[name]
    limits = (
        replace(SMALL, body_bytes=10_000) if name == "body" else replace(SMALL, body_bytes=10**9)
    )
    saved = Saved()
    raw = bomb + b"z" * 1_000_000
    with pytest.raises(TooLarge) as refused:
        await saved.read(raw, 4_096, limits)
    assert refused.value.code == (code or "body_too_large")
    assert saved.taken < 60_000


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nothing of this kind",
        part('form-data; name="a"', b"cut off"),
        b"--xyz\r\nContent-Type: text/plain\r\n\r\nx\r\n" + END,
        part("attachment", b"x") + END,
        b"--xyz\r\n" + b"X-A: 1\r\n" * 50 + b"\r\nx\r\n" + END,
        b"--xyz\r\nX-A: " + b"1" * 9_000 + b"\r\n\r\nx\r\n" + END,
        part('form-data; name="a"', b"x", 'Content-Disposition: form-data; name="b"') + END,
    ],
)
async def test_what_is_no_multipart_is_an_error_of_the_caller(raw: bytes) -> None:
    with pytest.raises(Invalid) as refused:
        await Saved().read(raw, 1_000)
    assert refused.value.code == "multipart"


@pytest.mark.parametrize(
    "kind", ["multipart/form-data", "multipart/form-data; boundary=" + "x" * 71]
)
async def test_a_boundary_is_needed(kind: str) -> None:
    with pytest.raises(Invalid):
        await Saved().read(END, 10, kind=kind)


async def test_a_body_that_stops_arriving_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart_bodies, "_START_SECONDS", 0.05)

    async def stalled() -> AsyncIterator[bytes]:
        yield b"--xyz\r\n"
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await read_multipart(stalled(), TYPE, SMALL, Saved().save)


def test_file_names_have_no_folders_and_a_bounded_length() -> None:
    assert clean_file_name("../../etc/passwd") == "passwd"
    assert clean_file_name("a\x00b\n.txt") == "ab.txt"
    assert clean_file_name("..") == ""
    long = clean_file_name("x" * 500 + ".pdf")
    assert len(long) == 200
    assert long.endswith(".pdf")
