"""HTML of strangers as plain text: nothing of it runs, and nothing of it is hidden.

Only what a person would read on the screen is kept. What a sender hides from them, such as text
that is not displayed, is left out too: a program that reads the page sees what the person sees.
"""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from string import ascii_lowercase, ascii_uppercase
from typing import Final

# Longer texts are cut: to take HTML apart costs more than to read it.
LONGEST_HTML: Final = 1_000_000
_DEEPEST: Final = 400
_BLOCKS: Final = frozenset(
    {
        "address", "article", "aside", "blockquote", "dd", "div", "dl", "dt", "fieldset",
        "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
        "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul",
    }
)  # fmt: skip
_VOID: Final = frozenset(
    {
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr",
    }
)  # fmt: skip
_UNREAD: Final = frozenset(
    {"head", "iframe", "math", "noscript", "object", "script", "style", "svg", "template", "title"}
)
# Read to their own end, as nothing in them is a tag.
_RAW: Final = frozenset({"script", "style", "textarea", "title", "xmp"})
# One sign for one sign, so that both texts have the same places.
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_LONGEST_TAG: Final = 2_000
_NAME: Final = re.compile(r"(/?)([a-zA-Z][^\s/>]{0,40})")
_ATTRIBUTE: Final = re.compile(
    r"([a-zA-Z_:][\w:.-]*)(?:\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?"
)
_HIDDEN: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE
)
_LINK: Final = re.compile(r"(https?://|mailto:)[^\s<>\"]{1,2000}", re.IGNORECASE)
_SPACE: Final = re.compile(r"[ \t\r\f\v\u00a0]+")
_LINES: Final = re.compile(r"\n{3,}")


def text_of_html(html: str) -> str:
    """What a person would read of it; links with the address that they lead to."""
    reader = _Reader()
    reader.read(html[:LONGEST_HTML])
    lines = (_SPACE.sub(" ", line).strip() for line in "".join(reader.pieces).split("\n"))
    return _LINES.sub("\n\n", "\n".join(lines)).strip()


class _Reader:
    """Walks through tags from the beginning to the end and looks at nothing twice.

    The parser of the standard library looks again and again for ends that are not there, which
    somebody could use to keep this house busy for minutes with one mail.
    """

    def __init__(self) -> None:
        self.pieces: list[str] = []
        # The open elements, each with whether it is read and where its link leads.
        self._open: list[tuple[str, bool, str]] = []
        # How many of each are open: a text may be nothing but tags that close nothing.
        self._counts: Counter[str] = Counter()

    def read(self, html: str) -> None:
        """Takes the text apart; what begins like a tag and never ends is text."""
        lower, at = html.translate(_LOWER), 0
        while (begin := html.find("<", at)) >= 0:
            self._text(html[at:begin])
            if html.startswith("<!--", begin):
                at = _behind(html, "-->", begin + 4)
                continue
            end = html.find(">", begin)
            if end < 0:
                at = begin
                break
            at = self._tag(html[begin + 1 : end], lower, begin, end + 1)
        self._text(html[at:])

    def _tag(self, inside: str, lower: str, begin: int, behind: int) -> int:
        """Reads one tag; answers where reading goes on."""
        if inside[:1] in {"!", "?"}:
            return behind
        named = _NAME.match(inside)
        if named is None:
            self._text("<")
            return begin + 1
        name = named[2].lower()
        if named[1]:
            self._ends(name)
        elif name in _RAW:
            # All of it is one text until its own end, whatever signs are in it.
            found = lower.find(f"</{name}", behind)
            return len(lower) if found < 0 else found
        else:
            self._begins(name, inside[named.end() : named.end() + _LONGEST_TAG])
        return behind

    def _begins(self, tag: str, rest: str) -> None:
        given = _attributes(rest) if rest.strip() else {}
        read = self._reads and tag not in _UNREAD and not _is_hidden(given)
        if read:
            self.pieces.append(_before(tag, given))
        if tag not in _VOID and not rest.endswith("/") and len(self._open) < _DEEPEST:
            self._open.append((tag, read, _address(given) if tag == "a" else ""))
            self._counts[tag] += 1

    def _ends(self, tag: str) -> None:
        if not self._counts[tag]:
            return
        while self._open:
            name, read, link = self._open.pop()
            self._counts[name] -= 1
            if read:
                self.pieces.append(self._after(name, link))
            if name == tag:
                return

    def _text(self, text: str) -> None:
        if text and self._reads:
            plain = unescape(text)
            self.pieces.append(plain if self._counts["pre"] else plain.replace("\n", " "))

    @property
    def _reads(self) -> bool:
        return not self._open or self._open[-1][1]

    def _after(self, tag: str, link: str) -> str:
        if link and link.removeprefix("mailto:") not in "".join(self.pieces[-4:]):
            return f" ({link})"
        if tag in {"td", "th"}:
            return "\t"
        return "\n" if tag in _BLOCKS else ""


def _before(tag: str, given: dict[str, str]) -> str:
    if tag == "br":
        return "\n"
    if tag == "li":
        return "\n- "
    if tag == "img":
        return given.get("alt", "").strip()[:200]
    if tag in {"h1", "h2", "h3", "h4", "h5", "h6", "p"}:
        return "\n\n"
    return "\n" if tag in _BLOCKS else ""


def _behind(text: str, sign: str, at: int) -> int:
    """The place behind the next sign, or the end."""
    found = text.find(sign, at)
    return len(text) if found < 0 else found + len(sign)


def _attributes(rest: str) -> dict[str, str]:
    found = (
        (one[1].lower(), one[2] or one[3] or one[4] or "") for one in _ATTRIBUTE.finditer(rest)
    )
    # The first one of a name counts, as in browsers.
    return {name: unescape(value) for name, value in reversed(list(found))}


def _is_hidden(given: dict[str, str]) -> bool:
    return "hidden" in given or _HIDDEN.search(given.get("style", "")[:2_000]) is not None


def _address(given: dict[str, str]) -> str:
    found = given.get("href", "").strip()
    return found if _LINK.fullmatch(found) else ""
