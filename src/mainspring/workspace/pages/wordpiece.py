"""Text to the pieces of words that the local model knows (BERT's uncased WordPiece)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_UNKNOWN: Final = "[UNK]"
_FIRST: Final = "[CLS]"
_LAST: Final = "[SEP]"
_LONGEST_WORD: Final = 100
# Signs of writing systems that put no spaces between words stand alone.
_ALONE: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
_ASCII_SIGNS: Final = re.compile(r"[!-/:-@\[-`{-~]")


class WordPieces:
    """A vocabulary and how text is cut along it."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._known = vocabulary
        self._seen: dict[str, tuple[int, ...]] = {}

    @classmethod
    def read(cls, path: Path) -> WordPieces:
        lines = path.read_text(encoding="utf-8").split("\n")
        return cls({line: number for number, line in enumerate(lines) if line})

    def encode(self, text: str, most: int) -> list[int]:
        """The numbers of the pieces between the two marks, at most so many in all."""
        found: list[int] = []
        for word in split_words(text):
            found += self._pieces(word)
            if len(found) >= most - 2:
                break
        return [self._known[_FIRST], *found[: most - 2], self._known[_LAST]]

    def _pieces(self, word: str) -> tuple[int, ...]:
        made = self._seen.get(word)
        if made is None:
            made = self._cut(word)
            if len(self._seen) < 50_000:
                self._seen[word] = made
        return made

    def _cut(self, word: str) -> tuple[int, ...]:
        """The longest known beginning, then the longest known continuation, to the end."""
        if len(word) > _LONGEST_WORD:
            return (self._known[_UNKNOWN],)
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._known), None)
            if end is None:
                return (self._known[_UNKNOWN],)
            found.append(self._known[mark + word[start:end]])
            start = end
        return tuple(found)


def split_words(text: str) -> list[str]:
    """Lower case, without accents, signs as words of their own."""
    plain = "".join(map(_clean_character, text))
    plain = unicodedata.normalize("NFD", plain.lower())
    return "".join(map(_space_character, plain)).split()


def _clean_character(sign: str) -> str:
    if sign in "\t\n\r":
        return " "
    if sign in "\x00\ufffd" or unicodedata.category(sign) in _UNSEEN:
        return ""
    code = ord(sign)
    if any(low <= code <= high for low, high in _ALONE):
        return f" {sign} "
    return sign


def _space_character(sign: str) -> str:
    kind = unicodedata.category(sign)
    if kind == "Mn":
        return ""
    if _ASCII_SIGNS.match(sign) or kind[0] == "P":
        return f" {sign} "
    return sign
