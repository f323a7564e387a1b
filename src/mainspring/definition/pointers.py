"""JSON pointers (RFC 6901): the address of a place inside a document."""

from __future__ import annotations


def join_pointer(at: str, *parts: str | int) -> str:
    """The pointer of a place below ``at``."""
    return at + "".join(f"/{_escape_part(part)}" for part in parts)


def split_pointer(pointer: str) -> list[str]:
    """The names and positions a pointer walks through."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _escape_part(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")
