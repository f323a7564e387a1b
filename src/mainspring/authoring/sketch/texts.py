"""Escaping people's text for use in a definition.

Text is data. In a template field its braces are escaped, so that they are output as written.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# The limit of a request; the time parser has the same.
LONGEST: Final = 4_000
_MOST_BRACES: Final = 50
_OPENING: Final = re.compile(r"\{(?=[{%#]|$)")
# Marks around workspace names during parsing.
_NAME_MARKS: Final = "‹›"
_HOST: Final = re.compile(r"^https?://([\w.-]{1,253})(?=[/:?#]|$)", re.IGNORECASE)
_BLANKS: Final = re.compile(r"[^\S\n]+")

# What a sketch says of a result without a destination.
LEFT_IN_INBOX: Final = "The request does not say where the result goes, so it is left in the inbox."


def clean(text: str) -> str:
    """Remove unprintable characters and truncate."""
    shown = "".join(
        one
        if one == "\n" or (one not in _NAME_MARKS and unicodedata.category(one)[0] != "C")
        else " "
        for one in text[:LONGEST]
    )
    return shown.strip()


def loose(text: str) -> str:
    """Separate braces by spaces, for a field that is not a template."""
    return _OPENING.sub("{ ", text)


def inert(text: str) -> str:
    """Escape a text for a template field."""
    count = text.count("{")
    if not count:
        return text
    return loose(text) if count > _MOST_BRACES else text.replace("{", '{{ "{" }}')


def shorten_text(text: str, most: int) -> str:
    """Truncate a text between words."""
    plain = _BLANKS.sub(" ", text.replace("\n", " ")).strip()
    if len(plain) <= most:
        return plain
    return plain[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:-") + "…"


def sentence(text: str) -> str:
    """Capitalise and end with one full stop."""
    plain = text.strip().strip(",;:").strip()
    if not plain:
        return ""
    ended = plain if plain[-1] in ".!?…" else f"{plain}."
    return ended[:1].upper() + ended[1:]


def host_of(word: str) -> str:
    """Return the host of a URL, or the word itself."""
    found = _HOST.search(word)
    return word if found is None else found[1]


def quote_request(text: str) -> str:
    """Quote words of the request in a note."""
    return f"“{shorten_text(text, 120)}”"
