"""Snippets: the few lines of a page in which the asked words stand, as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

SNIPPET: Final = 240
_WORD: Final = re.compile(r"\w+")
_SPACES: Final = re.compile(r"\s+")
# How much of a word must be there for a longer or a shorter one to be shown as found.
_STEM: Final = 4
_MOST_MARKS: Final = 20


def split_query_words(asked: str) -> list[str]:
    """The words of a question, each once, without its operators."""
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(asked)))


def build_snippet(body: str, words: Sequence[str]) -> tuple[str, list[list[int]]]:
    """A part of the text around the first of the words, and where words stand in it.

    The places are [start, end) in characters of the snippet.
    """
    wanted = _StemMatcher(words)
    first = next(wanted.places(body), None)
    start = 0 if first is None else max(0, first[0] - SNIPPET // 3)
    # The cut goes between two words.
    if start:
        space = re.search(r"\s", body[start : first[0] if first else start])
        start += space.end() if space else 0
    cut = body[start : start + SNIPPET]
    more = start + SNIPPET < len(body)
    if more and (space := re.search(r"\s\S*\Z", cut)) and space.start() > SNIPPET // 2:
        cut = cut[: space.start()]
    text = _SPACES.sub(" ", cut).strip()
    shown = ("… " if start else "") + text + (" …" if more else "")
    return shown, [list(place) for place in islice(wanted.places(shown), _MOST_MARKS)]


class _StemMatcher:
    """The beginnings that are looked for, so that a long text and many words cost their sum."""

    def __init__(self, words: Sequence[str]) -> None:
        self._stems = {word[: max(_STEM, len(word) - 3)].lower() for word in words if word}
        self._lengths = sorted({len(stem) for stem in self._stems})

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the words of the text stand that begin with one of them."""
        if not self._stems:
            return
        for found in _WORD.finditer(text):
            if self._begins(found[0].lower()):
                yield found.span()

    def _begins(self, word: str) -> bool:
        for length in self._lengths:
            if length > len(word):
                return False
            if word[:length] in self._stems:
                return True
        return False
