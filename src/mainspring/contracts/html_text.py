"""Converts untrusted HTML to the plain text that a person would see.

Only visible text is kept. Hidden text is left out too, so that a program that reads the result sees
what the person sees.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from html import unescape
from string import ascii_lowercase, ascii_uppercase
from typing import Final, NamedTuple

# The CSS of an element, as far as it hides its text.

_ESCAPE: Final = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_LENGTH: Final = re.compile(r"([+-]?(?:[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12}))([a-z]{0,4}|%)")
# Offset in pixels beyond which an element is off screen.
_FAR: Final = -500.0
_PIXELS: Final = {"px": 1.0, "": 1.0, "pt": 1.33, "cm": 38.0, "mm": 3.8, "in": 96.0}
_OTHER_PIXELS: Final = 10.0
_PLACES: Final = ("left", "right", "top", "bottom", "margin-left", "margin-top")
_SIZES: Final = ("height", "max-height", "width", "max-width")
# A relative size is zero inside an element of size zero.
_RELATIVE: Final = frozenset({"em", "ex", "ch", "%"})
_INHERITED: Final = frozenset({"inherit", "larger", "smaller", "unset"})
_NEVER_SEEN: Final = (
    ("display", frozenset({"none"})),
    ("visibility", frozenset({"hidden", "collapse"})),
    ("mso-hide", frozenset({"all"})),
)


@dataclass(frozen=True, slots=True)
class TextVisibility:
    """What a style hides: the element with its contents, or text of size zero (resettable)."""

    hidden: bool = False
    # None: inherited.
    tiny: bool | None = None


AS_AROUND: Final = TextVisibility()


def look_of(style: str) -> TextVisibility:
    """The visibility of an element with this style."""
    answer = _parse_declarations(style)
    never = any(not one.isdisjoint(answer.get(name, "").split()) for name, one in _NEVER_SEEN)
    return TextVisibility(
        never or _is_transparent(answer) or _is_clipped(answer) or _is_off_screen(answer),
        _has_no_font_size(answer),
    )


def _parse_declarations(style: str) -> dict[str, str]:
    """The declarations by name. A hiding declaration is not overridden by a later one of the same
    name, because only a browser knows which of them applies.
    """
    found: dict[str, list[str]] = {}
    for one in _strip_comments(style).split(";"):
        name, colon, value = one.partition(":")
        if colon:
            found.setdefault(name.strip(), []).append(value.replace("!important", " "))
    return {name: " ".join(values) for name, values in found.items()}


def _strip_comments(style: str) -> str:
    """The style in lower case, without comments and escapes."""
    first, *rest = style.split("/*")
    whole = first + "".join(one.partition("*/")[2] for one in rest)
    return _ESCAPE.sub(_sign, whole).replace("\\", "").lower()


def _sign(found: re.Match[str]) -> str:
    number = int(found[1], 16)
    return chr(number) if 0 < number < 0x110000 else " "


def _is_transparent(answer: dict[str, str]) -> bool:
    return any(_parse_number(one) == 0.0 for one in answer.get("opacity", "").split())


def _is_clipped(answer: dict[str, str]) -> bool:
    """Whether the element is clipped to nothing."""
    if not {"hidden", "clip"} & set(answer.get("overflow", "").split()):
        return False
    return any(_parse_number(one) == 0.0 for name in _SIZES for one in answer.get(name, "").split())


def _is_off_screen(answer: dict[str, str]) -> bool:
    names = ["text-indent"]
    if {"absolute", "fixed", "relative"} & set(answer.get("position", "").split()):
        names += _PLACES
    return any(_parse_pixels(one) <= _FAR for name in names for one in answer.get(name, "").split())


def _has_no_font_size(answer: dict[str, str]) -> bool | None:
    """Whether its font size is zero; None when inherited."""
    sizes = answer.get("font-size", "").split()
    # In ``font``, the size is the first value with a unit or zero; a weight has no unit.
    parts = (one.partition("/")[0] for one in answer.get("font", "").split())
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


# Longer texts are truncated: parsing HTML costs more than reading it.
LONGEST_HTML: Final = 1_000_000
_BLOCKS: Final = frozenset(
    {
        "address",
        "article",
        "aside",
        "blockquote",
        "dd",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "tr",
        "ul",
    }
)
_VOID: Final = frozenset(
    {
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    }
)
_UNREAD: Final = frozenset(
    {"head", "iframe", "math", "noscript", "object", "script", "style", "svg", "template", "title"}
)
# Raw text elements: they contain no tags.
_RAW: Final = frozenset({"script", "style", "textarea", "title", "xmp"})
# Lower-casing that keeps the length, so that offsets match in both texts.
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
# In HTML a slash before the end of a tag is ignored, except in these elements.
_CLOSED_BY_SLASH: Final = frozenset({"head", "math", "svg"})
_NAME: Final = re.compile(r"(/?)([a-zA-Z][^\s/>]*)")
# The pieces of a tag, each matched from the end of the previous one.
_GAP: Final = re.compile(r"[\s/]*")
_ATTRIBUTE: Final = re.compile(r"=?[^\s/>=]*")
_EQUALS: Final = re.compile(r"\s*=\s*")
_BARE: Final = re.compile(r"[^\s>]*")
_LOOKED_AT: Final = ("alt", "hidden", "href", "style")
_LINK: Final = re.compile(r"(https?://|mailto:)[^\s<>\"]{1,2000}", re.IGNORECASE)
_SPACE: Final = re.compile(r"[ \t\r\f\v\u00a0]+")
_LINES: Final = re.compile(r"\n{3,}")


def extract_html_text(html: str) -> str:
    """The visible text; links with their URL."""
    reader = _HtmlTextExtractor()
    reader.read(html[:LONGEST_HTML])
    lines = (_SPACE.sub(" ", line).strip() for line in "".join(reader.pieces).split("\n"))
    return _LINES.sub("\n\n", "\n".join(lines)).strip()


class _OpenElement(NamedTuple):
    """An open element."""

    tag: str
    # Visible, and in a visible element.
    shown: bool
    # Its font size is zero; a nested element may reset it.
    tiny: bool
    # The URL of a link.
    link: str

    @property
    def read(self) -> bool:
        return self.shown and not self.tiny


class _HtmlTextExtractor:
    """A single pass over the tags that never scans a position twice.

    The standard library's parser repeatedly searches for missing ends, which an attacker could use
    to block the process for minutes with one mail.
    """

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._open: list[_OpenElement] = []
        # How many of each are open: a text may consist of closing tags that match nothing.
        self._counts: Counter[str] = Counter()

    def read(self, html: str) -> None:
        """Extract the text; an unterminated tag is text."""
        lower, at = html.translate(_LOWER), 0
        while (begin := html.find("<", at)) >= 0:
            self._text(html[at:begin])
            if html.startswith("<!--", begin):
                at = _find_after(html, "-->", begin + 4)
                continue
            if (behind := self._tag(html, lower, begin)) is None:
                at = begin
                break
            at = behind
        self._text(html[at:])

    def _tag(self, html: str, lower: str, begin: int) -> int | None:
        """Parse one tag; returns where parsing continues, None for an unterminated tag."""
        if html[begin + 1 : begin + 2] in {"!", "?"}:
            end = html.find(">", begin)
            return None if end < 0 else end + 1
        named = _NAME.match(html, begin + 1)
        if named is None:
            self._text("<")
            return begin + 1
        given, behind = _parse_attributes(html, named.end())
        if given is None:
            # An unterminated attribute value contains the rest of the text, which is invisible.
            return len(html) if behind else None
        name = named[2].lower()
        if named[1]:
            self._ends(name)
        elif name in _RAW:
            # Raw text until its own end tag.
            found = lower.find(f"</{name}", behind)
            return len(lower) if found < 0 else found
        else:
            closed = name in _CLOSED_BY_SLASH and html[behind - 2] == "/"
            self._begins(name, given, closed=closed)
        return behind

    def _begins(self, tag: str, given: dict[str, str], *, closed: bool) -> None:
        look = look_of(given["style"]) if "style" in given else AS_AROUND
        hidden = look.hidden or tag in _UNREAD or "hidden" in given
        shown = (not self._open or self._open[-1].shown) and not hidden
        tiny = (bool(self._open) and self._open[-1].tiny) if look.tiny is None else look.tiny
        one = _OpenElement(tag, shown, tiny, _get_link_address(given) if tag == "a" else "")
        if one.read:
            self.pieces.append(_format_prefix(tag, given))
        if tag not in _VOID and not closed:
            self._open.append(one)
            self._counts[tag] += 1

    def _ends(self, tag: str) -> None:
        if not self._counts[tag]:
            return
        while self._open:
            one = self._open.pop()
            self._counts[one.tag] -= 1
            if one.read:
                self.pieces.append(self._after(one.tag, one.link))
            if one.tag == tag:
                return

    def _text(self, text: str) -> None:
        if text and self._reads:
            plain = unescape(text)
            self.pieces.append(plain if self._counts["pre"] else plain.replace("\n", " "))

    @property
    def _reads(self) -> bool:
        return not self._open or self._open[-1].read

    def _after(self, tag: str, link: str) -> str:
        if link and link.removeprefix("mailto:") not in "".join(self.pieces[-4:]):
            return f" ({link})"
        if tag in {"td", "th"}:
            return "\t"
        return "\n" if tag in _BLOCKS else ""


def _format_prefix(tag: str, given: dict[str, str]) -> str:
    if tag == "br":
        return "\n"
    if tag == "li":
        return "\n- "
    if tag == "img":
        return given.get("alt", "").strip()[:200]
    if tag in {"h1", "h2", "h3", "h4", "h5", "h6", "p"}:
        return "\n\n"
    return "\n" if tag in _BLOCKS else ""


def _find_after(text: str, sign: str, at: int) -> int:
    """The offset after the next occurrence, or the end."""
    found = text.find(sign, at)
    return len(text) if found < 0 else found + len(sign)


def _parse_attributes(html: str, at: int) -> tuple[dict[str, str] | None, int]:
    """The attributes of a tag and the offset after it; a quoted > does not end it.

    For an unterminated tag there are none, and the offset is that of the unterminated value, or 0.
    """
    found: dict[str, str] = {}
    while True:
        at = _end(_GAP, html, at)
        if at >= len(html):
            return None, 0
        if html[at] == ">":
            # The first attribute of a name counts, as in browsers.
            return {name: unescape(found[name]) for name in _LOOKED_AT if name in found}, at + 1
        behind = _end(_ATTRIBUTE, html, at)
        name, at = html[at:behind].lower(), behind
        equals = _EQUALS.match(html, at)
        if equals is None:
            found.setdefault(name, "")
            continue
        at = equals.end()
        quote = html[at : at + 1]
        if quote in {'"', "'"}:
            begin, end = at + 1, html.find(quote, at + 1)
            if end < 0:
                return None, at
            at = end + 1
        else:
            begin, end = at, _end(_BARE, html, at)
            at = end
        if name in _LOOKED_AT:
            found.setdefault(name, html[begin:end])


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of a match that may be empty."""
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _get_link_address(given: dict[str, str]) -> str:
    found = given.get("href", "").strip()
    return found if _LINK.fullmatch(found) else ""
