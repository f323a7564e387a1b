"""What one render may use: steps, memory, and processor time behind both.

Fuel is the rule, because it is the same on every machine: a template that ends here ends
everywhere. A unit of fuel stands for roughly a fifth of a microsecond of work, and the
charge is made before the work. The clock counts this thread's processor time alone and is
looked at every few thousand steps; it only matters when a charge was too low.
"""

from __future__ import annotations

import time

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits

# One look at the clock costs as much as a few steps, so it is not taken at each of them.
STEPS_PER_LOOK = 2_000
# The sum of all values one render may build, in units of the largest single value.
VALUES_PER_RENDER = 6


class RenderMeter:
    """Counts down while a template runs; every refusal is an ``Invalid``."""

    __slots__ = ("_deadline", "_mark", "_memory", "_milliseconds", "fuel", "value_limit")

    def __init__(self, limits: Limits) -> None:
        self.fuel = limits.template_fuel
        self.value_limit = limits.template_value
        self._memory = limits.template_value * VALUES_PER_RENDER
        self._milliseconds = limits.template_milliseconds
        self._mark = max(self.fuel - STEPS_PER_LOOK, 0)
        self._deadline: float | None = None

    def spend(self, steps: int) -> None:
        """Charges work that is about to be done."""
        self.fuel -= steps
        if self.fuel < self._mark:
            self._look()

    def allocate(self, units: int) -> None:
        """Charges a value that is about to be built: a character is one unit."""
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
