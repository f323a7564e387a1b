"""Where a script begins: at its first line, or in the function that it exports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mainspring.definition.script.syntax import SyntaxTree

if TYPE_CHECKING:
    from tree_sitter import Node

DEFAULT: Final = "default"
# The first of these that is exported is called.
_ENTRIES: Final = (DEFAULT, "main", "run")
_FUNCTIONS: Final = frozenset({"function_declaration", "generator_function_declaration"})
_VARIABLES: Final = frozenset({"lexical_declaration", "variable_declaration"})


@dataclass(frozen=True, slots=True)
class ScriptEntryPoint:
    """The function that a run calls: its name outside and inside of the file."""

    exported: str
    local: str


def find_entry_point(syntax: SyntaxTree) -> ScriptEntryPoint | None:
    """The exported function that is called; None when the file's own lines are the script."""
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
