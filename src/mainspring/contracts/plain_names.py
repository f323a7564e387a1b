"""Names that people read: one line that shows what it says.

A line break or an escape sequence in a name makes a list, a log or a terminal show something
else than what is there. An override of the text direction or an invisible character makes a name
look like another one. New names are refused with these characters. Names that were stored before
stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from mainspring.contracts.errors import Finding, Invalid

CODE: Final = "name_characters"
# Control characters, the separators of lines, and the marks that override the text direction.
_BREAKS: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
# Characters without a shape. Joiners and variation selectors are not here: scripts and emoji
# need them.
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
    """What is wrong with the characters of a new name, with its place and a way out."""
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
    """Refuses a new name that would not show what it says."""
    refuse_names(name_findings(name, pointer))


def refuse_names(findings: list[Finding]) -> None:
    """Raises what was found wrong with names, if anything was."""
    if findings:
        raise Invalid(
            findings[0].detail, code=CODE, findings=findings, suggestion=findings[0].suggestion
        )


def _format_code_point(character: str) -> str:
    return f"U+{ord(character):04X}"
