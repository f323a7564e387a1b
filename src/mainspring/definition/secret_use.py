"""Finds where a definition uses secrets and which hosts they are sent to.

The result answers two questions: which secrets must exist before the automation can run, and
whether a change sends a secret further than before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretLocation
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.script.parser import SecretPlaceholder, read_script
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.templates import parse_template
from mainspring.definition.templates.parser import has_syntax

_SPELT: Final = re.compile(
    r"\bsecrets\s*\.\s*([a-z0-9_]{1,64})|\b(publisher\.[A-Z][A-Z0-9_]{0,63})"
)
_NAME: Final = re.compile(r"[a-z0-9_]{1,64}")
_SCRIPT: Final = "script"
# The capability whose requests fill a script's placeholders; no other call fills any.
_SENDS: Final = "http_fetch"


@dataclass(frozen=True, slots=True)
class SecretUsage:
    """One use of a secret in a definition."""

    secret: str
    pointer: str
    action: str
    # The host that receives it; empty when the definition does not determine it.
    site: str = ""
    # The part of the step's config that contains it. A URL is logged in more places than a header.
    part: str = ""

    def is_within(self, others: Iterable[SecretUsage]) -> bool:
        """Whether the other use already sends this secret to this host in this part."""
        mine = (self.secret, self.action, self.part)
        return any(
            (one.secret, one.action, one.part) == mine and one.site in ("", self.site)
            for one in others
        )


def find_secret_uses(document: Mapping[str, Any], limits: Limits) -> tuple[SecretUsage, ...]:
    """Every use of a secret in an accepted definition."""
    found = list(_iterate_trigger_uses(document.get("triggers")))
    found += _iterate_steps_uses(document.get("plan"), "/plan", limits)
    execution = document.get("execution")
    if isinstance(execution, Mapping):
        found += _iterate_steps_uses(execution.get("on_failure"), "/execution/on_failure", limits)
    return tuple(found)


def find_script_secrets(document: Mapping[str, Any]) -> frozenset[str]:
    """The secrets named in the scripts of a definition."""
    return frozenset(
        one.name for source in _scripts(document) for one in _iterate_placeholders(source)
    )


def has_script(document: Mapping[str, Any]) -> bool:
    """Whether a step of a definition is a script."""
    return any(True for _ in _scripts(document))


def locate_script_secrets(source: str) -> frozenset[SecretLocation]:
    """The secrets that one script may use, with their pointers."""
    return frozenset(
        SecretLocation(one.name, one.part, one.site)
        for one in _iterate_placeholders(source)
        if one.part
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


def _iterate_placeholders(source: str | None) -> Iterator[SecretPlaceholder]:
    if source is not None:
        yield from (one for one in read_script(source).placeholders if _NAME.fullmatch(one.name))


def _iterate_trigger_uses(triggers: Any) -> Iterator[SecretUsage]:
    for place, entry in enumerate(triggers if isinstance(triggers, list | tuple) else ()):
        config = entry.get("config") if isinstance(entry, Mapping) else None
        for secret, pointer in list_webhook_secrets(config):
            yield SecretUsage(secret, f"/triggers/{place}/config{pointer}", str(entry.get("type")))


def list_webhook_secrets(config: Any) -> Iterator[tuple[str, str]]:
    """The names of the secrets that callers of a webhook are checked with, with pointers."""
    if not isinstance(config, Mapping):
        return
    for key in ("signature", "auth"):
        checked = config.get(key)
        if not isinstance(checked, Mapping):
            continue
        if isinstance(checked.get("secret"), str):
            yield checked["secret"], f"/{key}/secret"
        several = checked.get("secrets")
        for place, name in enumerate(several if isinstance(several, list | tuple) else ()):
            if isinstance(name, str):
                yield name, f"/{key}/secrets/{place}"


def _iterate_steps_uses(steps: Any, at: str, limits: Limits) -> Iterator[SecretUsage]:
    for place, step in enumerate(steps if isinstance(steps, list | tuple) else ()):
        if isinstance(step, Mapping) and isinstance(step.get("config"), Mapping):
            yield from _iterate_step_uses(step, f"{at}/{place}", limits)


def _iterate_step_uses(step: Mapping[str, Any], at: str, limits: Limits) -> Iterator[SecretUsage]:
    config = step["config"]
    action, site = str(step.get("action")), str(parse_template_host(config.get("url")) or "")
    rest: list[tuple[str, Any]] = [(f"{at}/config", config)]
    if action == _SCRIPT:
        uses = (
            SecretUsage(one.name, f"{at}/config/source", _SENDS, one.site, one.part)
            for one in _iterate_placeholders(_source(step))
            if one.part
        )
        # One entry for each secret and host, however often the script repeats it.
        yield from dict.fromkeys(uses)
        rest = [
            (join_pointer(f"{at}/config", str(k)), v) for k, v in config.items() if k != "source"
        ]
    while rest:
        pointer, value = rest.pop()
        if isinstance(value, str):
            for secret in sorted(_find_secret_names(value, limits)):
                part = pointer.removeprefix(f"{at}/config/").partition("/")[0]
                yield SecretUsage(secret, pointer, action, site, part)
        elif _is_step(value):
            yield from _iterate_step_uses(value, pointer, limits)
        elif isinstance(value, Mapping):
            rest += [(join_pointer(pointer, str(key)), entry) for key, entry in value.items()]
        elif isinstance(value, list | tuple):
            rest += [(f"{pointer}/{place}", entry) for place, entry in enumerate(value)]


def _is_step(value: Any) -> bool:
    """Whether a value is a nested step, which is visited separately."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("action"), str)
        and isinstance(value.get("config"), Mapping)
    )


