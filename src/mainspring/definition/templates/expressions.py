"""From expression nodes to closures.

Each node becomes one small Python function over the state of a render. No source text
is made and nothing is computed ahead of time, so reading a template costs the same
whatever it says. An expression has no loops: its static cost, the weight of its nodes,
is charged once by the statement around it, and only work that depends on data is charged
here.

A ``soft`` closure answers MISSING where a strict one refuses; it exists for the places
where absence is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from jinja2 import nodes

from mainspring.definition.templates.filters import FILTERS, REQUIRED, Filter
from mainspring.definition.templates.grammar import refused
from mainspring.definition.templates.operators import (
    ARITHMETIC,
    COMPARISONS,
    affirm,
    join_text,
    negate,
)
from mainspring.definition.templates.references import path_of
from mainspring.definition.templates.rendering import Rendering
from mainspring.definition.templates.values import (
    MISSING,
    find,
    is_number,
    kind_of,
    undefined,
    wrong,
)

Expression: TypeAlias = Callable[[Rendering], Any]

# Steps that evaluating a node costs, apart from what its data costs.
_WEIGHTS: Mapping[type[nodes.Node], int] = {
    nodes.Filter: 6,
    nodes.Slice: 4,
    nodes.Compare: 2,
    nodes.Operand: 3,
    nodes.Concat: 4,
    nodes.List: 2,
    nodes.Dict: 3,
    nodes.Tuple: 2,
    nodes.BinExpr: 4,
}


def cost_of(node: nodes.Node) -> int:
    """The static cost of an expression."""
    own = 4 if isinstance(node, nodes.BinExpr) else _WEIGHTS.get(type(node), 1)
    return own + sum(map(cost_of, node.iter_child_nodes()))


@dataclass(frozen=True, slots=True)
class Compiler:
    """Turns expressions into closures; ``local`` are the names the template makes."""

    local: frozenset[str]

    def strict(self, node: nodes.Node) -> Expression:
        """A closure that refuses what is not there."""
        match node:
            case nodes.Const():
                value = node.value
                return lambda state: value
            case nodes.Name() | nodes.Getattr():
                return self._path(node)
            case nodes.Getitem(arg=nodes.Slice() as cut):
                return self._slice(node, cut)
            case nodes.Getitem():
                return self._item(node)
            case nodes.Filter():
                return self._filter(node)
            case nodes.CondExpr():
                return self._choice(node, self.strict)
            case _:
                return self._operation(node)

    def soft(self, node: nodes.Node) -> Expression:
        """A closure that answers MISSING for a value that is not there."""
        match node:
            case nodes.Name():
                return self._soft_name(node.name)
            case nodes.Getattr():
                return self._soft_item(node.node, nodes.Const(node.attr))
            case nodes.Getitem(arg=arg) if not isinstance(arg, nodes.Slice):
                return self._soft_item(node.node, arg)
            case nodes.Filter(name="first" | "last"):
                return self._applied(node, self.strict(_operand(node)))
            case nodes.CondExpr():
                return self._choice(node, self.soft)
            case _:
                return self.strict(node)

    def _operation(self, node: nodes.Node) -> Expression:
        match node:
            case nodes.Test():
                return self._test(node)
            case nodes.Compare():
                return self._compare(node)
            case nodes.And():
                left, right = self.strict(node.left), self.strict(node.right)
                return lambda state: left(state) and right(state)
            case nodes.Or():
                left, right = self.strict(node.left), self.strict(node.right)
                return lambda state: left(state) or right(state)
            case nodes.Not():
                inner = self.strict(node.node)
                return lambda state: not inner(state)
            case nodes.Concat():
                parts = [self.strict(part) for part in node.nodes]
                return lambda state: join_text([part(state) for part in parts], state.meter)
            case nodes.BinExpr():
                return self._arithmetic(node)
            case nodes.Neg() | nodes.Pos():
                signed, inner = negate if type(node) is nodes.Neg else affirm, self.strict(node.node)
                return lambda state: signed(inner(state))
            case _:
                return self._literal(node)

    def _literal(self, node: nodes.Node) -> Expression:
        match node:
            # A tuple is a list, because JSON knows one kind of sequence.
            case nodes.List() | nodes.Tuple():
                items = [self.strict(item) for item in node.items]
                return lambda state: [item(state) for item in items]
            case nodes.Dict():
                return self._object(node)
            case _:
                raise refused("template_unsupported", node.lineno, "this is not available here")

    def _object(self, node: nodes.Dict) -> Expression:
        pairs = [(self.strict(pair.key), self.strict(pair.value)) for pair in node.items]

        def run(state: Rendering) -> dict[str, Any]:
            made = {}
            for key, value in pairs:
                name = key(state)
                if type(name) is not str:
                    raise wrong(f"The key of an object must be text, not {kind_of(name)}.")
                made[name] = value(state)
            return made

        return run

    def _path(self, node: nodes.Name | nodes.Getattr) -> Expression:
        path = path_of(node)
        if path is None:
            assert isinstance(node, nodes.Getattr)
            return _reader(self.strict(node.node), node.attr, _shown(node))
        root, keys = path[0], path[1:]
        local = root in self.local

        def run(state: Rendering) -> Any:
            value = state.frame.get(root, MISSING) if local else MISSING
            if value is MISSING:
                value = state.names.get(root, MISSING)
                if value is MISSING:
                    raise undefined(root, dict(state.names), root)
            for depth, key in enumerate(keys):
                holder = value
                value = holder.get(key, MISSING) if type(holder) is dict else MISSING
                if value is MISSING:
                    raise undefined(".".join((root, *keys[: depth + 1])), holder, key)
            return value

        return run

    def _item(self, node: nodes.Getitem) -> Expression:
        holder, shown = self.strict(node.node), _shown(node)
        if isinstance(node.arg, nodes.Const):
            return _reader(holder, node.arg.value, shown)
        key = self.strict(node.arg)

        def run(state: Rendering) -> Any:
            inside, wanted = holder(state), key(state)
            value = find(inside, wanted, state.meter)
            if value is MISSING:
                raise undefined(f"{shown}[{_key_text(wanted)}]", inside, wanted)
            return value

        return run

    def _slice(self, node: nodes.Getitem, cut: nodes.Slice) -> Expression:
        holder = self.strict(node.node)
        bounds = [
            (lambda state: None) if bound is None else self.strict(bound)
            for bound in (cut.start, cut.stop, cut.step)
        ]

        def run(state: Rendering) -> Any:
            value = holder(state)
            if type(value) not in (str, list, tuple):
                raise wrong(f"Only text and lists can be sliced, not {kind_of(value)}.")
            places = [bound(state) for bound in bounds]
            if any(place is not None and type(place) is not int for place in places):
                raise wrong("The bounds of a slice are whole numbers.")
            if places[2] == 0:
                raise wrong("The step of a slice cannot be 0.")
            chosen = slice(*places)
            size = len(range(*chosen.indices(len(value))))
            state.meter.allocate(size if type(value) is str else 2 * size)
            state.meter.spend(size >> 5)
            return value[chosen]

        return run

    def _soft_name(self, name: str) -> Expression:
        def run(state: Rendering) -> Any:
            value = state.frame.get(name, MISSING)
            return state.names.get(name, MISSING) if value is MISSING else value

        return run

    def _soft_item(self, holder_node: nodes.Node, key_node: nodes.Node) -> Expression:
        holder, key = self.soft(holder_node), self.strict(key_node)

        def run(state: Rendering) -> Any:
            value = holder(state)
            return value if value is MISSING else find(value, key(state), state.meter)

        return run

    def _choice(
        self, node: nodes.CondExpr, compiled: Callable[[nodes.Node], Expression]
    ) -> Expression:
        test, chosen = self.strict(node.test), compiled(node.expr1)
        if node.expr2 is not None:
            other = compiled(node.expr2)
        else:
            # Without an else there is nothing to put out, which is no mistake.
            absent = MISSING if compiled == self.soft else None
            other = lambda state: absent  # noqa: E731
        return lambda state: chosen(state) if test(state) else other(state)

    def _arithmetic(self, node: nodes.BinExpr) -> Expression:
        left, right = self.strict(node.left), self.strict(node.right)
        run = ARITHMETIC[node.operator or ""]
        return lambda state: run(left(state), right(state), state.meter)

    def _compare(self, node: nodes.Compare) -> Expression:
        first = self.strict(node.expr)
        rest = [(COMPARISONS[item.op], self.strict(item.expr)) for item in node.ops]

        def run(state: Rendering) -> bool:
            left = first(state)
            for compare, operand in rest:
                right = operand(state)
                if not compare(left, right, state.meter):
                    return False
                left = right
            return True

        return run

    def _test(self, node: nodes.Test) -> Expression:
        if node.name in ("defined", "undefined"):
            operand, wanted = self.soft(node.node), node.name == "defined"
            return lambda state: (operand(state) is not MISSING) is wanted
        judge, operand = _TESTS[node.name], self.strict(node.node)
        return lambda state: judge(operand(state))

    def _filter(self, node: nodes.Filter) -> Expression:
        if node.name == "default":
            return self._applied(node, self.soft(_operand(node)))
        applied = self._applied(node, self.strict(_operand(node)))
        if node.name not in ("first", "last"):
            return applied

        def run(state: Rendering) -> Any:
            value = applied(state)
            if value is MISSING:
                raise undefined(f"{node.name} of an empty list")
            return value

        return run

    def _applied(self, node: nodes.Filter, operand: Expression) -> Expression:
        found = FILTERS[node.name]
        arguments = self._arguments(node, found)
        run = found.run
        return lambda state: run(
            state.meter, operand(state), *[argument(state) for argument in arguments]
        )

    def filtered(self, node: nodes.Filter, operand: Expression) -> Expression:
        """A chain of filters over a value that is no node: ``{% set x | upper %}``."""
        inner = operand if node.node is None else self.filtered(_chained(node.node), operand)
        return self._applied(node, inner)

    def _arguments(self, node: nodes.Filter, found: Filter) -> list[Expression]:
        names = [name for name, _ in found.parameters]
        given: dict[str, nodes.Node] = dict(zip(names, node.args, strict=False))
        if len(node.args) > len(names):
            raise _bad_argument(node, f"takes at most {len(names)} arguments")
        for keyword in node.kwargs:
            if keyword.key not in names or keyword.key in given:
                raise _bad_argument(node, f"does not take the argument {keyword.key[:40]!r}")
            given[keyword.key] = keyword.value
        return [self._argument(node, found, *each, given) for each in found.parameters]

    def _argument(
        self,
        node: nodes.Filter,
        found: Filter,
        name: str,
        default: Any,
        given: Mapping[str, nodes.Node],
    ) -> Expression:
        if name not in given:
            if default is REQUIRED:
                raise _bad_argument(node, f"needs the argument {name!r}")
            return lambda state: default
        argument = given[name]
        if found.check is not None and name in found.check and isinstance(argument, nodes.Const):
            found.check[name](argument.value)
        return self.strict(argument)


def _reader(holder: Expression, key: Any, shown: str) -> Expression:
    def run(state: Rendering) -> Any:
        inside = holder(state)
        value = find(inside, key, state.meter)
        if value is MISSING:
            raise undefined(shown, inside, key)
        return value

    return run


def _operand(node: nodes.Filter) -> nodes.Expr:
    assert node.node is not None
    return node.node


def _chained(node: nodes.Expr) -> nodes.Filter:
    assert isinstance(node, nodes.Filter)
    return node


def _shown(node: nodes.Node) -> str:
    """The path as its author wrote it, for sentences."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Getattr():
            return f"{_shown(node.node)}.{node.attr}"
        case nodes.Getitem(arg=nodes.Const(value=value)):
            return f"{_shown(node.node)}[{_key_text(value)}]"
        case nodes.Getitem():
            return _shown(node.node)
        case _:
            return "(…)"


def _key_text(key: Any) -> str:
    text = repr(key) if type(key) in (str, int) else "…"
    return text if len(text) <= 80 else text[:80] + "…"


def _bad_argument(node: nodes.Filter, sentence: str) -> Exception:
    return refused("template_argument", node.lineno, f"the filter {node.name!r} {sentence}")


_TESTS: Mapping[str, Callable[[Any], bool]] = {
    "none": lambda value: value is None,
    "number": is_number,
    "string": lambda value: type(value) is str,
    "mapping": lambda value: type(value) is dict,
    "sequence": lambda value: type(value) in (str, list, tuple, dict),
    "boolean": lambda value: type(value) is bool,
}
