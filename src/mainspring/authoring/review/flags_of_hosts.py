"""Flags about web addresses and destinations: who decides where something goes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final

from mainspring.authoring.places import mapping
from mainspring.authoring.review.facts import ReviewFacts, host_name
from mainspring.authoring.review.grants import MOST_TOOLS
from mainspring.authoring.review.origins import ValueOrigins, origins_of
from mainspring.authoring.review.reading import StepView, listing
from mainspring.authoring.review.suspicious import DESTINATIONS
from mainspring.authoring.review.view import ReviewView, view_of
from mainspring.authoring.review.wording import plain, quote_text
from mainspring.authoring.shapes import ReviewFlag
from mainspring.contracts.capability import Effect
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.pointers import join_pointer
from mainspring.definition.templates.tokens import has_syntax
from mainspring.definition.tool_patterns import HOSTED, read_fixed_params, read_tool_name

_HERE: Final = re.compile(r"localhost|.*\.localhost|127(?:\.\d{1,3}){3}|\[::1\]")


def flags_of_hosts(view: ReviewView) -> Iterator[ReviewFlag]:
    for pointer, url, _step in _urls(view):
        yield from _of_url(pointer, url)
    yield from _new_hosts(view)
    yield from _secrets(view)
    yield from _destinations(view)


def _urls(view: ReviewView) -> Iterator[tuple[str, str, StepView]]:
    """Every address that a step calls, an agent's among its tools."""
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
                "Which host is called is decided by data of the run, not by the definition.",
                suggestion="Write the host as plain text.",
            )
        return
    host = plain(site.host, 80)
    if url[:5].lower() == "http:" and not _HERE.fullmatch(site.host):
        yield ReviewFlag(
            at,
            "plain_http",
            f"{host} is called without encryption, so what is sent can be read on the way.",
            suggestion="Write https if the other side has it.",
        )
    if _is_number(site.host) and not _HERE.fullmatch(site.host):
        yield ReviewFlag(
            at,
            "host_by_number",
            f"{host} is an address by number, which says nothing about whose it is.",
            suggestion="Write the host's name if it has one.",
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
            suggestion="Look whether the host is spelt as you know it.",
        )


def _find_known_hosts(view: ReviewView) -> frozenset[str] | None:
    """The hosts that others may reach, and those that it could reach before it was changed."""
    known, before = view.facts.known_hosts, view.facts.before
    if known is None or before is None:
        return known
    old = view_of(before, (), view.words, ReviewFacts())
    return known | {host for _, host in _hosts(old)}


def _hosts(view: ReviewView) -> Iterator[tuple[str, str]]:
    """Every host that it may reach, where it is named: in an address, a program or a grant."""
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
                suggestion="Make sure that the host is the one the secret belongs to.",
            )
        if use.part in ("url", "query"):
            yield ReviewFlag(
                use.pointer,
                "secret_in_address",
                f"The secret {quote_text(use.name, 64)} stands in an address, and addresses are "
                "written down on the way.",
                "note",
                suggestion="Send it in a header if the other side takes it there.",
            )


def _destinations(view: ReviewView) -> Iterator[ReviewFlag]:
    """Where something goes is chosen by what came from outside."""
    origins = origins_of(view.document, view.steps)
    sending = {
        ask.step.pointer for ask in view.asks if ask.effect is Effect.SEND and not ask.as_tool
    }
    for step in view.steps:
        if step.pointer not in sending:
            continue
        for pointer, value in _named(step.config, join_pointer(step.pointer, "config")):
            who = _chosen_by(value, origins)
            if who is not None:
                yield ReviewFlag(
                    pointer,
                    "destination_from_data",
                    f"Where this goes is chosen by {who}.",
                    suggestion="Write the destination as plain text, or check it against a list in "
                    "a condition first.",
                )


def _named(config: Mapping[str, Any], at: str) -> Iterator[tuple[str, Any]]:
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
        # Behind the host of an address, data is what the call is about.
        if parse_template_host(text[:4_000]) is not None:
            continue
        who = origins.of_text(text)
        if who is not None:
            return who
    return None
