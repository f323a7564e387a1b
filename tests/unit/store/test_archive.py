"""A backup's file takes its name at the end, whole, and never somebody else's place."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Conflict, Invalid
from mainspring.store.backup import open_archive, write_archive


def _write(path: Path, *, beside: bytes | None = None) -> None:
    with write_archive(path) as archive:
        if beside is not None:
            path.write_bytes(beside)
        with archive.part("rows") as part:
            part.write(b"one")
        archive.finish({"parts": ["rows"]})


def _without_links(*_: Any, **__: Any) -> None:
    """As a stick with FAT answers."""
    raise PermissionError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False])
def test_the_name_is_given_at_the_end_and_nothing_else_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _without_links)
    path = tmp_path / "kept.zip"
    _write(path)
    assert [found.name for found in tmp_path.iterdir()] == ["kept.zip"]
    assert path.stat().st_mode & 0o777 == 0o600
    with open_archive(path) as archive:
        assert archive.manifest() == {"parts": ["rows"]}
        assert b"".join(archive.bytes_of("rows")) == b"one"
    with pytest.raises(Conflict, match="already"):
        _write(path)


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_came_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _without_links)
    path = tmp_path / "kept.zip"
    with pytest.raises(Invalid, match="already exists"):
        _write(path, beside=b"theirs")
    assert path.read_bytes() == b"theirs"
    assert [found.name for found in tmp_path.iterdir()] == ["kept.zip"]
