"""Parses a script to a syntax tree within limits.

The parser is a C library with error recovery, which takes longer the more errors there are: a text
of punctuation could keep it busy for a minute. It is therefore fed in small chunks while the CPU
time is measured, and a text that costs far more than any real program is aborted with a syntax
finding at that location. The tree may be a hundred thousand levels deep or wide, so it is walked
with a cursor: recursion would overflow the stack, and parent lookups or queries take quadratic
time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import thread_time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree, TreeCursor


# Locations in a script: lines and columns as an editor counts them.

# The maximum number of bytes that are decoded to find one column.
_STRIDE: Final = 1_024


@dataclass(frozen=True, slots=True, order=True)
class SourceLocation:
    """A line and a column, both from 1; a column counts characters, not bytes."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class SourceLocator:
    """Converts byte offsets to locations in near constant time."""

    __slots__ = ("_before", "_data", "_starts")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts = [0]
        found = data.find(b"\n")
        while found >= 0:
            self._starts.append(found + 1)
            found = data.find(b"\n", found + 1)
        # The number of characters before each stride of bytes.
        self._before = [0]
        if not data.isascii():
            for at in range(0, len(data), _STRIDE):
                self._before.append(self._before[-1] + _characters(data[at : at + _STRIDE]))

    def at(self, byte: int) -> SourceLocation:
        """The location of one byte."""
        line = bisect_right(self._starts, byte)
        return SourceLocation(line, self._count(byte) - self._count(self._starts[line - 1]) + 1)

    def _count(self, byte: int) -> int:
        if len(self._before) == 1:
            return byte
        stride, rest = divmod(byte, _STRIDE)
        start = stride * _STRIDE
        return self._before[stride] + _characters(self._data[start : start + rest])


def _characters(piece: bytes) -> int:
    """The number of characters that begin in a piece of UTF-8."""
    return len(piece) - len(piece.translate(None, _BEGINNING))


# Every byte except UTF-8 continuation bytes.
_BEGINNING: Final = bytes(byte for byte in range(256) if byte & 0xC0 != 0x80)


