"""Templates and predicates: parsed once, run as often as needed, thread-safe."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias

from jinja2 import nodes

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.definition.templates.expressions import ExpressionCompiler, compute_cost
from mainspring.definition.templates.grammar import (
    TemplateFeatures,
    check,
    is_secret_path,
    read_secret_name,
)
from mainspring.definition.templates.parser import (
    check_size,
    format_location,
    get_line,
    has_syntax,
    read_expression,
    read_template,
    template_too_complex_error,
)
from mainspring.definition.templates.references import TemplateReference, find_references
from mainspring.definition.templates.values import (
    Expression,
    ExpressionCompilerProtocol,
    RenderMeter,
    RenderState,
    describe_kind,
    invalid_operation_error,
    to_native,
    to_text,
)

# Compiles statements to closures: output, if, for, set and with.

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
    """Compiles statements to closures.

    The used features are known in advance: without ``loop``, loops skip the ``loop`` object, and
    they share one frame when nothing is set in them.
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
        """The items that a loop iterates over, after its own ``if``."""
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
    """Bind a value to a name, or its items to several names."""
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
    """The ``loop`` object of one pass; without a previous or next item its key is absent."""
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
    """Capture the output of a body as text."""
    out, room, outer = state.out, state.room, state.frame
    state.out, state.room, state.frame = [], state.meter.value_limit, dict(outer)
    run_all(body, state)
    made = state.text()
    state.meter.allocate(len(made))
    state.out, state.room, state.frame = out, room, outer
    return made


