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
from mainspring.definition.hosts import literal_site
from mainspring.definition.pointers import under
from mainspring.gate.ingestion.declared_templates import split_places

_NAMED: Final = re.compile(r"\s*publisher\.([A-Z][A-Z0-9_]{0,63})\s*")
_PARTS: Final = ("headers", "query")

Template = Mapping[str, Any]


def secret_findings(template: Template) -> list[Finding]:
    """What is wrong with how an integration names its secrets."""
    declared = (template.get("auth") or {}).get("secret_name")
    findings: list[Finding] = []
    goes: dict[str, set[str]] = {}
    for place, one in enumerate(template["endpoints"]):
        findings += _in_body(one.get("json"), f"/endpoints/{place}/json")
        for pointer, text in _texts(one, f"/endpoints/{place}"):
            split = split_places(text)
            for inside in (one for one, place in split if place):
                named = _NAMED.fullmatch(inside)
                if named is None:
                    findings.append(_no_secret(inside.strip(), pointer))
                    continue
                findings += _undeclared(named[1], declared, pointer)
                goes.setdefault(named[1], set()).add(str(literal_site(one["url"])))
                if len(goes[named[1]]) > 1:
                    findings.append(_elsewhere(named[1], pointer))
            bare = "".join(one for one, place in split if not place)
            if "{{" in bare or "{%" in text:
                detail = "Two braces begin a secret and two end it; here one side is missing."
                findings.append(Finding(pointer, detail, "template_braces"))
    if declared is not None and declared not in goes:
        findings.append(_unreferenced(declared))
    return findings


def _texts(endpoint: Template, at: str) -> Iterator[tuple[str, str]]:
    for part in _PARTS:
        for name, text in (endpoint.get(part) or {}).items():
            yield under(at, part, name), text


def _in_body(value: Any, at: str) -> Iterator[Finding]:
    """Nothing is put into a body: a placeholder there would be sent as it stands."""
    rest: list[tuple[str, Any]] = [(at, value)]
    while rest:
        pointer, one = rest.pop()
        if isinstance(one, str) and "{{" in one:
            detail = "Nothing is put into the body; secrets stand in headers and query."
            yield Finding(pointer, detail, "secret_not_allowed_here")
        elif isinstance(one, Mapping):
            rest += [(under(pointer, str(key)), inner) for key, inner in one.items()]
        elif isinstance(one, list):
            rest += [(f"{pointer}/{place}", inner) for place, inner in enumerate(one)]


def _no_secret(written: str, at: str) -> Finding:
    detail = f"{{{{{written[:80]}}}}} is not put in here: a request has secrets and plain text."
    way = "Name a publisher secret in capitals, as {{publisher.CMC_API_KEY}}."
    return Finding(at, detail, "not_a_publisher_secret", way)


def _undeclared(name: str, declared: str | None, at: str) -> Iterator[Finding]:
    if name != declared:
        detail = f"The request uses the publisher secret {name}, which auth does not declare."
        way = f'Say auth: {{"type": "api_key", "secret_name": "{name}"}}.'
        yield Finding(at, detail, "secret_not_declared", way)


def _elsewhere(name: str, at: str) -> Finding:
    detail = f"The publisher secret {name} would go to more than one host."
    return Finding(at, detail, "secret_two_hosts", "A key belongs to the host that gave it.")


def _unreferenced(name: str) -> Finding:
    detail = f"auth declares {name}, and no request has it: nothing is put in by itself."
    way = f"Write {{{{publisher.{name}}}}} into the headers or the query of an endpoint."
    return Finding("/auth/secret_name", detail, "secret_not_referenced", way)
