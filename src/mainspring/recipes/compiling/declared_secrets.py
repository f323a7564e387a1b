"""Secrets of a declarative integration: declared once, and put by hand where they are sent.

``auth`` says what the installer has to have; nothing is put in because of it. So a secret that
is declared and stands nowhere would leave every request without its key, and one that stands
somewhere and is not declared would surprise whoever installs the recipe. Both are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.pointers import join_pointer
from mainspring.gate.ingestion.declared_templates import split_placeholders

_NAMED: Final = re.compile(r"\s*publisher\.([A-Z][A-Z0-9_]{0,63})\s*")
_PARTS: Final = ("headers", "query")

DeclarativeTemplate = Mapping[str, Any]


def find_secret_problems(template: DeclarativeTemplate) -> list[Finding]:
    """What is wrong with how an integration names its secrets."""
    declared = (template.get("auth") or {}).get("secret_name")
    findings: list[Finding] = []
    goes: dict[str, set[str]] = {}
    for place, one in enumerate(template["endpoints"]):
        findings += _find_body_placeholders(one.get("json"), f"/endpoints/{place}/json")
        for pointer, text in _iterate_texts(one, f"/endpoints/{place}"):
            split = split_placeholders(text)
            for inside in (one for one, place in split if place):
                named = _NAMED.fullmatch(inside)
                if named is None:
                    findings.append(_build_no_secret_finding(inside.strip(), pointer))
                    continue
                findings += _find_undeclared_secret(named[1], declared, pointer)
                goes.setdefault(named[1], set()).add(str(parse_template_host(one["url"])))
                if len(goes[named[1]]) > 1:
                    findings.append(_build_two_hosts_finding(named[1], pointer))
            bare = "".join(one for one, place in split if not place)
            if "{{" in bare or "{%" in text:
                detail = "Two braces begin a secret and two end it; here one side is missing."
                findings.append(Finding(pointer, detail, "template_braces"))
    if declared is not None and declared not in goes:
        findings.append(_build_unused_secret_finding(declared))
    return findings


def _iterate_texts(endpoint: DeclarativeTemplate, at: str) -> Iterator[tuple[str, str]]:
    for part in _PARTS:
        for name, text in (endpoint.get(part) or {}).items():
            yield join_pointer(at, part, name), text


def _find_body_placeholders(value: Any, at: str) -> Iterator[Finding]:
    """Nothing is put into a body: a placeholder there would be sent as it stands."""
    rest: list[tuple[str, Any]] = [(at, value)]
    while rest:
        pointer, one = rest.pop()
        if isinstance(one, str) and "{{" in one:
            detail = "Nothing is put into the body; secrets stand in headers and query."
            yield Finding(pointer, detail, "secret_not_allowed_here")
        elif isinstance(one, Mapping):
            rest += [(join_pointer(pointer, str(key)), inner) for key, inner in one.items()]
        elif isinstance(one, list):
            rest += [(f"{pointer}/{place}", inner) for place, inner in enumerate(one)]


def _build_no_secret_finding(written: str, at: str) -> Finding:
    detail = f"{{{{{written[:80]}}}}} is not put in here: a request has secrets and plain text."
    way = "Name a publisher secret in capitals, as {{publisher.CMC_API_KEY}}."
    return Finding(at, detail, "not_a_publisher_secret", way)


def _find_undeclared_secret(name: str, declared: str | None, at: str) -> Iterator[Finding]:
    if name != declared:
        detail = f"The request uses the publisher secret {name}, which auth does not declare."
        way = f'Say auth: {{"type": "api_key", "secret_name": "{name}"}}.'
        yield Finding(at, detail, "secret_not_declared", way)


def _build_two_hosts_finding(name: str, at: str) -> Finding:
    detail = f"The publisher secret {name} would go to more than one host."
    return Finding(at, detail, "secret_two_hosts", "A key belongs to the host that gave it.")


def _build_unused_secret_finding(name: str) -> Finding:
    detail = f"auth declares {name}, and no request has it: nothing is put in by itself."
    way = f"Write {{{{publisher.{name}}}}} into the headers or the query of an endpoint."
    return Finding("/auth/secret_name", detail, "secret_not_referenced", way)
