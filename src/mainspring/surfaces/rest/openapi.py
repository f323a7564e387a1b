"""The OpenAPI 3.1 document, generated from the routes.

What all routes have in common is added here instead of being repeated for each: the security
scheme, and the problems of authentication and request parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from mainspring.contracts.errors import InternalError
from mainspring.definition.json_schema.published import open_objects
from mainspring.surfaces.rest.problems import document_statuses
from mainspring.surfaces.rest.route_access import describe_route_permission, is_public

_FINDING: Final = {
    "type": "object",
    "description": "One thing that is wrong, and where.",
    "required": ["pointer", "detail", "code"],
    "properties": {
        "pointer": {"type": "string", "description": "A JSON pointer into what was sent."},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "suggestion": {"type": "string"},
    },
}
PROBLEM: Final = {
    "type": "object",
    "description": "What did not work, so that a person or a program can act on it (RFC 9457).",
    "required": ["type", "title", "status", "detail", "code", "instance"],
    "properties": {
        "type": {"type": "string", "description": "urn:mainspring:problem: and the kind."},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "A sentence for the sender of the request."},
        "code": {"type": "string", "description": "The same in one word, for programs."},
        "instance": {"type": "string", "description": "The path of the request."},
        "suggestion": {"type": "string"},
        "url": {"type": "string", "description": "The page where a person answers."},
        "retry_after": {"type": "number", "description": "Seconds after which to try again."},
        "errors": {"type": "array", "items": {"$ref": "#/components/schemas/Finding"}},
        "consent": {
            "type": "object",
            "description": "With consent_needed: what a person has to agree to, and where.",
            "required": ["consent_id", "digest", "additions", "url"],
            "properties": {
                "consent_id": {"type": ["string", "null"], "format": "uuid"},
                "digest": {"type": ["string", "null"]},
                "additions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["kind", "pointer", "says"],
                        "properties": {
                            "kind": {"type": "string"},
                            "pointer": {"type": "string"},
                            "says": {"type": "string"},
                            "capability": {"type": "string"},
                        },
                    },
                },
                "url": {"type": "string", "description": "The page where a person answers."},
            },
        },
    },
}
_DESCRIPTION: Final = (
    "Automations that fire on a schedule, a webhook or an event, and the runs they make. "
    "Every problem comes as one document of the type application/problem+json."
)
_BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "The owner's token is in the file owner.token of the data folder.",
}
_METHODS: Final = ("get", "put", "post", "delete", "patch", "head", "options")


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an application."""
    made = get_openapi(
        title=app.title,
        version=app.version,
        description=_DESCRIPTION,
        routes=app.routes,
        separate_input_output_schemas=False,
    )
    parts = made.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas |= {"Problem": PROBLEM, "Finding": _FINDING}
    parts["securitySchemes"] = {"bearer": _BEARER}
    endpoints = _endpoints(app)
    for path, method, operation in operations(made):
        _complete(operation, endpoints.get((path, method)), method)
        _lift_body(operation, schemas)
        _open_objects(operation)
    parts["schemas"] = {name: open_objects(schema) for name, schema in schemas.items()}
    return made


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each operation of a document with its path and method."""
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                yield path, method, item[method]


def _endpoints(app: FastAPI) -> dict[tuple[str, str], Callable[..., Any] | None]:
    return {
        (route.path_format or "", method.lower()): route.endpoint
        for route in iter_route_contexts(app.routes)
        if isinstance(route.original_route, APIRoute)
        for method in route.methods or ()
    }


def _complete(operation: dict[str, Any], endpoint: Callable[..., Any] | None, method: str) -> None:
    """The responses that follow from the properties of a route."""
    is_open = is_public(endpoint)
    # The size of headers is limited for every path.
    statuses = {422, 431, 500} if not is_open else {431, 500}
    if method != "get" or not is_open:
        # Reads may also write an audit record.
        statuses.add(507)
    places = {entry["in"] for entry in operation.get("parameters", ())}
    if not is_open:
        operation["security"] = [{"bearer": []}]
        # Whatever a route requires, a token may belong to another audience.
        statuses |= {401, 403}
    permission = describe_route_permission(endpoint)
    operation["x-permission"] = permission or ("open" if is_open else "known")
    if "path" in places:
        statuses.add(404)
    if "requestBody" in operation:
        statuses |= {413, 415, 422}
    responses = operation.setdefault("responses", {})
    if "HTTPValidationError" in str(responses.get("422")):
        del responses["422"]
        statuses.add(422)
    operation["responses"] = document_statuses(sorted(statuses), responses)


def _open_objects(operation: dict[str, Any]) -> None:
    """Marks each object without properties as open."""
    answers = operation["responses"].values()
    bodies = (operation.get("requestBody", {}), *answers)
    places: list[dict[str, Any]] = list(operation.get("parameters", ()))
    places += [content for body in bodies for content in body.get("content", {}).values()]
    for place in places:
        if "schema" in place:
            place["schema"] = open_objects(place["schema"])


def _lift_body(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Moves an inline body schema into the components, with a name."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        if "title" not in schema or "$ref" in schema:
            continue
        schema = dict(schema)
        for name, part in {**schema.pop("$defs", {}), schema["title"]: schema}.items():
            if schemas.setdefault(name, part) != part:
                raise InternalError(f"Two different shapes are called {name!r}.")
        content["schema"] = {"$ref": f"#/components/schemas/{schema['title']}"}
