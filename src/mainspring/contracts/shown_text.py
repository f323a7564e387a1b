"""Text of others as a person is shown it who decides about it.

Whoever confirms a write reads a line about it. A character that turns the text after it around,
one that cannot be seen, or blanks that push the rest away could make it look like another write.
So what cannot be seen is spelled out, blanks count once, and what was cut is marked.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

SHOWN: Final = 200
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks of which nothing is seen, or nothing but a gap.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# These join letters and emoji, and turn nothing around; between plain letters they only hide.
_JOINERS: Final = frozenset("\u200c\u200d")
_GAP: Final = re.compile(r"[^\S\n]*\n\s*\n\s*\n\s*")
_LONG_BLANK: Final = re.compile(r"[^\S\n]{8,}")


def utf16_length(text: str) -> int:
    """The length in units of UTF-16, which most chat providers count their limits in."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def escape_invisible(text: str) -> str:
    """The text with every character of which nothing is seen spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape_character(text, place, one) for place, one in enumerate(text))


def format_first_line(text: str, most: int = SHOWN) -> str:
    """How a text begins, on one line; what is cut off is marked."""
    # All of it is looked at: what stands behind many blanks is a part of it like any other.
    plain = " ".join(text.split())
    return escape_invisible(plain[:most]) + ("…" if len(plain) > most else "")


def format_lines(text: str) -> str:
    """The whole text in its own lines, without long gaps."""
    closer = _LONG_BLANK.sub("   ", _GAP.sub("\n\n", text.replace("\r\n", "\n").strip()))
    return "\n".join(escape_invisible(line.replace("\t", "    ")) for line in closer.split("\n"))


def _escape_character(text: str, place: int, one: str) -> str:
    if one in _BLANK or (
        unicodedata.category(one) in _HIDDEN_CATEGORIES and not _is_joiner(text, place, one)
    ):
        return f"\\u{ord(one):04x}"
    return one


def _is_joiner(text: str, place: int, one: str) -> bool:
    around = text[place - 1 : place] + text[place + 1 : place + 2]
    return one in _JOINERS and len(around) == 2 and not any(map(str.isascii, around))
