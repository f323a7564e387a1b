"""Which connection is asked for a model, by the name that stands in a definition.

``connection/model`` names both; what stands before the first slash is a connection only where
one has that name, because models have slashes in their names too. A model alone goes to the
first connection that offers it: the workspace's own before the installation's, and the oldest
first. No name at all means the usual model. So does the default model's name where no connection
offers that: it is in every automation that was saved without a choice of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mainspring.contracts.errors import Finding, NotFound
from mainspring.contracts.model import DEFAULT_MODEL, no_model_error
from mainspring.workspace.model_connections import ModelConnection, ModelKind

# By what a kind knows its own models.
_OWN: Final[Mapping[ModelKind, re.Pattern[str]]] = {
    "anthropic": re.compile(r"claude"),
    "openai": re.compile(r"gpt|chatgpt|o[0-9]"),
}
# Kinds that have models of all names, and take what nobody else takes.
_TAKE_ANY: Final = frozenset({"groq", "compatible"})
TAKES: Final[Mapping[ModelKind, str]] = {
    "anthropic": "models whose names begin with claude",
    "openai": "models whose names begin with gpt, chatgpt or o and a digit",
    "groq": "models that no other connection takes",
    "compatible": "models that no other connection takes",
}
# What a kind is asked for where nobody names a model, no connection has a usual one and none
# offers the default model.
_USUAL: Final[Mapping[ModelKind, str]] = {"openai": "gpt-5.4", "groq": "openai/gpt-oss-120b"}
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A connection, and a model as its provider names it."""

    connection: ModelConnection
    model: str
    # As it was named; with its connection where it was not named at all.
    name: str


def resolve_model_name(name: str, connections: Sequence[ModelConnection]) -> ModelReference:
    """What a name means among these connections, in their order."""
    if not connections:
        raise no_model_error()
    if not name:
        return _usual(connections)
    before, _, model = name.partition("/")
    own = next((one for one in connections if one.name == before and model), None)
    if own is not None:
        if own.offers and model not in own.offers:
            raise _unknown(name, connections)
        return ModelReference(own, model, name)
    found = offering(name, connections)
    if name == DEFAULT_MODEL and not (found and _offers(found, name)):
        other = _gateway(connections) or usual(connections)
        if other is not None:
            return other
    if found is None:
        raise _unknown(name, connections)
    return ModelReference(found, name, name)


def _gateway(connections: Sequence[ModelConnection]) -> ModelReference | None:
    """The default model at a gateway that lists no models and has no usual one.

    It may well serve that model, and its prompts must not move to another provider.
    """
    for one in connections:
        if one.kind == "compatible" and one.usual_model is None and not one.offers:
            return ModelReference(one, DEFAULT_MODEL, DEFAULT_MODEL)
    return None


def offering(model: str, connections: Sequence[ModelConnection]) -> ModelConnection | None:
    """The first connection that offers a model, else one that takes any."""
    for one in connections:
        if _offers(one, model):
            return one
    return next((one for one in connections if one.kind in _TAKE_ANY and not one.offers), None)


def usual(connections: Sequence[ModelConnection]) -> ModelReference | None:
    """The model that is asked when nobody names one; None when there is none."""
    for one in connections:
        if one.usual_model is not None:
            return ModelReference(one, one.usual_model, f"{one.name}/{one.usual_model}")
    for one in connections:
        if _offers(one, DEFAULT_MODEL):
            return ModelReference(one, DEFAULT_MODEL, f"{one.name}/{DEFAULT_MODEL}")
    # A model whose price is known comes before one that only an operator can price.
    for one in sorted(connections, key=lambda one: one.kind not in _USUAL):
        model = one.offers[0] if one.offers else None
        known = _USUAL.get(one.kind)
        if known is not None and (known in one.offers or not one.offers):
            model = known
        if model is not None:
            return ModelReference(one, model, f"{one.name}/{model}")
    return None


def _usual(connections: Sequence[ModelConnection]) -> ModelReference:
    found = usual(connections)
    if found is None:
        raise NotFound(
            "No model is named, and no connection has a usual one.",
            code="unknown_model",
            findings=[Finding("/model", "Name a model.", "unknown_model")],
            suggestion=f"Name one: {_there(connections)}. Or set a connection's usual model.",
        )
    return found


def _offers(connection: ModelConnection, model: str) -> bool:
    """Whether a connection lists a model, or its kind is known for it."""
    if connection.offers:
        return model in connection.offers
    return _is_own(model, connection.kind)


def _is_own(model: str, kind: ModelKind) -> bool:
    pattern = _OWN.get(kind)
    return pattern is not None and pattern.match(model) is not None


def _unknown(name: str, connections: Sequence[ModelConnection]) -> NotFound:
    detail = f"No connection here offers the model {name[:200]!r}."
    way_out = f"There is {_there(connections)}."
    return NotFound(
        detail,
        code="unknown_model",
        findings=[Finding("/model", detail, "unknown_model", way_out)],
        suggestion=way_out,
    )


def _there(connections: Sequence[ModelConnection]) -> str:
    """What can be named, in a few words."""
    words: list[str] = []
    for one in connections:
        words += [f"{one.name}/{model}" for model in one.offers]
        if not one.offers:
            words.append(f"{one.name} ({TAKES[one.kind]})")
    more = len(words) - _SHOWN
    return ", ".join(words[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
