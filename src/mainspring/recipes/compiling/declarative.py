"""Compiling a declarative integration to a definition that polls its endpoints.

On a cron schedule, fetch a URL and make a page of each item. The result is an ordinary definition:
a schedule, a step per endpoint, and grants for exactly these URLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.connections.ingestion import declared_schema as parts
from mainspring.connections.ingestion.declared import INGEST
from mainspring.connections.ingestion.declared_mapping import split_placeholders
from mainspring.connections.ingestion.declared_rules import validate_endpoint, validate_mapping
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.object_schema import DIALECT, build_object_part
from mainspring.definition.cron import parse_cron
from mainspring.definition.hosts import grant_entry, parse_template_host
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.strict_json import join_pointer

# The JSON schema of a declarative integration.

_TEXT: Final = {"type": "string", "maxLength": 4_000}
_SECRET: Final = {
    "type": "string",
    "maxLength": 64,
    "pattern": "^[A-Z][A-Z0-9_]*$",
    "x-mainspring-says": "A publisher secret's name is capitals, digits and underscores, with a "
    "capital first.",
}
_AUTH: Final = {
    **build_object_part(
        {
            "type": {
                "enum": ["api_key", "none"],
                "x-mainspring-says": "auth.type is api_key or none. What signs in otherwise, such "
                "as OAuth, is a recipe with a script.",
            },
            "header": {"type": "string", "minLength": 1, "maxLength": 128},
            "secret_name": _SECRET,
        },
        ["type"],
    ),
    "if": {"required": ["type"], "properties": {"type": {"const": "api_key"}}},
    "then": {"required": ["secret_name"]},
}
_TRIGGER: Final = build_object_part(
    {
        "kind": {
            "enum": ["cron"],
            "x-mainspring-says": "A declarative integration is read on a cron; what waits for "
            "something else is a recipe with a script.",
        },
        "cron": {"type": "string", "minLength": 1, "maxLength": 200},
        "tz": {"type": "string", "minLength": 1, "maxLength": 100},
    },
    ["kind", "cron"],
)
_ENDPOINT: Final = {
    **build_object_part(
        {
            "op": parts.OP,
            "method": parts.METHOD,
            "url": parts.URL,
            "headers": parts.HEADERS,
            "query": parts.QUERY,
            "json": {"type": "object"},
            "mapping": parts.MAPPING,
            "paging": parts.PAGING,
            "conditional": {"type": "boolean"},
            "cursor": parts.CURSOR,
            "rate": parts.RATE,
        },
        ["op", "url"],
    ),
    "x-mainspring-instead": dict.fromkeys(("body", "data"), "The question of a POST is json."),
}
DECLARED: Final[dict[str, Any]] = {
    "$schema": DIALECT,
    **build_object_part(
        {
            "slug": parts.SOURCE,
            "name": {"type": "string", "minLength": 1, "maxLength": 200},
            "description": _TEXT,
            "publisher": _TEXT,
            "auth": _AUTH,
            "trigger": _TRIGGER,
            "endpoints": {"type": "array", "minItems": 1, "maxItems": 20, "items": _ENDPOINT},
            "mapping": parts.MAPPING,
            "rate": parts.RATE,
        },
        ["trigger", "endpoints"],
    ),
    "x-mainspring-instead": {
        "paging": "Put it in an endpoint.",
        "cursor": "Put it in an endpoint.",
        "conditional": "Put it in an endpoint.",
        "schedule": "Write trigger: {kind: cron, cron}.",
    },
}


# Secrets: declared once, and referenced where they are sent.

_NAMED: Final = re.compile(r"\s*publisher\.([A-Z][A-Z0-9_]{0,63})\s*")
_PARTS: Final = ("headers", "query")

DeclarativeTemplate = Mapping[str, Any]


def find_secret_problems(template: DeclarativeTemplate) -> list[Finding]:
    """Find problems in how an integration uses its secrets."""
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
                detail = "A secret starts and ends with two braces. One pair is missing."
                findings.append(Finding(pointer, detail, "template_braces"))
    if declared is not None and declared not in goes:
        findings.append(_build_unused_secret_finding(declared))
    return findings


def _iterate_texts(endpoint: DeclarativeTemplate, at: str) -> Iterator[tuple[str, str]]:
    for part in _PARTS:
        for name, text in (endpoint.get(part) or {}).items():
            yield join_pointer(at, part, name), text


def _find_body_placeholders(value: Any, at: str) -> Iterator[Finding]:
    """Bodies are not templated: a placeholder there would be sent literally."""
    rest: list[tuple[str, Any]] = [(at, value)]
    while rest:
        pointer, one = rest.pop()
        if isinstance(one, str) and "{{" in one:
            detail = "Secrets are allowed in headers and query, not in the body."
            yield Finding(pointer, detail, "secret_not_allowed_here")
        elif isinstance(one, Mapping):
            rest += [(join_pointer(pointer, str(key)), inner) for key, inner in one.items()]
        elif isinstance(one, list):
            rest += [(f"{pointer}/{place}", inner) for place, inner in enumerate(one)]


def _build_no_secret_finding(written: str, at: str) -> Finding:
    detail = f"{{{{{written[:80]}}}}} is not replaced here. Use secrets and plain text."
    way = "Name a publisher secret in capitals, as {{publisher.CMC_API_KEY}}."
    return Finding(at, detail, "not_a_publisher_secret", way)


def _find_undeclared_secret(name: str, declared: str | None, at: str) -> Iterator[Finding]:
    if name != declared:
        detail = f"The request uses the publisher secret {name}, which auth does not declare."
        way = f'Say auth: {{"type": "api_key", "secret_name": "{name}"}}.'
        yield Finding(at, detail, "secret_not_declared", way)


def _build_two_hosts_finding(name: str, at: str) -> Finding:
    detail = f"The publisher secret {name} would go to more than one host."
    return Finding(at, detail, "secret_two_hosts", "A key is for the host that issued it.")


def _build_unused_secret_finding(name: str) -> Finding:
    detail = f"auth declares {name}, and no request uses it: add it to a request."
    way = f"Write {{{{publisher.{name}}}}} into the headers or the query of an endpoint."
    return Finding("/auth/secret_name", detail, "secret_not_referenced", way)


# The endpoint fields that become the step's config.
_REQUEST: Final = ("url", "headers", "query", "json", "paging", "conditional", "cursor")
_OUTSIDE: Final = re.compile(r"[^a-z0-9]+")

Document = dict[str, Any]
IntegrationTemplate = Mapping[str, Any]


def compile_declarative(
    template: IntegrationTemplate, named: Mapping[str, str]
) -> tuple[Document, list[Finding]]:
    """Compile a declarative integration, with all its problems."""
    findings = compile_schema(DECLARED, Limits()).findings(template)
    findings = findings or list(_find_problems(template))
    return ({}, findings) if findings else (_build_document(template, named), [])


def _find_problems(template: IntegrationTemplate) -> Iterator[Finding]:
    yield from _find_cron_problems(template["trigger"])
    if "mapping" in template:
        yield from validate_mapping(template["mapping"])
    ops: set[str] = set()
    for place, one in enumerate(template["endpoints"]):
        at = f"/endpoints/{place}"
        yield from validate_endpoint(one, at)
        if "mapping" in one:
            yield from validate_mapping(one["mapping"], f"{at}/mapping")
        elif "mapping" not in template:
            detail = "This endpoint has no mapping from its items to pages."
            yield Finding(at, detail, "mapping_missing", "Add mapping to it, or to the whole.")
        if one["op"] in ops:
            detail = f"Two endpoints have the op {one['op']}."
            yield Finding(f"{at}/op", detail, "op_twice", "Give each of them its own.")
        ops.add(one["op"])
    yield from find_secret_problems(template)


def _find_cron_problems(trigger: IntegrationTemplate) -> Iterator[Finding]:
    try:
        parse_cron(trigger["cron"])
    except Invalid as problem:
        yield Finding("/trigger/cron", problem.detail, problem.code, problem.suggestion)


def _build_document(template: IntegrationTemplate, named: Mapping[str, str]) -> Document:
    words = {key: named.get(key) or template.get(key, "") for key in ("name", "description")}
    source = template.get("slug") or _build_slug(words["name"])
    steps = [
        _build_step(template, one, source, first=place == 0)
        for place, one in enumerate(template["endpoints"])
    ]
    trigger = template["trigger"]
    config = {"cron": trigger["cron"], "timezone": trigger.get("tz", "UTC")}
    return {
        "schema_version": "1.2",
        **{key: value for key, value in words.items() if value},
        "goal": words["description"] or words["name"] or source,
        "triggers": [{"id": "cron-1", "type": "schedule", "config": config}],
        "plan": steps,
        "grants": _build_grants(steps),
        # Concurrent runs would only repeat the same requests.
        "execution": {"max_retries": 3, "concurrency": "drop_if_running"},
    }


def _build_step(
    template: IntegrationTemplate, one: IntegrationTemplate, source: str, *, first: bool
) -> Document:
    config: Document = {"source": source, "op": one["op"], "method": one.get("method", "GET")}
    config |= {key: one[key] for key in _REQUEST if key in one}
    config["mapping"] = one.get("mapping") or template["mapping"]
    rate = one.get("rate") or template.get("rate")
    if rate is not None:
        config["rate"] = rate if first else {**rate, "waits_first": True}
    return {"step_id": one["op"], "action": INGEST, "config": config}


def _build_grants(steps: list[Document]) -> list[Document]:
    """Grant exactly these requests; endpoints with the same URL share a grant."""
    made: list[Document] = []
    for step in steps:
        config = step["config"]
        hosts = [grant_entry(config["url"])]
        params = {"hosts": hosts, "method": config["method"], "url": config["url"]}
        grant = {"capability": INGEST, "params": params}
        made += [] if grant in made else [grant]
    return made


def _build_slug(name: str) -> str:
    return _OUTSIDE.sub("-", name.lower()).strip("-")[:64].strip("-") or "integration"
