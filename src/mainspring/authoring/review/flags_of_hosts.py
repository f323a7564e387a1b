"""Flags about URLs and destinations: who controls where data goes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from mainspring.authoring.json_pointers import mapping
from mainspring.authoring.models import ReviewFlag
from mainspring.authoring.review.definition_reader import (
    StepView,
    listing,
    read_all_triggers,
    text_of,
    texts_in,
)
from mainspring.authoring.review.grants import MOST_TOOLS
from mainspring.authoring.review.quoting import plain, quote_text
from mainspring.authoring.review.suspicious import DESTINATIONS
from mainspring.authoring.review.template_pieces import oddness
from mainspring.authoring.review.values import PLACES, code
from mainspring.authoring.review.view import ReviewFacts, ReviewView, host_name, view_of
from mainspring.contracts.capability import Effect
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.templates import parse_template
from mainspring.definition.templates.parser import has_syntax
from mainspring.definition.tool_patterns import HOSTED, read_fixed_params, read_tool_name

# Taint tracking: whether a template's values come from the definition or from external input.

_READ: Final = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w{0,63})(?:\.(\w{1,64}))?")
# Longer than any valid template.
_LONGEST: Final = 9_000
_LIMITS: Final = Limits()
_MODELS: Final = frozenset({"agent_task", "agent.run", "automation_llm_complete"})
_ASKS_OUTSIDE: Final = frozenset({"http_fetch", "callback_webhook"})


@dataclass(frozen=True, slots=True)
class ValueOrigins:
    """Names that hold external input, each with its origin."""

    outputs: Mapping[str, str]
    inputs: Mapping[str, str]

    def of_text(self, text: str) -> str | None:
        """Return who outside the definition controls a template's value; None for nobody."""
        begun = text[:_LONGEST]
        if not has_syntax(begun):
            return None
        for root, key in _read_in(begun):
            who = self._of_path(root, key)
            if who is not None:
                return who
        return None

    def _of_path(self, root: str, key: str) -> str | None:
        if root == "trigger":
            return "the data that started the run"
        if root == "inputs":
            return self.inputs.get(key)
        return self.outputs.get(key if root == "steps" else root)


def _read_in(text: str) -> Iterator[tuple[str, str]]:
    """Return the first two parts of every path that a template reads."""
    try:
        found = parse_template(text, _LIMITS, secrets=True).references
    except Invalid:
        # Unparsable text is searched for anything that looks like a name.
        yield from _READ.findall(text)
        return
    for one in found:
        root, key = (*(str(part) for part in one.path[:2]), "", "")[:2]
        yield root, key


def origins_of(document: Mapping[str, Any], steps: Iterable[StepView]) -> ValueOrigins:
    """Track values from triggers through steps, in plan order."""
    inputs = _mapped_inputs(document)
    outputs: dict[str, str] = {}
    for step in steps:
        origins = ValueOrigins(outputs, inputs)
        if step.action == "for_each":
            who = origins.of_text(text_of(step.config.get("items")))
            if who is not None:
                outputs[text_of(step.config.get("as")) or "item"] = who
        who = _who(step, origins)
        if who is not None:
            names = (text_of(step.whole.get("output_as")), step.id)
            outputs |= dict.fromkeys(filter(None, names), who)
    return ValueOrigins(outputs, inputs)


def _who(step: StepView, origins: ValueOrigins) -> str | None:
    shown = plain(step.name, 64)
    if step.action in _MODELS:
        return f"what a model writes in step ‘{shown}’"
    tool = step.capability is not None and bool(step.capability.annotations.pin)
    if step.action in _ASKS_OUTSIDE or tool:
        return f"what another system returns in step ‘{shown}’"
    if step.action != "transform_data":
        return None
    for text in texts_in(step.config.get("output")):
        who = origins.of_text(text.text)
        if who is not None:
            return who
    return None


