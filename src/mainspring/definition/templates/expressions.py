"""Compiles expression nodes to closures.

No source text is generated and nothing is computed in advance, so compile time does not depend on
the values in a template. An expression has no loops: its static cost, the weight of its nodes, is
charged once by the enclosing statement, and only data-dependent work is charged where it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import nodes

from mainspring.contracts.errors import Invalid
from mainspring.definition.templates.filters import FILTERS, REQUIRED, Filter
from mainspring.definition.templates.grammar import template_error
from mainspring.definition.templates.operators import (
    ARITHMETIC,
    COMPARISONS,
    affirm,
    join_text,
    negate,
)
from mainspring.definition.templates.parser import (
    format_location,
    get_constant_path,
    get_line,
    walk,
)
from mainspring.definition.templates.values import (
    MISSING,
    Expression,
    ExpressionCompilerProtocol,
    RenderState,
    compile_constant,
    describe_kind,
    find,
    invalid_operation_error,
    is_number,
    undefined_value_error,
)

# Reading data: names, entries, items and slices.


def compile_required_value(
    compiler: ExpressionCompilerProtocol, node: nodes.Name | nodes.Getattr | nodes.Getitem
) -> Expression:
    """A value that must exist."""
    path = get_constant_path(node)
    if path is not None:
        return _path(path[0], path[1:], path[0] in compiler.local)
    assert not isinstance(node, nodes.Name)
    holder, shown = compiler.strict(node.node), _format_expression_path(node)
    if isinstance(node, nodes.Getattr):
        return _entry(holder, node.attr, shown)
    if isinstance(node.arg, nodes.Const):
        return _entry(holder, node.arg.value, shown)
    if isinstance(node.arg, nodes.Slice):
        return _slice(compiler, holder, node.arg)
    return _computed_entry(holder, compiler.strict(node.arg), shown)


def compile_optional_value(
    compiler: ExpressionCompilerProtocol, node: nodes.Name | nodes.Getattr | nodes.Getitem
) -> Expression:
    """A value that may be undefined, as may everything on its path."""
    if isinstance(node, nodes.Name):
        return _soft_name(node.name)
    if isinstance(node, nodes.Getattr):
        return _soft_entry(compiler.soft(node.node), compile_constant(node.attr))
    if isinstance(node.arg, nodes.Slice):
        return compiler.strict(node)
    return _soft_entry(compiler.soft(node.node), compiler.strict(node.arg))


def _path(root: str, keys: tuple[str, ...], local: bool) -> Expression:
    def run(state: RenderState) -> Any:
        value = state.frame.get(root, MISSING) if local else MISSING
        if value is MISSING:
            value = state.names.get(root, MISSING)
            if value is MISSING:
                raise undefined_value_error(root, dict(state.names), root)
        for depth, key in enumerate(keys):
            holder = value
            value = holder.get(key, MISSING) if type(holder) is dict else MISSING
            if value is MISSING:
                raise undefined_value_error(".".join((root, *keys[: depth + 1])), holder, key)
        describe_kind(value)
        return value

    return run


def _entry(holder: Expression, key: Any, shown: str) -> Expression:
    def run(state: RenderState) -> Any:
        inside = holder(state)
        value = find(inside, key, state.meter)
        if value is MISSING:
            raise undefined_value_error(shown, inside, key)
        return value

    return run


def _computed_entry(holder: Expression, key: Expression, shown: str) -> Expression:
    def run(state: RenderState) -> Any:
        inside, wanted = holder(state), key(state)
        value = find(inside, wanted, state.meter)
        if value is MISSING:
            raise undefined_value_error(f"{shown}[{_key_text(wanted)}]", inside, wanted)
        return value

    return run


def _slice(
    compiler: ExpressionCompilerProtocol, holder: Expression, cut: nodes.Slice
) -> Expression:
    bounds = [
        compile_constant(None) if bound is None else compiler.strict(bound)
        for bound in (cut.start, cut.stop, cut.step)
    ]

    def run(state: RenderState) -> Any:
        value = holder(state)
        if type(value) not in (str, list, tuple):
            raise invalid_operation_error(
                f"Only text and lists can be sliced, not {describe_kind(value)}."
            )
        chosen = _bounds([bound(state) for bound in bounds])
        size = len(range(*chosen.indices(len(value))))
        state.meter.allocate(size if type(value) is str else 2 * size)
        state.meter.spend(size >> 5)
        return value[chosen]

    return run


def _bounds(places: list[Any]) -> slice:
    if any(place is not None and type(place) is not int for place in places):
        raise invalid_operation_error("The bounds of a slice are whole numbers.")
    if places[2] == 0:
        raise invalid_operation_error("The step of a slice cannot be 0.")
    return slice(*places)


def _soft_name(name: str) -> Expression:
    def run(state: RenderState) -> Any:
        value = state.frame.get(name, MISSING)
        if value is MISSING:
            value = state.names.get(name, MISSING)
        if value is not MISSING:
            describe_kind(value)
        return value

    return run


def _soft_entry(holder: Expression, key: Expression) -> Expression:
    def run(state: RenderState) -> Any:
        value = holder(state)
        return value if value is MISSING else find(value, key(state), state.meter)

    return run


def _format_expression_path(node: nodes.Node) -> str:
    """The path as its author wrote it, for error messages."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        return f"{_format_expression_path(node.node)}.{node.attr}"
    if isinstance(node, nodes.Getitem):
        key = node.arg.value if isinstance(node.arg, nodes.Const) else None
        return _format_expression_path(node.node) + ("" if key is None else f"[{_key_text(key)}]")
    return "(…)"


