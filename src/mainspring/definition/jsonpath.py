"""JSONPath (RFC 9535): extracts values from a payload.

A standards-compliant library parses and type-checks the path. Evaluation is done here, because a
short path such as ``$..*..*..*`` can need unbounded work. Every step is counted, and evaluation
ends with an error when the limit is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError
from jsonpath_rfc9535 import filter_expressions as ast
from jsonpath_rfc9535 import selectors as sel
from jsonpath_rfc9535.query import JSONPathQuery
from jsonpath_rfc9535.segments import JSONPathRecursiveDescentSegment, JSONPathSegment

from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.patterns import InvalidPattern, Pattern, UnmatchableText, compile_pattern
from mainspring.definition.strict_json import invalid_value_error, is_same_value

# Evaluates a parsed JSONPath on a value and counts every step.

MOST_LEVELS = 64
# The cost, in steps, of compiling a pattern that comes from the data.
PATTERN_STEPS = 5_000
# Pattern work (instructions times bytes) that costs as much as one step.
WORK_PER_STEP = 50

NOTHING: Final = object()


class PathCostExceeded(Exception):
    """The step limit of the evaluation is reached."""


class UnsupportedPath(ValueError):
    """The path is well-formed but not supported; the message says why."""


class PathMeter:
    """The remaining steps of one evaluation."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise PathCostExceeded


# Each function takes the current value, the root and the meter.
PathWalk = Callable[[Any, Any, PathMeter], list[Any]]
PathTest = Callable[[Any, Any, PathMeter], bool]
PathExpression = Callable[[Any, Any, PathMeter], Any]


def compile_query(query: JSONPathQuery, limits: Limits) -> PathWalk:
    return _PathCompiler(limits).query(query, MOST_LEVELS)


