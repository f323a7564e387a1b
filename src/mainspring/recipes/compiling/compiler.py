"""Compiling an automation or integration template to a definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.object_schema import DIALECT, build_object_part
from mainspring.definition.hosts import parse_host_entry
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.trigger_kinds import WRITTEN_KINDS, as_entries
from mainspring.recipes.compiling.declarative import compile_declarative

# A script recipe: compiled to the definition that saving the script would make.

AT: Final = "/script"
_FETCH: Final = "http_fetch"
# Defaults, as for every script.
_USUAL: Final = {
    "cost_cap_daily_usd": 1,
    "max_wall_seconds": 60,
    "max_llm_tokens": 200_000,
    "model": "claude-sonnet-4-6",
}
_WORD: Final = {"type": "string", "minLength": 1, "maxLength": 200}
_SCHEMA: Final = {
    "$schema": DIALECT,
    **build_object_part(
        {
            "source": {"type": "string", "minLength": 1, "maxLength": 200_000},
            "triggers": {
                "type": "array",
                "minItems": 1,
                "maxItems": 20,
                "items": {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {"kind": {"enum": list(WRITTEN_KINDS)}},
                },
            },
            "tool_grants": {
                "type": "array",
                "maxItems": 100,
                "items": build_object_part({"tool": _WORD, "params": {"type": "object"}}, ["tool"]),
            },
            "http_fetch_hosts": {
                "type": "array",
                "maxItems": 100,
                "items": {"type": "string", "minLength": 1, "maxLength": 300},
            },
            "cost_cap_daily_usd": {"type": "number", "minimum": 0, "maximum": 100},
            "max_wall_seconds": {"type": "integer", "minimum": 5, "maximum": 300},
            "max_llm_tokens": {"type": "integer", "minimum": 100, "maximum": 2_000_000},
            "model": _WORD,
            "write_policy": {"enum": ["always_draft", "auto_confirm_safe"]},
            "intent": {"type": "string", "maxLength": 2_000},
            "writes_to_boards": {"type": "array", "maxItems": 50, "items": {"type": "string"}},
            "dedupe_key_field": _WORD,
            "dedupe_target_field": _WORD,
            "coexistence_note": {"type": "string", "minLength": 10, "maxLength": 1_000},
        },
        ["source", "triggers"],
    ),
    "x-mainspring-instead": {
        "source_file": "The file is read together with the package; give its text as source."
    },
}

DefinitionDocument = dict[str, Any]


def compile_script(
    script: Mapping[str, Any], named: Mapping[str, str]
) -> tuple[DefinitionDocument, list[Finding]]:
    """Compile a script to a definition, with all its problems."""
    findings = compile_schema(_SCHEMA, Limits()).findings(script, AT)
    if findings:
        return {}, findings
    given = {**_USUAL, **script}
    triggers, wrong = as_entries(given["triggers"])
    findings = [replace(one, pointer=AT + one.pointer) for one in wrong]
    hosts = given.get("http_fetch_hosts") or []
    grants = given.get("tool_grants") or []
    findings += _find_host_problems(hosts, grants)
    document: DefinitionDocument = {
        "schema_version": "1.2",
        **{key: value for key, value in named.items() if value},
        "triggers": triggers,
        "plan": [_build_script_step(given, _add_hosts(grants, hosts))],
        "execution": _build_execution(given),
    }
    if "intent" in given:
        document["intent"] = given["intent"]
    document["goal"] = _choose_goal(document)
    document |= _build_metadata(given, hosts)
    return document, findings


def _build_script_step(arguments: Mapping[str, Any], grants: Sequence[Any]) -> DefinitionDocument:
    config = {
        "source": arguments["source"],
        "grants": list(grants),
        "wall_seconds": arguments["max_wall_seconds"],
    }
    return {"step_id": "script", "action": "script", "config": config}


def _build_execution(arguments: Mapping[str, Any]) -> DefinitionDocument:
    made = {
        "max_llm_tokens": arguments["max_llm_tokens"],
        "model": arguments["model"],
        "cost_cap_daily_usd": arguments["cost_cap_daily_usd"],
        # One run may spend the whole daily cap; there is no other limit.
        "budget_cap_usd": arguments["cost_cap_daily_usd"],
    }
    return made | {key: arguments[key] for key in ("write_policy",) if key in arguments}


def _build_metadata(arguments: Mapping[str, Any], hosts: Sequence[str]) -> DefinitionDocument:
    """What it writes to, and the hosts shown on install."""
    names = ("dedupe_key_field", "dedupe_target_field", "coexistence_note")
    writes: DefinitionDocument = {name: arguments[name] for name in names if name in arguments}
    if "writes_to_boards" in arguments:
        writes["boards"] = sorted({str(board).lower() for board in arguments["writes_to_boards"]})
    kept: DefinitionDocument = {"writes": writes} if writes else {}
    if hosts:
        spelt = sorted({str(site) for site in map(parse_host_entry, hosts) if site is not None})
        kept["metadata"] = {"acknowledged_http_fetch_hosts": spelt}
    return kept


def _choose_goal(document: Mapping[str, Any]) -> str:
    words = (document.get(name) for name in ("description", "intent", "name"))
    return next((str(one) for one in words if isinstance(one, str) and one.strip()), "")


def _add_hosts(grants: Sequence[Mapping[str, Any]], hosts: Sequence[str]) -> list[Any]:
    """Add the hosts to the grant for requests."""
    if not hosts:
        return list(grants)
    if not any(one["tool"] == _FETCH for one in grants):
        return [*grants, {"tool": _FETCH, "params": {"hosts": list(hosts)}}]
    return [
        one
        if one["tool"] != _FETCH or "hosts" in (one.get("params") or {})
        else {**one, "params": {**(one.get("params") or {}), "hosts": list(hosts)}}
        for one in grants
    ]


def _find_host_problems(hosts: Sequence[str], grants: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Find invalid hosts, and granted hosts that the list lacks."""
    found = [
        Finding(
            f"{AT}/http_fetch_hosts/{place}",
            "A host is a bare name, without scheme, path or wildcard.",
            "bad_host",
            'Write it like "api.example.com".',
        )
        for place, host in enumerate(hosts)
        if parse_host_entry(host) is None
    ]
    listed = {str(site) for site in map(parse_host_entry, hosts)}
    for place, one in enumerate(grants):
        named = (one.get("params") or {}).get("hosts") if one["tool"] == _FETCH else None
        for host in named if isinstance(named, list) else ():
            if str(parse_host_entry(host)) not in listed:
                detail = f"The grant reaches {host}, which http_fetch_hosts does not name."
                pointer = f"{AT}/tool_grants/{place}/params/hosts"
                found.append(Finding(pointer, detail, "hosts_mismatch"))
    return found


