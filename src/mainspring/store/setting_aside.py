"""Replaces the files of a data folder, and keeps those that were there.

While it lasts a mark lies in the folder, and no server starts on it: what is there may be
half of something. Whoever was broken off begins again, or puts back what was set aside.
"""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from mainspring.contracts.errors import Conflict

_MARK: Final = "restore.unfinished"
# What a restore fills: the database files and the files that runs made.
_FILLED: Final = ("postgres", "artifacts")


def is_occupied(home: Path) -> bool:
    """Whether there is a database on this folder that somebody has finished making."""
    return (home / "postgres" / "data" / "PG_VERSION").is_file() and not is_unfinished(home)


def is_unfinished(home: Path) -> bool:
    return (home / _MARK).exists()


def set_aside(home: Path) -> list[Path]:
    """Marks the folder and moves aside what is there; answers where that is now.

    After one that was broken off, what it had begun is removed instead.
    """
    mark = home / _MARK
    try:
        stamp = str(json.loads(mark.read_text(encoding="utf-8"))["stamp"])
    except (OSError, ValueError, KeyError, TypeError):
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        mark.write_text(json.dumps({"stamp": stamp}), encoding="utf-8")
        # Before anything is moved: a mark that the disk forgot would leave two halves.
        _sync_path(mark)
        _sync_path(home)
    for name in _FILLED:
        there, aside = home / name, _build_aside_path(home, name, stamp)
        if aside.exists() or _is_marked_empty(home, name, stamp):
            shutil.rmtree(there, ignore_errors=True)
        elif there.exists():
            there.rename(aside)
        else:
            # Nothing was there: known next time, so that nothing of ours is taken for theirs.
            _build_mark_path(home, name, stamp).touch()
    _sync_path(home)
    return [
        _build_aside_path(home, name, stamp)
        for name in _FILLED
        if _build_aside_path(home, name, stamp).exists()
    ]


def put_back(home: Path) -> None:
    """Undoes it: what was set aside is in its place again."""
    stamp = str(json.loads((home / _MARK).read_text(encoding="utf-8"))["stamp"])
    for name in _FILLED:
        aside = _build_aside_path(home, name, stamp)
        if aside.exists() or _is_marked_empty(home, name, stamp):
            shutil.rmtree(home / name, ignore_errors=True)
        if aside.exists():
            aside.rename(home / name)
    finish_replacement(home)


def finish_replacement(home: Path) -> None:
    """Takes the mark away: what is there now is whole."""
    for path in home.glob(f"{_MARK}.*"):
        path.unlink(missing_ok=True)
    (home / _MARK).unlink(missing_ok=True)
    _sync_path(home)


def refuse_unfinished(home: Path) -> None:
    """No server starts on half of a database."""
    if is_unfinished(home):
        raise Conflict(
            f"A backup was being restored into the data folder {home}, and that was broken off.",
            code="restore_unfinished",
            suggestion="Restore it again with the same command: `backup restore FILE --replace`.",
        )


def _build_aside_path(home: Path, name: str, stamp: str) -> Path:
    return home / f"{name}.before-{stamp}"


def _build_mark_path(home: Path, name: str, stamp: str) -> Path:
    return home / f"{_MARK}.no-{name}-{stamp}"


def _is_marked_empty(home: Path, name: str, stamp: str) -> bool:
    return _build_mark_path(home, name, stamp).exists()


def _sync_path(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
