"""Reads a script's imports, entry point, calls and secret placeholders, with locations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from mainspring.definition.hosts import grant_entry, parse_template_host
from mainspring.definition.script.sdk_names import SdkNames, is_sdk
from mainspring.definition.script.syntax import (
    WRAPPERS,
    SourceLocation,
    SourceLocator,
    SyntaxTree,
    find_placeholders,
    parse_syntax,
    read_constant_prefix,
    read_constant_text,
    read_literal,
    unwrap_expression,
)

if TYPE_CHECKING:
    from tree_sitter import Node


# The entry point of a script: its top-level code, or an exported function.

DEFAULT: Final = "default"
# The first of these that is exported is called.
_ENTRIES: Final = (DEFAULT, "main", "run")
_FUNCTIONS: Final = frozenset({"function_declaration", "generator_function_declaration"})
_VARIABLES: Final = frozenset({"lexical_declaration", "variable_declaration"})


@dataclass(frozen=True, slots=True)
class ScriptEntryPoint:
    """The function that a run calls: its exported name and its local name."""

    exported: str
    local: str


def find_entry_point(syntax: SyntaxTree) -> ScriptEntryPoint | None:
    """The exported function that is called; None when the script is top-level code."""
    found: dict[str, str] = {}
    for statement in syntax.statements():
        if statement.type == "export_statement":
            found |= dict(_iterate_exports(statement, syntax))
    return next((ScriptEntryPoint(name, found[name]) for name in _ENTRIES if name in found), None)


def _iterate_exports(statement: Node, syntax: SyntaxTree) -> Iterator[tuple[str, str]]:
    kinds = {child.type for child in statement.children}
    if "type" in kinds or statement.child_by_field_name("source") is not None:
        return
    if DEFAULT in kinds:
        yield DEFAULT, DEFAULT
    declaration = statement.child_by_field_name("declaration")
    if declaration is not None:
        for name in _iterate_declared_names(declaration, syntax):
            yield name, name
    for clause in statement.named_children:
        if clause.type == "export_clause":
            for specifier in clause.named_children:
                yield from _iterate_export_specifier(specifier, syntax)


def _iterate_declared_names(declaration: Node, syntax: SyntaxTree) -> Iterator[str]:
    if declaration.type in _FUNCTIONS:
        named = declaration.child_by_field_name("name")
        if named is not None:
            yield syntax.text(named)
    elif declaration.type in _VARIABLES:
        for declarator in declaration.named_children:
            named = declarator.child_by_field_name("name")
            if named is not None and named.type == "identifier":
                yield syntax.text(named)


def _iterate_export_specifier(specifier: Node, syntax: SyntaxTree) -> Iterator[tuple[str, str]]:
    if specifier.type != "export_specifier" or any(
        child.type == "type" for child in specifier.children
    ):
        return
    name, alias = (specifier.child_by_field_name(part) for part in ("name", "alias"))
    if name is not None:
        outside = name if alias is None else alias
        yield syntax.text(outside).strip("\"'"), syntax.text(name)


# The arguments of ``http_fetch`` or ``fetch``: the destination and the texts sent with it.

PARTS: Final = frozenset({"url", "headers", "query"})
_JOINS: Final = frozenset({"+", "??", "||", "&&"})
_THROUGH: Final = WRAPPERS | {"array", "object", "spread_element", "template_substitution"}


@dataclass(frozen=True, slots=True)
class ScriptHttpRequest:
    """One request, as far as it is determined by the script's text."""

    # As an entry of a host list, and as host and port; None when only known at run time.
    host: str | None = None
    site: str | None = None
    # The part of the request that contains each literal, by the literal's byte offset.
    texts: dict[int, str] = field(default_factory=dict)


def read_sending(arguments: Node | None, syntax: SyntaxTree) -> ScriptHttpRequest:
    """Read the arguments of one call of ``http_fetch``."""
    first = unwrap_expression(next(iter(_values(arguments)), None))
    address: Node | None = None
    texts: dict[int, str] = {}
    for name, value in _entries(first, syntax):
        if name in PARTS and value is not None:
            texts.update(dict.fromkeys(_literals(value), name))
        # A computed key may be the url as well, and the last one counts.
        if name in {None, "url"}:
            address = value
    return _sending(address, texts, syntax)


