"""Secrets that a program spells in text, put in where a secret may stand.

A plan names its secrets in approved templates. A script is approved as a whole and writes
``{{name}}`` inside the arguments of a call, which reach the door as text among data. What the
approved source spells has a mark of this very try before the name, ``{{mark:name}}``, and is put
in only where the source spells it: in that part of a request, and to that host if the source
says one. The name of a secret without the mark came as data and is refused, because a text that
nobody fills would go out as it stands and its author would look for the mistake at the other
end. Any other word between braces is text like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.secret import ScriptSecrets, SecretRef, SecretText
from mainspring.definition.hosts import parse_template_host
from mainspring.gate.capability_call import CapabilityCall

_SPELT: Final = re.compile(
    r"\{\{(?:([0-9a-f]{32}):)?\s*(?:secrets\s*\.\s*)?([a-z0-9_]{1,64})\s*\}\}"
)


def with_secrets(ask: CapabilityCall, capability: Capability) -> CapabilityCall:
    """The same call with the secrets that it spells as markers; a plan's call is untouched."""
    spelt = ask.spelt
    if spelt is None or not spelt.names:
        return ask
    for argument, value in ask.arguments.items():
        allowed = _allowed_secrets(ask.arguments, argument, spelt)
        for text, is_key in _texts(value):
            for mark, name in _SPELT.findall(text):
                if name not in spelt.names:
                    continue
                if argument not in capability.annotations.secret_arguments:
                    # A secret that would go out as its own name is worse than a refusal.
                    raise _misplaced_secret_error(name, argument, capability)
                if not mark or mark != spelt.mark:
                    raise _from_data(name, argument, capability)
                if is_key or name not in allowed:
                    raise _unspelt(name, argument, capability)
    return replace(ask, arguments=mark_secrets(ask.arguments, capability, spelt))


def mark_secrets(
    arguments: Mapping[str, Any], capability: Capability, spelt: ScriptSecrets | None
) -> Mapping[str, Any]:
    """The arguments with a marker for each secret that is spelt where one may stand.

    The mark of the try is in none of them, so that every try asks for the same.
    """
    parts = capability.annotations.secret_arguments
    if spelt is None or not spelt.places or not spelt.mark or not parts:
        return arguments
    return {
        name: _mark_value(value, _allowed_secrets(arguments, name, spelt), spelt.mark)
        if name in parts
        else value
        for name, value in arguments.items()
    }


def _allowed_secrets(
    arguments: Mapping[str, Any], part: str, spelt: ScriptSecrets
) -> frozenset[str]:
    """The secrets that the source spells in this part of a request to this host."""
    site = str(parse_template_host(arguments.get("url")) or "")
    return frozenset(
        place.name for place in spelt.places if place.part == part and place.site in ("", site)
    )


def _texts(value: Any) -> Iterator[tuple[str, bool]]:
    """Each text of a value, and whether it is the key of something."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            yield one, False
        elif isinstance(one, Mapping):
            yield from ((str(key), True) for key in one)
            rest += one.values()
        elif isinstance(one, list):
            rest += one


def _mark_value(value: Any, names: frozenset[str], mark: str) -> Any:
    if isinstance(value, str):
        parts = tuple(_parts(value, names, mark))
        if any(isinstance(part, SecretRef) for part in parts):
            return SecretText(parts)
        return value
    if isinstance(value, Mapping):
        return {key: _mark_value(entry, names, mark) for key, entry in value.items()}
    return (
        [_mark_value(entry, names, mark) for entry in value] if isinstance(value, list) else value
    )


def _parts(text: str, names: frozenset[str], mark: str) -> Iterator[str | SecretRef]:
    done = 0
    for found in _SPELT.finditer(text):
        if found[1] == mark and found[2] in names:
            if found.start() > done:
                yield text[done : found.start()]
            yield SecretRef(found[2])
            done = found.end()
    if done < len(text):
        yield text[done:]


def _misplaced_secret_error(secret: str, argument: str, capability: Capability) -> Invalid:
    detail = f"The secret {secret} may not stand in {argument!r} of {capability.id}."
    way_out = "A secret goes into the url, the headers or the query of http_fetch."
    return _secret_refused_error(detail, argument, way_out)


def _from_data(secret: str, argument: str, capability: Capability) -> Invalid:
    detail = (
        f"{argument!r} of {capability.id} has {{{{{secret}}}}} in a text that the approved source "
        "does not spell there: data never stands for a secret."
    )
    way_out = (
        "Write the placeholder into the very request of brains.http_fetch that it is for; if the "
        "text came from outside, take the braces out of it first."
    )
    return _secret_refused_error(detail, argument, way_out)


def _unspelt(secret: str, argument: str, capability: Capability) -> Invalid:
    detail = f"{argument!r} of {capability.id} has {{{{{secret}}}}}, which is not put in there."
    way_out = (
        "Write the placeholder into the very request that it is for: the approved source says "
        "which secret goes where."
    )
    return _secret_refused_error(detail, argument, way_out)


def _secret_refused_error(detail: str, argument: str, way_out: str) -> Invalid:
    code = "secret_not_allowed_here"
    return Invalid(
        detail, code=code, findings=[Finding(f"/{argument}", detail, code)], suggestion=way_out
    )
