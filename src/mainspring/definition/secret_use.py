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
from mainspring.contracts.secret import SecretPlace
from mainspring.definition.hosts import literal_site
from mainspring.definition.pointers import under
from mainspring.definition.script.reading import Placeholder, read_script
from mainspring.definition.templates import parse_template
from mainspring.definition.templates.tokens import has_syntax

_SPELT: Final = re.compile(
    r"\bsecrets\s*\.\s*([a-z0-9_]{1,64})|\b(publisher\.[A-Z][A-Z0-9_]{0,63})"
)
_NAME: Final = re.compile(r"[a-z0-9_]{1,64}")
_SCRIPT: Final = "script"
# Whose request a script's placeholder goes with: no other call of a script has any filled.
_SENDS: Final = "http_fetch"


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


def script_secrets_in(document: Mapping[str, Any]) -> frozenset[str]:
    """The secrets that the scripts of a definition spell out."""
    return frozenset(one.name for source in _scripts(document) for one in _spelt(source))


def has_script(document: Mapping[str, Any]) -> bool:
    """Whether a step of a definition is a script."""
    return any(True for _ in _scripts(document))


def secret_places(source: str) -> frozenset[SecretPlace]:
    """What may be put in for one script, and where."""
    return frozenset(
        SecretPlace(one.name, one.part, one.site) for one in _spelt(source) if one.part
    )


def _scripts(document: Mapping[str, Any]) -> Iterator[str]:
    rest: list[Any] = [document]
    while rest:
        value = rest.pop()
        if isinstance(value, Mapping):
            source = _source(value)
            if source is not None:
                yield source
            rest += value.values()
        elif isinstance(value, list | tuple):
            rest += value


def _source(step: Mapping[str, Any]) -> str | None:
    """The source of a step that is a script."""
    config = step.get("config")
    source = config.get("source") if isinstance(config, Mapping) else None
    return source if step.get("action") == _SCRIPT and isinstance(source, str) else None


def _spelt(source: str | None) -> Iterator[Placeholder]:
    if source is not None:
        yield from (one for one in read_script(source).placeholders if _NAME.fullmatch(one.name))


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
    if action == _SCRIPT:
        uses = (
            SecretUse(one.name, f"{at}/config/source", _SENDS, one.site, one.part)
            for one in _spelt(_source(step))
            if one.part
        )
        # One sentence for each secret and where it goes, however often the script says it.
        yield from dict.fromkeys(uses)
        rest = [(under(f"{at}/config", str(k)), v) for k, v in config.items() if k != "source"]
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
    if not ("secrets" in text or "publisher" in text) or not has_syntax(text):
        return frozenset()
    try:
        return parse_template(text, limits, secrets=True).secret_names
    except Invalid:
        # It was judged by other limits; what it may name counts as named.
        return frozenset(own or published for own, published in _SPELT.findall(text))
