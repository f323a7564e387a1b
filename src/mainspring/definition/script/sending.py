"""What a script hands to ``http_fetch`` or ``fetch``: where it goes, and which texts go with it.

A placeholder is filled at the door, after the script has let go of it. So it may stand in a
text that reaches the url, the headers or the query as it is: alone, in a template, joined
with ``+`` or chosen by ``?``. A text that a function works on first is not such a text: what
``btoa("{{key}}")`` encodes is the placeholder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mainspring.definition.hosts import grant_entry, parse_template_host
from mainspring.definition.script.literals import read_constant_prefix, read_constant_text
from mainspring.definition.script.syntax import WRAPPERS, SyntaxTree, unwrap_expression

if TYPE_CHECKING:
    from tree_sitter import Node

PARTS: Final = frozenset({"url", "headers", "query"})
_JOINS: Final = frozenset({"+", "??", "||", "&&"})
_THROUGH: Final = WRAPPERS | {"array", "object", "spread_element", "template_substitution"}


@dataclass(frozen=True, slots=True)
class ScriptHttpRequest:
    """One request as far as the script's text tells."""

    # As a list of hosts names it, and as a site with its port; None where a run decides.
    host: str | None = None
    site: str | None = None
    # The part of the request that each literal goes into, by the byte where it begins.
    texts: dict[int, str] = field(default_factory=dict)


def read_sending(arguments: Node | None, syntax: SyntaxTree) -> ScriptHttpRequest:
    """Reads the arguments of one call of ``http_fetch``."""
    first = unwrap_expression(next(iter(_values(arguments)), None))
    address: Node | None = None
    texts: dict[int, str] = {}
    for name, value in _entries(first, syntax):
        if name in PARTS and value is not None:
            texts.update(dict.fromkeys(_literals(value), name))
        # A name that only a run knows may be the url as well, and the last one counts.
        if name in {None, "url"}:
            address = value
    return _sending(address, texts, syntax)


def read_fetch(arguments: Node | None, syntax: SyntaxTree) -> ScriptHttpRequest:
    """Reads the arguments of one call of ``fetch``: the address, and an object with headers."""
    given = _values(arguments)
    if not given or given[0].type == "spread_element":
        return ScriptHttpRequest()
    texts: dict[int, str] = dict.fromkeys(_literals(given[0]), "url")
    for name, value in _entries(unwrap_expression(given[1]) if len(given) > 1 else None, syntax):
        if name == "headers" and value is not None:
            texts.update(dict.fromkeys(_literals(value), name))
    return _sending(given[0], texts, syntax)


def _sending(address: Node | None, texts: dict[int, str], syntax: SyntaxTree) -> ScriptHttpRequest:
    text = read_constant_prefix(address, syntax)
    site = parse_template_host(text)
    return ScriptHttpRequest(grant_entry(text), None if site is None else str(site), texts)


def _values(arguments: Node | None) -> list[Node]:
    if arguments is None or arguments.type != "arguments":
        return []
    return [child for child in arguments.named_children if child.type != "comment"]


def _entries(node: Node | None, syntax: SyntaxTree) -> Iterator[tuple[str | None, Node | None]]:
    """The entries of an object literal; none of anything else."""
    if node is not None and node.type == "object":
        yield from (_entry(entry, syntax) for entry in node.named_children)


def _entry(entry: Node, syntax: SyntaxTree) -> tuple[str | None, Node | None]:
    """The name and the value of one entry of an object; no name when a run decides it."""
    if entry.type == "comment":
        return "", None
    if entry.type == "shorthand_property_identifier":
        return syntax.text(entry), None
    if entry.type == "method_definition":
        named = entry.child_by_field_name("name")
        return (None if named is None else _key(named, syntax)), None
    if entry.type != "pair":
        return None, None
    key, value = (entry.child_by_field_name(part) for part in ("key", "value"))
    name = None if key is None else _key(key, syntax)
    return name, None if name is None else value


def _key(key: Node, syntax: SyntaxTree) -> str | None:
    if key.type == "computed_property_name":
        inside = key.named_children
        return read_constant_text(inside[0], syntax) if inside else None
    return read_constant_text(key, syntax) if key.type == "string" else syntax.text(key)


def _literals(value: Node) -> list[int]:
    """Where the literals begin that this value is made of."""
    found: list[int] = []
    rest: list[Node | None] = [value]
    while rest:
        node = rest.pop()
        if node is None:
            continue
        if node.type in {"string", "template_string"}:
            found.append(node.start_byte)
            rest += [one for one in node.named_children if one.type == "template_substitution"]
        elif node.type == "pair":
            rest.append(node.child_by_field_name("value"))
        elif node.type == "ternary_expression":
            rest += [node.child_by_field_name(way) for way in ("consequence", "alternative")]
        elif node.type == "binary_expression":
            operator = node.child_by_field_name("operator")
            if operator is not None and operator.type in _JOINS:
                rest += [node.child_by_field_name(side) for side in ("left", "right")]
        elif node.type in _THROUGH:
            rest += node.named_children
    return found
