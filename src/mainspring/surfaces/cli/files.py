"""Writing a file that a person asked for, and never over one that is there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from mainspring.contracts.errors import Conflict, Invalid, Problem
from mainspring.surfaces.cli.documents import display_name


def write_file(path: Path, text: str, *, over: bool = False, suggestion: str) -> None:
    """The whole text or nothing; a file that is there stays, unless it may be replaced."""
    try:
        if over:
            _replaced(path, text)
        else:
            _create_file(path, text)
    except FileExistsError:
        raise Conflict(
            f"There is a file {display_name(str(path))} already.",
            code="file_exists",
            suggestion=suggestion,
        ) from None
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _create_file(path: Path, text: str) -> None:
    with open(path, "x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise


def _replaced(path: Path, text: str) -> None:
    """The old file stays whole until the new one is."""
    handle, beside = tempfile.mkstemp(prefix=".", suffix=".new", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _unwritable(path: Path, error: Exception) -> Problem:
    reasons: dict[type[Exception], str] = {
        FileNotFoundError: "its folder is not there",
        NotADirectoryError: "its folder is not there",
        PermissionError: "this user may not",
        IsADirectoryError: "it is a folder",
    }
    reason = reasons.get(type(error))
    detail = f"The file {display_name(str(path))} cannot be written"
    return Invalid(
        f"{detail}: {reason}." if reason else f"{detail}.",
        code="file_unwritable",
        suggestion="Name another place for it.",
    )
