"""Flags about text that tries to speak to a model, or hides what it says.

Names, descriptions, prompts and the words of tools from outside are data, and a model may still
take them for orders. What is found here is shown to a person; nothing is refused by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mainspring.authoring.review.orders import orders_in
from mainspring.authoring.review.reading import DocumentReader, DocumentText
from mainspring.authoring.review.suspicious import (
    BLOB,
    FLAG_SIGN,
    INVISIBLE,
    LEAKING_ADDRESS,
    LEAST_BLOB,
)
from mainspring.authoring.review.view import ReviewView
from mainspring.authoring.review.wording import quote_text
from mainspring.authoring.shapes import ReviewFlag
from mainspring.definition.credential_literals import mask_credentials

# An address is meant to be filled in where it is the argument itself.
_ADDRESSES: Final = frozenset({"url", "query"})
_MOST_TOOLS: Final = 60
_SAYINGS: Final = frozenset({"/name", "/goal", "/intent", "/description"})
_TOOL_TEXT: Final = 8_000
# No template is longer.
_LONGEST_TEMPLATE: Final = 8_192


def flags_of_texts(view: ReviewView) -> Iterator[ReviewFlag]:
    reader = DocumentReader()
    said: set[str] = set()
    for text in reader.texts(view.document):
        for flag in _flag_text(text):
            # A request is copied into the name, the goal and the intent; that is one thing to see.
            if text.pointer not in _SAYINGS or flag.code not in said:
                yield flag
            if text.pointer in _SAYINGS:
                said.add(flag.code)
    yield from _of_tools(view)
    if reader.full:
        yield ReviewFlag(
            reader.stopped,
            "not_read_whole",
            "The definition is so large that not all of its text was looked at; here it ends.",
            suggestion="Read it yourself, or ask for a smaller one.",
        )


def _flag_text(text: DocumentText) -> Iterator[ReviewFlag]:
    yield from _invisible(text.text, text.pointer)
    yield from _orders(text.text, text.pointer, text.key)
    # A credential has a warning of its own, which does not quote it.
    readable = mask_credentials(text.text) if len(text.text) >= LEAST_BLOB else ""
    blob = BLOB.search(readable)
    if blob is not None and _mixed(blob[0]):
        yield ReviewFlag(
            text.pointer,
            "encoded_text",
            f"This holds a long piece that nobody can read: {quote_text(blob[0], 30)}.",
            suggestion="Take it out, or say in words what it is.",
        )
    begun = text.text[:_LONGEST_TEMPLATE]
    filled = text.key not in _ADDRESSES and "{{" in begun and "?" in begun
    if filled and LEAKING_ADDRESS.search(begun):
        yield ReviewFlag(
            text.pointer,
            "data_in_address",
            "This text has a web address whose query a run fills in, so opening it would carry "
            "that data away.",
            suggestion="Leave the address without it, or name the value in the text.",
        )


def _orders(text: str, at: str, key: str = "", of: str = "This text") -> Iterator[ReviewFlag]:
    found = orders_in(text, key)
    if found is not None:
        yield ReviewFlag(
            at,
            "instruction_like",
            f"{of} {found.told}: {quote_text(found.near, 100)}.",
            suggestion="Take it out, unless it is yours and meant.",
        )


def _invisible(text: str, at: str, of: str = "This text") -> Iterator[ReviewFlag]:
    if text.isascii() and text.isprintable():
        return
    if "\U0001f3f4" in text:
        text = FLAG_SIGN.sub("", text)
    found = INVISIBLE.search(text)
    if found is not None:
        yield ReviewFlag(
            at,
            "invisible_text",
            f"{of} has characters that cannot be seen, such as U+{ord(found[0][0]):04X}.",
            suggestion="Write it anew without them.",
        )


def _mixed(text: str) -> bool:
    """Encoded data mixes capitals, small letters and digits; a rule of dashes does not."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(any(kind(one) for one in text[:400]) for kind in kinds)


def _of_tools(view: ReviewView) -> Iterator[ReviewFlag]:
    """Descriptions that a model will read as the words of its tools."""
    seen: set[str] = set()
    for ask in view.asks:
        tool = view.words.capabilities.get(ask.capability)
        if tool is None or not tool.annotations.pin or tool.id in seen or len(seen) >= _MOST_TOOLS:
            continue
        seen.add(tool.id)
        of = f"The description of {quote_text(tool.id, 60)}"
        reader = DocumentReader(values=400, characters=_TOOL_TEXT * 2)
        for text in reader.texts([tool.description, tool.input_schema]):
            yield from _orders(text.text, ask.pointer, of=of)
            yield from _invisible(text.text, ask.pointer, of)
