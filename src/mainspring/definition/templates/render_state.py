"""The state of one render, and the types of the closures that use it.

A closure is a small Python function of the state. A strict closure raises for an undefined value; a
soft one returns MISSING and is used where absence is allowed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from jinja2 import nodes

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef

# The limits of one render: steps, memory, and CPU time for both.

# Reading the clock costs as much as a few steps, so it is not read at each step.
STEPS_PER_LOOK = 2_000
# The total of all values one render may build, in units of the largest single value.
VALUES_PER_RENDER = 6


class RenderMeter:
    """Counts down while a template runs; raises ``Invalid`` when a limit is reached."""

    __slots__ = ("_deadline", "_mark", "_memory", "_milliseconds", "fuel", "value_limit")

    def __init__(self, limits: Limits) -> None:
        self.fuel = limits.template_fuel
        self.value_limit = limits.template_value
        self._memory = limits.template_value * VALUES_PER_RENDER
        self._milliseconds = limits.template_milliseconds
        self._mark = max(self.fuel - STEPS_PER_LOOK, 0)
        self._deadline: float | None = None

    def spend(self, steps: int) -> None:
        """Charge work before it is done."""
        self.fuel -= steps
        if self.fuel < self._mark:
            self._look()

    def allocate(self, units: int) -> None:
        """Charge a value before it is built: one unit per character."""
        if units > self.value_limit:
            raise Invalid(
                f"The template builds a value of more than {self.value_limit} characters.",
                code="template_too_large",
            )
        self._memory -= units
        if self._memory < 0:
            raise Invalid(
                "The template builds too much data in one render.", code="template_too_large"
            )

    def _look(self) -> None:
        if self.fuel < 0:
            raise Invalid(
                "The template needs more steps than one render may take.",
                code="template_too_much_work",
                suggestion="Loop over fewer items, or move the work into a step of its own.",
            )
        now = time.thread_time()
        if self._deadline is None:
            self._deadline = now + self._milliseconds / 1000
        elif now > self._deadline:
            raise Invalid(
                f"The template took more than {self._milliseconds} ms.",
                code="template_too_much_work",
            )
        self._mark = max(self.fuel - STEPS_PER_LOOK, 0)


class RenderState:
    """Created for each render and discarded afterwards, so templates can be shared."""

    __slots__ = ("frame", "line", "meter", "names", "out", "room")

    def __init__(self, names: Mapping[str, Any], meter: RenderMeter, room: int) -> None:
        self.names = names
        # The names that the template itself defines: for, set and with.
        self.frame: dict[str, Any] = {}
        self.meter = meter
        self.out: list[str | SecretRef] = []
        # The remaining characters of output.
        self.room = room
        self.line = 1

    def emit(self, text: str) -> None:
        self.room -= len(text)
        if self.room < 0:
            raise Invalid("The template puts out too much text.", code="template_too_large")
        self.out.append(text)

    def text(self) -> str:
        """The complete output, when it cannot contain a secret."""
        return "".join(map(str, self.out))


Expression: TypeAlias = Callable[[RenderState], Any]


class ExpressionCompilerProtocol(Protocol):
    """Compiles expression nodes to closures."""

    @property
    def local(self) -> frozenset[str]:
        """The names that the template defines itself."""
        ...

    def strict(self, node: nodes.Node) -> Expression: ...

    def soft(self, node: nodes.Node) -> Expression: ...


def compile_constant(value: Any) -> Expression:
    return lambda state: value
