"""Quoting untrusted text: truncated and without invisible characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

# Limits of a review.
MOST_FLAGS: Final = 50
MOST_ENTRIES: Final = 100
LONGEST_SENTENCE: Final = 400
# A step's sentence contains everything the step sends.
LONGEST_STEP: Final = 20_000
LONGEST_NAME: Final = 60
_CUT: Final = "…"


def plain(text: str, most: int = LONGEST_NAME) -> str:
    """Return a text on one line, without control or invisible characters, truncated."""
    begun = text[: most * 4]
    if not begun.isascii() or not begun.isprintable():
        begun = "".join(
            " " if unicodedata.category(one) == "Cc" else one
            for one in begun
            if unicodedata.category(one) not in ("Cf", "Cs", "Co", "Cn")
        )
    words = " ".join(begun.split())
    if len(words) > most:
        return words[: most - 1].rstrip() + _CUT
    return words + _CUT if len(text) > most * 4 else words


def quote_text(text: str, most: int = LONGEST_NAME) -> str:
    """Return it in quotation marks that it cannot close."""
    return f"“{plain(text, most).replace('“', chr(34)).replace('”', chr(34))}”"


def sentence(text: str, most: int = LONGEST_SENTENCE) -> str:
    """Return a full sentence, truncated if too long."""
    text = text[:1].upper() + text[1:]
    if len(text) >= most:
        return text[: most - 2].rstrip() + _CUT + "."
    return text if text.endswith((".", "?", "!")) else text + "."


def join_list(parts: Sequence[str], most: int = 5, last: str = "and") -> str:
    """Join parts as a list; beyond a limit the rest is counted."""
    shown = list(parts[:most])
    if len(parts) > most:
        shown.append(f"{len(parts) - most} more")
    if not shown:
        return ""
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def format_count(number: int, thing: str) -> str:
    """``1 step``, ``3 steps``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
