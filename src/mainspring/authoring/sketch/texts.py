"""Text from people, made safe to stand in a definition.

Whatever somebody writes is data. In a field that is filled in as a template its braces are
written so that they come out as they went in, and start nothing on the way.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# As far as a request is read; the phrases for time look no further either.
LONGEST: Final = 4_000
_MOST_BRACES: Final = 50
_OPENING: Final = re.compile(r"\{(?=[{%#]|$)")
# Put around names of the workspace while a request is read.
_NAME_MARKS: Final = "‹›"
_HOST: Final = re.compile(r"^https?://([\w.-]{1,253})(?=[/:?#]|$)", re.IGNORECASE)
_BLANKS: Final = re.compile(r"[^\S\n]+")


def clean(text: str) -> str:
    """The text without signs that cannot be shown, bounded."""
    shown = "".join(
        one
        if one == "\n" or (one not in _NAME_MARKS and unicodedata.category(one)[0] != "C")
        else " "
        for one in text[:LONGEST]
    )
    return shown.strip()


def loose(text: str) -> str:
    """The text with blanks between braces, for a place that is no template."""
    return _OPENING.sub("{ ", text)


def inert(text: str) -> str:
    """The text for a place that is a template: it is shown, and never filled in."""
    count = text.count("{")
    if not count:
        return text
    return loose(text) if count > _MOST_BRACES else text.replace("{", '{{ "{" }}')


def shorten_text(text: str, most: int) -> str:
    """The beginning of a text, cut between words."""
    plain = _BLANKS.sub(" ", text.replace("\n", " ")).strip()
    if len(plain) <= most:
        return plain
    return plain[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:-") + "…"


def sentence(text: str) -> str:
    """The text with a capital first and one end."""
    plain = text.strip().strip(",;:").strip()
    if not plain:
        return ""
    ended = plain if plain[-1] in ".!?…" else f"{plain}."
    return ended[:1].upper() + ended[1:]


def host_of(word: str) -> str:
    """The host of an address, and any other word as it is."""
    found = _HOST.search(word)
    return word if found is None else found[1]


def quote_request(text: str) -> str:
    """Words of the request, as a note repeats them."""
    return f"“{shorten_text(text, 120)}”"
