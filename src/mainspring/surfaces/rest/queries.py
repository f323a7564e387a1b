"""The query of a request: a name that a route does not know is a mistake, not a decoration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_args, get_origin

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.surfaces.rest.route_access import is_public

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_LONGEST = 64
_NAMES = "_mainspring_query"


async def check_known_query(request: Request) -> None:
    """Refuses query parameters that the route does not have, and a single one sent twice."""
    route = request.scope.get("route")
    if not request.url.query or not isinstance(route, APIRoute) or is_public(route.endpoint):
        return
    findings = list(_findings(request.query_params.multi_items(), query_names(route)))
    if findings:
        raise Invalid("The query is not one that is read here.", findings=findings)


def knows_query(endpoint: Endpoint, names: Mapping[str, bool]) -> Endpoint:
    """Marks a route that reads its query by itself: each name, and whether it may repeat."""
    setattr(endpoint, _NAMES, dict(names))
    return endpoint


def query_names(route: APIRoute) -> dict[str, bool]:
    """The query parameters of a route, and whether each may come more than once."""
    answer: dict[str, bool] | None = getattr(route.endpoint, _NAMES, None)
    if answer is not None:
        return answer
    return {
        field.alias: _is_list(field.field_info.annotation)
        for field in get_flat_params(route.dependant)
        if isinstance(field.field_info, Query)
    }


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) in {list, tuple, set, frozenset} or any(
        map(_is_list, get_args(annotation))
    )


def _findings(items: Iterable[tuple[str, str]], known: Mapping[str, bool]) -> Iterator[Finding]:
    seen: set[str] = set()
    for name, _ in items:
        pointer = join_pointer("/query", name[:_LONGEST])
        if name not in known:
            detail = f"There is no query parameter {name[:_LONGEST]!r} here."
            yield Finding(pointer, detail, "unknown_parameter", suggest_nearest(name, known))
        elif name in seen and not known[name]:
            yield Finding(pointer, f"{name} may be given once.", "repeated_parameter")
        seen.add(name)
