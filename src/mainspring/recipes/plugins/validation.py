"""Validation of built-in and third-party integrations by quality tier.

bronze: the manifest is accurate, every schema has valid and invalid examples, secrets go only to
the manifest's hosts, and writes have a preview. silver: a connection can be tested, and sources
accept natural-language requests. gold: changes are polled incrementally and published as events.
Wire behaviour is covered by tests with a fake provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.errors import Finding
from mainspring.contracts.integration import Integration
from mainspring.contracts.limits import Limits
from mainspring.contracts.manifest import MANIFEST_SCHEMA, TIERS
from mainspring.definition.json_schema import check_schema, compile_schema

_ANTI: Final = "x-mainspring-anti-examples"
_NOBODY_SIGNS_IN: Final = frozenset({"none", "operator", "secret"})
_LONGEST_PREVIEW: Final = 600


def validate_integration(one: Integration, limits: Limits) -> list[Finding]:
    """Find everything that keeps an integration from its claimed tier."""
    found = compile_schema(MANIFEST_SCHEMA, limits).findings(dict(one.manifest), "")
    if found:
        return list(found)
    upto = TIERS.index(str(one.manifest["tier"])) + 1
    return [finding for tier in TIERS[:upto] for finding in _ASKED[tier](one, limits)]


def _validate_bronze(one: Integration, limits: Limits) -> Iterator[Finding]:
    announced, there = set(one.manifest["capabilities"]), {c.id for c in one.capabilities}
    for name in sorted(announced ^ there):
        said = "is announced and not there" if name in announced else "is there, unannounced"
        yield Finding("/capabilities", f"{name} {said}.", "capability_announced")
    for capability in one.capabilities:
        yield from _validate_capability_schemas(capability, limits)
        yield from _validate_hosts(capability, one.manifest)
        yield from _validate_write_preview(capability)
    for adapter in one.adapters:
        for operation in adapter.operations:
            if not operation.id.startswith(f"{adapter.kind}."):
                detail = f"{operation.id} is an operation of {adapter.kind} and not named so."
                yield Finding("", detail, "operation_name")
            yield from _validate_schema(operation.id, operation.params_schema, limits)
        yield from _validate_schema(adapter.kind, adapter.ref_schema, limits)


def _validate_silver(one: Integration, limits: Limits) -> Iterator[Finding]:
    signs_in = one.manifest["auth"]["kind"] not in _NOBODY_SIGNS_IN
    default = Integration(manifest={}).account
    if signs_in and one.account is default:
        detail = "A connection cannot be tested: the integration does not return an account name."
        yield Finding("/auth", detail, "no_account_test")
    for source in one.sources:
        yield from _validate_schema(source.name, source.input_schema, limits)
        if not source.input_schema.get("examples"):
            yield Finding("", f"The source {source.name} shows no example.", "no_example")


def _validate_gold(one: Integration, limits: Limits) -> Iterator[Finding]:
    if one.sources and not one.polls:
        yield Finding("", "It supports reading but not watching.", "no_poll")
    if one.polls and not one.events:
        yield Finding("", "It supports watching but declares no events.", "no_event")
    for event in one.events:
        yield from _validate_schema(event.type, event.payload_schema, limits)
        if not event.type.startswith(f"{one.id}."):
            yield Finding("", f"The event {event.type} is not named for {one.id}.", "event_name")


def _validate_capability_schemas(capability: Capability, limits: Limits) -> Iterator[Finding]:
    for schema in (capability.input_schema, capability.output_schema):
        if not schema.get("examples") or not schema.get(_ANTI):
            detail = f"{capability.id} does not show what fits and what does not."
            yield Finding("", detail, "no_example")
            return
        if schema.get("additionalProperties") is not False:
            detail = f"{capability.id} takes or answers what it does not name."
            yield Finding("", detail, "open_schema")
        judge = compile_schema(schema, limits)
        wrong = any(judge.findings(example, "") for example in schema["examples"])
        if wrong or not all(judge.findings(entry["value"], "") for entry in schema[_ANTI]):
            detail = f"The examples of {capability.id} contradict its schema."
            yield Finding("", detail, "false_example")


def _validate_hosts(capability: Capability, manifest: Mapping[str, Any]) -> Iterator[Finding]:
    hints, hosts = capability.annotations, frozenset(manifest["hosts"])
    secret = hints.secret_arguments or (hints.route and hints.route.connection != "none")
    reached = hints.route.hosts if hints.route is not None else hints.hosts
    if secret and (reached is None or not reached <= hosts):
        detail = f"{capability.id} may bring a secret to a host that the manifest does not name."
        yield Finding("/hosts", detail, "host_unnamed")


def _validate_write_preview(capability: Capability) -> Iterator[Finding]:
    if capability.annotations.effect is not Effect.SEND:
        return
    write = capability.write
    if write is None:
        yield Finding("", f"{capability.id} leaves without anybody seeing it.", "no_preview")
        return
    fields = capability.input_schema.get("properties", {}).keys()
    if not {*write.editable, *write.wording} <= set(fields):
        detail = f"{capability.id} lets people change what it does not take."
        yield Finding("", detail, "editable_unknown")
    for example in capability.input_schema.get("examples", ()):
        line = write.preview(example)
        if not line.strip() or "\n" in line or len(line) > _LONGEST_PREVIEW:
            yield Finding("", f"The preview of {capability.id} is not a line.", "bad_preview")


def _validate_schema(name: str, schema: Mapping[str, Any], limits: Limits) -> Iterator[Finding]:
    for finding in check_schema(schema, limits):
        yield Finding(finding.pointer, f"{name}: {finding.detail}", finding.code)


_ASKED: Final[Mapping[str, Callable[[Integration, Limits], Iterator[Finding]]]] = {
    "bronze": _validate_bronze,
    "silver": _validate_silver,
    "gold": _validate_gold,
}
