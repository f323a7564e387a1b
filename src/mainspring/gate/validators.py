"""The schemas of capabilities, compiled once and kept at hand.

What is ours is always the same and stays. A tool from outside is kept while it is among those
that were called last: how many there are, and how large, is for strangers to decide.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from mainspring.contracts.capability import Capability
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import Validator, compile_schema

MOST_OUTSIDE: Final = 128


class CapabilityChecks(NamedTuple):
    """A capability, and what checks its arguments and its answers."""

    capability: Capability
    arguments: Validator
    answers: Validator


class CapabilityValidators:
    """Checks by capability; a name alone may mean another tool in another workspace."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ours: dict[str, CapabilityChecks] = {}
        self._outside: OrderedDict[tuple[str, str], CapabilityChecks] = OrderedDict()

    def of(self, capability: Capability) -> CapabilityChecks:
        """The checks of just this capability, compiled now if they are not at hand."""
        mark = capability.annotations.pin
        if not mark:
            found = self._ours.get(capability.id)
            if found is None or found.capability is not capability:
                found = self._ours[capability.id] = self._compiled(capability)
            return found
        key = (capability.id, mark)
        found = self._outside.pop(key, None)
        if found is None or found.capability is not capability:
            found = self._compiled(capability)
        self._outside[key] = found
        if len(self._outside) > MOST_OUTSIDE:
            self._outside.popitem(last=False)
        return found

    def _compiled(self, capability: Capability) -> CapabilityChecks:
        return CapabilityChecks(
            capability,
            compile_schema(capability.input_schema, self._limits),
            compile_schema(capability.output_schema, self._limits),
        )
