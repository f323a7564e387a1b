"""Flags about templates that look as if they were made to be overlooked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mainspring.authoring.review.reading import DocumentReader, DocumentText
from mainspring.authoring.review.suspicious import CHAIN, DUNDER, PATH
from mainspring.authoring.review.view import ReviewView
from mainspring.authoring.review.wording import quote_text
from mainspring.authoring.shapes import ReviewFlag
from mainspring.definition.pointers import join_pointer
from mainspring.definition.templates.tokens import has_syntax

LONG: Final = 500
_REVERSED: Final = re.compile(r"\|\s*reverse\b[^{}]{0,200}\|\s*(?:join|replace)\b")
_REPLACED: Final = re.compile(r"(?:\|\s*replace\([^()]{0,200}\)\s*){3,}")
_MADE_SECRET: Final = re.compile(r"secrets\s*\[|secrets\s*\|")
# No template is longer.
_LONGEST: Final = 8_192


def flags_of_templates(view: ReviewView) -> Iterator[ReviewFlag]:
    reader = DocumentReader()
    for step in view.steps:
        nested = None if step.known is None else step.known.nested
        for part in ("when", "config"):
            value = step.whole.get(part)
            if nested is not None and part == "config":
                value = {key: below for key, below in step.config.items() if key != nested}
            for text in reader.texts(value, join_pointer(step.pointer, part)):
                yield from _flag_template(text)


def _flag_template(text: DocumentText) -> Iterator[ReviewFlag]:
    source = text.text[:_LONGEST]
    if not has_syntax(source) or text.key == "source":
        return
    expressions = expressions_in(source)
    if DUNDER.search(source):
        yield ReviewFlag(
            text.pointer,
            "odd_path",
            "A template reads a name with double underscores, which no data of a run has.",
            suggestion="Take it out.",
        )
    elif any(PATH.search(found) for found in expressions):
        yield ReviewFlag(
            text.pointer,
            "odd_path",
            "A template goes more than eight levels deep into a value.",
            "note",
            suggestion="Let an earlier step pick the value out, so that it can be seen there.",
        )
    yield from _odd_filters(text, source, expressions)


def expressions_in(source: str) -> list[str]:
    """What stands between braces, each found once from left to right."""
    found: list[str] = []
    end = 0
    while True:
        starts = [at for mark in ("{{", "{%") if (at := source.find(mark, end)) >= 0]
        if not starts:
            return found
        start = min(starts)
        end = source.find("}}" if source[start + 1] == "{" else "%}", start)
        if end < 0:
            return found
        found.append(source[start + 2 : end])


def _odd_filters(text: DocumentText, source: str, expressions: list[str]) -> Iterator[ReviewFlag]:
    odd = next(
        (
            found
            for sign in (CHAIN, _REVERSED, _REPLACED, _MADE_SECRET)
            if (found := sign.search(source))
        ),
        None,
    )
    if odd is not None:
        yield ReviewFlag(
            text.pointer,
            "odd_filter",
            f"A template makes a value in a way that is hard to follow: {quote_text(odd[0], 60)}.",
            suggestion="Say plainly what it is to become, or let an earlier step work it out.",
        )
    if any(len(found) > LONG for found in expressions):
        yield ReviewFlag(
            text.pointer,
            "long_expression",
            f"A template has an expression of more than {LONG} characters, which few people read.",
            "note",
            suggestion="Split it over steps.",
        )
