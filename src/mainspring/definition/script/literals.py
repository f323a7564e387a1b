"""The texts of a script: what a literal is when it runs, and the placeholders in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mainspring.definition.script.syntax import SyntaxTree, unwrap_expression

if TYPE_CHECKING:
    from tree_sitter import Node

# What only a run can know; ``hosts`` reads it as the beginning of an expression.
HOLE: Final = "{{"
_NAMED: Final = re.compile(
    r"\{\{\s{0,40}(?:secrets\s{0,40}\.\s{0,40})?([A-Za-z0-9_]{1,64})\s{0,40}\}\}"
)
_PLAIN: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
    "\n": "",
    "\r": "",
    "\r\n": "",
    "\u2028": "",
    "\u2029": "",
}
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}")
# What stands for a hole while placeholders are looked for: it is part of none.
_GAP: Final = "\x00"


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """A literal's value, with the byte at which each of its pieces begins."""

    value: str
    starts: tuple[int, ...]
    places: tuple[int, ...]


def read_literal(node: Node, syntax: SyntaxTree) -> StringLiteral:
    """The value of a string or a template, with a gap for each thing that is put in."""
    values, starts, places, length = [""], [0], [node.start_byte + 1], 0
    for child in node.named_children:
        if child.type == "string_fragment":
            value = syntax.text(child)
        elif child.type == "escape_sequence":
            value = _decode_escape(syntax.text(child)[1:])
        else:
            value = _GAP
        values.append(value)
        starts.append(length)
        places.append(child.start_byte)
        length += len(value)
    return StringLiteral("".join(values), tuple(starts), tuple(places))


def read_constant_text(node: Node | None, syntax: SyntaxTree) -> str | None:
    """The value of a literal that is the same in every run; None for anything else."""
    node = unwrap_expression(node)
    if node is None or node.type not in {"string", "template_string"}:
        return None
    if any(child.type == "template_substitution" for child in node.named_children):
        return None
    return read_literal(node, syntax).value


def read_constant_prefix(node: Node | None, syntax: SyntaxTree) -> str | None:
    """A text up to what only a run can know, which a hole stands for; None without a text."""
    node, joined = unwrap_expression(node), False
    while node is not None and node.type == "binary_expression":
        if not _adds(node):
            return None
        node, joined = unwrap_expression(node.child_by_field_name("left")), True
    if node is None or node.type not in {"string", "template_string"}:
        return None
    value, gap, _ = read_literal(node, syntax).value.partition(_GAP)
    return value + HOLE if gap or joined else value


def find_placeholders(text: StringLiteral) -> Iterator[tuple[str, int, str]]:
    """Each name between double braces, with the byte it stands at and all of its text."""
    piece, at, byte = -1, 0, 0
    for found in _NAMED.finditer(text.value):
        begun = bisect_right(text.starts, found.start()) - 1
        if begun != piece:
            piece, at, byte = begun, text.starts[begun], text.places[begun]
        # On from the one before, so that a text full of them is walked over once.
        byte += len(text.value[at : found.start()].encode())
        at = found.start()
        yield found[1], byte, found[0]


def _adds(node: Node) -> bool:
    operator = node.child_by_field_name("operator")
    return operator is not None and operator.type == "+"


def _decode_escape(escape: str) -> str:
    if escape in _PLAIN:
        return _PLAIN[escape]
    found = _HEX.fullmatch(escape)
    if found is None:
        return escape
    code = int(found[1] or found[2] or found[3], 16)
    # What is no character is nothing that a name or a host could hold.
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else _GAP
