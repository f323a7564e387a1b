"""The changes that are tried: one small mistake each, in an expression, a statement or in SQL.

``mutants`` finds every place in a module where a change can be made. A mutant has a name that stays
the same while the code around it changes: the function, the change, and which of several alike.
"""

from __future__ import annotations

import ast
import copy
import functools
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_SWAPS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPPOSITES: Final = {"all": "any", "any": "all", "min": "max", "max": "min"}
_SQL: Final = re.compile(r"\b(SELECT|UPDATE|INSERT INTO|DELETE FROM)\b")
# A comparison or a lock that a query has the wrong way round, or not at all.
_SQL_CHANGES: Final = (
    (re.compile(r"(?<![<>!])=(?=\s*\$\d)"), "<>"),
    (re.compile(r"(?<![<>!])= ANY\b"), "<> ALL"),
    (re.compile(r"(?<=\s)<(?=\s)"), ">="),
    (re.compile(r"(?<=\s)>(?=\s)"), "<="),
    (re.compile(r"(?<=\s)<=(?=\s)"), ">"),
    (re.compile(r"(?<=\s)>=(?=\s)"), "<"),
    (re.compile(r"\bIS NULL\b"), "IS NOT NULL"),
    (re.compile(r"\bIS NOT NULL\b"), "IS NULL"),
    (re.compile(r"\bFOR UPDATE\b(?: SKIP LOCKED)?"), ""),
)
# The last of several columns that tables are joined by, such as the number of a version.
_USING: Final = re.compile(r"\bUSING \([\w, ]+(, \w+)\)")
_AND: Final = re.compile(r"\bAND\b")
# What an AND may be between without joining two conditions, and what ends a condition.
_BETWEEN: Final = re.compile(r"\bBETWEEN\s+\S+\s+$")
_ENDS: Final = re.compile(
    r"\b(AND|OR|ORDER BY|GROUP BY|LIMIT|RETURNING|FOR|THEN|UNION|WHERE|SET|LEFT|JOIN)\b"
)
_CLAUSE: Final = re.compile(r"\b(SET|WHERE|AND|OR|ON|WHEN|HAVING|SELECT|VALUES)\b")
# Names that the code compares with: a message to people has spaces.
_WORD: Final = re.compile(r"\S+")
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SHOWN: Final = 60
_SHORT: Final = 6
_MAKING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module; its source is made when it is needed."""

    name: str
    line: int
    make: Callable[[], str]

    @property
    def place(self) -> str:
        """The function or the value that is changed, such as ``Database.inside``."""
        return self.name.partition(": ")[0]


def mutants(source: str) -> Iterator[Mutant]:
    """Every change there is."""
    tree = ast.parse(source)
    parents = {inner: outer for outer in ast.walk(tree) for inner in ast.iter_child_nodes(outer)}
    names: Counter[str] = Counter()
    for node in list(parents):
        ancestry = list(_ancestry(node, parents))
        if _is_for_types(node) or any(_is_left_alone(*pair) for pair in ancestry):
            continue
        found = list(_changes(node))
        if not any(isinstance(outer, _FUNCTIONS) for _, outer in ancestry):
            found += _declared(node, parents[node])
        for label, replacement in found:
            name = f"{_place(ancestry)}: {label}"
            names[name] += 1
            if names[name] > 1:
                name = f"{name} #{names[name]}"
            make = functools.partial(_replaced, tree, parents[node], node, replacement)
            yield Mutant(name, _line(node, ancestry), make)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BoolOp():
            yield from _forgotten(node)
        case ast.UnaryOp(op=ast.Not()):
            yield _change(node, node.operand)
        case ast.Constant():
            yield from _constants(node)
        case ast.JoinedStr():
            yield from _joined(node)
        case ast.stmt():
            yield from _statements(node)
        case _:
            yield from _operations(node)


def _operations(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Call(func=ast.Name(id="all" | "any" | "min" | "max" as name)):
            other = ast.Name(_OPPOSITES[name], ast.Load())
            yield _change(node, ast.Call(other, node.args, node.keywords))
        case ast.BinOp(op=ast.Add() | ast.Sub()) if not (
            _is_text(node.left) or _is_text(node.right)
        ):
            yield _change(node, ast.BinOp(node.left, _opposite(node.op), node.right))
        case ast.IfExp():
            yield from _choices(node)
        case ast.comprehension(ifs=[_, *_]):
            yield from _filters(node)


def _forgotten(node: ast.BoolOp) -> Iterator[tuple[str, ast.AST]]:
    """Each condition left out once. That and is not or follows from both."""
    for place in range(len(node.values)):
        rest = [*node.values[:place], *node.values[place + 1 :]]
        yield _change(node, rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))


def _choices(node: ast.IfExp) -> Iterator[tuple[str, ast.AST]]:
    """The other branch, and the value that may be missing always missing."""
    if isinstance(node.test, ast.Name | ast.Call | ast.Attribute):
        yield _change(node, ast.IfExp(node.test, node.orelse, node.body))
    if any(isinstance(one, ast.Constant) and one.value is None for one in (node.body, node.orelse)):
        yield _change(node, ast.Constant(None))


def _filters(node: ast.comprehension) -> Iterator[tuple[str, ast.AST]]:
    for place, test in enumerate(node.ifs):
        changed = copy.copy(node)
        changed.ifs = [*node.ifs[:place], *node.ifs[place + 1 :]]
        yield f"if {_shown(test)} → no filter", changed


def _constants(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    match node.value:
        case bool() as flag:
            yield _change(node, ast.Constant(not flag))
        case int() | float() as number:
            yield _change(node, ast.Constant(number + 1))
        case str() as text if _SQL.search(text):
            for label, changed in _queries(text):
                yield label, ast.Constant(changed)


def _joined(node: ast.JoinedStr) -> Iterator[tuple[str, ast.AST]]:
    """A query with names in it: each piece of text, as if it were a query."""
    pieces = [
        (place, str(piece.value))
        for place, piece in enumerate(node.values)
        if isinstance(piece, ast.Constant)
    ]
    if not _SQL.search(" ".join(text for _, text in pieces)):
        return
    for place, text in pieces:
        for label, changed in _queries(text):
            values = list(node.values)
            values[place] = ast.Constant(changed)
            yield label, ast.JoinedStr(values)


def _statements(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Raise() | ast.Continue():
            yield f"{_shown(node)} → pass", ast.Pass()
        case ast.Expr(value=ast.Call() | ast.Await() as call) if not _is_log(call):
            yield f"{_shown(node)} → pass", ast.Pass()
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            yield _change(node, ast.AugAssign(node.target, _opposite(node.op), node.value))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield _change(node, ast.Return(ast.Constant(None)))
        case ast.If() if isinstance(node.test, ast.Name | ast.Call | ast.Attribute):
            turned = copy.copy(node)
            turned.test = ast.UnaryOp(ast.Not(), node.test)
            yield f"if {_shown(node.test)} → if not", turned


def _declared(node: ast.AST, outer: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Changes of what a module or a class declares: a name, one of several names, a table."""
    match node, outer:
        case ast.Constant(value=str() as text), ast.Assign() | ast.AnnAssign():
            if _WORD.fullmatch(text) and not _SQL.search(text):
                yield _change(node, ast.Constant(f"{text}x"))
        case ast.Set() | ast.List() | ast.Tuple(), _:
            for place, entry in enumerate(node.elts if len(node.elts) > 1 else ()):
                less = copy.copy(node)
                less.elts = [*node.elts[:place], *node.elts[place + 1 :]]
                yield f"without {_shown(entry)}", less
        case ast.Dict(), _:
            yield from _entries(node)


