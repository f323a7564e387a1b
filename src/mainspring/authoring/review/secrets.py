"""The secrets that steps use, and where they are sent.

Templates are parsed by the engine that runs them, so uses are recognised exactly as at run time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.json_pointers import mapping
from mainspring.authoring.review.definition_reader import StepView
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.script import LONGEST
from mainspring.definition.script.parser import read_script
from mainspring.definition.secret_use import list_webhook_secrets
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.templates import parse_template
from mainspring.definition.templates.parser import has_syntax

# Fallback for unparsable text and beyond the limit: anything that may be a use counts.
_SPELT: Final = re.compile(r"\bsecrets\s*+(?:\.\s*+|\[\s*+['\"])([a-z0-9_]{1,64})")
_NAME: Final = re.compile(r"[a-z0-9_]{1,64}")
MOST_USES: Final = 5_000
# More than all templates of a definition may have together.
_MOST_PARSED: Final = 200_000
_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class SecretUse:
    """A use of a secret."""

    name: str
    pointer: str
    step: StepView
    # The host it is sent to; empty when the definition does not say.
    site: str
    # The config key that contains it.
    part: str


def secrets_in(steps: Iterable[StepView]) -> tuple[SecretUse, ...]:
    """List every use, in order; nested steps are separate."""
    reader = _SecretReader()
    found = (use for step in steps for use in _of_step(step, reader))
    return tuple(use for use, _ in zip(found, range(MOST_USES), strict=False))


@dataclass(slots=True)
class _SecretReader:
    """Finds secrets in templates, within a parsing budget."""

    left: int = _MOST_PARSED

    def names_in(self, text: str) -> Iterable[str]:
        if "secrets" not in text or not has_syntax(text):
            return ()
        self.left -= len(text)
        if self.left >= 0:
            try:
                return sorted(parse_template(text, _LIMITS, secrets=True).secret_names)
            except Invalid:
                pass
        return dict.fromkeys(_SPELT.findall(text))


def _of_script(step: StepView, source: str) -> Iterator[SecretUse]:
    """A script's secrets are sent with its requests, each to its own host."""
    at = join_pointer(step.pointer, "config", "source")
    try:
        found = read_script(source).placeholders
    except Exception:  # it reads unvalidated input
        found = ()
    for one in found:
        if _NAME.fullmatch(one.name):
            yield SecretUse(one.name, at, step, one.site, one.part)


def _of_step(step: StepView, reader: _SecretReader) -> Iterator[SecretUse]:
    source = step.config.get("source")
    is_script = step.action == "script" and isinstance(source, str)
    if is_script and len(str(source)) <= LONGEST:
        # A use holds its step, which is not hashable: equal ones are deduplicated by text.
        uses = {(one.name, one.site, one.part): one for one in _of_script(step, str(source))}
        yield from uses.values()
    nested = None if step.known is None else step.known.nested
    site = str(parse_template_host(step.config.get("url")) or "")
    for key, value in step.config.items():
        if key == nested or (key == "source" and is_script):
            continue
        for pointer, text in _texts(value, join_pointer(step.pointer, "config", str(key))):
            for name in reader.names_in(text):
                yield SecretUse(name, pointer, step, site, str(key))


def _texts(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """Yield every text below a value; the definition's size is limited as a whole."""
    waiting = [(at, value)]
    while waiting:
        at, value = waiting.pop()
        if isinstance(value, str):
            yield at, value
        elif isinstance(value, Mapping):
            below = [(join_pointer(at, str(key)), entry) for key, entry in value.items()]
            waiting += reversed(below)
        elif isinstance(value, list | tuple):
            waiting += reversed([(join_pointer(at, place), one) for place, one in enumerate(value)])


def hosts_of(use: SecretUse, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return where a secret goes: the URL's host, or the hosts that the operator fixed."""
    if use.site:
        return (use.site,)
    known = vocabulary.capabilities.get(use.step.action)
    fixed = None if known is None else known.annotations.hosts
    return tuple(sorted(fixed)) if fixed else ()


def signing_secrets(triggers: Iterable[object]) -> Iterator[tuple[str, str]]:
    """Return the secrets that authenticate the callers of webhooks, with pointers."""
    for place, one in enumerate(triggers):
        for name, pointer in list_webhook_secrets(mapping(one).get("config")):
            yield name, join_pointer("/triggers", place, "config") + pointer