def _key_text(key: Any) -> str:
    text = repr(key) if type(key) in (str, int) and _is_short(key) else "…"
    return text if len(text) <= 80 else text[:80] + "…"


def _is_short(key: str | int) -> bool:
    # Python refuses to write out a number of ten thousand digits.
    return len(key) <= 80 if isinstance(key, str) else key.bit_length() <= 256


# The cost of evaluating a node, in steps, without the cost of its data.
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


def compute_cost(node: nodes.Node) -> int:
    """The static cost of an expression."""
    return sum(_WEIGHTS.get(type(one), 1) for one in walk(node))


@dataclass(frozen=True, slots=True)
class ExpressionCompiler:
    """The expression compiler; ``local`` are the names that the template defines."""

    local: frozenset[str]

    def strict(self, node: nodes.Node) -> Expression:
        """A closure that raises for an undefined value."""
        made = _STRICT.get(type(node))
        if made is None:
            raise template_error("template_unsupported", get_line(node), "this is not allowed here")
        return made(self, node)

    def soft(self, node: nodes.Node) -> Expression:
        """A closure that returns MISSING for an undefined value."""
        if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
            return compile_optional_value(self, node)
        if isinstance(node, nodes.Filter) and node.name in _MAY_MISS:
            return _compile_filter(self, node, self.strict(_operand(node)))
        if isinstance(node, nodes.CondExpr):
            return _choice(self.strict(node.test), node, self.soft, MISSING)
        return self.strict(node)

    def filtered(self, node: nodes.Filter, operand: Expression) -> Expression:
        """A chain of filters over a value that is not a node: ``{% set x | upper %}``."""
        if node.node is None:
            return _present(self, node, operand)
        assert isinstance(node.node, nodes.Filter)
        return _present(self, node, self.filtered(node.node, operand))


def _constant(compiler: ExpressionCompilerProtocol, node: nodes.Const) -> Expression:
    del compiler
    return compile_constant(node.value)


def _filter(compiler: ExpressionCompilerProtocol, node: nodes.Filter) -> Expression:
    compiled = compiler.soft if node.name == "default" else compiler.strict
    return _present(compiler, node, compiled(_operand(node)))


def _strict_choice(compiler: ExpressionCompilerProtocol, node: nodes.CondExpr) -> Expression:
    return _choice(compiler.strict(node.test), node, compiler.strict, None)


def _choice(
    test: Expression,
    node: nodes.CondExpr,
    compiled: Callable[[nodes.Node], Expression],
    absent: Any,
) -> Expression:
    chosen = compiled(node.expr1)
    # Without an else the result is empty output, which is not an error.
    other = compile_constant(absent) if node.expr2 is None else compiled(node.expr2)
    return lambda state: chosen(state) if test(state) else other(state)


def _and(compiler: ExpressionCompilerProtocol, node: nodes.And) -> Expression:
    left, right = compiler.strict(node.left), compiler.strict(node.right)
    return lambda state: left(state) and right(state)


def _or(compiler: ExpressionCompilerProtocol, node: nodes.Or) -> Expression:
    left, right = compiler.strict(node.left), compiler.strict(node.right)
    return lambda state: left(state) or right(state)


def _not(compiler: ExpressionCompilerProtocol, node: nodes.Not) -> Expression:
    operand = compiler.strict(node.node)
    return lambda state: not operand(state)


def _concat(compiler: ExpressionCompilerProtocol, node: nodes.Concat) -> Expression:
    parts = [compiler.strict(part) for part in node.nodes]
    return lambda state: join_text([part(state) for part in parts], state.meter)


def _compile_sign(compiler: ExpressionCompilerProtocol, node: nodes.Neg | nodes.Pos) -> Expression:
    operand, signed = compiler.strict(node.node), negate if type(node) is nodes.Neg else affirm
    return lambda state: signed(operand(state))


def _list(compiler: ExpressionCompilerProtocol, node: nodes.List | nodes.Tuple) -> Expression:
    # A tuple becomes a list, because JSON has one sequence type.
    items = [compiler.strict(item) for item in node.items]
    return lambda state: [item(state) for item in items]


def _object(compiler: ExpressionCompilerProtocol, node: nodes.Dict) -> Expression:
    pairs = [(compiler.strict(pair.key), compiler.strict(pair.value)) for pair in node.items]

    def run(state: RenderState) -> dict[str, Any]:
        made = {}
        for key, value in pairs:
            name = key(state)
            if type(name) is not str:
                raise invalid_operation_error(
                    f"The key of an object must be text, not {describe_kind(name)}."
                )
            made[name] = value(state)
        return made

    return run


