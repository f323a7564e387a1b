"""Files that leave with a draft: kept beside it, named in it by their hash.

A draft is shown, listed and hashed often, and a file is large. So its bytes stand apart; the
arguments name each file with its size and its hash, which binds the bytes as well. They are
put back just before the call is made, exactly as they came.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import mimetypes
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.strict_json import join_pointer
from mainspring.gate.draft_binding import draft_changed_error

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

MOST: Final = 5
MOST_BYTES: Final = 10 * 1024 * 1024
_NAME: Final = "attachments"
_UNKNOWN: Final = "application/octet-stream"

# By its hash.
Files = Mapping[bytes, bytes]

_KEEP = """
    INSERT INTO draft_attachments (workspace_id, draft_id, sha256, content)
    VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
"""
_READ = "SELECT sha256, content FROM draft_attachments WHERE workspace_id = $1 AND draft_id = $2"
_COPY = """
    INSERT INTO draft_attachments (workspace_id, draft_id, sha256, content)
    SELECT workspace_id, $3, sha256, content FROM draft_attachments
    WHERE workspace_id = $1 AND draft_id = $2
"""


def extract_files(
    arguments: Mapping[str, Any], within: str = ""
) -> tuple[dict[str, Any], dict[bytes, bytes]]:
    """The arguments with every file named instead of spelled out, and the files."""
    files: dict[bytes, bytes] = {}
    made = dict(arguments)
    for at, entries in _lists(arguments, within):
        if not any(_is_file(one) for one in entries):
            continue
        if len(entries) > MOST:
            _refuse(at, f"There are {len(entries)} files; at most {MOST} can be sent together.")
        named = [_name_file(one, f"{at}/{n}", files) for n, one in enumerate(entries)]
        made = _with(made, at, named)
    return made, files


def restore_files(arguments: Mapping[str, Any], files: Files, within: str = "") -> dict[str, Any]:
    """The arguments as they were asked with; refuses a file that is not the one it was."""
    made = dict(arguments)
    for at, entries in _lists(arguments, within) if files else ():
        made = _with(made, at, [_restore_file(one, files) for one in entries])
    return made


async def store_files(tx: Transaction, workspace_id: UUID, draft_id: UUID, files: Files) -> None:
    """Keeps the files of a new draft."""
    for sha256, content in files.items():
        await tx.execute(_KEEP, workspace_id, draft_id, sha256, content)


async def load_files(tx: Transaction, workspace_id: UUID, draft_id: UUID) -> dict[bytes, bytes]:
    """The files of a draft."""
    rows = await tx.fetch(_READ, workspace_id, draft_id)
    return {row["sha256"]: row["content"] for row in rows}


async def copy_files(tx: Transaction, workspace_id: UUID, old: UUID, new: UUID) -> None:
    """The files of one draft for another that repeats it."""
    await tx.execute(_COPY, workspace_id, old, new)


def _lists(arguments: Mapping[str, Any], within: str) -> Iterator[tuple[str, list[Any]]]:
    found = arguments.get(_NAME)
    if isinstance(found, list):
        yield join_pointer("", _NAME), found
    inner = arguments.get(within) if within else None
    if isinstance(inner, Mapping) and isinstance(inner.get(_NAME), list):
        yield join_pointer("", within, _NAME), inner[_NAME]


def _with(arguments: dict[str, Any], at: str, entries: list[Any]) -> dict[str, Any]:
    first, _, inner = at[1:].partition("/")
    if not inner:
        return {**arguments, _NAME: entries}
    return {**arguments, first: {**arguments[first], _NAME: entries}}


def _is_file(entry: Any) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get("content_base64"), str)


def _name_file(entry: Any, at: str, files: dict[bytes, bytes]) -> Any:
    if not _is_file(entry):
        return entry
    filename = entry.get("filename")
    if not isinstance(filename, str) or not filename.strip():
        _refuse(join_pointer(at, "filename"), "A file needs a name.")
    content = _decode_file(entry["content_base64"], join_pointer(at, "content_base64"))
    sha256 = hashlib.sha256(content).digest()
    files[sha256] = content
    named = {name: value for name, value in entry.items() if name != "content_base64"}
    # What is shown is what is sent: a kind that nobody told is settled here.
    kind = entry.get("mime_type") or mimetypes.guess_type(str(filename))[0] or _UNKNOWN
    return {**named, "mime_type": kind, "bytes": len(content), "sha256": sha256.hex()}


def _decode_file(text: str, at: str) -> bytes:
    if len(text) > (MOST_BYTES + 2) // 3 * 4:
        _refuse(at, f"A file can have at most {MOST_BYTES} bytes.")
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        _refuse(at, "This is not base64.")
    if not content:
        _refuse(at, "This file is empty.")
    if len(content) > MOST_BYTES:
        _refuse(at, f"A file can have at most {MOST_BYTES} bytes.")
    return content


def _restore_file(entry: Any, files: Files) -> Any:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("sha256"), str):
        return entry
    try:
        sha256 = bytes.fromhex(entry["sha256"])
    except ValueError:
        return entry
    content = files.get(sha256)
    if content is None:
        return entry
    if hashlib.sha256(content).digest() != sha256:
        raise draft_changed_error()
    plain = {name: value for name, value in entry.items() if name not in ("bytes", "sha256")}
    return {**plain, "content_base64": base64.b64encode(content).decode()}


def _refuse(at: str, detail: str) -> NoReturn:
    raise Invalid(detail, code="attachment_invalid", findings=[Finding(at, detail, "attachment")])
