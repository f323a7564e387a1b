"""Marks on routes: who may use each of them and which query it takes, said beside the route.

Every route has one of these marks, or the application does not start: public, a permission that the
role must have, a capability, or any authenticated caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar, get_args, get_origin

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute

from mainspring.contracts.capability import Audience, Capability
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.roles import Permission
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_PUBLIC: Final = "_mainspring_public"
_NEEDS: Final = "_mainspring_needs"
_FACE: Final = "_mainspring_face"
_KNOWN: Final = "_mainspring_known"
_RUNS: Final = "_mainspring_runs"
_ANYWHERE: Final = "_mainspring_anywhere"


def public(endpoint: Endpoint) -> Endpoint:
    """Marks a route as public. It must be the innermost decorator."""
    setattr(endpoint, _PUBLIC, True)
    return endpoint


def needs(permission: Permission) -> Callable[[Endpoint], Endpoint]:
    """Sets the permission that a route requires. It must be the innermost decorator."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _NEEDS, permission)
        return endpoint

    return mark


def face_of(endpoint: Endpoint, capability: Capability) -> Endpoint:
    """Marks a capability route: the gate authorizes and records the call."""
    setattr(endpoint, _FACE, capability)
    return endpoint


def anyone_known(endpoint: Endpoint) -> Endpoint:
    """Marks a route for every authenticated caller; the gate authorizes the rest."""
    setattr(endpoint, _KNOWN, True)
    return endpoint


def open_to_runs(endpoint: Endpoint) -> Endpoint:
    """Marks a route that also accepts the token of a run; no other does."""
    setattr(endpoint, _RUNS, True)
    return endpoint


def anywhere(endpoint: Endpoint) -> Endpoint:
    """Marks a route that is independent of the page's workspace, because it returns it."""
    setattr(endpoint, _ANYWHERE, True)
    return endpoint


def is_anywhere(endpoint: Callable[..., Any] | None) -> bool:
    return getattr(endpoint, _ANYWHERE, False)


def is_open_to_runs(endpoint: Callable[..., Any] | None) -> bool:
    return getattr(endpoint, _RUNS, False)


def get_route_capability(endpoint: Callable[..., Any] | None) -> Capability | None:
    """The capability of a route, if it has one."""
    found = getattr(endpoint, _FACE, None)
    return found if isinstance(found, Capability) else None


def get_route_permission(endpoint: Callable[..., Any] | None) -> Permission | None:
    """The requirement of a route; None if it declares none."""
    found = getattr(endpoint, _NEEDS, None)
    return found if isinstance(found, Permission) else None


def describe_route_permission(endpoint: Callable[..., Any] | None) -> str | None:
    """The permission that a route or its capability needs; None: none at all."""
    capability = get_route_capability(endpoint)
    if capability is not None:
        for_few = capability.annotations.audience is Audience.ADMINISTRATORS
        return "administrator" if for_few else capability.permission.value
    permission = get_route_permission(endpoint)
    return None if permission is None else permission.value


def is_marked(endpoint: Callable[..., Any] | None) -> bool:
    """Whether a route declares its access in one of these ways."""
    return (
        is_public(endpoint)
        or get_route_capability(endpoint) is not None
        or get_route_permission(endpoint) is not None
        or is_for_anyone_known(endpoint)
    )


def is_for_anyone_known(endpoint: Callable[..., Any] | None) -> bool:
    return getattr(endpoint, _KNOWN, False)


def is_public(endpoint: Callable[..., Any] | None) -> bool:
    return getattr(endpoint, _PUBLIC, False)


# The query of a request: a name that a route does not know is a mistake, not a decoration.


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
