"""Finds which values of the run a template reads, without running it.

Names that the template defines itself (``for``, ``set``, ``with``) are excluded. A path is guarded
where its absence is allowed: under ``is defined``, before ``default``, and inside an ``if`` that
tests it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from jinja2 import nodes

from mainspring.definition.templates.parser import (
    ReferencePath,
    get_constant_path,
    list_children,
    read_template,
    walk,
)

# Templates that only pass values on: paths in braces, and the texts between them.

_PLAIN = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Const,
    nodes.Filter,
)


def split_plain_template(source: str) -> tuple[str, ...] | None:
    """The texts around the values that a template passes on; None when it does more than that.

    The source must be one that ``parse_template`` accepts.
    """
    if "{%" in source or "{#" in source:
        return None
    tree = read_template(source)
    if not _hands_on(tree):
        return None
    texts = [""]
    for one in tree.body:
        for part in one.nodes if isinstance(one, nodes.Output) else [one]:
            if isinstance(part, nodes.TemplateData):
                texts[-1] += part.data
            else:
                texts.append("")
    return tuple(texts)


def _hands_on(tree: nodes.Template) -> bool:
    """Whether every expression is a path, with filters that add nothing to the value."""
    found = list(walk(tree))
    # A constant may select a part of a value but may not be a value itself, unless it is empty.
    picks = {id(node.arg) for node in found if isinstance(node, nodes.Getitem)}
    return all(
        isinstance(node, _PLAIN)
        and not (isinstance(node, nodes.Const) and node.value and id(node) not in picks)
        and not (isinstance(node, nodes.Filter) and _is_told(node))
        for node in found
    )


def _is_told(node: nodes.Filter) -> bool:
    """Whether a filter has arguments other than a default value."""
    return bool(node.kwargs or (node.args and node.name != "default"))


@dataclass(frozen=True, slots=True)
class TemplateReference:
    """A value that a template reads, up to the constant prefix of its path."""

    path: ReferencePath
    line: int
    # Whether the template can be rendered without it.
    guarded: bool


@dataclass(frozen=True, slots=True)
class _ReferenceScope:
    """The names defined at one place, and the paths known to exist."""

    local: set[str] = field(default_factory=set)
    known: frozenset[ReferencePath] = frozenset()

    def inner(self, names: Iterable[str] = ()) -> _ReferenceScope:
        """A nested scope: what is set inside stays inside."""
        return _ReferenceScope(self.local | set(names), self.known)

    def where(self, paths: Iterable[ReferencePath]) -> _ReferenceScope:
        """The same scope with more known paths."""
        return _ReferenceScope(self.local, self.known | frozenset(paths))

    def knows(self, path: ReferencePath) -> bool:
        """Whether this path is a prefix or an extension of a known one."""
        return any(one[: len(path)] == path[: len(one)] for one in self.known)


def find_references(tree: nodes.Node) -> tuple[TemplateReference, ...]:
    """Every read of a free name, in source order."""
    found: list[TemplateReference] = []
    _visit(tree, _ReferenceScope(), found)
    return tuple(dict.fromkeys(found))


def _visit(node: nodes.Node, block: _ReferenceScope, found: list[TemplateReference]) -> None:
    match node:
        case nodes.Name() | nodes.Getattr() | nodes.Getitem():
            _visit_path(node, block, found, guarded=False)
        case nodes.Filter(name="default", node=nodes.Expr() as operand):
            _visit_soft(operand, block, found)
            _visit_each([*node.args, *node.kwargs], block, found)
        case nodes.Test(name="defined" | "undefined"):
            _visit_soft(node.node, block, found)
        case nodes.And() | nodes.Or():
            _visit(node.left, block, found)
            known = _list_known_paths(node.left, isinstance(node, nodes.And))
            _visit(node.right, block.where(known), found)
        case nodes.CondExpr():
            _visit_choice(node, block, found)
        case nodes.Stmt():
            _visit_statement(node, block, found)
        case _:
            _visit_each(list_children(node), block, found)


def _visit_statement(
    node: nodes.Stmt, block: _ReferenceScope, found: list[TemplateReference]
) -> None:
    match node:
        case nodes.If():
            _visit_if(node, block, found)
        case nodes.For():
            _visit_for(node, block, found)
        case nodes.Assign():
            _visit(node.node, block, found)
            block.local.update(_targets(node.target))
        case nodes.AssignBlock():
            _visit_each(node.body, block.inner(), found)
            _visit_each([] if node.filter is None else [node.filter], block, found)
            block.local.update(_targets(node.target))
        case nodes.With():
            _visit_each(node.values, block, found)
            names = [name for target in node.targets for name in _targets(target)]
            _visit_each(node.body, block.inner(names), found)
        case _:
            _visit_each(list_children(node), block, found)


def _visit_each(
    items: Iterable[nodes.Node], block: _ReferenceScope, found: list[TemplateReference]
) -> None:
    for item in items:
        _visit(item, block, found)


def _visit_path(
    node: nodes.Node, block: _ReferenceScope, found: list[TemplateReference], *, guarded: bool
) -> None:
    """Record the longest constant path and visit the computed keys."""
    path = get_constant_path(node)
    if path is None:
        assert isinstance(node, nodes.Getattr | nodes.Getitem)
        if isinstance(node, nodes.Getitem):
            _visit(node.arg, block, found)
        if isinstance(node.node, nodes.Name | nodes.Getattr | nodes.Getitem):
            _visit_path(node.node, block, found, guarded=guarded)
        else:
            _visit(node.node, block, found)
    elif path[0] not in block.local:
        found.append(TemplateReference(path, node.lineno, guarded or block.knows(path)))


def _visit_soft(node: nodes.Node, block: _ReferenceScope, found: list[TemplateReference]) -> None:
    """Visit an operand that may be undefined."""
    if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
        _visit_path(node, block, found, guarded=True)
    else:
        _visit(node, block, found)


def _visit_choice(
    node: nodes.CondExpr, block: _ReferenceScope, found: list[TemplateReference]
) -> None:
    _visit(node.test, block, found)
    _visit(node.expr1, block.where(_list_known_paths(node.test, True)), found)
    if node.expr2 is not None:
        _visit(node.expr2, block.where(_list_known_paths(node.test, False)), found)


def _visit_if(node: nodes.If, block: _ReferenceScope, found: list[TemplateReference]) -> None:
    for branch in (node, *node.elif_):
        _visit(branch.test, block, found)
        _visit_each(branch.body, block.where(_list_known_paths(branch.test, True)), found)
        block = block.where(_list_known_paths(branch.test, False))
    _visit_each(node.else_, block, found)


def _visit_for(node: nodes.For, block: _ReferenceScope, found: list[TemplateReference]) -> None:
    _visit(node.iter, block, found)
    names = _targets(node.target)
    known: frozenset[ReferencePath] = frozenset()
    if node.test is not None:
        _visit(node.test, block.inner(names), found)
        known = frozenset(_list_known_paths(node.test, True))
    _visit_each(node.body, block.inner((*names, "loop")).where(known), found)
    _visit_each(node.else_, block.inner(), found)


def _targets(target: nodes.Node) -> tuple[str, ...]:
    return tuple(node.name for node in walk(target) if isinstance(node, nodes.Name))


def _list_known_paths(test: nodes.Node, truth: bool) -> set[ReferencePath]:
    """The paths that certainly exist when a test has this result."""
    match test:
        case nodes.Test(name="defined" | "undefined"):
            path = get_constant_path(test.node)
            return {path} if path is not None and truth == (test.name == "defined") else set()
        case nodes.Not():
            return _list_known_paths(test.node, not truth)
        case nodes.And() if truth:
            return _list_known_paths(test.left, True) | _list_known_paths(test.right, True)
        case nodes.Or() if not truth:
            return _list_known_paths(test.left, False) | _list_known_paths(test.right, False)
        case _:
            return set()
