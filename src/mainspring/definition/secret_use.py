"""Where a definition uses secrets, and where it lets them go.

Two questions are answered with it: which secrets must be there before the automation can
work, and whether a change lets a secret go further than before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.hosts import literal_site
from mainspring.definition.pointers import under
from mainspring.definition.templates import parse_template
from mainspring.definition.templates.tokens import has_syntax

_SPELT: Final = re.compile(r"\bsecrets\s*\.\s*([a-z0-9_]{1,64})")


@dataclass(frozen=True, slots=True)
class SecretUse:
    """One secret at one place of a definition."""

    secret: str
    pointer: str
    action: str
    # The host it is sent to; empty where the definition does not say.
    site: str = ""
    # The part of the step's config that it stands in: an address is written down in more
    # places than a header is.
    part: str = ""

    def is_within(self, others: Iterable[SecretUse]) -> bool:
        """Whether this secret could go there already, in this part of what is sent."""
        mine = (self.secret, self.action, self.part)
        return any(
            (one.secret, one.action, one.part) == mine and one.site in ("", self.site)
            for one in others
        )


def secret_uses(document: Mapping[str, Any], limits: Limits) -> tuple[SecretUse, ...]:
    """Every secret of a definition that has been judged before, with each of its places."""
    found = list(_of_triggers(document.get("triggers")))
    found += _of_steps(document.get("plan"), "/plan", limits)
    execution = document.get("execution")
    if isinstance(execution, Mapping):
        found += _of_steps(execution.get("on_failure"), "/execution/on_failure", limits)
    return tuple(found)


def _of_triggers(triggers: Any) -> Iterator[SecretUse]:
    for place, entry in enumerate(triggers if isinstance(triggers, list | tuple) else ()):
        config = entry.get("config") if isinstance(entry, Mapping) else None
        signature = config.get("signature") if isinstance(config, Mapping) else None
        secret = signature.get("secret") if isinstance(signature, Mapping) else None
        if isinstance(secret, str):
            at = f"/triggers/{place}/config/signature/secret"
            yield SecretUse(secret, at, str(entry.get("type")))


def _of_steps(steps: Any, at: str, limits: Limits) -> Iterator[SecretUse]:
    for place, step in enumerate(steps if isinstance(steps, list | tuple) else ()):
        if isinstance(step, Mapping) and isinstance(step.get("config"), Mapping):
            yield from _of_step(step, f"{at}/{place}", limits)


def _of_step(step: Mapping[str, Any], at: str, limits: Limits) -> Iterator[SecretUse]:
    config = step["config"]
    action, site = str(step.get("action")), str(literal_site(config.get("url")) or "")
    rest: list[tuple[str, Any]] = [(f"{at}/config", config)]
    while rest:
        pointer, value = rest.pop()
        if isinstance(value, str):
            for secret in sorted(_named_in(value, limits)):
                part = pointer.removeprefix(f"{at}/config/").partition("/")[0]
                yield SecretUse(secret, pointer, action, site, part)
        elif _is_step(value):
            yield from _of_step(value, pointer, limits)
        elif isinstance(value, Mapping):
            rest += [(under(pointer, str(key)), entry) for key, entry in value.items()]
        elif isinstance(value, list | tuple):
            rest += [(f"{pointer}/{place}", entry) for place, entry in enumerate(value)]


def _is_step(value: Any) -> bool:
    """A nested step goes to a place of its own."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("action"), str)
        and isinstance(value.get("config"), Mapping)
    )


def _named_in(text: str, limits: Limits) -> frozenset[str]:
    if "secrets" not in text or not has_syntax(text):
        return frozenset()
    try:
        return parse_template(text, limits, secrets=True).secret_names
    except Invalid:
        # It was judged by other limits; what it may name counts as named.
        return frozenset(_SPELT.findall(text))
