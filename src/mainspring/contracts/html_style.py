"""The style of an element of HTML, as far as it keeps its text from being seen.

Senders hide text from people in many ways: not displayed, without size, see-through, or far
beside the screen. Each declaration is read by itself, after what only obscures it is taken out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ESCAPE: Final = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_LENGTH: Final = re.compile(r"([+-]?(?:[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12}))([a-z]{0,4}|%)")
# So many pixels beside its place nothing of it is on the screen any more.
_FAR: Final = -500.0
_PIXELS: Final = {"px": 1.0, "": 1.0, "pt": 1.33, "cm": 38.0, "mm": 3.8, "in": 96.0}
_OTHER_PIXELS: Final = 10.0
_PLACES: Final = ("left", "right", "top", "bottom", "margin-left", "margin-top")
_SIZES: Final = ("height", "max-height", "width", "max-width")
# A size that depends on the one around it is none where that is none.
_RELATIVE: Final = frozenset({"em", "ex", "ch", "%"})
_INHERITED: Final = frozenset({"inherit", "larger", "smaller", "unset"})
_NEVER_SEEN: Final = (
    ("display", frozenset({"none"})),
    ("visibility", frozenset({"hidden", "collapse"})),
    ("mso-hide", frozenset({"all"})),
)


@dataclass(frozen=True, slots=True)
class TextVisibility:
    """What a style says: hidden with all that is in it; letters of no size, which may differ."""

    hidden: bool = False
    # None: as around it.
    tiny: bool | None = None


AS_AROUND: Final = TextVisibility()


def look_of(style: str) -> TextVisibility:
    """How an element with this style is seen."""
    said = _parse_declarations(style)
    never = any(not one.isdisjoint(said.get(name, "").split()) for name, one in _NEVER_SEEN)
    return TextVisibility(
        never or _is_transparent(said) or _is_clipped(said) or _is_off_screen(said),
        _has_no_font_size(said),
    )


def _parse_declarations(style: str) -> dict[str, str]:
    """The declarations by name. One that hides is not taken back by a later one of its name:
    which of them counts in the end only a browser knows.
    """
    found: dict[str, list[str]] = {}
    for one in _strip_comments(style).split(";"):
        name, colon, value = one.partition(":")
        if colon:
            found.setdefault(name.strip(), []).append(value.replace("!important", " "))
    return {name: " ".join(values) for name, values in found.items()}


def _strip_comments(style: str) -> str:
    """The style in small letters, without comments and escapes."""
    first, *rest = style.split("/*")
    whole = first + "".join(one.partition("*/")[2] for one in rest)
    return _ESCAPE.sub(_sign, whole).replace("\\", "").lower()


def _sign(found: re.Match[str]) -> str:
    number = int(found[1], 16)
    return chr(number) if 0 < number < 0x110000 else " "


def _is_transparent(said: dict[str, str]) -> bool:
    return any(_parse_number(one) == 0.0 for one in said.get("opacity", "").split())


def _is_clipped(said: dict[str, str]) -> bool:
    """Nothing of what is in it has room."""
    if not {"hidden", "clip"} & set(said.get("overflow", "").split()):
        return False
    return any(_parse_number(one) == 0.0 for name in _SIZES for one in said.get(name, "").split())


def _is_off_screen(said: dict[str, str]) -> bool:
    names = ["text-indent"]
    if {"absolute", "fixed", "relative"} & set(said.get("position", "").split()):
        names += _PLACES
    return any(_parse_pixels(one) <= _FAR for name in names for one in said.get(name, "").split())


def _has_no_font_size(said: dict[str, str]) -> bool | None:
    """Whether its letters have no size; None where that is as around it."""
    sizes = said.get("font-size", "").split()
    # In a font, the size is the first that has a unit or is nothing; a weight has none.
    parts = (one.partition("/")[0] for one in said.get("font", "").split())
    sizes += [one for one in parts if _parse_unit(one) or _parse_number(one) == 0.0][:1]
    if not sizes:
        return None
    if any(_parse_number(one) == 0.0 for one in sizes):
        return True
    around = all(one in _INHERITED or _parse_unit(one) in _RELATIVE for one in sizes)
    return None if around else False


def _parse_number(text: str) -> float | None:
    found = _LENGTH.fullmatch(text)
    return None if found is None else float(found[1])


def _parse_unit(text: str) -> str:
    found = _LENGTH.fullmatch(text)
    return "" if found is None else found[2]


def _parse_pixels(text: str) -> float:
    found = _LENGTH.fullmatch(text)
    return 0.0 if found is None else float(found[1]) * _PIXELS.get(found[2], _OTHER_PIXELS)