def _arithmetic(compiler: ExpressionCompilerProtocol, node: nodes.BinExpr) -> Expression:
    left, right = compiler.strict(node.left), compiler.strict(node.right)
    run = ARITHMETIC[node.operator or ""]
    return lambda state: run(left(state), right(state), state.meter)


def _compare(compiler: ExpressionCompilerProtocol, node: nodes.Compare) -> Expression:
    first = compiler.strict(node.expr)
    rest = [(COMPARISONS[item.op], compiler.strict(item.expr)) for item in node.ops]

    def run(state: RenderState) -> bool:
        left = first(state)
        for compare, operand in rest:
            right = operand(state)
            if not compare(left, right, state.meter):
                return False
            left = right
        return True

    return run


def _test(compiler: ExpressionCompilerProtocol, node: nodes.Test) -> Expression:
    if node.name in ("defined", "undefined"):
        operand, wanted = compiler.soft(node.node), node.name == "defined"
        return lambda state: (operand(state) is not MISSING) is wanted
    judge, operand = _TESTS[node.name], compiler.strict(node.node)
    return lambda state: judge(operand(state))


def _present(
    compiler: ExpressionCompilerProtocol, node: nodes.Filter, operand: Expression
) -> Expression:
    """A filter whose result must be defined."""
    applied, name = _compile_filter(compiler, node, operand), node.name
    if name not in _MAY_MISS:
        return applied

    def run(state: RenderState) -> Any:
        value = applied(state)
        if value is MISSING:
            raise Invalid(f"What is empty has no {name} item.", code="template_undefined")
        return value

    return run


def _compile_filter(
    compiler: ExpressionCompilerProtocol, node: nodes.Filter, operand: Expression
) -> Expression:
    found = FILTERS[node.name]
    arguments = _arguments(compiler, node, found)
    run = found.run
    return lambda state: run(
        state.meter, operand(state), *[argument(state) for argument in arguments]
    )


def _arguments(
    compiler: ExpressionCompilerProtocol, node: nodes.Filter, found: Filter
) -> list[Expression]:
    """One closure for each parameter of a filter, in order."""
    names = [name for name, _ in found.parameters]
    given: dict[str, nodes.Node] = dict(zip(names, node.args, strict=False))
    if len(node.args) > len(names):
        raise _bad_argument(node, f"takes at most {len(names)} arguments")
    for pair in node.kwargs:
        # The parser gives keywords here, although its types promise pairs.
        keyword: nodes.Node = pair
        assert isinstance(keyword, nodes.Keyword)
        if keyword.key not in names or keyword.key in given:
            raise _bad_argument(node, f"does not take the argument {keyword.key[:40]!r}")
        given[keyword.key] = keyword.value
    return [_argument(compiler, node, parameter, given) for parameter in found.parameters]


def _argument(
    compiler: ExpressionCompilerProtocol,
    node: nodes.Filter,
    parameter: tuple[str, Any],
    given: Mapping[str, nodes.Node],
) -> Expression:
    name, default = parameter
    if name not in given:
        if default is REQUIRED:
            raise _bad_argument(node, f"needs the argument {name!r}")
        return compile_constant(default)
    argument, checks = given[name], FILTERS[node.name].check
    if checks is not None and name in checks and isinstance(argument, nodes.Const):
        _check_constant(node.lineno, checks[name], argument.value)
    return compiler.strict(argument)


def _check_constant(line: int, check: Callable[[Any], None], value: Any) -> None:
    try:
        check(value)
    except Invalid as error:
        raise Invalid(
            format_location(line, error.detail), code=error.code, suggestion=error.suggestion
        ) from None


def _operand(node: nodes.Filter) -> nodes.Expr:
    assert node.node is not None
    return node.node


def _bad_argument(node: nodes.Filter, sentence: str) -> Invalid:
    return template_error("template_argument", node.lineno, f"the filter {node.name!r} {sentence}")


# They have no result for an empty list.
_MAY_MISS = frozenset({"first", "last"})
_TESTS: Mapping[str, Callable[[Any], bool]] = {
    "none": lambda value: value is None,
    "number": is_number,
    "string": lambda value: type(value) is str,
    "mapping": lambda value: type(value) is dict,
    "sequence": lambda value: type(value) in (str, list, tuple, dict),
    "boolean": lambda value: type(value) is bool,
}
_STRICT: Mapping[type[nodes.Node], Callable[[ExpressionCompilerProtocol, Any], Expression]] = {
    nodes.Const: _constant,
    nodes.Name: compile_required_value,
    nodes.Getattr: compile_required_value,
    nodes.Getitem: compile_required_value,
    nodes.Filter: _filter,
    nodes.Test: _test,
    nodes.CondExpr: _strict_choice,
    nodes.Compare: _compare,
    nodes.And: _and,
    nodes.Or: _or,
    nodes.Not: _not,
    nodes.Concat: _concat,
    nodes.Neg: _compile_sign,
    nodes.Pos: _compile_sign,
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
