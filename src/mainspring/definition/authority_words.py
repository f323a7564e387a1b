"""The words in which a person is told what an automation may do.

Names and values in them were written by somebody else: they are cut where nobody reads on, and
a character that is not seen is spelt out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.grant import Grant
from mainspring.definition.json_values import canonical
from mainspring.definition.secret_use import SecretUse

_LONGEST: Final = 120
_MOST_MEMBERS: Final = 5
_USUAL_PORTS: Final = (":443", ":80")


def shown(text: str) -> str:
    """A name as it may stand in a sentence."""
    kept = text if len(text) <= _LONGEST else text[:_LONGEST] + " …"
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in kept)


def grant_words(grant: Grant, *, lent: bool) -> str:
    """One permission: what is called, where to, within which bounds, over whose accounts."""
    parts = [shown(grant.capability)]
    hosts = grant.params.get("hosts")
    if isinstance(hosts, list):
        parts.append(_to(hosts))
    bounds = _bounds(grant.params)
    if bounds:
        parts.append("with " + ", ".join(bounds))
    if lent:
        parts.append("over the accounts of its owner")
    return " ".join(parts)


def secret_words(use: SecretUse, now: str) -> str:
    """One secret and where it goes."""
    name = f"the secret {shown(use.secret)}"
    if use.pointer.startswith("/triggers"):
        return f"It{now} checks who calls it with {name}."
    if not use.site:
        return f"It{now} uses {name} in {shown(use.action)}, where the run decides where it goes."
    return f"It{now} uses {name} at {shown(_site(use.site))}."


def _to(hosts: list[Any]) -> str:
    if not hosts:
        return "at no host yet"
    return "to " + _listed([str(host) for host in hosts])


def _bounds(params: Mapping[str, Any]) -> list[str]:
    return [_bound(key, value) for key, value in sorted(params.items()) if key != "hosts"]


def _bound(key: str, value: Any) -> str:
    if key.startswith("max_"):
        return f"{shown(key)} up to {_value(value)}"
    if isinstance(value, list):
        return f"{shown(key)} among {_listed([_value(one) for one in value])}"
    return f"{shown(key)} {_value(value)}"


def _value(value: Any) -> str:
    return shown(value if isinstance(value, str) else canonical(value).decode())


def _listed(words: list[str]) -> str:
    kept = [shown(word) for word in words[:_MOST_MEMBERS]]
    rest = len(words) - len(kept)
    return ", ".join(kept) + (f" and {rest} more" if rest else "")


def _site(site: str) -> str:
    ending = next((port for port in _USUAL_PORTS if site.endswith(port)), "")
    return site.removesuffix(ending) if ending else site
