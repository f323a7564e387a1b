"""OAuth scopes, each mapped to a role.

Scopes are cumulative, as roles are. A client never gets the admin or owner role: those need a
manually created token.
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
# The scope named in the MCP server's 401, so that clients do not request everything by default.
LEAST: Final = "read"
# Accepted and ignored: refresh tokens depend on the registered grant types.
_OF_NO_ACCOUNT: Final = frozenset({"offline_access"})
_LONGEST: Final = 1_000


def parse_requested_role(scope: str | None) -> Role | None:
    """Return the smallest role that covers a scope; None when no scope was requested."""
    words = (scope or "")[:_LONGEST].split(" ")
    named = [word for word in words if word and word not in _OF_NO_ACCOUNT]
    if not named:
        return None
    if any(word not in ROLES for word in named):
        raise OAuthError("invalid_scope", f"A scope is made of {', '.join(ROLES)}.")
    return max((ROLES[word] for word in named), key=lambda role: role.rank)


def parse_registered_role(scope: Any) -> Role | None:
    """Return the role of a registered scope; scopes of other servers are ignored."""
    words = scope[:_LONGEST].split(" ") if isinstance(scope, str) else []
    named = [ROLES[word] for word in words if word in ROLES]
    return max(named, key=lambda role: role.rank) if named else None


def limit_to_registration(requested_role: Role | None, registered: Role | None) -> Role | None:
    """Return the requested role, at most the registered one; None: the person chooses.

    Clients register and request what the 401 names, so the smallest scope is not a limit that they
    chose: it is preselected, and the person may grant more, within ``limit_of``.
    """
    role = (
        requested_role if registered is None else min_role(requested_role or registered, registered)
    )
    return None if role is ROLES[LEAST] else role


def limit_of(requested_role: Role | None, registered: Role | None) -> Role:
    """Return the largest role that can be granted: the requested one, else the registered one.

    A registration with no scope or the smallest one sets no limit.
    """
    if requested_role is not None:
        return requested_role
    if registered is None or registered is ROLES[LEAST]:
        return Role.EDITOR
    return registered


def format_scope(role: Role) -> str:
    """Format the granted role as a scope."""
    return " ".join(word for word, given in ROLES.items() if given.rank <= role.rank)


def list_role_choices(requested_role: Role | None, own: Role) -> list[Role]:
    """List the roles that a person may grant: at most the requested one and their own."""
    most = min_role(requested_role or Role.EDITOR, own)
    return [role for role in ROLES.values() if role.rank <= most.rank]


def suggest_role(requested_role: Role | None, own: Role, agreed: Role | None) -> Role:
    """Preselect a role: the one consented to before, or the smallest that was requested."""
    if agreed is not None and requested_role is None:
        return min_role(agreed, own)
    return min_role(requested_role or Role.VIEWER, own)


def merge_agreed_role(given: Role, most: Role, agreed: Role | None) -> Role:
    """Merge an answer into the stored consent; ``most`` is the largest role that was on offer.

    Granting the full offer revokes nothing: a client that requests less one day may use more
    another day. Granting less than the offer reduces everything the client holds.
    """
    if agreed is None or given.rank < most.rank:
        return given
    return max(given, agreed, key=lambda role: role.rank)


def is_role_sufficient(agreed: Role | None, requested_role: Role | None) -> bool:
    """Report whether the consented role covers the requested one."""
    return agreed is not None and (requested_role is None or requested_role.rank <= agreed.rank)


def describe_role(role: Role) -> list[str]:
    """Describe in sentences what a client may do with a role. Account settings are excluded."""
    return [
        permission.meaning
        for permission in Permission
        if permission is not Permission.ACCOUNT and role.may(permission)
    ]
