"""Splitting a template into pieces for display, losing nothing.

This is for showing templates, not for running them: ambiguous parts are returned as code up to the
end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from mainspring.definition.templates.parser import has_syntax

Kind = Literal["text", "expression", "statement", "comment", "unread"]

# Longer than any valid template; the rest is reported as omitted.
LONGEST: Final = 9_000
_QUOTED: Final = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_EXPRESSION: Final = re.compile(rf"\{{\{{[-+]?((?:{_QUOTED}|[^'\"{{}}])*+)\}}\}}", re.DOTALL)
_STATEMENT: Final = re.compile(rf"\{{%[-+]?((?:{_QUOTED}|[^'\"%]|%(?!\}}))*+)%\}}", re.DOTALL)
_BEGIN: Final = re.compile(r"\{[{%#]")
_END_RAW: Final = re.compile(r"\{%[-+]?\s{0,20}endraw\s{0,20}[-+]?%\}")
_PATH: Final = r"[A-Za-z_]\w{0,99}(?:\.\w{1,100}|\[\d{1,4}\]|\[['\"]\w{1,100}['\"]\]){0,12}"
_BARE: Final = re.compile(
    rf"\s{{0,99}}\{{\{{[-+]?\s{{0,99}}({_PATH})\s{{0,99}}[-+]?\}}\}}\s{{0,99}}"
)
_TEXT: Final = re.compile(_QUOTED, re.DOTALL)
_KEY: Final = re.compile(r"\[\s{0,9}(?:'\w{1,100}'|\"\w{1,100}\")\s{0,9}\]")
# Escaped braces.
_BRACE: Final = re.compile(r"['\"][{}%#]{0,2}['\"]")
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d{4,}")
_ONLY_DEFAULT: Final = re.compile(
    rf"{_PATH}\s{{0,9}}\|\s{{0,9}}default\(\s{{0,9}}(?:{_QUOTED})\s{{0,9}}(?:,\s{{0,9}}true)?\)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class TemplatePiece:
    """A piece: literal text, or the content of braces."""

    kind: Kind
    text: str


def pieces_of(source: str) -> tuple[TemplatePiece, ...]:
    """Return every piece of a template, in order."""
    return tuple(piece for piece in _pieces(source) if piece.text or piece.kind != "text")


def _pieces(source: str) -> Iterator[TemplatePiece]:
    at = 0
    while (found := _BEGIN.search(source, at)) is not None:
        yield TemplatePiece("text", source[at : found.start()])
        mark, begin = found[0], found.start()
        if mark == "{#":
            end = source.find("#}", begin + 2)
            if end < 0:
                yield TemplatePiece("unread", source[begin:])
                return
            yield TemplatePiece("comment", source[begin + 2 : end])
            at = end + 2
            continue
        whole = (_EXPRESSION if mark == "{{" else _STATEMENT).match(source, begin)
        if whole is None:
            yield TemplatePiece("unread", source[begin:])
            return
        inside = _strip_control_sign(whole[1])
        yield TemplatePiece("expression" if mark == "{{" else "statement", inside)
        at = whole.end()
        if mark == "{%" and inside == "raw":
            end_raw = _END_RAW.search(source, at)
            stop = end_raw.start() if end_raw else len(source)
            yield TemplatePiece("text", source[at:stop])
            at = stop
    yield TemplatePiece("text", source[at:])


def _strip_control_sign(inside: str) -> str:
    """Remove the whitespace-control sign."""
    inside = inside.strip()
    return inside[:-1].rstrip() if inside.endswith(("-", "+")) else inside


def bare_path(text: str) -> str | None:
    """Return the path when a text is a single run-time value."""
    found = _BARE.fullmatch(text) if len(text) <= LONGEST else None
    return None if found is None else found[1]


def oddness(text: str) -> tuple[str, bool] | None:
    """Describe what is suspicious about a destination template, and whether it is grave.

    A destination is either literal or a single run-time value. Text assembled inside a template is
    unreadable for a reviewer.
    """
    if not has_syntax(text) or bare_path(text) is not None:
        return None
    pieces = pieces_of(text[:LONGEST])
    kinds = {piece.kind for piece in pieces}
    for kind, told in _ODD:
        if kind in kinds:
            return told, True
    if len(text) > LONGEST:
        return "more than a template may contain", True
    for piece in pieces:
        if piece.kind == "expression" and _has_literal(piece.text):
            usual = _ONLY_DEFAULT.fullmatch(piece.text) is not None
            return ("a value for when there is none" if usual else "words inside of its code"), (
                not usual
            )
    return None


_ODD: Final[tuple[tuple[Kind, str], ...]] = (
    ("comment", "a comment"),
    ("statement", "a statement"),
    ("unread", "code that is hard to follow"),
)


def _has_literal(inside: str) -> bool:
    plain = _BRACE.sub("", _KEY.sub("", inside))
    return _TEXT.search(plain) is not None or _NUMBER.search(plain) is not None
