"""Where something stands in a script: lines and columns as an editor counts them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

# So many bytes at most are decoded to find one column.
_STRIDE: Final = 1_024


@dataclass(frozen=True, slots=True, order=True)
class SourceLocation:
    """A line and a column, both from 1; a column counts characters, not bytes."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class SourceLocator:
    """Turns the parser's bytes into places, each in about the same time."""

    __slots__ = ("_before", "_data", "_starts")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts = [0]
        found = data.find(b"\n")
        while found >= 0:
            self._starts.append(found + 1)
            found = data.find(b"\n", found + 1)
        # How many characters stand before each stride of bytes.
        self._before = [0]
        if not data.isascii():
            for at in range(0, len(data), _STRIDE):
                self._before.append(self._before[-1] + _characters(data[at : at + _STRIDE]))

    def at(self, byte: int) -> SourceLocation:
        """The place of one byte."""
        line = bisect_right(self._starts, byte)
        return SourceLocation(line, self._count(byte) - self._count(self._starts[line - 1]) + 1)

    def _count(self, byte: int) -> int:
        if len(self._before) == 1:
            return byte
        stride, rest = divmod(byte, _STRIDE)
        start = stride * _STRIDE
        return self._before[stride] + _characters(self._data[start : start + rest])


def _characters(piece: bytes) -> int:
    """The characters that begin in a piece of UTF-8."""
    return len(piece) - len(piece.translate(None, _BEGINNING))


# Every byte but those that go on with a character.
_BEGINNING: Final = bytes(byte for byte in range(256) if byte & 0xC0 != 0x80)
