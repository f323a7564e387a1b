"""One spelling of a text for those who look for words in it.

Letters of other alphabets that look like Latin ones, wide and ornate letters, characters without
width and letters set apart are ways to write a word so that a reader sees it and a search does
not.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Letters that look alike, Cyrillic and Greek and a few more, in small letters.
_LOOK: Final = str.maketrans(
    "абвгдеёзіїјклмнопрстухѕһԁԛԝүґѵӏαβγδεηικνορτυχωıɡɑℓ",
    "a6brдeeзiijkлmhonpctyxshdqwyrvlaβyδenikvoptuxwigal",
)
_UNSEEN: Final = frozenset({"Cf", "Cc", "Mn", "Co", "Cn"})
# Letters with one blank or sign between each two of them.
_APART: Final = re.compile(r"(?<!\w)\w(?:[ ._*-]\w){4,}(?!\w)")
_BETWEEN: Final = re.compile(r"[ ._*-]")
_QUOTES: Final = str.maketrans("’‘“”", "''\"\"")


def fold_text(text: str) -> tuple[str, ...]:
    """A text in small letters with single blanks; and as it looks, where that is another one."""
    low = " ".join(text.lower().split())
    if text.isascii():
        close = _APART.sub(_close, low)
        return (low,) if close == low else (low, close)
    low = low.translate(_QUOTES)
    looks = unicodedata.normalize("NFKD", text).lower()
    seen = "".join(
        one
        for one in looks
        if one.isascii() or one.isspace() or unicodedata.category(one) not in _UNSEEN
    )
    close = _APART.sub(_close, " ".join(seen.translate(_LOOK).translate(_QUOTES).split()))
    return (low,) if close == low else (low, close)


def _close(found: re.Match[str]) -> str:
    return _BETWEEN.sub("", found[0])
