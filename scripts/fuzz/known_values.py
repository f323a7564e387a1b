"""What a workspace has, by table and column, and what the vocabulary shows as examples.

Chance alone never writes an id that exists, nor a body that is right in every place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from mainspring.app import Application
from mainspring.definition.schema import EXAMPLES
from mainspring.surfaces.rest.openapi import operations
from mainspring.surfaces.rest.route_access import get_route_capability
from tests.kit.tenants import walled_tables

# How many values of a column are offered.
_MOST: Final = 12
_MAX_TEXT: Final = 200
_USERS: Final = "SELECT id, email, name FROM users LIMIT 12"


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Values by ``table.column``, and bodies by the name of their operation."""

    values: Mapping[str, list[str | int]] = field(default_factory=dict)
    bodies: Mapping[str, list[Any]] = field(default_factory=dict)
    # Arguments that a capability gives as its examples.
    capabilities: Mapping[str, list[Any]] = field(default_factory=dict)
    # Those that wait for the end of something, as long as they are asked to.
    waiting: Sequence[str] = ()


async def known_in(
    application: Application, app: FastAPI, document: dict[str, Any], without: Collection[str] = ()
) -> KnownValues:
    """What is there now; ``without`` holds what nobody should be asked to take away."""
    values: dict[str, list[str | int]] = {}
    for table in await walled_tables(application.database):
        query = f"SELECT * FROM {table} WHERE workspace_id = $1 LIMIT 60"
        for row in await application.database.fetch(query, application.workspace_id):
            _put_row(values, table, row, without)
    for row in await application.database.fetch(_USERS):
        _put_row(values, "users", row, without)
    examples = {
        name: [dict(one) for one in capability.input_schema.get("examples", ())]
        for name, capability in application.registry.capabilities.items()
    }
    values["capabilities.capability_id"] = list(examples)
    waiting = [
        name
        for name, capability in application.registry.capabilities.items()
        if "wait_seconds" in capability.input_schema.get("properties", {})
    ]
    return KnownValues(values, _bodies(app, document), examples, waiting)


def _put_row(
    values: dict[str, list[str | int]], table: str, row: Any, without: Collection[str]
) -> None:
    for column, value in dict(row).items():
        if column == "workspace_id" and table != "workspaces":
            continue
        if isinstance(value, bool | Decimal) or not isinstance(value, UUID | str | int):
            continue
        plain = value if isinstance(value, int) else str(value)
        if plain not in without and len(str(plain)) <= _MAX_TEXT:
            _put(values, f"{table}.{column}", plain)


def _put(values: dict[str, list[str | int]], name: str, value: str | int) -> None:
    found = values.setdefault(name, [])
    if value != "" and value not in found and len(found) < _MOST:
        found.append(value)


def _bodies(app: FastAPI, document: dict[str, Any]) -> dict[str, list[Any]]:
    faces = {
        ((route.path_format or ""), method.lower()): get_route_capability(route.endpoint)
        for route in iter_route_contexts(app.routes)
        for method in route.methods or ()
    }
    found: dict[str, list[Any]] = {}
    for path, method, operation in operations(document):
        contents = operation.get("requestBody", {}).get("content", {}).values()
        named = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
        capability = faces.get((path, method))
        if any(one["schema"].get("$ref", "").endswith("/DefinitionDocument") for one in contents):
            found[operation["operationId"]] = [one.document for one in EXAMPLES]
        elif contents and capability is not None:
            shown = capability.input_schema.get("examples", ())
            found[operation["operationId"]] = [
                {name: value for name, value in one.items() if name not in named} for one in shown
            ]
    return found
