"""The approval mode of outside writes: which are sent at once and which wait for a person.

A step of a plan sends what its own config renders to, so the approved template bounds it. What an
agent or a script sends is created in the run: such a write is sent automatically only to a
destination that a tool entry or a grant fixes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.capability import Capability, Write
from mainspring.contracts.grant import Grant
from mainspring.definition.grants import match
from mainspring.definition.model import ApprovalMode
from mainspring.definition.script.findings import read_script_grants
from mainspring.definition.tool_patterns import read_agent_grants
from mainspring.definition.traits import FlattenedStep, flatten_steps
from mainspring.definition.upgrade import upgrade

AUTOMATIC: Final = "automatic"
ASK: Final = "ask"
SCRIPT: Final = "script"
AGENTS: Final = frozenset({AGENT_RUN, AGENT_TASK})


@dataclass(frozen=True, slots=True)
class StepApproval:
    """The approval settings for the outside writes of one step."""

    # One mode for all of them, or one per capability.
    modes: ApprovalMode | Mapping[str, ApprovalMode]
    # The bounds of automatic writes; None when they are rendered from the step's own config.
    bounds: tuple[Grant, ...] | None = None
    # The step's own config, when writes are rendered from it.
    template: Mapping[str, Any] | None = None

    def mode(self, capability: str) -> ApprovalMode | None:
        """The mode of one capability; None when it is not set."""
        return self.modes if isinstance(self.modes, str) else self.modes.get(capability)

    def is_automatic(self, capability: str) -> bool:
        return self.mode(capability) == AUTOMATIC

    def asks(self, capability: str) -> bool:
        return self.mode(capability) == ASK

    def sends(self, capability: Capability, arguments: Mapping[str, Any]) -> bool:
        """Whether this call may be sent without asking."""
        if self.mode(capability.id) != AUTOMATIC or not can_be_automatic(capability):
            return False
        if not self._is_plain(capability, arguments):
            return False
        if self.bounds is None:
            return True
        return any(_stays_within(one, capability, arguments) for one in self.bounds)

    def _is_plain(self, capability: Capability, arguments: Mapping[str, Any]) -> bool:
        """Whether its text mentions nobody whom the approved template does not mention."""
        plain = None if capability.write is None else capability.write.plain
        if plain is None or plain(arguments):
            return True
        return self.template is not None and not plain(self.template)


# The approval of a step that does not set one.
UNSAID: Final = StepApproval({})


def can_be_automatic(capability: Capability) -> bool:
    """Whether its arguments are exactly what is sent, not a request that a model interprets."""
    write = capability.write
    return write is not None and write.resolve is None and write.performs is None


def is_pinned(capability: Capability, grant: Grant) -> bool:
    """Whether a grant fixes the destination of a capability's writes."""
    write = capability.write
    if write is None or grant.capability != capability.id:
        return False
    if write.safe:
        # It only reaches the owner of the automation.
        return True
    if "hosts" in grant.params:
        return bool(grant.params["hosts"])
    if write.destination:
        return all(name in grant.params for name in list_required_pins(capability))
    return bool(grant.params) or not capability.input_schema.get("properties")


def list_required_pins(capability: Capability) -> tuple[str, ...]:
    """The arguments that must be fixed to determine the destination."""
    write = capability.write
    destination = () if write is None else write.destination
    required = capability.input_schema.get("required", ())
    return tuple(one for one in destination if one in required) or destination[:1]


def read_step_approval(step: FlattenedStep, granted: Iterable[Grant]) -> StepApproval | None:
    """The approval settings of a step; ``granted`` are the grants that the author wrote."""
    if not isinstance(step.approval, str | Mapping):
        return None
    modes = cast("ApprovalMode | Mapping[str, ApprovalMode]", step.approval)
    bounds = get_write_bounds(step.action, step.config, granted)
    return StepApproval(modes, bounds, step.config if bounds is None else None)


def get_write_bounds(
    action: str, config: Mapping[str, Any], granted: Iterable[Grant]
) -> tuple[Grant, ...] | None:
    """The bounds of the automatic writes of an agent or a script; None for any other step."""
    if action in AGENTS:
        return (*read_agent_grants(config), *granted)
    if action == SCRIPT:
        return (*read_script_grants(config), *granted)
    return None


def read_approvals(document: Mapping[str, Any]) -> dict[str, StepApproval]:
    """The approval modes of an accepted definition, by step."""
    current, _ = upgrade(document)
    granted = read_written_grants(current)
    found = ((one.id, read_step_approval(one, granted)) for one in flatten_steps(current))
    return {name: one for name, one in found if one is not None}


def read_written_grants(document: Mapping[str, Any]) -> tuple[Grant, ...]:
    """The grants written in a definition; empty when they are derived from its plan."""
    entries = document.get("grants")
    return tuple(
        Grant(str(one.get("capability")), params)
        for one in (entries if isinstance(entries, list | tuple) else ())
        if isinstance(one, Mapping) and isinstance(params := one.get("params") or {}, Mapping)
    )


def _stays_within(grant: Grant, capability: Capability, arguments: Mapping[str, Any]) -> bool:
    write = capability.write
    if write is None or not is_pinned(capability, grant):
        return False
    inputs = _granted_as(write, arguments)
    fixed = all(name in grant.params for name in write.destination if name in inputs)
    return fixed and bool(match(grant, capability.id, inputs))


def _granted_as(write: Write, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return arguments if write.granted_as is None else write.granted_as(arguments)
