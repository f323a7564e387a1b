"""Capabilities as they are shown to whoever asks, the same on every surface.

What one may call is listed. What only the steps of an automation may call is no secret to
whoever writes automations, so it can be looked up too and says so by its audience; a run
and a token that is limited to some capabilities are shown their own and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainspring.contracts.capability import Audience
from mainspring.gate.capability_offers import CapabilityOffer, schema_for

if TYPE_CHECKING:
    from mainspring.contracts.capability import Capability
    from mainspring.gate.callers import CapabilityCaller
    from mainspring.surfaces.services import ApplicationServices


async def list_offers(
    services: ApplicationServices, caller: CapabilityCaller, *, everything: bool = False
) -> list[CapabilityOffer]:
    """What a visitor may call, by name; with ``everything``, what runs alone may call too."""
    found = await services.gate.offers(caller)
    if not everything:
        return found
    known = {offer.capability.id for offer in found}
    words = await services.registry.of(caller.actor.workspace_id)
    more = [
        CapabilityOffer(one, one.input_schema)
        for one in words.capabilities.values()
        if one.id not in known and _for_runs(one, caller)
    ]
    return sorted((*found, *more), key=lambda offer: offer.capability.id)


async def find_offer(
    services: ApplicationServices, caller: CapabilityCaller, name: str
) -> CapabilityOffer | None:
    """One capability, as far as this visitor may know of it."""
    found = await services.gate.find(caller.actor.workspace_id, name)
    if found is None or not (caller.sees(found) or _for_runs(found, caller)):
        return None
    return CapabilityOffer(found, schema_for(found, caller))


def as_dict(offer: CapabilityOffer) -> dict[str, Any]:
    """All that is told of a capability."""
    capability = offer.capability
    return {
        "id": capability.id,
        "label": capability.label,
        "description": capability.description,
        "effect": capability.annotations.effect.value,
        "audience": capability.annotations.audience.value,
        "permission": capability.permission.value,
        "confirmation": capability.write is not None,
        "side_effects": sorted(capability.annotations.side_effects),
        "input_schema": offer.input_schema,
        "output_schema": capability.output_schema,
    }


def _for_runs(capability: Capability, caller: CapabilityCaller) -> bool:
    unbound = caller.held is None and caller.capabilities is None
    return unbound and capability.annotations.audience is Audience.RUNS
