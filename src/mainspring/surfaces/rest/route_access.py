"""Marks on routes: who may use each of them, said beside the route itself.

Every route has one of these marks, or the application does not start: open to everybody, a
permission that a role must allow, the face of a capability, or open to whoever is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from mainspring.contracts.capability import Audience, Capability
from mainspring.contracts.roles import Permission

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_PUBLIC: Final = "_mainspring_public"
_NEEDS: Final = "_mainspring_needs"
_FACE: Final = "_mainspring_face"
_KNOWN: Final = "_mainspring_known"
_RUNS: Final = "_mainspring_runs"
_ANYWHERE: Final = "_mainspring_anywhere"


def public(endpoint: Endpoint) -> Endpoint:
    """Marks a route as open to everybody. It stands nearest to the function."""
    setattr(endpoint, _PUBLIC, True)
    return endpoint


def needs(permission: Permission) -> Callable[[Endpoint], Endpoint]:
    """Says what a member's role must allow for a route. It stands nearest to the function."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _NEEDS, permission)
        return endpoint

    return mark


def face_of(endpoint: Endpoint, capability: Capability) -> Endpoint:
    """Marks a route that only calls a capability: the gate decides who may, and records it."""
    setattr(endpoint, _FACE, capability)
    return endpoint


def anyone_known(endpoint: Endpoint) -> Endpoint:
    """Marks a route that is open to every known caller and asks the gate about the rest."""
    setattr(endpoint, _KNOWN, True)
    return endpoint


def open_to_runs(endpoint: Endpoint) -> Endpoint:
    """Marks a route that takes the token of a run, too; no other does."""
    setattr(endpoint, _RUNS, True)
    return endpoint


def anywhere(endpoint: Endpoint) -> Endpoint:
    """Marks a route that a page may ask whichever workspace it shows: it asks where it is."""
    setattr(endpoint, _ANYWHERE, True)
    return endpoint


def is_anywhere(endpoint: Callable[..., Any] | None) -> bool:
    return getattr(endpoint, _ANYWHERE, False)


def is_open_to_runs(endpoint: Callable[..., Any] | None) -> bool:
    return getattr(endpoint, _RUNS, False)


def get_route_capability(endpoint: Callable[..., Any] | None) -> Capability | None:
    """The capability that a route is a face of, if it is one."""
    found = getattr(endpoint, _FACE, None)
    return found if isinstance(found, Capability) else None


def get_route_permission(endpoint: Callable[..., Any] | None) -> Permission | None:
    """What a route needs; None for one that says nothing."""
    found = getattr(endpoint, _NEEDS, None)
    return found if isinstance(found, Permission) else None


def describe_route_permission(endpoint: Callable[..., Any] | None) -> str | None:
    """The permission that a route or its capability needs, in one word; None: none at all."""
    capability = get_route_capability(endpoint)
    if capability is not None:
        for_few = capability.annotations.audience is Audience.ADMINISTRATORS
        return "administrator" if for_few else capability.permission.value
    permission = get_route_permission(endpoint)
    return None if permission is None else permission.value


def is_marked(endpoint: Callable[..., Any] | None) -> bool:
    """Whether a route says who may use it, in one of the ways there are."""
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
