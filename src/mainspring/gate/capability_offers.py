"""What a visitor is offered: each capability with the schema as it stands for them.

A run's grant pins arguments. Whoever calls as the run is shown the pins in the schema, so
that a program need not find them out by being refused. The schema only tells: the gate
judges every call by the grant itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import Capability
from mainspring.contracts.grant import Grant
from mainspring.definition.grants import is_same_json

if TYPE_CHECKING:
    from mainspring.contracts.registry import Vocabulary
    from mainspring.gate.callers import CapabilityCaller

# They were written for the whole schema and may contradict a pin.
_EXAMPLES: Final = frozenset({"examples", "x-mainspring-anti-examples"})


@dataclass(frozen=True, slots=True)
class CapabilityOffer:
    """One capability that a visitor may call, and what it takes from them."""

    capability: Capability
    input_schema: Mapping[str, Any]


def offers_to(vocabulary: Vocabulary, caller: CapabilityCaller) -> Iterator[CapabilityOffer]:
    """Everything a visitor may call, by name."""
    for name in sorted(vocabulary.capabilities):
        capability = vocabulary.capabilities[name]
        if caller.may_call(capability):
            yield CapabilityOffer(capability, schema_for(capability, caller))


def schema_for(capability: Capability, caller: CapabilityCaller) -> Mapping[str, Any]:
    """The input schema of a capability as it stands for one visitor."""
    if caller.held is None:
        return capability.input_schema
    grants = [g for g in caller.held.posture.grants if g.capability == capability.id]
    return restrict_to_grants(capability.input_schema, grants)


def restrict_to_connections(
    offer: CapabilityOffer, sources: Mapping[str, Sequence[str]]
) -> CapabilityOffer:
    """An offer whose arguments name what the caller is connected to, and nothing else.

    Only what was possible before is left: a run whose grant names one source is shown that one.
    """
    wanted = offer.capability.annotations.connected
    properties = dict(offer.input_schema.get("properties", {}))
    for name, surface in wanted.items():
        if name in properties:
            properties[name] = _restrict_schema(properties[name], sources.get(surface, ()))
    if not wanted:
        return offer
    kept = {key: value for key, value in offer.input_schema.items() if key not in _EXAMPLES}
    examples = offer.input_schema.get("examples", ())
    # Those of what the caller can name; where there is none of them, another still shows how.
    close = [one for one in examples if _can_say(one, properties, wanted)] or list(examples)
    shown = {"examples": close} if close else {}
    return CapabilityOffer(offer.capability, {**kept, "properties": properties, **shown})


def _can_say(example: Any, properties: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether an example names nothing but what the caller is connected to."""
    said = example if isinstance(example, Mapping) else {}
    return all(
        name not in said or said[name] in properties.get(name, {}).get("enum", (said[name],))
        for name in names
    )


def _restrict_schema(schema: Mapping[str, Any], sources: Sequence[str]) -> dict[str, Any]:
    bound = [schema["const"]] if "const" in schema else schema.get("enum")
    left = [one for one in sources if bound is None or one in bound]
    if left:
        return {**schema, "enum": left}
    # A list of nothing is no list; what is named all the same is refused with the reason.
    shown = {key: value for key, value in schema.items() if key != "enum"}
    told = f"{schema.get('description', '')} Nothing is connected yet: /integrations.".strip()
    return {**shown, "description": told}


def restrict_to_grants(schema: Mapping[str, Any], grants: Sequence[Grant]) -> Mapping[str, Any]:
    """A schema with what all the grants bound; where they differ, each value is allowed."""
    bounded = set(grants[0].params).intersection(*(grant.params for grant in grants))
    if not bounded:
        return schema
    properties = dict(schema.get("properties", {}))
    required = list(schema.get("required", ()))
    for key in sorted(bounded):
        name = "url" if key == "hosts" else key
        if name not in properties:
            continue
        bounds = [grant.params[key] for grant in grants]
        properties[name] = _narrow_property(key, properties[name], bounds)
        if name not in required:
            required.append(name)
    kept = {key: value for key, value in schema.items() if key not in _EXAMPLES}
    return {**kept, "properties": properties, "required": required}


def _narrow_property(key: str, schema: Any, bounds: Sequence[Any]) -> Any:
    shown: dict[str, Any] = dict(schema) if isinstance(schema, Mapping) else {}
    if key == "hosts":
        hosts = sorted({str(host) for bound in bounds for host in _as_list(bound)})
        granted = f"Only these hosts: {', '.join(hosts) or 'none'}."
        shown["description"] = f"{shown.get('description', '')} {granted}".strip()
        return shown
    if key.startswith("max_"):
        return {**shown, "maximum": max(bounds, key=_height)}
    allowed: list[Any] = []
    for value in (entry for bound in bounds for entry in _as_list(bound)):
        if not any(is_same_json(value, entry) for entry in allowed):
            allowed.append(value)
    if shown.get("type") == "array" and any(isinstance(bound, list) for bound in bounds):
        return {**shown, "items": {**shown.get("items", {}), "enum": allowed}}
    return {**shown, "const": allowed[0]} if len(allowed) == 1 else {**shown, "enum": allowed}


def _as_list(bound: Any) -> Sequence[Any]:
    return bound if isinstance(bound, list) else [bound]


def _height(bound: Any) -> float:
    number = isinstance(bound, (int, float)) and not isinstance(bound, bool)
    return float(bound) if number else float("-inf")