def read_fetch(arguments: Node | None, syntax: SyntaxTree) -> ScriptHttpRequest:
    """Read the arguments of one call of ``fetch``: the URL, and an object with headers."""
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
    """The entries of an object literal; empty for any other node."""
    if node is not None and node.type == "object":
        yield from (_entry(entry, syntax) for entry in node.named_children)


def _entry(entry: Node, syntax: SyntaxTree) -> tuple[str | None, Node | None]:
    """The key and the value of one entry of an object; no key when it is computed."""
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
    """The byte offsets of the literals in this value."""
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


LONGEST: Final = 200_000
# Each of these may open type arguments or compare, and the parser follows both: time and memory
# grow with the square of their number.
MOST_ANGLES: Final = 1_000
_KEPT: Final = 64
_MOST_FAULTS: Final = 20
_LONGEST_QUOTE: Final = 40
_HTTP_FETCH: Final = ("http_fetch",)
# Methods of the SDK that call a capability of another name.
_CALLED_AS: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {("http_request",): _HTTP_FETCH}

ImportKind = Literal["static", "type", "dynamic", "export", "require", "meta"]


@dataclass(frozen=True, slots=True)
class ScriptImport:
    """One import; no specifier when it is computed."""

    specifier: str | None
    kind: ImportKind
    place: SourceLocation

    @property
    def is_sdk(self) -> bool:
        return self.specifier is not None and is_sdk(self.specifier)


@dataclass(frozen=True, slots=True)
class ScriptCapabilityCall:
    """One capability that the script calls or passes on."""

    capability: str
    place: SourceLocation
    # For ``http_fetch``: the host as an entry of a host list; None when only known at run time.
    host: str | None = None


@dataclass(frozen=True, slots=True)
class SecretPlaceholder:
    """One name between double braces."""

    name: str
    place: SourceLocation
    # ``url``, ``headers`` or ``query`` of a request; empty where it is not filled in.
    part: str = ""
    # Host and port of the request; empty when only known at run time.
    site: str = ""
    # The byte offset, and whether the source text there equals the literal's value.
    byte: int = 0
    literal: bool = True


@dataclass(frozen=True, slots=True)
class ScriptSyntaxFinding:
    """A location that cannot be parsed as TypeScript."""

    place: SourceLocation
    # A few characters of it; empty when parsing was aborted there.
    near: str
    # Whether they are missing there.
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """The result of reading a script."""

    style: Literal["top_level", "function"] = "top_level"
    # The exported function that is called: default, main or run; None for top-level code.
    entry: str | None = None
    imports: tuple[ScriptImport, ...] = ()
    calls: tuple[ScriptCapabilityCall, ...] = ()
    placeholders: tuple[SecretPlaceholder, ...] = ()
    faults: tuple[ScriptSyntaxFinding, ...] = ()


@lru_cache(maxsize=_KEPT)
def read_script(source: str) -> Script:
    """Read any text; a text that is not a script has syntax findings."""
    if len(source) > LONGEST or source.count("<") > MOST_ANGLES:
        return Script(faults=(ScriptSyntaxFinding(SourceLocation(1, 1), ""),))
    syntax = parse_syntax(source)
    return _ScriptReader(syntax).script(find_entry_point(syntax))