def _mapped_inputs(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the inputs that a webhook request fills."""
    return {
        str(name): "the caller of the webhook"
        for trigger in read_all_triggers(document)
        if trigger.type == "webhook" and trigger.enabled
        for name in list(mapping(trigger.config.get("input_mapping")))[:100]
    }


# Flags about destinations that are written to mislead a reader.

_SHOWN: Final = 200
# Nested arguments that are passed to another system.
_HANDED_ON: Final = frozenset({"input", "params", "arguments"})


def flags_of_destinations(view: ReviewView) -> Iterator[ReviewFlag]:
    for step in view.steps:
        for pointer, text in _destination_texts(step):
            odd = oddness(text) if has_syntax(text) else None
            if odd is None or (parse_template_host(text) is not None and odd[0] != "a comment"):
                # After the host of a URL, values are content.
                continue
            yield ReviewFlag(
                pointer,
                "odd_destination",
                f"The destination contains {odd[0]}: {code(text, _SHOWN)}.",
                "warning" if odd[1] else "note",
                suggestion="Write the destination as plain text, or as one value of the run.",
            )


def _destination_texts(step: StepView) -> Iterator[tuple[str, str]]:
    """Yield every destination text, including fixed arguments of tools."""
    at = join_pointer(step.pointer, "config")
    yield from _iterate_destinations(step.config, at)
    if step.is_agent:
        for place, entry in enumerate(listing(step.config.get("tools"))[:MOST_TOOLS]):
            yield from _iterate_destinations(
                read_fixed_params(entry), join_pointer(at, "tools", place, "params")
            )


def _iterate_destinations(
    config: Mapping[str, Any], at: str, below: bool = True
) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        here = join_pointer(at, str(key))
        if str(key) in PLACES:
            yield from _texts(value, here)
        elif below and str(key) in _HANDED_ON:
            yield from _iterate_destinations(mapping(value), here, below=False)


def _texts(value: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield at, value
    for place, one in enumerate(listing(value)):
        if isinstance(one, str):
            yield join_pointer(at, place), one


_HERE: Final = re.compile(r"localhost|.*\.localhost|127(?:\.\d{1,3}){3}|\[::1\]")


def flags_of_hosts(view: ReviewView) -> Iterator[ReviewFlag]:
    for pointer, url, _step in _urls(view):
        yield from _of_url(pointer, url)
    yield from _new_hosts(view)
    yield from _secrets(view)
    yield from _destinations(view)


def _urls(view: ReviewView) -> Iterator[tuple[str, str, StepView]]:
    """Yield every URL that a step calls, including those of an agent's tools."""
    for step in view.steps:
        url = step.config.get("url")
        if isinstance(url, str) and (step.action in HOSTED or step.action == "callback_webhook"):
            yield join_pointer(step.pointer, "config", "url"), url[:4_000], step
        for place, entry in enumerate(listing(step.config.get("tools"))[:MOST_TOOLS]):
            url = read_fixed_params(entry).get("url")
            if isinstance(url, str) and read_tool_name(entry) in HOSTED:
                at = join_pointer(step.pointer, "config", "tools", place, "params", "url")
                yield at, url[:4_000], step


def _of_url(at: str, url: str) -> Iterator[ReviewFlag]:
    site = parse_template_host(url)
    if site is None:
        if has_syntax(url):
            yield ReviewFlag(
                at,
                "host_from_data",
                "The host is chosen by the run's data, not by the definition.",
                suggestion="Write the host as plain text.",
            )
        return
    host = plain(site.host, 80)
    if url[:5].lower() == "http:" and not _HERE.fullmatch(site.host):
        yield ReviewFlag(
            at,
            "plain_http",
            f"{host} is called without encryption, so others on the network can read the data.",
            suggestion="Use https if the host supports it.",
        )
    if _is_number(site.host) and not _HERE.fullmatch(site.host):
        yield ReviewFlag(
            at,
            "host_by_number",
            f"{host} is an IP address, which does not show who owns it.",
            suggestion="Use the host's name if it has one.",
        )


def _is_number(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _new_hosts(view: ReviewView) -> Iterator[ReviewFlag]:
    known = _find_known_hosts(view)
    if known is None:
        return
    told = {host_name(use.site) for use in view.secrets}
    for pointer, host in _hosts(view):
        if host in known or host in told:
            continue
        told.add(host)
        yield ReviewFlag(
            pointer,
            "new_host",
            f"No other automation here may call {plain(host, 80)} yet.",
            "note",
            suggestion="Check the spelling of the host.",
        )


def _find_known_hosts(view: ReviewView) -> frozenset[str] | None:
    """Return hosts that other automations, or the previous version, may reach."""
    known, before = view.facts.known_hosts, view.facts.before
    if known is None or before is None:
        return known
    old = view_of(before, (), view.vocabulary, ReviewFacts())
    return known | {host for _, host in _hosts(old)}


def _hosts(view: ReviewView) -> Iterator[tuple[str, str]]:
    """Yield every reachable host with its pointer: in a URL, a script or a grant."""
    for pointer, url, _ in _urls(view):
        site = parse_template_host(url)
        if site is not None:
            yield pointer, site.host
    for ask in view.asks:
        for host in listing(ask.params.get("hosts"))[:1_000]:
            yield ask.pointer, host_name(host)
    for place, entry in enumerate(listing(view.document.get("grants"))[:100]):
        params = mapping(mapping(entry).get("params"))
        for host in listing(params.get("hosts"))[:1_000]:
            yield join_pointer("/grants", place), host_name(host)


def _secrets(view: ReviewView) -> Iterator[ReviewFlag]:
    known = _find_known_hosts(view)
    for use in view.secrets:
        host = host_name(use.site)
        if known is not None and use.site and host not in known:
            yield ReviewFlag(
                use.pointer,
                "secret_to_new_host",
                f"The secret {quote_text(use.name, 64)} goes to {plain(host, 80)}, which no other "
                "automation here may call yet.",
                suggestion="Make sure that the secret is meant for this host.",
            )
        if use.part in ("url", "query"):
            yield ReviewFlag(
                use.pointer,
                "secret_in_address",
                (
                    f"The secret {quote_text(use.name, 64)} is part of an address, and addresses "
                    "are often logged."
                ),
                "note",
                suggestion="Send it in a header if the host accepts that.",
            )


def _destinations(view: ReviewView) -> Iterator[ReviewFlag]:
    """Flag destinations that external input controls."""
    origins = origins_of(view.document, view.steps)
    sending = {
        ask.step.pointer for ask in view.asks if ask.effect is Effect.SEND and not ask.as_tool
    }
    for step in view.steps:
        if step.pointer not in sending:
            continue
        for pointer, value in _iterate_destination_values(
            step.config, join_pointer(step.pointer, "config")
        ):
            who = _chosen_by(value, origins)
            if who is not None:
                yield ReviewFlag(
                    pointer,
                    "destination_from_data",
                    f"The destination is chosen by {who}.",
                    suggestion="Write the destination as plain text, or check it against a list in "
                    "a condition first.",
                )


def _iterate_destination_values(config: Mapping[str, Any], at: str) -> Iterator[tuple[str, Any]]:
    for key, value in list(config.items())[:1_000]:
        if str(key) in DESTINATIONS:
            yield join_pointer(at, str(key)), value
        elif str(key) == "input":
            yield from (
                (join_pointer(at, "input", str(name)), below)
                for name, below in list(mapping(value).items())[:1_000]
                if str(name) in DESTINATIONS
            )


def _chosen_by(value: Any, origins: ValueOrigins) -> str | None:
    texts = (
        [value]
        if isinstance(value, str)
        else [one for one in listing(value) if isinstance(one, str)]
    )
    for text in texts[:20]:
        # After the host of a URL, values are content.
        if parse_template_host(text[:4_000]) is not None:
            continue
        who = origins.of_text(text)
        if who is not None:
            return who
    return None
