"""Capabilities as routes: one line of a table each.

A capability route collects the arguments (from its path, its query or its body), calls the gate as
the caller, and returns the result. Authorization, validation and auditing happen in the gate, as
for every other interface.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from fastapi import APIRouter, Request

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Finding, InternalError, Invalid
from mainspring.definition.json_schema.published import flatten_schema
from mainspring.definition.strict_json import join_pointer
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import (
    JsonAnswer,
    limits_for,
    read_arguments,
    read_json_body,
    takes_schema,
)
from mainspring.surfaces.rest.route_access import face_of, knows_query
from mainspring.surfaces.services import ApplicationServices

# The errors of any capability call: its own timeout, and timeouts and rate limits of external
# systems.
CALLED: Final = (403, 404, 409, 410, 429, 502, 504)
_QUERIED: Final = frozenset({"GET", "DELETE"})


@dataclass(frozen=True, slots=True)
class CapabilityRoute:
    """One route that calls one capability."""

    method: str
    path: str
    capability: str
    status_code: int = 200
    # Path parameters whose name differs from the argument: path name to argument.
    named: Mapping[str, str] | None = None
    # Fixed arguments of this route.
    fixed: Mapping[str, Any] | None = None
    # The operation id, if two routes call one capability.
    name: str | None = None
    # What the route does, if it differs from the capability's label.
    summary: str | None = None


def add_faces(
    made: APIRouter, services: ApplicationServices, faces: Iterable[CapabilityRoute]
) -> None:
    """Adds a route for each entry."""
    for face in faces:
        capability = services.registry.capabilities[face.capability]
        queried = face.method in _QUERIED
        request = _open_arguments_schema(face, capability)
        endpoint = _endpoint(services, face, capability, request, queried=queried)
        made.add_api_route(
            face.path,
            face_of(knows_query(endpoint, _lists(request) if queried else {}), capability),
            methods=[face.method],
            name=face.name or capability.id.replace(".", "_"),
            summary=face.summary or capability.label,
            status_code=face.status_code,
            responses={
                **problems(*CALLED),
                face.status_code: {
                    "description": "What it answers.",
                    "content": {"application/json": {"schema": _plain(capability.output_schema)}},
                },
            },
            openapi_extra=_described(face, capability, request),
        )


def _endpoint(
    services: ApplicationServices,
    face: CapabilityRoute,
    capability: Capability,
    query: Mapping[str, Any],
    *,
    queried: bool,
) -> Callable[..., Awaitable[JsonAnswer]]:
    # The body is optional if no argument is required.
    read = read_json_body if _required(capability, query) else read_arguments

    async def call(request: Request, caller: SignedIn) -> JsonAnswer:
        if queried:
            arguments = _from_query(request, query)
        else:
            body = await read(request, limits_for(request, capability))
            arguments = _from_body(request, body)
        for name, value in request.path_params.items():
            arguments[(face.named or {}).get(name, name)] = value
        arguments |= face.fixed or {}
        value = await services.gate.direct(caller.gate_caller, capability.id, arguments)
        return JsonAnswer(value, status_code=face.status_code)

    return call


def _from_body(request: Request, body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise Invalid("The body must be an object.", findings=[Finding("", "An object.", "type")])
    held = request.path_params.keys() & body.keys()
    if held:
        name = min(held)
        detail = f"{name} is in the path; it cannot be in the body too."
        raise Invalid(detail, findings=[Finding(join_pointer("", name), detail, "in_path")])
    return body


def _from_query(request: Request, body: Mapping[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, schema in body.items():
        values = request.query_params.getlist(name)
        if values:
            arguments[name] = _read(schema, values)
    return arguments


def _read(schema: Mapping[str, Any], values: list[str]) -> Any:
    """Converts a query value to the type of its schema; the gate validates other text."""
    kind = schema.get("type")
    if kind == "array":
        return [_read(schema.get("items", {}), [value]) for value in values]
    if kind in ("integer", "number", "boolean", "object"):
        try:
            return orjson.loads(values[0])
        except orjson.JSONDecodeError:
            return values[0]
    return values[0]


def _open_arguments_schema(face: CapabilityRoute, capability: Capability) -> dict[str, Any]:
    """The arguments that neither the path nor the route provides."""
    given = {*(face.named or {}).values(), *(face.fixed or {}), *_path_names(face)}
    properties: Mapping[str, Any] = capability.input_schema.get("properties", {})
    return {name: schema for name, schema in properties.items() if name not in given}


def _path_names(face: CapabilityRoute) -> list[str]:
    named = face.named or {}
    pieces = [piece for piece in face.path.split("/") if piece.startswith("{")]
    return [named.get(name, name) for name in (piece[1:-1].partition(":")[0] for piece in pieces)]


def _lists(request: Mapping[str, Any]) -> dict[str, bool]:
    return {name: schema.get("type") == "array" for name, schema in request.items()}


def _described(
    face: CapabilityRoute, capability: Capability, request: Mapping[str, Any]
) -> dict[str, Any]:
    properties = capability.input_schema.get("properties", {})
    shown = [piece[1:-1].partition(":")[0] for piece in face.path.split("/") if piece[:1] == "{"]
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": properties.get((face.named or {}).get(name, name), {"type": "string"}),
        }
        for name in shown
    ]
    required = _required(capability, request)
    if face.method in _QUERIED:
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": schema}
            for name, schema in request.items()
        ]
        return {"parameters": parameters}
    # Client generators create one class per body, with its top-level fields.
    whole, _ = flatten_schema(_plain(capability.input_schema))
    fields = {name: schema for name, schema in whole["properties"].items() if name in request}
    schema = {**whole, "properties": fields, "required": required}
    schema.pop("examples", None)
    body = takes_schema(schema)["requestBody"]
    return {"parameters": parameters, "requestBody": {**body, "required": bool(required)}}


def _required(capability: Capability, request: Mapping[str, Any]) -> list[str]:
    return [name for name in capability.input_schema.get("required", ()) if name in request]


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema.get("type") != "object":
        raise InternalError("A capability with a face takes and answers objects.")
    return {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
