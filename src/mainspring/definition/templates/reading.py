"""Reading data: names, entries, items and slices.

Objects are read by key and lists and texts by position, and that is all there is: a dot
is another way to write a key.
"""

from __future__ import annotations

from typing import Any

from jinja2 import nodes

from mainspring.definition.templates.rendering import (
    Expression,
    ExpressionCompilerProtocol,
    RenderState,
    compile_constant,
)
from mainspring.definition.templates.tree import get_constant_path
from mainspring.definition.templates.values import (
    MISSING,
    describe_kind,
    find,
    invalid_operation_error,
    undefined_value_error,
)


def compile_required_value(
    compiler: ExpressionCompilerProtocol, node: nodes.Name | nodes.Getattr | nodes.Getitem
) -> Expression:
    """A value that must be there."""
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
    """A value that may be absent, as may everything on the way to it."""
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
    """The path as its author wrote it, for sentences."""
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
    # Writing out a number of ten thousand digits is refused by Python itself.
    return len(key) <= 80 if isinstance(key, str) else key.bit_length() <= 256
