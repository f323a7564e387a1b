"""An integration: a plug-in for one outside system, as one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.event import EventType


def _nothing_to_add(given: Mapping[str, Any]) -> str | None:
    del given
    return None


@dataclass(frozen=True, slots=True)
class Offer:
    """A write as act_on_integration takes it, where its input has words of its own.

    A write without one is offered with the arguments of its capability.
    """

    capability: str
    input_schema: Mapping[str, Any]
    # The arguments of the capability, made from an input that fits.
    arguments: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    # What a person must know beside the capability's own preview.
    note: Callable[[Mapping[str, Any]], str | None] = _nothing_to_add


@dataclass(frozen=True, slots=True)
class Integration:
    """What a folder on the shelf yields: its identity and what it adds."""

    manifest: Mapping[str, Any]
    capabilities: tuple[Capability, ...] = ()
    actions: tuple[Action, ...] = ()
    events: tuple[EventType, ...] = ()
    offers: tuple[Offer, ...] = ()