class _ScriptReader:
    """Reads one syntax tree."""

    __slots__ = ("_names", "_places", "_syntax", "_wanted")

    def __init__(self, syntax: SyntaxTree) -> None:
        self._syntax = syntax
        self._places = SourceLocator(syntax.data)
        self._wanted: Mapping[str, Sequence[Node]] = syntax.wanted()
        self._names = SdkNames(syntax, self._wanted)

    def script(self, entry: ScriptEntryPoint | None) -> Script:
        sent: dict[int, tuple[str, str]] = {}
        calls = tuple(self._calls(sent))
        return Script(
            style="top_level" if entry is None else "function",
            entry=None if entry is None else entry.exported,
            imports=tuple(sorted(self._imports(), key=lambda one: one.place)),
            calls=calls,
            placeholders=tuple(self._placeholders(sent)),
            faults=tuple(self._faults()),
        )

    def _imports(self) -> Iterator[ScriptImport]:
        for statement in self._wanted.get("import", ()):
            yield self._import(statement)
        for statement in self._wanted.get("export", ()):
            if statement.child_by_field_name("source") is not None:
                yield self._asked(statement.child_by_field_name("source"), "export", statement)
        for call in self._wanted.get("call", ()):
            function = call.child_by_field_name("function")
            if function is not None and function.type in {"import", "identifier"}:
                yield from self._called_import(call, function)
        for meta in self._wanted.get("meta", ()):
            if self._syntax.text(meta).startswith("import"):
                yield ScriptImport("import.meta", "meta", self._places.at(meta.start_byte))

    def _import(self, statement: Node) -> ScriptImport:
        kinds = {child.type for child in statement.children}
        source = statement.child_by_field_name("source")
        kind: ImportKind = "type" if "type" in kinds else "static"
        if "import_require_clause" in kinds:
            kind = "require"
            clause = next(one for one in statement.children if one.type == "import_require_clause")
            source = clause.child_by_field_name("source")
        return self._asked(source, kind, statement)

    def _called_import(self, call: Node, function: Node) -> Iterator[ScriptImport]:
        arguments = call.child_by_field_name("arguments")
        given = [] if arguments is None else arguments.named_children
        if function.type == "import":
            yield self._asked(given[0] if given else None, "dynamic", call)
        elif self._syntax.text(function) == "require" and len(given) == 1:
            asked = self._asked(given[0], "require", call)
            # A function of the script's own with this name is not treated as a request.
            if asked.specifier is not None:
                yield asked

    def _asked(self, source: Node | None, kind: ImportKind, at: Node) -> ScriptImport:
        return ScriptImport(
            read_constant_text(source, self._syntax), kind, self._places.at(at.start_byte)
        )

    def _calls(self, sent: dict[int, tuple[str, str]]) -> Iterator[ScriptCapabilityCall]:
        found: dict[int, tuple[tuple[str, ...], ScriptHttpRequest | None]] = {}
        for node in self._wanted.get("call", ()):
            function = node.child_by_field_name("function")
            path, sending = self._names.path(function), None
            words = () if path is None else _CALLED_AS.get(path.words, path.words)
            if words == _HTTP_FETCH:
                sending = read_sending(node.child_by_field_name("arguments"), self._syntax)
            elif self._names.is_fetch(function):
                sending = read_fetch(node.child_by_field_name("arguments"), self._syntax)
                # A host that is only known at run time may be the server itself.
                words = () if sending.host is None else _HTTP_FETCH
            if sending is not None:
                parts = {at: (part, sending.site or "") for at, part in sending.texts.items()}
                sent.update(parts)
            if words:
                found[node.start_byte if path is None else path.start] = (words, sending)
        called = set(found)
        for node in self._wanted.get("member", ()):
            path = self._names.path(node)
            if path is None or not path.words or not path.spelt or path.start in called:
                continue
            before = found.get(path.start)
            if before is None or len(before[0]) < len(path.words):
                found[path.start] = (_CALLED_AS.get(path.words, path.words), None)
        for start, (words, sending) in sorted(found.items(), key=lambda one: one[0]):
            host = None if sending is None else sending.host
            yield ScriptCapabilityCall(".".join(words), self._places.at(start), host)

    def _placeholders(self, sent: Mapping[int, tuple[str, str]]) -> Iterator[SecretPlaceholder]:
        data = self._syntax.data
        for node in self._wanted.get("text", ()):
            if data.find(b"{", node.start_byte, node.end_byte) < 0 and (
                data.find(b"\\", node.start_byte, node.end_byte) < 0
            ):
                continue
            part, site = sent.get(node.start_byte, ("", ""))
            for name, byte, text in find_placeholders(read_literal(node, self._syntax)):
                literal = data.startswith(text.encode(), byte)
                yield SecretPlaceholder(name, self._places.at(byte), part, site, byte, literal)

    def _faults(self) -> Iterator[ScriptSyntaxFinding]:
        for node in sorted(self._wanted.get("fault", ()), key=_breadth)[:_MOST_FAULTS]:
            near = self._syntax.text(node).split("\n", 1)[0][:_LONGEST_QUOTE].strip()
            at = self._places.at(node.start_byte)
            yield ScriptSyntaxFinding(at, near or node.type, missing=node.is_missing)
        if self._syntax.stopped is not None:
            yield ScriptSyntaxFinding(self._places.at(self._syntax.stopped), "")


def _breadth(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte
