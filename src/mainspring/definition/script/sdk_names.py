"""Finds the names by which a script refers to the SDK: imports, parameters and aliases.

Names are tracked, scopes are not: the name ``brains`` always means the SDK. Only an alias can be
shadowed by a parameter, as in ``sort((a, b) => …)`` where ``b`` is also an alias of ``brains``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mainspring.definition.script.syntax import SyntaxTree, read_constant_text, unwrap_expression

if TYPE_CHECKING:
    from tree_sitter import Node


# The one module that a script may import, under each of its specifiers.

SDK_PATH: Final = "/sdks/automation-sdk-v1.ts"
# Outside the sandbox, this attribute asserts the type of the imported file.
_PINNED: Final = re.compile(r"sha256=[0-9a-f]{64}")
_BARE: Final = frozenset({"mainspring", "mainspring/automation-sdk-v1"})


def is_sdk(specifier: str) -> bool:
    """Whether an import specifier means the SDK, at any host or version."""
    if specifier in _BARE:
        return True
    try:
        address = urlsplit(specifier)
    except ValueError:
        return False
    asked = address.scheme in {"http", "https"} and bool(address.netloc)
    pinned = not address.query or _PINNED.fullmatch(address.query) is not None
    return asked and address.path == SDK_PATH and pinned and not address.fragment


BRAINS: Final = "brains"
_FETCH: Final = "fetch"
_GLOBAL: Final = frozenset({"globalThis", "self", "window"})
# A capability has a name and at most one namespace; what follows is a method of the result.
_DEEPEST: Final = 4
_LONGEST: Final = 400
_METHODS: Final = frozenset({"apply", "bind", "call"})


@dataclass(frozen=True, slots=True)
class CapabilityPath:
    """``brains.namespace.name`` at one place of the file."""

    words: tuple[str, ...]
    start: int
    # Whether it begins with ``brains`` itself rather than an alias.
    spelt: bool


class SdkNames:
    """The names in one script that mean the SDK or one of its capabilities."""

    __slots__ = ("_direct", "_fetches", "_hidden", "_syntax")

    def __init__(self, syntax: SyntaxTree, wanted: Mapping[str, Sequence[Node]]) -> None:
        self._syntax = syntax
        self._direct: dict[str, tuple[str, ...]] = {BRAINS: ()}
        self._hidden: dict[str, _ByteRanges] = {}
        for statement in wanted.get("import", ()):
            self._take_import(statement)
        for pattern in wanted.get("pattern", ()):
            self._take_pattern(pattern)
        for declarator in wanted.get("made", ()):
            self._take_declarator(declarator)
        if len(self._direct) > 1:
            self._hide(wanted.get("function", ()))
        # Whether ``fetch`` is the global one: a script may define a function of that name.
        self._fetches = not any(self._makes_fetch(wanted))

    def path(self, node: Node | None) -> CapabilityPath | None:
        """The capability that an expression refers to; None for any other expression."""
        if node is None or node.end_byte - node.start_byte > _LONGEST:
            return None
        words: list[str] = []
        for _ in range(_DEEPEST):
            node = unwrap_expression(node)
            if node is None:
                return None
            if node.type == "identifier":
                return self._named(node, words)
            word = self._last_word(node)
            if word is None:
                return None
            held = unwrap_expression(node.child_by_field_name("object"))
            if word == BRAINS and held is not None and held.type in {"identifier", "this"}:
                return CapabilityPath(_without_method(words), node.start_byte, spelt=True)
            words.append(word)
            node = held
        return None

    def is_fetch(self, node: Node | None) -> bool:
        """Whether an expression refers to the global ``fetch``."""
        node = unwrap_expression(node)
        if node is None or node.end_byte - node.start_byte > _LONGEST:
            return False
        if node.type == "identifier":
            return self._fetches and self._syntax.text(node) == _FETCH
        held = unwrap_expression(node.child_by_field_name("object"))
        return (
            self._last_word(node) == _FETCH
            and held is not None
            and held.type == "identifier"
            and self._syntax.text(held) in _GLOBAL
        )

    def _makes_fetch(self, wanted: Mapping[str, Sequence[Node]]) -> Iterator[bool]:
        """For every name that the script defines, whether it is ``fetch``."""
        for function in wanted.get("function", ()):
            named = function.child_by_field_name("name")
            if named is not None and function.type != "method_definition":
                yield self._syntax.text(named) == _FETCH
            yield from (name == _FETCH for name in _parameters(function, self._syntax))
        for declarator in wanted.get("made", ()):
            named = declarator.child_by_field_name("name")
            if named is not None and named.type == "identifier":
                yield self._syntax.text(named) == _FETCH
            elif named is not None:
                yield from (
                    name == _FETCH for _, name in _iterate_pattern_names(named, self._syntax)
                )

    def _named(self, node: Node, words: list[str]) -> CapabilityPath | None:
        name = self._syntax.text(node)
        begun = self._direct.get(name)
        hidden = self._hidden.get(name)
        if begun is None or (hidden is not None and node.start_byte in hidden):
            return None
        reversed_words = [*words, *reversed(begun)]
        return CapabilityPath(
            _without_method(reversed_words), node.start_byte, spelt=name == BRAINS
        )

    def _last_word(self, node: Node) -> str | None:
        if node.type == "member_expression":
            named = node.child_by_field_name("property")
            return None if named is None else self._syntax.text(named)
        if node.type == "subscript_expression":
            return read_constant_text(node.child_by_field_name("index"), self._syntax)
        return None

    def _take_import(self, statement: Node) -> None:
        clause = next((one for one in statement.children if one.type == "import_clause"), None)
        source = read_constant_text(statement.child_by_field_name("source"), self._syntax)
        if clause is None or source is None or not is_sdk(source):
            return
        for child in clause.named_children:
            if child.type == "identifier":
                self._direct[self._syntax.text(child)] = ()
            elif child.type == "named_imports":
                for specifier in child.named_children:
                    self._take_specifier(specifier)

    def _take_specifier(self, specifier: Node) -> None:
        name, alias = (specifier.child_by_field_name(field) for field in ("name", "alias"))
        if name is not None and alias is not None and self._syntax.text(name) == BRAINS:
            self._direct[self._syntax.text(alias)] = ()

    def _take_pattern(self, pattern: Node) -> None:
        """``{ brains: b }``, in a parameter or any other destructuring."""
        key, value = (pattern.child_by_field_name(field) for field in ("key", "value"))
        if value is not None and value.type == "assignment_pattern":
            value = value.child_by_field_name("left")
        if key is None or value is None or value.type != "identifier":
            return
        if self._syntax.text(key) == BRAINS:
            self._direct[self._syntax.text(value)] = ()

    def _take_declarator(self, declarator: Node) -> None:
        name = declarator.child_by_field_name("name")
        value = declarator.child_by_field_name("value")
        if name is None or value is None or name.type not in {"identifier", "object_pattern"}:
            return
        path = self.path(value)
        if path is None:
            return
        if name.type == "identifier":
            self._direct.setdefault(self._syntax.text(name), path.words)
            return
        for word, taken in _iterate_pattern_names(name, self._syntax):
            self._direct.setdefault(taken, (*path.words, word))

    def _hide(self, functions: Iterable[Node]) -> None:
        ranges: dict[str, list[tuple[int, int]]] = {}
        for function in functions:
            for name in _parameters(function, self._syntax):
                if name in self._direct and name != BRAINS:
                    ranges.setdefault(name, []).append((function.start_byte, function.end_byte))
        self._hidden = {name: _ByteRanges(found) for name, found in ranges.items()}


class _ByteRanges:
    """Byte ranges of the file, merged where they overlap."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(ranges):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def __contains__(self, byte: int) -> bool:
        place = bisect_right(self._starts, byte) - 1
        return place >= 0 and byte < self._ends[place]


