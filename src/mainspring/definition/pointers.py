"""JSON pointers (RFC 6901)."""

from __future__ import annotations


def join_pointer(at: str, *parts: str | int) -> str:
    """The pointer of a member or item below ``at``."""
    return at + "".join(f"/{_escape_part(part)}" for part in parts)


def split_pointer(pointer: str) -> list[str]:
    """The keys and indexes of a pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _escape_part(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")