def _find_secret_names(text: str, limits: Limits) -> frozenset[str]:
    if not ("secrets" in text or "publisher" in text) or not has_syntax(text):
        return frozenset()
    try:
        return parse_template(text, limits, secrets=True).secret_names
    except Invalid:
        # It was validated under other limits; treat every name it may contain as used.
        return frozenset(own or published for own, published in _SPELT.findall(text))


# Credentials written into a definition as plain text, found by the formats of their issuers.
#
# A definition is stored, versioned, exported and shown; a credential belongs into the vault. The
# texts found here are never repeated in a message: only the prefix that names the kind is shown.


CODE: Final = "credential_literal"
_MOST_FOUND: Final = 50
# Each pattern has one group: the prefix that may be shown. All of them match in linear time.
_KINDS: Final = (
    ("a Slack token", r"(xox[abeoprs]-)[A-Za-z0-9-]{6,}"),
    ("a Slack app token", r"(xapp-)[A-Za-z0-9-]{6,}"),
    ("an API key", r"(sk-(?:ant-|proj-)?)[A-Za-z0-9_-]{12,}"),
    ("a Stripe key", r"((?:sk|rk)_(?:live|test)_)[A-Za-z0-9]{12,}"),
    ("a GitHub token", r"(gh[oprsu]_)[A-Za-z0-9]{12,}"),
    ("a GitHub token", r"(github_pat_)[A-Za-z0-9_]{12,}"),
    ("a GitLab token", r"(glpat-)[A-Za-z0-9_-]{12,}"),
    ("an AWS access key", r"((?:AKIA|ASIA))[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("a Google API key", r"(AIza)[A-Za-z0-9_-]{30,}"),
    ("a private key", r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)[^{}]*"),
    ("a bearer token", r"((?i:bearer)\s{1,4})(?=[^\s{}]{0,200}[0-9])[A-Za-z0-9._~+/=-]{12,}"),
)
_PATTERNS: Final = tuple(
    (kind, re.compile(rf"(?<![A-Za-z0-9_-]){pattern}")) for kind, pattern in _KINDS
)


def find_credentials(document: Any) -> Iterator[Finding]:
    """Texts of a document that look like a credential, each once, without the text itself."""
    found = 0
    rest: list[tuple[str, Any]] = [("", document)]
    while rest and found < _MOST_FOUND:
        pointer, value = rest.pop()
        if isinstance(value, str):
            kind = _kind(value)
            if kind is not None:
                found += 1
                yield _finding(pointer, *kind)
        elif isinstance(value, Mapping):
            rest += reversed([(join_pointer(pointer, key), entry) for key, entry in value.items()])
        elif isinstance(value, list | tuple):
            rest += reversed(
                [(join_pointer(pointer, place), entry) for place, entry in enumerate(value)]
            )


def mask_credentials(text: str) -> str:
    """The same text with everything but the prefix of each credential left out."""
    for _, pattern in _PATTERNS:
        text = pattern.sub(r"\1…", text)
    return text


def mask_finding(finding: Finding) -> Finding:
    """A finding whose texts hold no credential."""
    way = finding.suggestion
    return replace(
        finding,
        detail=mask_credentials(finding.detail),
        suggestion=None if way is None else mask_credentials(way),
    )


def _kind(text: str) -> tuple[str, str] | None:
    for kind, pattern in _PATTERNS:
        found = pattern.search(text)
        if found is not None:
            return kind, found[1].strip()
    return None


def _finding(pointer: str, kind: str, prefix: str) -> Finding:
    return Finding(
        pointer,
        f"This text looks like {kind} ({prefix}…). A definition is stored and shown as it is, so "
        "a credential in it is not secret.",
        CODE,
        "Store it with `mainspring secrets set NAME` or on the page under Secrets, write "
        "{{ secrets.NAME }} instead, and revoke the one that was written here.",
    )
