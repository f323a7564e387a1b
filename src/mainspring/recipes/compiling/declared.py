"""A declarative integration, as the definition that reads its endpoints one after another.

On this cron, ask this address, make a page of each item. The object says no more than that, and
what it becomes is an ordinary definition: a schedule, a step for each endpoint, and grants that
name exactly these addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.cron import parse_cron
from mainspring.definition.hosts import grant_entry
from mainspring.definition.json_schema import compile_schema
from mainspring.gate.ingestion.declared import INGEST
from mainspring.gate.ingestion.declared_rules import validate_endpoint, validate_mapping
from mainspring.recipes.compiling.declared_schema import DECLARED
from mainspring.recipes.compiling.declared_secrets import find_secret_problems

# What of an endpoint becomes the config of its step.
_REQUEST: Final = ("url", "headers", "query", "json", "paging", "conditional", "cursor")
_OUTSIDE: Final = re.compile(r"[^a-z0-9]+")

Document = dict[str, Any]
IntegrationTemplate = Mapping[str, Any]


def compile_declarative(
    template: IntegrationTemplate, named: Mapping[str, str]
) -> tuple[Document, list[Finding]]:
    """The definition of a declarative integration, and everything that is wrong with it."""
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
            detail = "Nothing says how an item of this endpoint becomes a page."
            yield Finding(at, detail, "mapping_missing", "Add mapping to it, or to the whole.")
        if one["op"] in ops:
            detail = f"Two endpoints have the op {one['op']}."
            yield Finding(f"{at}/op", detail, "op_twice", "Give each one of its own.")
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
        # Two readings of one endpoint would only ask for the same.
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
    """Exactly these requests; two endpoints of one address share a grant."""
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