def _entries(node: ast.Dict) -> Iterator[tuple[str, ast.AST]]:
    """Each entry of a table with the value of another one."""
    if not all(isinstance(value, ast.Attribute) for value in node.values):
        return
    for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
        shown = ast.unparse(value)
        other = next((one for one in node.values if ast.unparse(one) != shown), None)
        if key is not None and other is not None:
            values = [*node.values[:place], other, *node.values[place + 1 :]]
            label = f"{_shown(key)}: {shown} → {ast.unparse(other)}"
            yield label, ast.Dict(node.keys, values)


def _opposite(operator: ast.operator) -> ast.operator:
    return ast.Sub() if isinstance(operator, ast.Add) else ast.Add()


def _comparisons(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    for place, operator in enumerate(node.ops):
        swap = _SWAPS[type(operator)]
        operators = [*node.ops[:place], swap(), *node.ops[place + 1 :]]
        yield _change(node, ast.Compare(node.left, operators, node.comparators))
    sides = (node.left, node.comparators[0])
    if isinstance(node.ops[0], ast.Eq | ast.NotEq) and all(map(_is_plain, sides)):
        # An exact name that is compared as a prefix lets longer names pass.
        for left, right in (sides, sides[::-1]):
            text, begin = (
                ast.Call(ast.Name("str", ast.Load()), [side], []) for side in (left, right)
            )
            prefixed: ast.expr = ast.Call(
                ast.Attribute(text, "startswith", ast.Load()), [begin], []
            )
            if isinstance(node.ops[0], ast.NotEq):
                prefixed = ast.UnaryOp(ast.Not(), prefixed)
            yield _change(node, prefixed)


def _queries(text: str) -> Iterator[tuple[str, str]]:
    """Each change of a query, or of a piece of one."""
    spans = [
        (found.span(), replacement)
        for pattern, replacement in _SQL_CHANGES
        for found in pattern.finditer(text)
        if not _assigns(text, found)
    ]
    spans += [
        ((found.start(), _end_of_condition(text, found.end())), "")
        for found in _AND.finditer(text)
        if not _BETWEEN.search(text[: found.start()])
    ]
    spans += [(found.span(1), "") for found in _USING.finditer(text)]
    for (start, end), replacement in spans:
        changed = text[:start] + replacement + text[end:]
        line = text.count("\n", 0, start)
        label = f"SQL line {line}: {_cut(_around(text, start, end))} → {replacement or 'nothing'}"
        yield label, changed


def _around(text: str, start: int, end: int) -> str:
    """A short piece of a query with the words before and after it."""
    if end - start > _SHORT:
        return text[start:end]
    before = text[:start].split()
    after = text[end:].split()
    return " ".join([*before[-1:], text[start:end], *after[:1]])


def _assigns(text: str, found: re.Match[str]) -> bool:
    """Whether an equals sign gives a column its value."""
    clauses = _CLAUSE.findall(text[: found.start()])
    return found.group() == "=" and bool(clauses) and clauses[-1] == "SET"


def _end_of_condition(text: str, start: int) -> int:
    """Where the condition that begins here ends, with all that its parentheses hold."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] == "(":
            depth += 1
        elif text[place] == ")":
            depth -= 1
        if depth < 0 or (depth == 0 and (text[place] == "," or _ENDS.match(text, place))):
            return place
    return len(text)


def _change(node: ast.AST, replacement: ast.AST) -> tuple[str, ast.AST]:
    return f"{_shown(node)} → {_shown(replacement)}", replacement


def _shown(node: ast.AST) -> str:
    return _cut(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


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
            return _is_for_types(outer)
        case ast.Call():
            return _is_log(outer)
        case ast.Expr():
            return isinstance(inner, ast.Constant)
        case ast.Assign():
            return ast.unparse(outer.targets[0]) == "__all__"
        case ast.Subscript(value=ast.Name(id="Literal")):
            return True
        case ast.FormattedValue() | ast.JoinedStr():
            return True
    return False


def _is_log(call: ast.AST) -> bool:
    return isinstance(call, ast.Call) and ast.unparse(call.func).startswith(("log.", "_log."))


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _ancestry(
    node: ast.AST, parents: Mapping[ast.AST, ast.AST]
) -> Iterator[tuple[ast.AST, ast.AST]]:
    while (outer := parents.get(node)) is not None:
        yield node, outer
        node = outer


def _line(node: ast.AST, ancestry: Sequence[tuple[ast.AST, ast.AST]]) -> int:
    known = (getattr(one, "lineno", None) for one in (node, *(outer for _, outer in ancestry)))
    return next(int(line) for line in known if line is not None)


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
    """The source with one node replaced; the tree itself is as before afterwards."""
    # All mutants of a module share its tree, and several threads make mutants.
    with _MAKING:
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