def _without_method(reversed_words: Sequence[str]) -> tuple[str, ...]:
    words = list(reversed(reversed_words))
    while len(words) > 1 and words[-1] in _METHODS:
        words.pop()
    return tuple(words)


def _iterate_pattern_names(pattern: Node, syntax: SyntaxTree) -> Iterator[tuple[str, str]]:
    """``{ key, key: name }``: each key of a pattern and the name it is bound to."""
    for child in pattern.named_children:
        if child.type == "object_assignment_pattern":
            left = child.child_by_field_name("left")
            if left is not None:
                yield syntax.text(left), syntax.text(left)
        elif child.type == "shorthand_property_identifier_pattern":
            yield syntax.text(child), syntax.text(child)
        elif child.type == "pair_pattern":
            key, value = (child.child_by_field_name(field) for field in ("key", "value"))
            if key is not None and value is not None and value.type == "identifier":
                word = read_constant_text(key, syntax) or syntax.text(key)
                yield word, syntax.text(value)


_WITHIN: Final = {
    "required_parameter": "pattern",
    "optional_parameter": "pattern",
    "pair_pattern": "value",
    "assignment_pattern": "left",
    "object_assignment_pattern": "left",
}
_SPREAD_OUT: Final = frozenset(
    {"formal_parameters", "object_pattern", "array_pattern", "rest_pattern"}
)
_NAMES: Final = frozenset({"identifier", "shorthand_property_identifier_pattern"})


def _parameters(function: Node, syntax: SyntaxTree) -> Iterator[str]:
    """The names of a function's parameters, except the SDK's own."""
    rest = [function.child_by_field_name(field) for field in ("parameters", "parameter")]
    while rest:
        node = rest.pop()
        if node is None:
            continue
        if node.type in _NAMES:
            yield syntax.text(node)
        elif node.type in _SPREAD_OUT:
            rest += node.named_children
        elif node.type in _WITHIN and not _is_brains(node, syntax):
            rest.append(node.child_by_field_name(_WITHIN[node.type]))


def _is_brains(node: Node, syntax: SyntaxTree) -> bool:
    key = node.child_by_field_name("key") if node.type == "pair_pattern" else None
    return key is not None and syntax.text(key) == BRAINS
