"""The changes that are tried: one small mistake each, in an expression or in SQL.

``mutants`` finds every place in a module where a change can be made. A mutant has a name that stays
the same while the code around it changes: the function, the change, and which of several alike.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_SWAPS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE,),
    ast.LtE: (ast.Lt,),
    ast.Gt: (ast.GtE,),
    ast.GtE: (ast.Gt,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_SQL: Final = re.compile(r"\b(SELECT|UPDATE|INSERT INTO|DELETE FROM)\b")
# What a query may lose or turn round: a condition, a comparison, a lock.
_SQL_CHANGES: Final = (
    (re.compile(r"\bAND (?!true\b)[^\n]+"), "AND true"),
    (re.compile(r"(?<![<>!])=(?=\s*\$\d)"), "<>"),
    (re.compile(r"(?<=\s)<(?=\s)"), ">="),
    (re.compile(r"(?<=\s)>(?=\s)"), "<="),
    (re.compile(r"\bIS NULL\b"), "IS NOT NULL"),
    (re.compile(r"\bIS NOT NULL\b"), "IS NULL"),
    (re.compile(r"\bFOR UPDATE\b(?: SKIP LOCKED)?"), ""),
)
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module."""

    name: str
    line: int
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Every change there is."""
    tree = ast.parse(source)
    parents = {inner: outer for outer in ast.walk(tree) for inner in ast.iter_child_nodes(outer)}
    names: Counter[str] = Counter()
    for node in list(parents):
        ancestry = list(_ancestry(node, parents))
        if any(_is_left_alone(inner, outer) for inner, outer in ancestry):
            continue
        for label, replacement in _changes(node):
            name = f"{_place(ancestry)}: {label}"
            names[name] += 1
            if names[name] > 1:
                name = f"{name} #{names[name]}"
            changed = _replaced(tree, parents[node], node, replacement)
            yield Mutant(name, getattr(node, "lineno", 0), changed)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(ops=[_]):
            yield from _comparisons(node)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield _change(node, ast.BoolOp(other, node.values))
        case ast.UnaryOp(op=ast.Not()):
            yield _change(node, node.operand)
        case ast.Constant():
            yield from _constants(node)
        case ast.Call(func=ast.Name(id="all" | "any" as name)):
            other_name = ast.Name("any" if name == "all" else "all", ast.Load())
            yield _change(node, ast.Call(other_name, node.args, node.keywords))
        case ast.stmt():
            yield from _statements(node)


def _constants(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    match node.value:
        case bool() as flag:
            yield _change(node, ast.Constant(not flag))
        case int() as number:
            yield _change(node, ast.Constant(number + 1))
        case str() as text if _SQL.search(text):
            yield from _queries(text)


def _statements(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Raise():
            yield f"{_shown(node)} → pass", ast.Pass()
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield _change(node, ast.Return(ast.Constant(None)))
        case ast.If() if isinstance(node.test, ast.Name | ast.Call | ast.Attribute):
            turned = copy.copy(node)
            turned.test = ast.UnaryOp(ast.Not(), node.test)
            yield f"if {_shown(node.test)} → if not", turned


def _comparisons(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    for swap in _SWAPS.get(type(node.ops[0]), ()):
        yield _change(node, ast.Compare(node.left, [swap()], node.comparators))
    if isinstance(node.ops[0], ast.Eq) and _is_plain(node.left) and _is_plain(node.comparators[0]):
        # An exact name that is compared as a prefix lets longer names pass.
        texts = [ast.Call(ast.Name("str", ast.Load()), [side], []) for side in
                 (node.left, node.comparators[0])]  # fmt: skip
        begins = ast.Attribute(texts[0], "startswith", ast.Load())
        yield _change(node, ast.Call(begins, [texts[1]], []))


def _queries(text: str) -> Iterator[tuple[str, ast.AST]]:
    for pattern, replacement in _SQL_CHANGES:
        for found in pattern.finditer(text):
            changed = text[: found.start()] + replacement + text[found.end() :]
            line = text.count("\n", 0, found.start())
            label = f"SQL line {line}: {_cut(found.group())} → {replacement or 'nothing'}"
            yield label, ast.Constant(changed)


def _change(node: ast.AST, replacement: ast.AST) -> tuple[str, ast.AST]:
    return f"{_shown(node)} → {_shown(replacement)}", replacement


def _shown(node: ast.AST) -> str:
    return _cut(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _is_plain(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)


def _is_left_alone(inner: ast.AST, outer: ast.AST) -> bool:
    """Annotations, decorators, docstrings, messages, and what only a type checker reads."""
    match outer:
        case ast.AnnAssign() | ast.arg():
            return inner is outer.annotation
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return inner is getattr(outer, "returns", None) or inner in outer.decorator_list
        case ast.If():
            return ast.unparse(outer.test) == "TYPE_CHECKING"
        case ast.Call():
            return ast.unparse(outer.func).startswith("log.")
        case ast.Expr():
            return isinstance(inner, ast.Constant)
        case ast.FormattedValue() | ast.JoinedStr():
            return True
    return False


def _ancestry(
    node: ast.AST, parents: Mapping[ast.AST, ast.AST]
) -> Iterator[tuple[ast.AST, ast.AST]]:
    while (outer := parents.get(node)) is not None:
        yield node, outer
        node = outer


def _place(ancestry: Sequence[tuple[ast.AST, ast.AST]]) -> str:
    """The function that a change is in, or the name that a module gives to a value."""
    names = [
        outer.name
        for _, outer in ancestry
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    if names:
        return ".".join(reversed(names))
    for _, outer in ancestry:
        if isinstance(outer, ast.Assign):
            return ast.unparse(outer.targets[0])
        if isinstance(outer, ast.AnnAssign):
            return ast.unparse(outer.target)
    return "module"


def _replaced(tree: ast.Module, outer: ast.AST, old: ast.AST, new: ast.AST) -> str:
    """The source with one node replaced; the tree itself stays as it is."""
    for name, value in ast.iter_fields(outer):
        if value is old:
            setattr(outer, name, new)
            source = ast.unparse(ast.fix_missing_locations(tree))
            setattr(outer, name, old)
            return source
        if isinstance(value, list) and old in value:
            place = value.index(old)
            value[place] = new
            source = ast.unparse(ast.fix_missing_locations(tree))
            value[place] = old
            return source
    raise AssertionError("a node that its parent does not hold")