CompilableKind = Literal["automation", "integration"]
Document = dict[str, Any]

_WAYS: Final = {
    "automation": "An automation's template has either a definition or a script.",
    "integration": "An integration's template is either a declarative object or has a script.",
}


def compile_automation(
    kind: CompilableKind, template: Mapping[str, Any], *, name: str, description: str
) -> Document:
    """Compile a template; ``Invalid`` with pointers into the template.

    The definition itself is validated later, like any other.
    """
    named = {"name": name, "description": description}
    if "script" in template or (kind == "automation" and "definition" in template):
        return _compile_single(kind, template, named)
    if kind == "automation":
        raise _compile_error([Finding("", _WAYS[kind], "template_shape")])
    document, findings = compile_declarative(template, named)
    if findings:
        raise _compile_error(findings)
    return document


def _compile_single(
    kind: CompilableKind, template: Mapping[str, Any], named: Mapping[str, str]
) -> Document:
    """Return the one format that a template uses; formats are mutually exclusive."""
    if len(template) != 1:
        raise _compile_error([Finding("", _WAYS[kind], "template_shape")])
    ((way, content),) = template.items()
    if not isinstance(content, Mapping):
        raise _compile_error([Finding(f"/{way}", f"A {way} is an object.", "type")])
    if way == "definition":
        return {**{key: value for key, value in named.items() if value}, **content}
    document, findings = compile_script(content, named)
    if findings:
        raise _compile_error(findings)
    return document


def _compile_error(findings: Iterable[Finding]) -> Invalid:
    once = list(dict.fromkeys(findings))
    things = "one problem" if len(once) == 1 else f"{len(once)} problems"
    return Invalid(
        f"The template has {things}: {once[0].detail}",
        code="invalid_template",
        findings=once,
        suggestion=once[0].suggestion,
    )


# A declarative integration without a recipe envelope.

_VERSION: Final = "1.0.0"
_CATEGORY: Final = "integrations"

RecipeDocument = dict[str, Any]


def is_bare(document: Any) -> bool:
    """Report whether a document is a bare declarative integration."""
    if not isinstance(document, Mapping):
        return False
    others = {"schema_version", "plan", "format", "template"}
    return "endpoints" in document and others.isdisjoint(document)


def compile_bare_definition(document: Mapping[str, Any]) -> RecipeDocument:
    """Compile a bare integration; ``Invalid`` with pointers into it."""
    return compile_automation(
        "integration",
        document,
        name=str(document.get("name", "")),
        description=str(document.get("description", "")),
    )


def wrap_bare_recipe(document: Mapping[str, Any]) -> RecipeDocument:
    """Wrap a bare integration in a recipe.

    Problems of the object are found when the recipe is parsed; until then its envelope declares
    nothing.
    """
    compiled, _ = compile_declarative(document, {})
    grants = compiled.get("grants", [])
    hosts = sorted({host for grant in grants for host in grant["params"]["hosts"]})
    name = document.get("name") or document.get("slug") or "Integration"
    made = {
        "format": "mainspring.recipe",
        "format_version": 1,
        "slug": document.get("slug")
        or (compiled["plan"][0]["config"]["source"] if compiled else ""),
        "version": _VERSION,
        "kind": "integration",
        "name": name,
        "description": document.get("description") or name,
        "publisher": document.get("publisher") or name,
        "category": _CATEGORY,
        "grants": grants,
        "hosts": hosts,
        "template": dict(document),
    }
    secret = (document.get("auth") or {}).get("secret_name") if compiled else None
    if secret is not None:
        reason = f"It is sent to {', '.join(hosts)} as the key of the API."
        made["requires"] = {"publisher_secrets": [{"name": secret, "reason": reason}]}
    return made
