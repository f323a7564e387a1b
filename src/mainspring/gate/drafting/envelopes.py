"""What a held call says of itself, filled up with what its capability says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mainspring.contracts.capability import Capability, ConnectionRoute, DraftMetadata
from mainspring.contracts.errors import Problem


def envelope_of(capability: Capability | None, arguments: Mapping[str, Any]) -> DraftMetadata:
    """The envelope of a call, with nothing left open but what nobody knows."""
    if capability is None or capability.write is None:
        return DraftMetadata(editable=(), family="")
    made, write = _call_envelope(capability, arguments), capability.write
    return replace(
        made,
        source=made.source or source_of(capability),
        action=made.action or capability.id,
        editable=write.editable if made.editable is None else made.editable,
        family=write.family if made.family is None else made.family,
    )


def source_of(capability: Capability) -> str | None:
    """The integration of a capability; None where neither its route nor its name tells."""
    if capability.annotations.route is not None:
        return capability.annotations.route.integration
    place, dot, _ = capability.id.partition(".")
    return place if dot else None


def route_of(
    capability: Capability, arguments: Mapping[str, Any], known: Mapping[str, Capability]
) -> ConnectionRoute | None:
    """The way by which a held call leaves: its own, or that of what performs it."""
    write = capability.write
    if write is None or write.performs is None:
        return capability.annotations.route
    doing = known.get(write.performs(arguments)[0])
    return None if doing is None else doing.annotations.route


def _call_envelope(capability: Capability, arguments: Mapping[str, Any]) -> DraftMetadata:
    write = capability.write
    if write is None or write.envelope is None:
        return DraftMetadata()
    try:
        return write.envelope(arguments)
    except (KeyError, TypeError, ValueError, Problem):
        # What it was asked for is not installed any more: it can be shown all the same.
        return DraftMetadata()
