"""What a schema cannot say of an endpoint: hosts, paths, and who asks with which parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from mainspring.connections.ingestion.declared_mapping import check_mapping
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.hosts import parse_url_host
from mainspring.definition.jsonpath import parse_path
from mainspring.outbound.egress.headers import check_names

_LIMITS: Final = Limits()


def validate_endpoint(arguments: Mapping[str, Any], at: str = "") -> list[Finding]:
    """Everything that is wrong with the request of an endpoint that has the right shape."""
    found = list(_address(arguments, at))
    found += _headers(arguments, at)
    found += _body(arguments, at)
    found += _paging(arguments, at)
    if "cursor" in arguments:
        found += _path(arguments["cursor"]["field"], f"{at}/cursor/field", singular=True)
    if not found:
        found += _twice(arguments, at)
    return found


def validate_mapping(mapping: Mapping[str, Any], at: str = "/mapping") -> list[Finding]:
    """Everything that is wrong with a mapping that has the right shape."""
    return [*_path(mapping["iterate"], f"{at}/iterate"), *check_mapping(mapping, at)]


def _address(arguments: Mapping[str, Any], at: str) -> Iterator[Finding]:
    url = arguments["url"]
    if "{{" in url:
        detail = "Nothing is put into the address: it is plain text, and secrets least of all."
        way = "Put it into query or headers of the endpoint."
        yield Finding(f"{at}/url", detail, "template_in_url", way)
    elif parse_url_host(url) is None or "#" in url:
        detail = "This URL has no host that can be checked."
        way = "Write it like https://api.example.com/path, without user names and #."
        yield Finding(f"{at}/url", detail, "bad_url", way)


def _headers(arguments: Mapping[str, Any], at: str) -> Iterator[Finding]:
    try:
        check_names(arguments.get("headers") or {})
    except Invalid as problem:
        yield Finding(f"{at}/headers", problem.detail, problem.code, problem.suggestion)


def _body(arguments: Mapping[str, Any], at: str) -> Iterator[Finding]:
    if "json" in arguments and arguments.get("method", "GET") != "POST":
        detail = "A GET carries no body."
        yield Finding(f"{at}/json", detail, "body_not_allowed", "Put it into query, or use POST.")
    conditional = arguments.get("conditional") and arguments.get("method") == "POST"
    if conditional:
        detail = "Only a GET can ask whether something has changed."
        yield Finding(f"{at}/conditional", detail, "conditional_post")


def _paging(arguments: Mapping[str, Any], at: str) -> Iterator[Finding]:
    paging = arguments.get("paging") or {}
    if "next" in paging:
        yield from _path(paging["next"], f"{at}/paging/next", singular=True)
    if ("size" in paging) != ("size_param" in paging) and paging.get("kind") == "page":
        detail = "Set size and size_param together."
        yield Finding(f"{at}/paging", detail, "paging_size")
    if paging.get("kind") == "link" and arguments.get("method") == "POST":
        detail = "A link is followed with GET; a POST goes on with a cursor or a page number."
        yield Finding(f"{at}/paging/kind", detail, "paging_link_post")


def _twice(arguments: Mapping[str, Any], at: str) -> Iterator[Finding]:
    """Parameters that two would ask with."""
    paging, cursor = arguments.get("paging") or {}, arguments.get("cursor") or {}
    known = {
        name for name, _ in parse_qsl(urlsplit(arguments["url"]).query, keep_blank_values=True)
    }
    known |= set(arguments.get("query") or {}) | set(arguments.get("json") or {})
    wanted = [
        ("/paging/param", paging.get("param")),
        ("/paging/size_param", paging.get("size_param")),
    ]
    for place, name in [*wanted, ("/cursor/param", cursor.get("param"))]:
        if name is None:
            continue
        if name in known:
            detail = f"The request says {name!r} already."
            yield Finding(at + place, detail, "param_twice", "Take it out of the request.")
        known.add(name)


def _path(text: str, at: str, *, singular: bool = False) -> Iterator[Finding]:
    try:
        path = parse_path(text, _LIMITS)
    except Invalid as problem:
        yield Finding(at, problem.detail, problem.code, problem.suggestion)
        return
    if singular and not path.singular:
        detail = "This path may lead to several places; one is needed."
        yield Finding(at, detail, "path_not_singular", "Write it like $.meta.next.")
