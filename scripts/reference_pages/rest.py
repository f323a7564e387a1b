"""The REST surface: its OpenAPI document, and its routes as tables by tag.

The document is made as a running server makes it, over an application that is built and never
opened: describing routes asks no database.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.reference_pages.markdown import as_json, code, page, sentence, table

_TAGS = {
    "automations": "Save, read, activate, pause and archive; import and export.",
    "versions": "Every definition an automation ever had, compared and brought back.",
    "triggers": "What starts an automation: switches, tokens, and the moments that came.",
    "webhooks": "The two addresses that outside systems call.",
    "forms": "Hosted forms: what people fill in, and what they send.",
    "runs": "Start, list, read, cancel, retry and replay.",
    "streams": "Runs as they happen, as server-sent events.",
    "events": "Publish, list and read facts, and declare their types.",
    "boards": "Datasets of rows, with columns, skills, forms and a dashboard.",
    "pages": "Texts that the workspace keeps, found by words and by meaning.",
    "artifacts": "Files that runs have made.",
    "inbox": "Messages and alerts.",
    "audit": "What was done and by whom.",
    "usage": "What models were asked and what they cost: sums, and single asks.",
    "capabilities": "Everything the system can do, called by its name.",
    "secrets": "Names and descriptions of secrets; a value goes in and never out.",
    "proposals": "Words that become automations, after a person has read them.",
    "models": "Models that can be asked, where they are, and what they cost.",
    "connections": "Servers of tools, and which of their tools may be called.",
    "codex": "Recipes to install, what is installed from them, and what was taken away.",
    "consents": "What automations would be able to do, and what a person says to it.",
    "rehearsals": "Versions tried over what really happened.",
    "workflows": "What people work towards together, with numbers, dates and automations.",
    "integrations": "Accounts of members in outside systems, and as whom they sign in there.",
    "session": "Sign in and out, who you are, and what you change about yourself.",
    "members": "Who is in the workspace and as what, and who was asked in.",
    "tokens": "Access tokens for programs.",
    "clients": "MCP clients that connect by themselves, and what a person lets them do.",
    "workspaces": "The workspaces you are in.",
    "administration": "People and workspaces, for whoever looks after the installation.",
    "schemas": "What definitions are written in.",
    "halts": "What stands still, the workers, and what each queue asks of them.",
    "health": "Whether it lives, whether it works, and its numbers.",
}

Row = tuple[str, str, str, str]

# Texts may change; everything else is the wire format.
_TEXTS = frozenset({"description", "summary", "title", "example", "examples"})
_ANTI_EXAMPLES = "x-mainspring-anti-examples"
# The keys below these are names, not keywords.
_NAMES = frozenset({"properties", "patternProperties", "schemas", "$defs", "paths", "responses"})
_VALUES = frozenset({"default", "const", "enum", "required"})

# Any route may answer so; the page says it once.
_EVERYWHERE = frozenset({"401", "403", "413", "415", "422", "500", "507"})


def openapi_document() -> str:
    return as_json(document())


def openapi_baseline() -> str:
    """The OpenAPI document without texts: one line for each path and each schema, sorted.

    It is what compatibility is compared with, so it keeps every name, type, default, status and
    permission. The response that all problems have is written once.
    """
    shown = normalize(document())
    components = {**shown["components"], "responses": {"Problem": _PROBLEM}}
    paths = {name: _with_problem_refs(item) for name, item in shown["paths"].items()}
    head = {name: value for name, value in shown.items() if name not in ("components", "paths")}
    head["info"] = {"title": "Mainspring", "version": "baseline"}
    lines = [f"{json.dumps(name)}: {_compact(value)}" for name, value in head.items()]
    lines.append(f'"paths": {_by_line(paths)}')
    parts = [f"{json.dumps(name)}: {_by_line(value)}" for name, value in components.items()]
    lines.append('"components": {\n' + ",\n".join(parts) + "\n}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


_PROBLEM = {
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
}


def normalize(value: Any, *, names: bool = False) -> Any:
    """The part of a description that a client depends on, with sorted keys."""
    if isinstance(value, list):
        return [normalize(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: value[key] if key in _VALUES else normalize(value[key], names=key in _NAMES)
        for key in sorted(value)
        if names or (key not in _TEXTS and key != _ANTI_EXAMPLES)
    }


def _with_problem_refs(item: dict[str, Any]) -> dict[str, Any]:
    for operation in item.values():
        if isinstance(operation, dict) and "responses" in operation:
            operation["responses"] = {
                status: {"$ref": "#/components/responses/Problem"} if one == _PROBLEM else one
                for status, one in operation["responses"].items()
            }
    return item


def _by_line(named: Mapping[str, Any]) -> str:
    rows = [f"{json.dumps(name)}: {_compact(one)}" for name, one in named.items()]
    return "{\n" + ",\n".join(rows) + "\n}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)


def rest_page() -> str:
    routes: dict[str, list[Row]] = {}
    openapi = importlib.import_module("mainspring.surfaces.rest.openapi")
    for path, method, operation in openapi.operations(document()):
        routes.setdefault(operation["tags"][0], []).append(_row(path, method, operation))
    parts: list[str] = []
    # A tag without a sentence, or a sentence without a tag, stops the generator.
    for tag in sorted(routes.keys() | _TAGS.keys(), key=list(_TAGS).index):
        parts += [f"## {tag}", _TAGS[tag]]
        parts.append(table(("Method", "Path", "What it does", "Answers"), _in_order(routes[tag])))
    return page(
        "REST",
        "Every route, by topic. A running server returns the full OpenAPI document, with every "
        "schema, at `/api/v1/openapi.json`. The file [openapi.json](openapi.json) is the same "
        "document without descriptions and examples, for comparing versions.",
        "A request needs `Authorization: Bearer` and a token, unless its path is marked "
        "*open*. The answers are named besides those that any route may give: 401 for an "
        "unknown token, 403 for a [role](roles.md) that is not enough, 413 and 415 for a body "
        "that is too large or no JSON, 422 for anything else that cannot be right, 500 for an "
        "error of ours, 507 when the disk of the server is full. Every one from 400 on is a "
        "[problem document](errors.md).",
        *parts,
    )


def _in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row[1], row[0]))


def _row(path: str, method: str, operation: dict[str, Any]) -> Row:
    result = [status for status in operation["responses"] if status not in _EVERYWHERE]
    where = code(path) + ("" if operation.get("security") else " *open*")
    return method.upper(), where, sentence(operation["summary"]), ", ".join(sorted(result))


@functools.cache
def document() -> dict[str, Any]:
    """The OpenAPI document of the whole surface."""
    return asyncio.run(_described())


async def _described() -> dict[str, Any]:
    wiring = importlib.import_module("mainspring.app")
    limits = importlib.import_module("mainspring.contracts.limits").Limits()
    settings = importlib.import_module("mainspring.settings").Settings(home=Path("/nowhere"))
    source = importlib.import_module("mainspring.store.database_source")
    database = importlib.import_module("mainspring.store.database").Database(
        source.ExternalDatabaseSource("postgresql://nowhere"),
        name="reference",
        pool_size=1,
        idle_seconds=1,
    )
    application = wiring.build_application(
        settings, limits, wiring.build_registry(limits), database
    )
    app = importlib.import_module("mainspring.surfaces.rest.app").build_api(
        wiring.application_services(application)
    )
    try:
        described: dict[str, Any] = importlib.import_module(
            "mainspring.surfaces.rest.openapi"
        ).describe(app)
    finally:
        await application.egress.aclose()
    return described