# A compiled template may take a hundred times the memory of its source.
_CHARACTERS_KEPT = 200_000


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled template."""

    source: str
    # What it reads from the run, without the names it defines itself.
    references: tuple[TemplateReference, ...]
    secret_names: frozenset[str]
    is_literal: bool
    limits: Limits = field(repr=False)
    body: tuple[Statement, ...] = field(repr=False, compare=False, default=())
    # Set when the whole template is one expression, which keeps its type.
    expression: Expression | None = field(repr=False, compare=False, default=None)

    def render(self, context: Mapping[str, Any]) -> str | SecretText:
        """The rendered text, with placeholders for secrets."""
        return (
            self.source if self.is_literal else self.render_with(context, RenderMeter(self.limits))
        )

    def value(self, context: Mapping[str, Any]) -> Any:
        """The value of a template that is one expression; the text of any other."""
        return (
            self.source if self.is_literal else self.value_with(context, RenderMeter(self.limits))
        )

    def render_with(self, context: Mapping[str, Any], meter: RenderMeter) -> str | SecretText:
        """Like ``render``, on a budget that several templates share."""
        state = RenderState(context, meter, self.limits.template_output)
        _run(lambda: run_all(self.body, state), state)
        if self.secret_names:
            return SecretText(_merge_pieces(state.out))
        made = state.text()
        meter.allocate(len(made))
        return made

    def value_with(self, context: Mapping[str, Any], meter: RenderMeter) -> Any:
        """Like ``value``, on a budget that several templates share."""
        if self.expression is None:
            return self.render_with(context, meter)
        return _value(self.expression, context, meter)


@dataclass(frozen=True, slots=True)
class Predicate:
    """An expression that gives true or false; what it reads must exist."""

    source: str
    references: tuple[TemplateReference, ...]
    limits: Limits = field(repr=False)
    expression: Expression = field(repr=False, compare=False)

    def test(self, context: Mapping[str, Any]) -> bool:
        """Whether the expression is true: 0, none, false and empty values are false."""
        return bool(_value(self.expression, context, RenderMeter(self.limits)))


def parse_template(source: str, limits: Limits, *, secrets: bool = False) -> Template:
    """Parse a template; ``Invalid`` says what is wrong and where."""
    check_size(source, limits)
    if not has_syntax(source):
        return Template(source, (), frozenset(), is_literal=True, limits=limits)
    return _KEPT.get(source, limits, secrets)


def parse_predicate(source: str, limits: Limits) -> Predicate:
    """Parse a condition, bare or in double braces."""
    check_size(source, limits)
    tree = _condition(source)
    compiler = build_statement_compiler(check(tree, secrets=False)).compiler
    try:
        return Predicate(source, find_references(tree), limits, _charge_cost(tree, compiler))
    except RecursionError:
        raise template_too_complex_error(1) from None


def render_template(source: str, context: Mapping[str, Any], limits: Limits) -> str | SecretText:
    """Parse and render a template."""
    return parse_template(source, limits).render(context)


def evaluate_predicate(source: str, context: Mapping[str, Any], limits: Limits) -> bool:
    """Parse and evaluate a condition."""
    return parse_predicate(source, limits).test(context)


def _parse(source: str, limits: Limits, secrets: bool) -> Template:
    tree = read_template(source)
    facts = check(tree, secrets=secrets)
    single = None if facts.secret_names else _single(tree)
    compiler = build_statement_compiler(facts)
    try:
        return Template(
            source,
            _without_secrets(find_references(tree)),
            frozenset(facts.secret_names),
            is_literal=False,
            limits=limits,
            body=tuple(compiler.body(tree.body)),
            expression=None if single is None else _charge_cost(single, compiler.compiler),
        )
    except RecursionError:
        raise template_too_complex_error(1) from None


class _TemplateCache:
    """An LRU cache of templates, limited by the total length of their sources."""

    __slots__ = ("_found", "_lock", "_room")

    def __init__(self, room: int) -> None:
        self._room = room
        self._found: OrderedDict[tuple[str, Limits, bool], Template] = OrderedDict()
        self._lock = Lock()

    def get(self, source: str, limits: Limits, secrets: bool) -> Template:
        key = (source, limits, secrets)
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
                return found
        made = _parse(source, limits, secrets)
        with self._lock:
            if key not in self._found:
                self._found[key] = made
                self._room -= len(source)
            while self._room < 0:
                (old, _, _), _ = self._found.popitem(last=False)
                self._room += len(old)
        return made


# Parsing is a pure function of these three, so a cached result is never stale.
_KEPT = _TemplateCache(_CHARACTERS_KEPT)


def _without_secrets(found: tuple[TemplateReference, ...]) -> tuple[TemplateReference, ...]:
    return tuple(reference for reference in found if not is_secret_path(reference.path))


def _condition(source: str) -> nodes.Expr:
    if not source.strip():
        raise Invalid("The condition is empty.", code="template_syntax")
    if not source.lstrip().startswith(("{{", "{%", "{#")):
        return read_expression(source)
    single = _single(read_template(source))
    if single is None:
        raise Invalid(
            "A condition is one expression, bare or in one pair of double braces.",
            code="template_syntax",
        )
    return single


def _single(tree: nodes.Template) -> nodes.Expr | None:
    """The expression that is the whole template, apart from surrounding blanks."""
    parts: list[nodes.Node] = []
    for node in tree.body:
        parts.extend(node.nodes if isinstance(node, nodes.Output) else [node])
    told = [part for part in parts if not _is_blank(part)]
    if len(told) == 1 and isinstance(told[0], nodes.Expr):
        return None if isinstance(told[0], nodes.TemplateData) else told[0]
    return None


def _is_blank(part: nodes.Node) -> bool:
    return isinstance(part, nodes.TemplateData) and not part.data.strip()


def _charge_cost(node: nodes.Expr, compiler: ExpressionCompilerProtocol) -> Expression:
    """The complete expression: charges its static cost and adds its line to errors."""
    made, cost, line = compiler.strict(node), 3 + compute_cost(node), get_line(node)

    def run(state: RenderState) -> Any:
        state.line = line
        state.meter.spend(cost)
        return made(state)

    return run


def _value(expression: Expression, context: Mapping[str, Any], meter: RenderMeter) -> Any:
    state = RenderState(context, meter, 0)
    found: list[Any] = []
    _run(lambda: found.append(to_native(expression(state), meter)), state)
    return found[0]


def _run(work: Callable[[], None], state: RenderState) -> None:
    """Run a closure and add the location in the template to errors."""
    try:
        work()
    except Invalid as error:
        raise Invalid(
            format_location(state.line, error.detail), code=error.code, suggestion=error.suggestion
        ) from None
    except RecursionError:
        raise template_too_complex_error(state.line) from None


def _merge_pieces(pieces: Iterable[str | SecretRef]) -> tuple[str | SecretRef, ...]:
    """Merge adjacent texts and drop empty ones."""
    merged: list[str | SecretRef] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if isinstance(piece, str) and isinstance(last, str):
            merged[-1] = last + piece
        elif piece != "":
            merged.append(piece)
    return tuple(merged)
