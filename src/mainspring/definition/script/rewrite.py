"""Rewrites a script for execution: the same file, with the SDK provided by the host.

A script loads nothing at run time, so its import of the SDK becomes a reference to an existing
object. Top-level code is wrapped in a function, which makes a bare ``return`` and ``await`` valid.
Every line keeps its number and, except on the first line and after a secret, its columns, so error
locations match the original source.

Each secret named in the source gets a marker, which a run replaces with one of its own: a text that
merely looks like a placeholder is data and has none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mainspring.definition.script.parser import DEFAULT, find_entry_point, read_script
from mainspring.definition.script.sdk_names import is_sdk
from mainspring.definition.script.syntax import SyntaxTree, parse_syntax, read_constant_text

if TYPE_CHECKING:
    from tree_sitter import Node

HOST: Final = 'globalThis[Symbol.for("mainspring.sdk")]'
# The inner block lets a script reuse the names of the parameters.
HEAD: Final = "export default async ({ trigger, runtime, input }: any) => { {"
_TAIL: Final = "\n} }"
_NOTHING: Final = ";"
_ORDER_MARK: Final = "\ufeff"
_QUIET: Final = frozenset({"comment", "hash_bang_line", "import_statement"})
_VISIBLE: Final = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class _SourceEdit:
    """One byte range and its replacement."""

    start: int
    end: int
    text: str


def rewrite_script(source: str) -> str:
    """The file as a module whose default export is the function to call."""
    text = source.removeprefix(_ORDER_MARK)
    syntax = parse_syntax(text)
    entry = find_entry_point(syntax)
    early: list[str] = []
    edits = [*_statements(syntax, early, wrapped=entry is None), *_dynamic(syntax)]
    edits += _secrets(text, mark_of(source))
    head, tail = "".join(early), ""
    if entry is None:
        head, tail = HEAD + head, _TAIL
    elif entry.exported != DEFAULT:
        tail = f"\nexport default {entry.local};"
    return head + _apply_edits(syntax.data, edits) + tail


def mark_of(source: str) -> str:
    """The marker before each secret of a rewritten source; no source can contain its own hash."""
    return hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _secrets(text: str, mark: str) -> Iterator[_SourceEdit]:
    for one in read_script(text).placeholders:
        if one.part and one.literal:
            inside = one.byte + len("{{")
            yield _SourceEdit(inside, inside, f"{mark}:")


def _statements(syntax: SyntaxTree, early: list[str], *, wrapped: bool) -> Iterator[_SourceEdit]:
    begun = False
    for node in syntax.statements():
        if node.type == "import_statement":
            taken = _rewrite_import(node, syntax)
            if taken is not None and begun:
                # Imports are hoisted, wherever they are in the file.
                early.append(taken)
                taken = _NOTHING
            if taken is not None:
                yield _SourceEdit(node.start_byte, node.end_byte, taken)
        elif node.type == "hash_bang_line":
            yield _SourceEdit(node.start_byte, node.start_byte + 2, "//")
        elif node.type == "export_statement":
            yield from _iterate_export_edits(node, syntax, wrapped=wrapped)
        elif node.type == "ambient_declaration" and wrapped:
            yield _SourceEdit(node.start_byte, node.end_byte, _NOTHING)
        begun = begun or node.type not in _QUIET


def _rewrite_import(statement: Node, syntax: SyntaxTree) -> str | None:
    """The replacement of an import of the SDK; None for any other."""
    clause = next((one for one in statement.named_children if one.type.endswith("_clause")), None)
    source = statement.child_by_field_name("source")
    if clause is not None and clause.type == "import_require_clause":
        source = clause.child_by_field_name("source")
    named = read_constant_text(source, syntax)
    if named is None or not is_sdk(named):
        return None
    if clause is None or any(child.type == "type" for child in statement.children):
        return _NOTHING
    if clause.type == "import_require_clause":
        return f"const {syntax.text(clause.named_children[0])} = {HOST};"
    return _constants(clause, syntax)


def _constants(clause: Node, syntax: SyntaxTree) -> str:
    wholes, picked = [], []
    for child in clause.named_children:
        if child.type == "identifier":
            picked.append(f"default: {syntax.text(child)}")
        elif child.type == "namespace_import":
            wholes += [syntax.text(one) for one in child.named_children if one.type == "identifier"]
        elif child.type == "named_imports":
            picked += [
                name for one in child.named_children for name in _iterate_import_names(one, syntax)
            ]
    targets = [*wholes, *([f"{{ {', '.join(picked)} }}"] if picked else [])]
    if not targets:
        return _NOTHING
    return f"const {', '.join(f'{target} = {HOST}' for target in targets)};"


def _iterate_import_names(specifier: Node, syntax: SyntaxTree) -> Iterator[str]:
    if any(child.type in {"type", "typeof"} for child in specifier.children):
        return
    name, alias = (specifier.child_by_field_name(part) for part in ("name", "alias"))
    if name is not None:
        yield syntax.text(name) + ("" if alias is None else f": {syntax.text(alias)}")


def _iterate_export_edits(
    statement: Node, syntax: SyntaxTree, *, wrapped: bool
) -> Iterator[_SourceEdit]:
    """Exports are not allowed inside a function, and re-exports of the SDK nowhere."""
    source = read_constant_text(statement.child_by_field_name("source"), syntax)
    if source is not None:
        if is_sdk(source):
            yield _SourceEdit(statement.start_byte, statement.end_byte, _NOTHING)
        return
    if not wrapped:
        return
    declaration = statement.child_by_field_name("declaration")
    if declaration is not None and declaration.type != "ambient_declaration":
        word = next((one for one in statement.children if one.type == "export"), None)
        if word is not None:
            first = word.start_byte == statement.start_byte
            yield _SourceEdit(word.start_byte, word.end_byte, _NOTHING if first else "")
    elif declaration is not None or any(
        child.type == "export_clause" for child in statement.children
    ):
        yield _SourceEdit(statement.start_byte, statement.end_byte, _NOTHING)


def _dynamic(syntax: SyntaxTree) -> Iterator[_SourceEdit]:
    for call in syntax.wanted().get("call", ()):
        function = call.child_by_field_name("function")
        if function is None or function.type != "import":
            continue
        arguments = call.child_by_field_name("arguments")
        given = [] if arguments is None else arguments.named_children
        named = read_constant_text(given[0], syntax) if given else None
        if named is not None and is_sdk(named):
            yield _SourceEdit(call.start_byte, call.end_byte, f"Promise.resolve({HOST})")


def _apply_edits(data: bytes, edits: list[_SourceEdit]) -> str:
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda one: (one.start, -one.end)):
        if edit.start >= done:
            pieces.append(data[done : edit.start].decode())
            pieces.append(_pad_replacement(data[edit.start : edit.end].decode(), edit.text))
            done = edit.end
    pieces.append(data[done:].decode())
    return "".join(pieces)


def _pad_replacement(was: str, text: str) -> str:
    """The replacement, padded to at least the original length, with its line endings kept."""
    blank = _VISIBLE.sub(" ", was)
    first = len(blank) - len(blank.lstrip(" "))
    return text.ljust(first) + blank[first:]
