"""Makes untrusted text safe to show to a person who decides about it.

A person confirms a write after reading a line about it. A character that reverses the text
direction, an invisible character, or blanks that push the rest out of view could make it look like
another write. Invisible characters are therefore escaped, runs of blanks collapsed, and truncation
is marked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Container
from decimal import Decimal
from typing import Final

from mainspring.contracts.errors import Finding, Invalid

# Display names: one line that shows what it contains.

CODE: Final = "name_characters"
# Control characters, line separators, and marks that override the text direction.
_BREAKS: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
# Characters without a glyph. Joiners and variation selectors are not here: scripts and emoji need
# them.
_INVISIBLE: Final = (
    r"\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f\u3164\ufeff"
    r"\uffa0\ufff0-\ufffb\U000e0000-\U000e007f"
)
_UNSAFE: Final = re.compile(f"[{_BREAKS}{_INVISIBLE}]")
_INVISIBLE_PATTERN: Final = re.compile(f"[{_INVISIBLE}]")


def clean_name(name: str) -> str:
    """The name on one line, without the characters that a new name cannot have."""
    return " ".join(_UNSAFE.sub(" ", _INVISIBLE_PATTERN.sub("", name)).split())


def name_findings(name: str, pointer: str = "/name", stored: Container[str] = ()) -> list[Finding]:
    """The invalid characters of a new name, with their location and a remedy."""
    found = _UNSAFE.search(name)
    if found is None or name in stored:
        return []
    kind = (
        "a line break"
        if found[0] in "\n\r\u2028\u2029"
        else f"the character {_format_code_point(found[0])}"
    )
    detail = f"A name is one line of visible text, and this one has {kind} in it."
    plain = clean_name(name)[:200]
    way = f"Write it as {plain!r}." if plain else "Choose another name."
    return [Finding(pointer, detail, CODE, way)]


def check_plain_name(name: str, pointer: str = "/name") -> None:
    """Reject a new name with misleading characters."""
    refuse_names(name_findings(name, pointer))


def refuse_names(findings: list[Finding]) -> None:
    """Raise the findings about names, if there are any."""
    if findings:
        raise Invalid(
            findings[0].detail, code=CODE, findings=findings, suggestion=findings[0].suggestion
        )


def _format_code_point(character: str) -> str:
    return f"U+{ord(character):04X}"


SHOWN: Final = 200
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that are invisible or look like a gap.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# These join letters and emoji and do not reorder text; between plain letters they only hide.
_JOINERS: Final = frozenset("\u200c\u200d")
_GAP: Final = re.compile(r"[^\S\n]*\n\s*\n\s*\n\s*")
_LONG_BLANK: Final = re.compile(r"[^\S\n]{8,}")


def utf16_length(text: str) -> int:
    """The length in UTF-16 units, in which most chat providers count their limits."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def escape_invisible(text: str) -> str:
    """The text with every invisible character escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape_character(text, place, one) for place, one in enumerate(text))


def format_first_line(text: str, most: int = SHOWN) -> str:
    """The beginning of a text on one line; truncation is marked."""
    # The whole text is processed: text after many blanks is kept like any other.
    plain = " ".join(text.split())
    return escape_invisible(plain[:most]) + ("…" if len(plain) > most else "")


def format_lines(text: str) -> str:
    """The whole text with its line breaks, without long gaps."""
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


# A name that is free: the one that is wanted, or the first number behind it.

LONGEST_FREE_NAME: Final = 200


def choose_free_name(name: str, used: Collection[str]) -> str:
    """The name itself where nothing else has it."""
    number, found = 1, name[:LONGEST_FREE_NAME]
    while found in used:
        number += 1
        ending = f" ({number})"
        found = name[: LONGEST_FREE_NAME - len(ending)] + ending
    return found


# Amounts of money.


def format_usd(amount: Decimal) -> str:
    """An amount in US dollars with at least two decimals and no digit lost: $0.10, $0.0125."""
    exact = amount.normalize()
    places = max(2, -int(exact.as_tuple().exponent)) if exact.is_finite() else 2
    return f"${exact:,.{places}f}"
