"""Templates and predicates: read once, run as often as needed, from any thread."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from jinja2 import nodes

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.definition.templates.expressions import compute_cost
from mainspring.definition.templates.grammar import check, is_secret_path
from mainspring.definition.templates.meter import RenderMeter
from mainspring.definition.templates.references import TemplateReference, find_references
from mainspring.definition.templates.rendering import (
    Expression,
    ExpressionCompilerProtocol,
    RenderState,
)
from mainspring.definition.templates.statements import Statement, build_statement_compiler, run_all
from mainspring.definition.templates.tokens import (
    check_size,
    format_location,
    has_syntax,
    read_expression,
    read_template,
    template_too_complex_error,
)
from mainspring.definition.templates.tree import get_line
from mainspring.definition.templates.values import to_native

# A compiled template may take a hundred times its source.
_CHARACTERS_KEPT = 200_000


@dataclass(frozen=True, slots=True)
class Template:
    """Text with expressions in it, checked and ready to run."""

    source: str
    # What it reads from the run; names it makes itself are not among them.
    references: tuple[TemplateReference, ...]
    secret_names: frozenset[str]
    is_literal: bool
    limits: Limits = field(repr=False)
    body: tuple[Statement, ...] = field(repr=False, compare=False, default=())
    # Set when the whole template is one expression, which keeps its own type.
    expression: Expression | None = field(repr=False, compare=False, default=None)

    def render(self, context: Mapping[str, Any]) -> str | SecretText:
        """The text; with secrets in it, their names stand where the values will be."""
        return (
            self.source if self.is_literal else self.render_with(context, RenderMeter(self.limits))
        )

    def value(self, context: Mapping[str, Any]) -> Any:
        """The value of a template that is one expression; the text of any other."""
        return (
            self.source if self.is_literal else self.value_with(context, RenderMeter(self.limits))
        )

    def render_with(self, context: Mapping[str, Any], meter: RenderMeter) -> str | SecretText:
        """Like ``render``, out of a budget that several templates share."""
        state = RenderState(context, meter, self.limits.template_output)
        _run(lambda: run_all(self.body, state), state)
        if self.secret_names:
            return SecretText(_merge_pieces(state.out))
        made = state.text()
        meter.allocate(len(made))
        return made

    def value_with(self, context: Mapping[str, Any], meter: RenderMeter) -> Any:
        """Like ``value``, out of a budget that several templates share."""
        if self.expression is None:
            return self.render_with(context, meter)
        return _value(self.expression, context, meter)


@dataclass(frozen=True, slots=True)
class Predicate:
    """An expression that decides; what it reads must be there."""

    source: str
    references: tuple[TemplateReference, ...]
    limits: Limits = field(repr=False)
    expression: Expression = field(repr=False, compare=False)

    def test(self, context: Mapping[str, Any]) -> bool:
        """Whether the expression is true: 0, none, false and what is empty are not."""
        return bool(_value(self.expression, context, RenderMeter(self.limits)))


def parse_template(source: str, limits: Limits, *, secrets: bool = False) -> Template:
    """Reads a template; ``Invalid`` says in a sentence what is wrong with it, and where."""
    check_size(source, limits)
    if not has_syntax(source):
        return Template(source, (), frozenset(), is_literal=True, limits=limits)
    return _KEPT.get(source, limits, secrets)


def parse_predicate(source: str, limits: Limits) -> Predicate:
    """Reads a condition, bare or in double braces."""
    check_size(source, limits)
    tree = _condition(source)
    compiler = build_statement_compiler(check(tree, secrets=False)).compiler
    try:
        return Predicate(source, find_references(tree), limits, _charge_cost(tree, compiler))
    except RecursionError:
        raise template_too_complex_error(1) from None


def render_template(source: str, context: Mapping[str, Any], limits: Limits) -> str | SecretText:
    """Reads and renders in one go."""
    return parse_template(source, limits).render(context)


def evaluate_predicate(source: str, context: Mapping[str, Any], limits: Limits) -> bool:
    """Reads and tests in one go."""
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
    """The templates used last, as far as their sources fit into a number of characters."""

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


# Reading is a pure function of these three, so what is kept can never be stale.
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
    """The expression that is the whole template, apart from blanks around it."""
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
    """The expression as a whole: it charges its static cost and says its line."""
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
    """Says where in the template a refusal arose."""
    try:
        work()
    except Invalid as error:
        raise Invalid(
            format_location(state.line, error.detail), code=error.code, suggestion=error.suggestion
        ) from None
    except RecursionError:
        raise template_too_complex_error(state.line) from None


def _merge_pieces(pieces: Iterable[str | SecretRef]) -> tuple[str | SecretRef, ...]:
    """Neighbouring text becomes one piece; empty text none."""
    merged: list[str | SecretRef] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if isinstance(piece, str) and isinstance(last, str):
            merged[-1] = last + piece
        elif piece != "":
            merged.append(piece)
    return tuple(merged)
