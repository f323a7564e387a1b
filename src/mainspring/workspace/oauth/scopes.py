"""Scopes: three plain words for how much a client may do, each the name of a role.

Whoever may more may also do what the words before it say, as with roles. A client is never an
admin or an owner: who needs that makes a token by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mainspring.contracts.roles import Permission, Role, min_role
from mainspring.workspace.oauth.errors import OAuthError

ROLES: Final[Mapping[str, Role]] = MappingProxyType(
    {"read": Role.VIEWER, "operate": Role.OPERATOR, "edit": Role.EDITOR}
)
# What the 401 of the MCP server names, so that no client asks for everything by default.
LEAST: Final = "read"
# Clients that want to be renewed may say so; whether they are was said when they registered.
_OF_NO_ACCOUNT: Final = frozenset({"offline_access"})
_LONGEST: Final = 1_000


def parse_requested_role(scope: str | None) -> Role | None:
    """The least role that covers a scope; None when nothing was asked for."""
    words = (scope or "")[:_LONGEST].split(" ")
    named = [word for word in words if word and word not in _OF_NO_ACCOUNT]
    if not named:
        return None
    if any(word not in ROLES for word in named):
        raise OAuthError("invalid_scope", f"A scope is made of {', '.join(ROLES)}.")
    return max((ROLES[word] for word in named), key=lambda role: role.rank)


def parse_registered_role(scope: Any) -> Role | None:
    """The role of the scope that a client registers with; words of other servers do not count."""
    words = scope[:_LONGEST].split(" ") if isinstance(scope, str) else []
    named = [ROLES[word] for word in words if word in ROLES]
    return max(named, key=lambda role: role.rank) if named else None


def limit_to_registration(requested_role: Role | None, registered: Role | None) -> Role | None:
    """What a request asks for, at most what its client registered for; None: the person chooses.

    Clients register and ask for what the 401 names, so the least scope is no limit that they
    chose: it is preselected, and the person may give more, within ``limit_of``.
    """
    role = (
        requested_role if registered is None else min_role(requested_role or registered, registered)
    )
    return None if role is ROLES[LEAST] else role


def limit_of(requested_role: Role | None, registered: Role | None) -> Role:
    """The most that a person may give: what was asked for, else what the client registered for.

    A registration for nothing or for the least scope sets no limit.
    """
    if requested_role is not None:
        return requested_role
    if registered is None or registered is ROLES[LEAST]:
        return Role.EDITOR
    return registered


def format_scope(role: Role) -> str:
    """What a client is told it was given."""
    return " ".join(word for word, given in ROLES.items() if given.rank <= role.rank)


def list_role_choices(requested_role: Role | None, own: Role) -> list[Role]:
    """How much a person may give: no more than was asked for, and no more than they have."""
    most = min_role(requested_role or Role.EDITOR, own)
    return [role for role in ROLES.values() if role.rank <= most.rank]


def suggest_role(requested_role: Role | None, own: Role, agreed: Role | None) -> Role:
    """What is chosen until the person chooses: what they agreed to, or the least that was meant."""
    if agreed is not None and requested_role is None:
        return min_role(agreed, own)
    return min_role(requested_role or Role.VIEWER, own)


def merge_agreed_role(given: Role, most: Role, agreed: Role | None) -> Role:
    """What stands as agreed after an answer; ``most`` is the most that could have been given.

    Who gives all of it has taken nothing back: a client that asks for less on one day may have
    more on another. Who gives less than that means it for all that the client holds.
    """
    if agreed is None or given.rank < most.rank:
        return given
    return max(given, agreed, key=lambda role: role.rank)


def is_role_sufficient(agreed: Role | None, requested_role: Role | None) -> bool:
    """Whether what a person agreed to is enough for what is asked; a wider request is not."""
    return agreed is not None and (requested_role is None or requested_role.rank <= agreed.rank)


def describe_role(role: Role) -> list[str]:
    """What a client may do with a role, in sentences. An account is out of its reach."""
    return [
        permission.meaning
        for permission in Permission
        if permission is not Permission.ACCOUNT and role.may(permission)
    ]
