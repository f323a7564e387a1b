"""Text of others as the preview of a mail shows it: what cannot be seen is spelled out.

A character that turns the text after it around, or a line break in a subject, could make a
mail look like another one to the person who confirms it.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_SHOWN_TEXT: Final = 200
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# These join letters and emoji, and turn nothing around.
_JOINERS: Final = frozenset("\u200c\u200d")


def visible(text: str) -> str:
    """The text with every character of which nothing is seen spelled out."""
    return "".join(map(_spelled, text))


def beginning(text: str) -> str:
    """How a mail begins, on one line."""
    begins = " ".join(text[: _SHOWN_TEXT * 2].split())
    return visible(begins[:_SHOWN_TEXT]) + ("…" if len(begins) > _SHOWN_TEXT else "")


def _spelled(one: str) -> str:
    if unicodedata.category(one) in _UNSEEN and one not in _JOINERS:
        return f"\\u{ord(one):04x}"
    return one
