"""The state of one render, and the closures that work on it.

A closure is one small Python function over the state. A strict one refuses what is not
there; a soft one answers MISSING, and exists for the places where absence is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from jinja2 import nodes

from mainspring.contracts.errors import Invalid
from mainspring.contracts.secret import SecretRef
from mainspring.definition.templates.meter import RenderMeter


class RenderState:
    """Made for each render and thrown away after it, so templates can be shared."""

    __slots__ = ("frame", "line", "meter", "names", "out", "room")

    def __init__(self, names: Mapping[str, Any], meter: RenderMeter, room: int) -> None:
        self.names = names
        # What the template itself has named: for, set and with.
        self.frame: dict[str, Any] = {}
        self.meter = meter
        self.out: list[str | SecretRef] = []
        # Characters that may still be put out.
        self.room = room
        self.line = 1

    def emit(self, text: str) -> None:
        self.room -= len(text)
        if self.room < 0:
            raise Invalid("The template puts out too much text.", code="template_too_large")
        self.out.append(text)

    def text(self) -> str:
        """All that was put out, when no secret can be in it."""
        return "".join(map(str, self.out))


Expression: TypeAlias = Callable[[RenderState], Any]


class ExpressionCompilerProtocol(Protocol):
    """Turns expression nodes into closures."""

    @property
    def local(self) -> frozenset[str]:
        """The names that the template makes itself."""
        ...

    def strict(self, node: nodes.Node) -> Expression: ...

    def soft(self, node: nodes.Node) -> Expression: ...


def compile_constant(value: Any) -> Expression:
    return lambda state: value
