"""Secrets that a program spells in text, put in where a secret may stand.

A plan names its secrets in approved templates. A script is approved as a whole and writes
``{{name}}`` inside the arguments of a call, which reach the door as plain text. A name is put
in only where the approved source spells it: in that part of a request, and to that host if
the source says one. Any other placeholder is refused, because a text that nobody fills would
go out as it stands and its author would look for the mistake at the other end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.secret import SecretPlace, SecretRef, SecretText
from mainspring.definition.hosts import literal_site
from mainspring.gate.ask import Ask

Places = frozenset[SecretPlace]

_SPELT: Final = re.compile(r"\{\{\s*(?:secrets\s*\.\s*)?([a-z0-9_]{1,64})\s*\}\}")


def with_secrets(ask: Ask, capability: Capability) -> Ask:
    """The same call with the secrets that it spells as markers; a plan's call is untouched."""
    if ask.spelt is None:
        return ask
    names = frozenset(place.name for place in ask.spelt)
    for name, value in ask.arguments.items():
        if name in capability.annotations.secret_arguments:
            _check_known(name, value, _allowed(ask.arguments, name, ask.spelt), capability)
        elif names:
            _check_none(name, value, names, capability)
    return replace(ask, arguments=marked(ask.arguments, capability, ask.spelt))


def marked(
    arguments: Mapping[str, Any], capability: Capability, places: Places | None
) -> Mapping[str, Any]:
    """The arguments with a marker for each secret that is spelt where one may stand."""
    parts = capability.annotations.secret_arguments
    if not places or not parts:
        return arguments
    return {
        name: _marked(value, _allowed(arguments, name, places)) if name in parts else value
        for name, value in arguments.items()
    }


def _allowed(arguments: Mapping[str, Any], part: str, places: Places) -> frozenset[str]:
    """The secrets that the source spells in this part of a request to this host."""
    site = str(literal_site(arguments.get("url")) or "")
    return frozenset(
        place.name for place in places if place.part == part and place.site in ("", site)
    )


def _check_known(argument: str, value: Any, names: frozenset[str], capability: Capability) -> None:
    for text in _texts(value):
        for found in _SPELT.finditer(text):
            if found[1] not in names:
                raise _unspelt(found[1], argument, capability)


def _texts(value: Any) -> Iterator[str]:
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            rest += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            rest += one


def _marked(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, str):
        parts = tuple(_parts(value, names))
        if any(isinstance(part, SecretRef) for part in parts):
            return SecretText(parts)
        return value
    if isinstance(value, Mapping):
        return {key: _marked(entry, names) for key, entry in value.items()}
    return [_marked(entry, names) for entry in value] if isinstance(value, list) else value


def _parts(text: str, names: frozenset[str]) -> Iterator[str | SecretRef]:
    done = 0
    for found in _SPELT.finditer(text):
        if found[1] in names:
            if found.start() > done:
                yield text[done : found.start()]
            yield SecretRef(found[1])
            done = found.end()
    if done < len(text):
        yield text[done:]


def _check_none(argument: str, value: Any, names: frozenset[str], capability: Capability) -> None:
    """A secret that would go out as the text of its own name is worse than a refusal."""
    for text in _texts(value):
        for found in _SPELT.finditer(text):
            if found[1] in names:
                raise _misplaced(found[1], argument, capability)


def _misplaced(secret: str, argument: str, capability: Capability) -> Invalid:
    detail = f"The secret {secret} may not stand in {argument!r} of {capability.id}."
    way_out = "A secret goes into the url, the headers or the query of http_fetch."
    return _refused(detail, argument, way_out)


def _unspelt(secret: str, argument: str, capability: Capability) -> Invalid:
    detail = f"{argument!r} of {capability.id} has {{{{{secret}}}}}, which is not put in there."
    way_out = (
        "Write the placeholder into the very request that it is for: the approved source says "
        "which secret goes where."
    )
    return _refused(detail, argument, way_out)


def _refused(detail: str, argument: str, way_out: str) -> Invalid:
    code = "secret_not_allowed_here"
    return Invalid(
        detail, code=code, findings=[Finding(f"/{argument}", detail, code)], suggestion=way_out
    )