_PIECE: Final = 1_024
# Typical code takes a third of a microsecond of CPU time per byte; code made of operators takes
# 1.25. The limit is generous, because CPU time also grows on a busy machine.
_SECONDS: Final = 1.0
_SECONDS_PER_BYTE: Final = 10e-6
_FAULT: Final = "fault"
_WANTED: Final = {
    "import_statement": "import",
    "export_statement": "export",
    "call_expression": "call",
    "member_expression": "member",
    "subscript_expression": "member",
    "string": "text",
    "template_string": "text",
    "ERROR": _FAULT,
    "pair_pattern": "pattern",
    "variable_declarator": "made",
    "meta_property": "meta",
    "arrow_function": "function",
    "function_expression": "function",
    "function_declaration": "function",
    "generator_function": "function",
    "generator_function_declaration": "function",
    "method_definition": "function",
}
# The parser's symbol id of an error node.
_ERROR: Final = 65_535


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A tree, its text as the parser saw it, and how far parsing got."""

    data: bytes
    tree: Tree
    # The offset at which parsing was aborted; None when all of the text was parsed.
    stopped: int | None

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode(errors="replace")

    def statements(self) -> Iterator[Node]:
        """The top-level statements of the file, with the comments between them."""
        cursor = self.tree.walk()
        going = cursor.goto_first_child()
        while going:
            if cursor.node is not None:
                yield cursor.node
            going = cursor.goto_next_sibling()

    def wanted(self) -> Mapping[str, Sequence[Node]]:
        """Every node of a known kind, in source order."""
        kinds, broken = _kinds(), self.tree.root_node.has_error
        found: dict[str, list[Node]] = {kind: [] for kind in _WANTED.values()}
        cursor = self.tree.walk()
        going = True
        while going:
            node = cursor.node
            assert node is not None
            kind = kinds.get(node.kind_id)
            if kind is not None:
                found[kind].append(node)
            elif broken and node.is_missing:
                found[_FAULT].append(node)
            going = cursor.goto_first_child() or _goes_on(cursor)
        return found


def parse_syntax(source: str) -> SyntaxTree:
    """Parse a text; a lone surrogate becomes a question mark."""
    from tree_sitter import Parser

    data = source.encode("utf-8", "replace")
    stopped: int | None = None
    # Loading the grammar does not count towards the limit.
    parser = Parser(_language())
    began = thread_time()

    def piece(at: int, _point: object) -> bytes:
        nonlocal stopped
        late = thread_time() - began > _SECONDS + _SECONDS_PER_BYTE * at
        if at < len(data) and (late or (stopped is not None and at >= stopped)):
            stopped = at if stopped is None else min(at, stopped)
            return b""
        return data[at : at + _PIECE]

    tree = parser.parse(piece)
    return SyntaxTree(data, tree, stopped)


@lru_cache(maxsize=1)
def _language() -> Language:
    from tree_sitter import Language
    from tree_sitter_typescript import language_typescript

    return Language(language_typescript())


@lru_cache(maxsize=1)
def _kinds() -> Mapping[int, str]:
    """The kind for each symbol id of the grammar that is used here."""
    language = _language()
    named = {
        number: language.node_kind_for_id(number) or ""
        for number in range(language.node_kind_count)
        if language.node_kind_is_named(number)
    }
    found = {number: _WANTED[name] for number, name in named.items() if name in _WANTED}
    return {**found, _ERROR: _FAULT}


def _goes_on(cursor: TreeCursor) -> bool:
    """Move the cursor to the next node in source order; False at the end."""
    while not cursor.goto_next_sibling():
        if not cursor.goto_parent():
            return False
    return True


WRAPPERS: Final = frozenset(
    {
        "parenthesized_expression",
        "as_expression",
        "satisfies_expression",
        "non_null_expression",
        "type_assertion",
    }
)
_MOST_WRAPPERS: Final = 8


def unwrap_expression(node: Node | None) -> Node | None:
    """An expression without parentheses and type assertions."""
    for _ in range(_MOST_WRAPPERS):
        if node is None or node.type not in WRAPPERS:
            return node
        kept = [child for child in node.named_children if child.type != "comment"]
        # In ``<T>x`` the value comes last, in ``x as T`` first.
        last = node.type == "type_assertion"
        node = (kept[-1] if last else kept[0]) if kept else None
    return None


# Literals of a script: their runtime values and the placeholders in them.

# Marks a part only known at run time; ``hosts`` treats it as the start of an expression.
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
# Replaces a substitution while placeholders are searched; no placeholder contains it.
_GAP: Final = "\x00"


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """A literal's value, with the byte offset of each of its pieces."""

    value: str
    starts: tuple[int, ...]
    places: tuple[int, ...]


def read_literal(node: Node, syntax: SyntaxTree) -> StringLiteral:
    """The value of a string or a template literal, with a gap for each substitution."""
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
    """The value of a constant literal; None for anything else."""
    node = unwrap_expression(node)
    if node is None or node.type not in {"string", "template_string"}:
        return None
    if any(child.type == "template_substitution" for child in node.named_children):
        return None
    return read_literal(node, syntax).value


def read_constant_prefix(node: Node | None, syntax: SyntaxTree) -> str | None:
    """A text up to its first substitution, which a marker replaces; None for any other node."""
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
    """Each name between double braces, with its byte offset and full text."""
    piece, at, byte = -1, 0, 0
    for found in _NAMED.finditer(text.value):
        begun = bisect_right(text.starts, found.start()) - 1
        if begun != piece:
            piece, at, byte = begun, text.starts[begun], text.places[begun]
        # Continue from the previous match, so that a text with many matches is scanned once.
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
    # An invalid code point cannot be part of a name or a host.
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else _GAP
