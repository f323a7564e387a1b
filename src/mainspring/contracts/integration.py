"""An integration: a plug-in for one outside system, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.event import EventType


@dataclass(frozen=True, slots=True)
class Integration:
    """What a folder on the shelf yields: its identity and what it adds."""

    manifest: Mapping[str, Any]
    capabilities: tuple[Capability, ...] = ()
    actions: tuple[Action, ...] = ()
    events: tuple[EventType, ...] = ()
