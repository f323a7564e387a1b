"""Snippets: the few lines of a page in which the asked words stand, as plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

SNIPPET: Final = 240
_WORD: Final = re.compile(r"\w+")
_SPACES: Final = re.compile(r"\s+")
# How much of a word must be there for a longer or a shorter one to be shown as found.
_STEM: Final = 4
_MOST_MARKS: Final = 20


def words_of(asked: str) -> list[str]:
    """The words of a question, each once, without its operators."""
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(asked)))


def snippet(body: str, words: Sequence[str]) -> tuple[str, list[list[int]]]:
    """A part of the text around the first of the words, and where words stand in it.

    The places are [start, end) in characters of the snippet.
    """
    pattern = _pattern(words)
    first = pattern.search(body) if pattern else None
    start = 0 if first is None else max(0, first.start() - SNIPPET // 3)
    # The cut goes between two words.
    if start:
        space = re.search(r"\s", body[start : first.start() if first else start])
        start += space.end() if space else 0
    cut = body[start : start + SNIPPET]
    more = start + SNIPPET < len(body)
    if more and (space := re.search(r"\s\S*\Z", cut)) and space.start() > SNIPPET // 2:
        cut = cut[: space.start()]
    text = _SPACES.sub(" ", cut).strip()
    shown = ("… " if start else "") + text + (" …" if more else "")
    return shown, _places(shown, pattern)


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    parts = [re.escape(word[: max(_STEM, len(word) - 3)]) for word in words if word]
    if not parts:
        return None
    parts.sort(key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(parts)})\w*", re.IGNORECASE)


def _places(text: str, pattern: re.Pattern[str] | None) -> list[list[int]]:
    if pattern is None:
        return []
    found: Any = (list(match.span()) for match in pattern.finditer(text))
    return [span for span, _ in zip(found, range(_MOST_MARKS), strict=False)]
