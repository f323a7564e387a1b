"""What a script says about itself: imports, style, calls and placeholders, with places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from mainspring.definition.script.entry import ScriptEntryPoint, find_entry_point
from mainspring.definition.script.literals import (
    find_placeholders,
    read_constant_text,
    read_literal,
)
from mainspring.definition.script.names import SdkNames
from mainspring.definition.script.places import SourceLocation, SourceLocator
from mainspring.definition.script.sdk import is_sdk
from mainspring.definition.script.sending import ScriptHttpRequest, read_fetch, read_sending
from mainspring.definition.script.syntax import SyntaxTree, parse_syntax

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST: Final = 200_000
# Each of these may open types or compare, and the parser follows both: what that costs grows
# with the square of their number, in time and in memory.
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
    """One thing asked for from outside of the file; no specifier when it is computed."""

    specifier: str | None
    kind: ImportKind
    place: SourceLocation

    @property
    def is_sdk(self) -> bool:
        return self.specifier is not None and is_sdk(self.specifier)


@dataclass(frozen=True, slots=True)
class ScriptCapabilityCall:
    """One capability that the script calls, or hands on to be called."""

    capability: str
    place: SourceLocation
    # Of ``http_fetch``: the host as a list of hosts names it; None where a run decides.
    host: str | None = None


@dataclass(frozen=True, slots=True)
class SecretPlaceholder:
    """One name between double braces."""

    name: str
    place: SourceLocation
    # ``url``, ``headers`` or ``query`` of a request; empty where nothing fills it.
    part: str = ""
    # Host and port that the request goes to; empty where a run decides.
    site: str = ""
    # The byte that it begins at, and whether it stands there as it will be when it runs.
    byte: int = 0
    literal: bool = True


@dataclass(frozen=True, slots=True)
class ScriptSyntaxFinding:
    """A place that cannot be read as TypeScript."""

    place: SourceLocation
    # A few characters of it; empty when the reading was given up there.
    near: str
    # Whether they are what is missing there.
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """A script that has been read."""

    style: Literal["top_level", "function"] = "top_level"
    # The exported function that is called: default, main or run; None for top-level code.
    entry: str | None = None
    imports: tuple[ScriptImport, ...] = ()
    calls: tuple[ScriptCapabilityCall, ...] = ()
    placeholders: tuple[SecretPlaceholder, ...] = ()
    faults: tuple[ScriptSyntaxFinding, ...] = ()


@lru_cache(maxsize=_KEPT)
def read_script(source: str) -> Script:
    """Reads any text at all; what is no script has faults."""
    if len(source) > LONGEST or source.count("<") > MOST_ANGLES:
        return Script(faults=(ScriptSyntaxFinding(SourceLocation(1, 1), ""),))
    syntax = parse_syntax(source)
    return _ScriptReader(syntax).script(find_entry_point(syntax))


class _ScriptReader:
    """One look at one tree."""

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
            # A function of the script's own that has this name is handed no bare text.
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
                # To an address that only a run knows: that may be the server's own.
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
