"""From expression nodes to closures.

No source text is made and nothing is computed ahead of time, so reading a template costs
the same whatever it says. An expression has no loops: its static cost, the weight of its
nodes, is charged once by the statement around it, and only work that depends on data is
charged where it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import nodes

from mainspring.contracts.errors import Invalid
from mainspring.definition.templates.filters import FILTERS, REQUIRED, Filter
from mainspring.definition.templates.grammar import refused
from mainspring.definition.templates.operators import (
    ARITHMETIC,
    COMPARISONS,
    affirm,
    join_text,
    negate,
)
from mainspring.definition.templates.reading import reading, soft_reading
from mainspring.definition.templates.rendering import Compiler, Expression, Rendering, constant
from mainspring.definition.templates.tokens import located
from mainspring.definition.templates.tree import line_of, walk
from mainspring.definition.templates.values import MISSING, is_number, kind_of, wrong

# Steps that evaluating a node costs, apart from what its data costs.
_WEIGHTS: Mapping[type[nodes.Node], int] = {
    nodes.Filter: 10,
    nodes.Slice: 8,
    nodes.Compare: 2,
    nodes.Operand: 3,
    nodes.Concat: 4,
    nodes.List: 2,
    nodes.Dict: 3,
    nodes.Tuple: 2,
    nodes.Add: 6,
    nodes.Sub: 6,
    nodes.Mul: 6,
    nodes.Div: 6,
    nodes.FloorDiv: 6,
    nodes.Mod: 6,
    nodes.Pow: 6,
}


def cost_of(node: nodes.Node) -> int:
    """The static cost of an expression."""
    return sum(_WEIGHTS.get(type(one), 1) for one in walk(node))


@dataclass(frozen=True, slots=True)
class Expressions:
    """The compiler of expressions; ``local`` are the names the template makes."""

    local: frozenset[str]

    def strict(self, node: nodes.Node) -> Expression:
        """A closure that refuses what is not there."""
        made = _STRICT.get(type(node))
        if made is None:
            raise refused("template_unsupported", line_of(node), "this cannot stand here")
        return made(self, node)

    def soft(self, node: nodes.Node) -> Expression:
        """A closure that answers MISSING for a value that is not there."""
        if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
            return soft_reading(self, node)
        if isinstance(node, nodes.Filter) and node.name in _MAY_MISS:
            return _applied(self, node, self.strict(_operand(node)))
        if isinstance(node, nodes.CondExpr):
            return _choice(self.strict(node.test), node, self.soft, MISSING)
        return self.strict(node)

    def filtered(self, node: nodes.Filter, operand: Expression) -> Expression:
        """A chain of filters over a value that is no node: ``{% set x | upper %}``."""
        if node.node is None:
            return _present(self, node, operand)
        assert isinstance(node.node, nodes.Filter)
        return _present(self, node, self.filtered(node.node, operand))


def _constant(compiler: Compiler, node: nodes.Const) -> Expression:
    del compiler
    return constant(node.value)


def _filter(compiler: Compiler, node: nodes.Filter) -> Expression:
    compiled = compiler.soft if node.name == "default" else compiler.strict
    return _present(compiler, node, compiled(_operand(node)))


def _strict_choice(compiler: Compiler, node: nodes.CondExpr) -> Expression:
    return _choice(compiler.strict(node.test), node, compiler.strict, None)


def _choice(
    test: Expression,
    node: nodes.CondExpr,
    compiled: Callable[[nodes.Node], Expression],
    absent: Any,
) -> Expression:
    chosen = compiled(node.expr1)
    # Without an else there is nothing to put out, which is no mistake.
    other = constant(absent) if node.expr2 is None else compiled(node.expr2)
    return lambda state: chosen(state) if test(state) else other(state)


def _and(compiler: Compiler, node: nodes.And) -> Expression:
    left, right = compiler.strict(node.left), compiler.strict(node.right)
    return lambda state: left(state) and right(state)


def _or(compiler: Compiler, node: nodes.Or) -> Expression:
    left, right = compiler.strict(node.left), compiler.strict(node.right)
    return lambda state: left(state) or right(state)


def _not(compiler: Compiler, node: nodes.Not) -> Expression:
    operand = compiler.strict(node.node)
    return lambda state: not operand(state)


def _concat(compiler: Compiler, node: nodes.Concat) -> Expression:
    parts = [compiler.strict(part) for part in node.nodes]
    return lambda state: join_text([part(state) for part in parts], state.meter)


def _signed(compiler: Compiler, node: nodes.Neg | nodes.Pos) -> Expression:
    operand, signed = compiler.strict(node.node), negate if type(node) is nodes.Neg else affirm
    return lambda state: signed(operand(state))


def _list(compiler: Compiler, node: nodes.List | nodes.Tuple) -> Expression:
    # A tuple is a list as well, because JSON knows one kind of sequence.
    items = [compiler.strict(item) for item in node.items]
    return lambda state: [item(state) for item in items]


def _object(compiler: Compiler, node: nodes.Dict) -> Expression:
    pairs = [(compiler.strict(pair.key), compiler.strict(pair.value)) for pair in node.items]

    def run(state: Rendering) -> dict[str, Any]:
        made = {}
        for key, value in pairs:
            name = key(state)
            if type(name) is not str:
                raise wrong(f"The key of an object must be text, not {kind_of(name)}.")
            made[name] = value(state)
        return made

    return run


def _arithmetic(compiler: Compiler, node: nodes.BinExpr) -> Expression:
    left, right = compiler.strict(node.left), compiler.strict(node.right)
    run = ARITHMETIC[node.operator or ""]
    return lambda state: run(left(state), right(state), state.meter)


def _compare(compiler: Compiler, node: nodes.Compare) -> Expression:
    first = compiler.strict(node.expr)
    rest = [(COMPARISONS[item.op], compiler.strict(item.expr)) for item in node.ops]

    def run(state: Rendering) -> bool:
        left = first(state)
        for compare, operand in rest:
            right = operand(state)
            if not compare(left, right, state.meter):
                return False
            left = right
        return True

    return run


def _test(compiler: Compiler, node: nodes.Test) -> Expression:
    if node.name in ("defined", "undefined"):
        operand, wanted = compiler.soft(node.node), node.name == "defined"
        return lambda state: (operand(state) is not MISSING) is wanted
    judge, operand = _TESTS[node.name], compiler.strict(node.node)
    return lambda state: judge(operand(state))


def _present(compiler: Compiler, node: nodes.Filter, operand: Expression) -> Expression:
    """A filter whose answer must be there."""
    applied, name = _applied(compiler, node, operand), node.name
    if name not in _MAY_MISS:
        return applied

    def run(state: Rendering) -> Any:
        value = applied(state)
        if value is MISSING:
            raise Invalid(f"What is empty has no {name} item.", code="template_undefined")
        return value

    return run


def _applied(compiler: Compiler, node: nodes.Filter, operand: Expression) -> Expression:
    found = FILTERS[node.name]
    arguments = _arguments(compiler, node, found)
    run = found.run
    return lambda state: run(
        state.meter, operand(state), *[argument(state) for argument in arguments]
    )


def _arguments(compiler: Compiler, node: nodes.Filter, found: Filter) -> list[Expression]:
    """One closure for each parameter of a filter, in order."""
    names = [name for name, _ in found.parameters]
    given: dict[str, nodes.Node] = dict(zip(names, node.args, strict=False))
    if len(node.args) > len(names):
        raise _bad_argument(node, f"takes at most {len(names)} arguments")
    for pair in node.kwargs:
        # The parser gives keywords here; its own types promise pairs.
        keyword: nodes.Node = pair
        assert isinstance(keyword, nodes.Keyword)
        if keyword.key not in names or keyword.key in given:
            raise _bad_argument(node, f"does not take the argument {keyword.key[:40]!r}")
        given[keyword.key] = keyword.value
    return [_argument(compiler, node, parameter, given) for parameter in found.parameters]


def _argument(
    compiler: Compiler,
    node: nodes.Filter,
    parameter: tuple[str, Any],
    given: Mapping[str, nodes.Node],
) -> Expression:
    name, default = parameter
    if name not in given:
        if default is REQUIRED:
            raise _bad_argument(node, f"needs the argument {name!r}")
        return constant(default)
    argument, checks = given[name], FILTERS[node.name].check
    if checks is not None and name in checks and isinstance(argument, nodes.Const):
        _check_constant(node.lineno, checks[name], argument.value)
    return compiler.strict(argument)


def _check_constant(line: int, check: Callable[[Any], None], value: Any) -> None:
    try:
        check(value)
    except Invalid as error:
        raise Invalid(
            located(line, error.detail), code=error.code, suggestion=error.suggestion
        ) from None


def _operand(node: nodes.Filter) -> nodes.Expr:
    assert node.node is not None
    return node.node


def _bad_argument(node: nodes.Filter, sentence: str) -> Invalid:
    return refused("template_argument", node.lineno, f"the filter {node.name!r} {sentence}")


# On an empty list they have no answer.
_MAY_MISS = frozenset({"first", "last"})
_TESTS: Mapping[str, Callable[[Any], bool]] = {
    "none": lambda value: value is None,
    "number": is_number,
    "string": lambda value: type(value) is str,
    "mapping": lambda value: type(value) is dict,
    "sequence": lambda value: type(value) in (str, list, tuple, dict),
    "boolean": lambda value: type(value) is bool,
}
_STRICT: Mapping[type[nodes.Node], Callable[[Compiler, Any], Expression]] = {
    nodes.Const: _constant,
    nodes.Name: reading,
    nodes.Getattr: reading,
    nodes.Getitem: reading,
    nodes.Filter: _filter,
    nodes.Test: _test,
    nodes.CondExpr: _strict_choice,
    nodes.Compare: _compare,
    nodes.And: _and,
    nodes.Or: _or,
    nodes.Not: _not,
    nodes.Concat: _concat,
    nodes.Neg: _signed,
    nodes.Pos: _signed,
    nodes.List: _list,
    nodes.Tuple: _list,
    nodes.Dict: _object,
    nodes.Add: _arithmetic,
    nodes.Sub: _arithmetic,
    nodes.Mul: _arithmetic,
    nodes.Div: _arithmetic,
    nodes.FloorDiv: _arithmetic,
    nodes.Mod: _arithmetic,
    nodes.Pow: _arithmetic,
}
