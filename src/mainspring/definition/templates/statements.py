"""From statements to closures: output, if, for, set and with.

Scoping is Jinja's: ``if`` has no scope of its own; each pass through a loop, a ``with``
and the body of a block ``set`` have one, and what is set in them is gone after them.
Every statement charges the static cost of its expressions each time it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jinja2 import nodes

from mainspring.contracts.secret import SecretRef
from mainspring.definition.templates.expressions import ExpressionCompiler, compute_cost
from mainspring.definition.templates.grammar import TemplateFeatures, read_secret_name
from mainspring.definition.templates.rendering import Expression, RenderState
from mainspring.definition.templates.values import describe_kind, invalid_operation_error, to_text

Statement: TypeAlias = Callable[[RenderState], None]
Binder: TypeAlias = Callable[[dict[str, Any], Any], None]


def build_statement_compiler(facts: TemplateFeatures) -> StatementCompiler:
    """A compiler for one checked template."""
    local = frozenset(facts.made | {"loop"} if facts.has_loops else facts.made)
    return StatementCompiler(ExpressionCompiler(local), facts.says_loop, facts.sets)


def run_all(body: Sequence[Statement], state: RenderState) -> None:
    for statement in body:
        statement(state)


@dataclass(frozen=True, slots=True)
class StatementCompiler:
    """Turns statements into closures.

    What a template never does is known before: loops then leave out the ``loop`` object,
    and share one frame when nothing is set in them.
    """

    compiler: ExpressionCompiler
    says_loop: bool
    sets: bool

    def body(self, items: Sequence[nodes.Node]) -> list[Statement]:
        return [made for item in items for made in self._statement(item)]

    def _statement(self, node: nodes.Node) -> list[Statement]:
        match node:
            case nodes.Output():
                return [self._output(part) for part in node.nodes]
            case nodes.If():
                return [self._if(node)]
            case nodes.For():
                return [self._for(node)]
            case nodes.Assign():
                return [self._set(node)]
            case nodes.AssignBlock():
                return [self._set_block(node)]
            case nodes.With():
                return [self._with(node)]
            case _:
                raise AssertionError("the grammar lets no other statement through")

    def _output(self, node: nodes.Expr) -> Statement:
        if isinstance(node, nodes.TemplateData):
            return _constant(node.data)
        name = read_secret_name(node)
        if name is not None:
            return _secret(SecretRef(name))
        made, cost, line = self.compiler.strict(node), 3 + compute_cost(node), node.lineno

        def run(state: RenderState) -> None:
            state.line = line
            state.meter.spend(cost)
            value = made(state)
            state.emit(value if type(value) is str else to_text(value, state.meter))

        return run

    def _if(self, node: nodes.If) -> Statement:
        branches = [
            (self.compiler.strict(branch.test), self.body(branch.body), branch.test.lineno)
            for branch in (node, *node.elif_)
        ]
        cost = 2 + sum(compute_cost(branch.test) for branch in (node, *node.elif_))
        otherwise = self.body(node.else_)

        def run(state: RenderState) -> None:
            state.meter.spend(cost)
            for test, body, line in branches:
                state.line = line
                if test(state):
                    return run_all(body, state)
            return run_all(otherwise, state)

        return run

    def _for(self, node: nodes.For) -> Statement:
        items = self._items(node)
        one_pass = self._pass(node)
        otherwise = self.body(node.else_)

        def run(state: RenderState) -> None:
            outer = state.frame
            found = items(state)
            if found:
                one_pass(state, found)
            else:
                state.frame = dict(outer)
                run_all(otherwise, state)
            state.frame = outer

        return run

    def _items(self, node: nodes.For) -> Expression:
        """What a loop walks over, after its own ``if``."""
        source, cost, line = (
            self.compiler.strict(node.iter),
            4 + compute_cost(node.iter),
            node.lineno,
        )
        test = None if node.test is None else self.compiler.strict(node.test)
        test_cost = (
            0 if node.test is None else 4 + compute_cost(node.test) + 2 * compute_cost(node.target)
        )
        bind = build_binder(node.target)

        def run(state: RenderState) -> Any:
            state.line = line
            state.meter.spend(cost)
            found = _walkable(source(state), state)
            if test is None:
                return found
            outer, kept = state.frame, []
            state.frame = dict(outer)
            for item in found:
                state.meter.spend(test_cost)
                bind(state.frame, item)
                if test(state):
                    kept.append(item)
            state.frame = outer
            return kept

        return run

    def _pass(self, node: nodes.For) -> Callable[[RenderState, Any], None]:
        bind, body = build_binder(node.target), self.body(node.body)
        with_loop, sets = self.says_loop, self.sets
        own_cost = 6 + 2 * compute_cost(node.target) + (8 if with_loop else 0)

        def run(state: RenderState, found: Any) -> None:
            outer = state.frame
            frame = dict(outer)
            cost = own_cost + (len(outer) >> 3 if sets else 0)
            for place, item in enumerate(found):
                state.meter.spend(cost)
                if sets:
                    frame = dict(outer)
                bind(frame, item)
                if with_loop:
                    frame["loop"] = _loop(found, place)
                state.frame = frame
                run_all(body, state)

        return run

    def _set(self, node: nodes.Assign) -> Statement:
        bind, made, cost = (
            build_binder(node.target),
            self.compiler.strict(node.node),
            compute_cost(node),
        )
        line = node.lineno

        def run(state: RenderState) -> None:
            state.line = line
            state.meter.spend(cost)
            bind(state.frame, made(state))

        return run

    def _set_block(self, node: nodes.AssignBlock) -> Statement:
        bind, body, line = build_binder(node.target), self.body(node.body), node.lineno
        made: Expression = lambda state: _capture_output(body, state)  # noqa: E731
        cost = 4
        if node.filter is not None:
            made, cost = self.compiler.filtered(node.filter, made), cost + compute_cost(node.filter)

        def run(state: RenderState) -> None:
            state.line = line
            state.meter.spend(cost)
            bind(state.frame, made(state))

        return run

    def _with(self, node: nodes.With) -> Statement:
        pairs = [
            (build_binder(target), self.compiler.strict(value))
            for target, value in zip(node.targets, node.values, strict=True)
        ]
        body, cost, line = (
            self.body(node.body),
            3 + sum(map(compute_cost, node.values)),
            node.lineno,
        )

        def run(state: RenderState) -> None:
            state.line = line
            state.meter.spend(cost + (len(state.frame) >> 3))
            outer = state.frame
            inner = dict(outer)
            for bind, value in pairs:
                bind(inner, value(state))
            state.frame = inner
            run_all(body, state)
            state.frame = outer

        return run


def build_binder(target: nodes.Node) -> Binder:
    """Puts a value under a name, or its items under several."""
    if isinstance(target, nodes.Name):
        name = target.name

        def bind(frame: dict[str, Any], value: Any) -> None:
            frame[name] = value

        return bind
    assert isinstance(target, nodes.Tuple)
    return _unpacker([build_binder(item) for item in target.items])


def _unpacker(binders: list[Binder]) -> Binder:
    def bind(frame: dict[str, Any], value: Any) -> None:
        if type(value) not in (list, tuple) or len(value) != len(binders):
            raise invalid_operation_error(
                f"{len(binders)} names need a list of {len(binders)} items, "
                f"and this is {_describe_count(value)}."
            )
        for each, item in zip(binders, value, strict=True):
            each(frame, item)

    return bind


def _describe_count(value: Any) -> str:
    kind = describe_kind(value)
    return f"a list of {len(value)}" if kind == "a list" else kind


def _constant(text: str) -> Statement:
    def run(state: RenderState) -> None:
        state.meter.spend(2)
        state.emit(text)

    return run


def _secret(name: SecretRef) -> Statement:
    def run(state: RenderState) -> None:
        state.meter.spend(2)
        state.out.append(name)

    return run


def _walkable(value: Any, state: RenderState) -> Any:
    kind = type(value)
    if kind is dict:
        state.meter.spend(len(value) >> 4)
        state.meter.allocate(2 * len(value))
        value = list(value)
    elif kind not in (list, tuple, str):
        raise invalid_operation_error(
            f"A loop needs a list, an object or text, and this is {describe_kind(value)}."
        )
    return value


def _loop(found: Any, place: int) -> dict[str, Any]:
    """What ``loop`` says in one pass; absent neighbours are absent keys."""
    size = len(found)
    said = {
        "index": place + 1,
        "index0": place,
        "revindex": size - place,
        "revindex0": size - place - 1,
        "first": place == 0,
        "last": place == size - 1,
        "length": size,
    }
    if place:
        said["previtem"] = found[place - 1]
    if place < size - 1:
        said["nextitem"] = found[place + 1]
    return said


def _capture_output(body: Sequence[Statement], state: RenderState) -> str:
    """What a body puts out, kept as text instead."""
    out, room, outer = state.out, state.room, state.frame
    state.out, state.room, state.frame = [], state.meter.value_limit, dict(outer)
    run_all(body, state)
    made = state.text()
    state.meter.allocate(len(made))
    state.out, state.room, state.frame = out, room, outer
    return made
