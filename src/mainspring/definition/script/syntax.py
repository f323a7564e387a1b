"""The tree of a script, made within bounds.

The parser is a library in C that mends what it cannot read, and mending takes longer the
more there is of it: a text of signs could keep it busy for a minute. So it is fed in small
pieces with an eye on the processor time, and a text that costs far more than any program
does ends there, with a fault at that place. The tree may be a hundred thousand levels
deep or wide, so it is walked with a cursor: recursion would run out of room, and looking
for a node's parent, or for nodes by a query, takes the square of its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import thread_time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree, TreeCursor

_PIECE: Final = 1_024
# A program takes a third of a microsecond a byte; one that is all signs, one and a quarter.
_SECONDS: Final = 0.15
_SECONDS_PER_BYTE: Final = 2.5e-6
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
# The parser's own number for what it could not read.
_ERROR: Final = 65_535


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A tree, its text as the parser saw it, and how far the parser came."""

    data: bytes
    tree: Tree
    # Where reading was given up; None when all of it was read.
    stopped: int | None

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode(errors="replace")

    def statements(self) -> Iterator[Node]:
        """The statements of the file itself, with the comments between them."""
        cursor = self.tree.walk()
        going = cursor.goto_first_child()
        while going:
            if cursor.node is not None:
                yield cursor.node
            going = cursor.goto_next_sibling()

    def wanted(self) -> Mapping[str, Sequence[Node]]:
        """Every node that means something to us, in the order of the text, by its kind."""
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
    """The tree of a text; half of a surrogate pair counts as a question mark."""
    from tree_sitter import Parser

    data = source.encode("utf-8", "replace")
    stopped: int | None = None
    began = thread_time()

    def piece(at: int, _point: object) -> bytes:
        nonlocal stopped
        late = thread_time() - began > _SECONDS + _SECONDS_PER_BYTE * at
        if at < len(data) and (late or (stopped is not None and at >= stopped)):
            stopped = at if stopped is None else min(at, stopped)
            return b""
        return data[at : at + _PIECE]

    tree = Parser(_language()).parse(piece)
    return SyntaxTree(data, tree, stopped)


@lru_cache(maxsize=1)
def _language() -> Language:
    from tree_sitter import Language
    from tree_sitter_typescript import language_typescript

    return Language(language_typescript())


@lru_cache(maxsize=1)
def _kinds() -> Mapping[int, str]:
    """Our word for each number of the grammar that we look for."""
    language = _language()
    named = {
        number: language.node_kind_for_id(number) or ""
        for number in range(language.node_kind_count)
        if language.node_kind_is_named(number)
    }
    found = {number: _WANTED[name] for number, name in named.items() if name in _WANTED}
    return {**found, _ERROR: _FAULT}


def _goes_on(cursor: TreeCursor) -> bool:
    """To what follows in the text; False at its end."""
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
    """An expression without the parentheses and the types around it."""
    for _ in range(_MOST_WRAPPERS):
        if node is None or node.type not in WRAPPERS:
            return node
        kept = [child for child in node.named_children if child.type != "comment"]
        # In ``<T>x`` the value stands last, in ``x as T`` first.
        last = node.type == "type_assertion"
        node = (kept[-1] if last else kept[0]) if kept else None
    return None