class _PathCompiler:
    """Compiles the segments of a query to functions."""

    __slots__ = ("_limits",)

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def query(self, query: JSONPathQuery, levels: int) -> PathWalk:
        if levels <= 0:
            raise UnsupportedPath("This path is nested too deeply.")
        segments = [self._segment(segment, levels - 1) for segment in query.segments]

        def walk(value: Any, root: Any, meter: PathMeter) -> list[Any]:
            nodes = [value]
            for segment in segments:
                nodes = segment(nodes, root, meter)
            return nodes

        return walk

    def _segment(self, segment: JSONPathSegment, levels: int) -> PathWalk:
        selectors = [self._selector(selector, levels) for selector in segment.selectors]
        descends = isinstance(segment, JSONPathRecursiveDescentSegment)

        def select(nodes: list[Any], root: Any, meter: PathMeter) -> list[Any]:
            found: list[Any] = []
            for node in nodes:
                for place in _descendants(node, meter) if descends else (node,):
                    for selector in selectors:
                        meter.spend(1)
                        found += selector(place, root, meter)
            return found

        return select

    def _selector(self, selector: sel.JSONPathSelector, levels: int) -> PathWalk:
        match selector:
            case sel.NameSelector():
                return _select_by_name(selector.name)
            case sel.IndexSelector():
                return _select_by_index(selector.index)
            case sel.SliceSelector():
                return _select_by_slice(selector.slice)
            case sel.WildcardSelector():
                return _children
            case sel.FilterSelector():
                return _select_by_test(self._test(selector.expression, levels))
            case _:
                raise UnsupportedPath("This path uses a selector that is not known.")

    def _test(self, expression: ast.Expression, levels: int) -> PathTest:
        if levels <= 0:
            raise UnsupportedPath("This path is nested too deeply.")
        match expression:
            case ast.FilterExpression():
                return self._test(expression.expression, levels)
            case ast.PrefixExpression():
                inner = self._test(expression.right, levels - 1)
                return lambda value, root, meter: not inner(value, root, meter)
            case ast.LogicalExpression():
                return self._logical(expression, levels - 1)
            case ast.ComparisonExpression():
                return self._comparison(expression, levels - 1)
            case ast.FilterQuery():
                nodes = self._nodes(expression, levels - 1)
                return lambda value, root, meter: bool(nodes(value, root, meter))
            case ast.FunctionExtension(name="match" | "search"):
                return self._pattern_test(expression, levels - 1)
            case _:
                raise UnsupportedPath("This path has a filter that is not a test.")

    def _logical(self, expression: ast.LogicalExpression, levels: int) -> PathTest:
        left, right = self._test(expression.left, levels), self._test(expression.right, levels)
        if expression.operator == "&&":
            return lambda value, root, meter: left(value, root, meter) and right(value, root, meter)
        return lambda value, root, meter: left(value, root, meter) or right(value, root, meter)

    def _comparison(self, expression: ast.ComparisonExpression, levels: int) -> PathTest:
        left = self._reading(expression.left, levels)
        right = self._reading(expression.right, levels)
        compare = _COMPARISONS[expression.operator]

        def compared(value: Any, root: Any, meter: PathMeter) -> bool:
            return compare(left(value, root, meter), right(value, root, meter), meter)

        return compared

    def _nodes(self, expression: ast.Expression, levels: int) -> PathWalk:
        if not isinstance(expression, ast.FilterQuery):
            raise UnsupportedPath("This path gives a function something that is not a path.")
        walk = self.query(expression.query, levels)
        if isinstance(expression, ast.RootFilterQuery):
            return lambda value, root, meter: walk(root, root, meter)
        return walk

    def _reading(self, expression: ast.Expression, levels: int) -> PathExpression:
        match expression:
            case ast.FilterExpressionLiteral():
                literal = expression.value
                return lambda value, root, meter: literal
            case ast.FilterQuery():
                return _single(self._nodes(expression, levels))
            case ast.FunctionExtension(name="value", args=[argument]):
                return _single(self._nodes(argument, levels))
            case ast.FunctionExtension(name="count", args=[argument]):
                nodes = self._nodes(argument, levels)
                return lambda value, root, meter: len(nodes(value, root, meter))
            case ast.FunctionExtension(name="length", args=[argument]):
                return _length(self._reading(argument, levels))
            case _:
                raise UnsupportedPath("This path compares something that has no value.")

    def _pattern_test(self, expression: ast.FunctionExtension, levels: int) -> PathTest:
        text = self._reading(expression.args[0], levels)
        pattern = self._pattern(expression.args[1], levels)
        whole = expression.name == "match"

        def holds(value: Any, root: Any, meter: PathMeter) -> bool:
            subject, compiled = text(value, root, meter), pattern(value, root, meter)
            if not isinstance(subject, str) or compiled is None:
                return False
            meter.spend(len(subject) * compiled.size // WORK_PER_STEP)
            return compiled.covers(subject) if whole else compiled.found_in(subject)

        return holds

    def _pattern(
        self, argument: ast.Expression, levels: int
    ) -> Callable[[Any, Any, PathMeter], Pattern | None]:
        if isinstance(argument, ast.StringLiteral):
            try:
                known = compile_pattern(_spelled_for_re2(argument.value), self._limits)
            except InvalidPattern as bad:
                raise UnsupportedPath(str(bad)) from None
            return lambda value, root, meter: known
        source = self._reading(argument, levels)

        def compiled(value: Any, root: Any, meter: PathMeter) -> Pattern | None:
            text = source(value, root, meter)
            if not isinstance(text, str):
                return None
            meter.spend(PATTERN_STEPS)
            try:
                return compile_pattern(_spelled_for_re2(text), self._limits)
            except InvalidPattern:
                return None

        return compiled


def _descendants(node: Any, meter: PathMeter) -> Iterator[Any]:
    """A value and every object and list in it, parents before children."""
    waiting = [node]
    while waiting:
        place = waiting.pop()
        yield place
        below = _values(place)
        meter.spend(len(below) + 1)
        waiting.extend(child for child in reversed(below) if isinstance(child, dict | list))


def _values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _children(value: Any, root: Any, meter: PathMeter) -> list[Any]:
    del root
    found = _values(value)
    meter.spend(len(found))
    return found


def _select_by_name(name: str) -> PathWalk:
    def select(value: Any, root: Any, meter: PathMeter) -> list[Any]:
        del root, meter
        return [value[name]] if isinstance(value, dict) and name in value else []

    return select


def _select_by_index(index: int) -> PathWalk:
    def select(value: Any, root: Any, meter: PathMeter) -> list[Any]:
        del root, meter
        if isinstance(value, list) and -len(value) <= index < len(value):
            return [value[index]]
        return []

    return select


def _select_by_slice(part: slice[Any, Any, Any]) -> PathWalk:
    def select(value: Any, root: Any, meter: PathMeter) -> list[Any]:
        del root
        if not isinstance(value, list) or part.step == 0:
            return []
        found = value[part]
        meter.spend(len(found))
        return found

    return select


def _select_by_test(test: PathTest) -> PathWalk:
    def select(value: Any, root: Any, meter: PathMeter) -> list[Any]:
        found = []
        for child in _values(value):
            meter.spend(1)
            if test(child, root, meter):
                found.append(child)
        return found

    return select


def _single(nodes: PathWalk) -> PathExpression:
    def read(value: Any, root: Any, meter: PathMeter) -> Any:
        found = nodes(value, root, meter)
        return found[0] if len(found) == 1 else NOTHING

    return read


def _length(inner: PathExpression) -> PathExpression:
    def read(value: Any, root: Any, meter: PathMeter) -> Any:
        measured = inner(value, root, meter)
        return len(measured) if isinstance(measured, str | list | dict) else NOTHING

    return read


def _equal(left: Any, right: Any, meter: PathMeter) -> bool:
    if left is NOTHING or right is NOTHING:
        return left is right
    if isinstance(left, dict | list):
        for place in _descendants(left, meter):
            del place
    return is_same_value(left, right)


def _is_less(left: Any, right: Any, meter: PathMeter) -> bool:
    del meter
    numbers = (int, float)
    if type(left) in numbers and type(right) in numbers:
        return bool(left < right)
    return isinstance(left, str) and isinstance(right, str) and left < right


_COMPARISONS: Final[dict[str, Callable[[Any, Any, PathMeter], bool]]] = {
    "==": _equal,
    "!=": lambda left, right, meter: not _equal(left, right, meter),
    "<": _is_less,
    ">": lambda left, right, meter: _is_less(right, left, meter),
    "<=": lambda left, right, meter: _is_less(left, right, meter) or _equal(left, right, meter),
    ">=": lambda left, right, meter: _is_less(right, left, meter) or _equal(left, right, meter),
}


def _spelled_for_re2(pattern: str) -> str:
    """In I-Regexp (RFC 9485) a dot matches neither a line feed nor a carriage return."""
    spelled: list[str] = []
    escaped = in_class = False
    for character in pattern:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in "[]":
            in_class = character == "["
        elif character == "." and not in_class:
            spelled.append(r"[^\n\r]")
            continue
        spelled.append(character)
    return "".join(spelled)


LONGEST = 1_000
MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A parsed JSONPath."""

    text: str
    # Matches at most one value: only names and indexes.
    singular: bool
    _walk: PathWalk = field(repr=False, compare=False)

    def find(self, value: Any, meter: PathMeter | None = None) -> list[Any]:
        """All values of the path, in document order.

        Paths that share a meter share its steps.
        """
        root = dict(value) if isinstance(value, Mapping) and type(value) is not dict else value
        try:
            return self._walk(root, root, PathMeter(MOST_STEPS) if meter is None else meter)
        except PathCostExceeded:
            raise invalid_value_error(
                Finding(
                    "",
                    "This path matches too many places of the value.",
                    "path_too_costly",
                )
            ) from None
        except UnmatchableText as unread:
            detail = f"This path has no answer for the value it was given. {unread}"
            raise invalid_value_error(Finding("", detail, "path_text_unread")) from None

    def first(self, value: Any, default: Any = None) -> Any:
        """The first value of the path, or the default."""
        return next(iter(self.find(value)), default)


@lru_cache(maxsize=512)
def parse_path(text: str, limits: Limits) -> JsonPath:
    """Parse a JSONPath or raise ``Invalid`` with the position and the reason."""
    if len(text) > LONGEST:
        raise invalid_value_error(
            Finding("", f"A path has at most {LONGEST:,} characters.", "path_long")
        )
    if not text.startswith("$"):
        hint = f"Write $.{text[:40]}" if text[:1].isalpha() else None
        raise invalid_value_error(Finding("", "A JSONPath begins with $.", "path_syntax", hint))
    try:
        query = JSONPathEnvironment().compile(text)
    except JSONPathError as error:
        raise invalid_value_error(Finding("", _describe_path_error(error), "path_syntax")) from None
    except (ArithmeticError, LookupError, RecursionError, ValueError):
        # Deep brackets and huge numbers exceed the limits of the parser itself.
        finding = Finding("", "This JSONPath cannot be read.", "path_syntax")
        raise invalid_value_error(finding) from None
    try:
        return JsonPath(text, query.singular_query(), compile_query(query, limits))
    except UnsupportedPath as unusable:
        raise invalid_value_error(Finding("", str(unusable), "path_unusable")) from None


def _describe_path_error(error: JSONPathError) -> str:
    reason = str(error.args[0]) if error.args else "unknown reason"
    place = "" if error.token is None else f" at character {error.token.index + 1}"
    return f"This JSONPath cannot be read{place}: {reason}."
