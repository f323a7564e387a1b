"""Display names of the external systems that capabilities use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability, Effect

MODEL: Final = "A model"
_NAMED: Final[Mapping[str, str]] = {
    "http_fetch": "The web",
    "act_on_integration": "An integration",
    AGENT_RUN: MODEL,
    "automation_llm_complete": MODEL,
}


def system_of(name: str, capability: Capability | None) -> str | None:
    """Return the system's name, or empty for internal capabilities."""
    if name in _NAMED:
        return _NAMED[name]
    if capability is None:
        return name.partition(".")[0] if "." in name else None
    if capability.annotations.pin or capability.annotations.held_back:
        return name.partition(".")[0]
    if capability.write is not None and capability.write.product:
        return capability.write.product
    if capability.annotations.effect is Effect.SEND:
        return name.partition(".")[0].partition("_")[0]
    return None
