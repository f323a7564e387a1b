"""Who may do what in a workspace: one table, read by every surface, test and page of docs.

Each role may do everything that the roles before it may. A route or a capability names a
permission, never a role, so that this table is the only place that weighs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from mainspring.contracts.errors import PermissionDenied


class Role(StrEnum):
    """What a member is in a workspace, from the least to the most."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    EDITOR = "editor"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        return _RANKS[self]

    def may(self, permission: Permission) -> bool:
        """Whether this role is enough."""
        return self.rank >= LEAST[permission].rank


class Permission(StrEnum):
    """One kind of thing that a member may be allowed."""

    READ = "read"
    ACCOUNT = "account"
    RUN = "run"
    SWITCH = "switch"
    DECIDE = "decide"
    EDIT = "edit"
    SECRET = "secret"  # noqa: S105
    CONNECT = "connect"
    MEMBERS = "members"
    AUDIT = "audit"
    OWN = "own"

    @property
    def meaning(self) -> str:
        """What it allows, in a sentence."""
        return _MEANINGS[self]

    @property
    def deed(self) -> str:
        """What somebody without it may not do, as the end of a sentence."""
        return _DEEDS[self]


_MEANINGS: Final[Mapping[Permission, str]] = MappingProxyType(
    {
        Permission.READ: "See what the workspace keeps and what its runs did.",
        Permission.ACCOUNT: "Look after one's own tokens, sessions and password.",
        Permission.RUN: "Start, cancel, retry and replay runs, and tell of events.",
        Permission.SWITCH: "Set an approved automation going or at rest.",
        Permission.DECIDE: "Answer what waits in the inbox.",
        Permission.EDIT: "Change definitions, boards, pages, event types, files and webhooks.",
        Permission.SECRET: "Put one's own secrets into the vault.",
        Permission.CONNECT: "Connect the workspace to models and tools elsewhere.",
        Permission.MEMBERS: "Invite, change and remove members; end others' tokens and secrets.",
        Permission.AUDIT: "Read the audit log.",
        Permission.OWN: "Name owners and admins, and change the workspace itself.",
    }
)
_DEEDS: Final[Mapping[Permission, str]] = MappingProxyType(
    {
        Permission.READ: "see what is kept here",
        Permission.ACCOUNT: "look after tokens, sessions and a password",
        Permission.RUN: "start, cancel, retry or replay runs, or tell of events",
        Permission.SWITCH: "set automations going or at rest",
        Permission.DECIDE: "answer what waits in the inbox",
        Permission.EDIT: "change what is kept here",
        Permission.SECRET: "change secrets",
        Permission.CONNECT: "connect the workspace to anything elsewhere",
        Permission.MEMBERS: "look after members and what is theirs",
        Permission.AUDIT: "read the audit log",
        Permission.OWN: "change the workspace itself",
    }
)
_RANKS: Final = {role: rank for rank, role in enumerate(Role)}

LEAST: Final[Mapping[Permission, Role]] = MappingProxyType(
    {
        Permission.READ: Role.VIEWER,
        Permission.ACCOUNT: Role.VIEWER,
        Permission.RUN: Role.OPERATOR,
        Permission.SWITCH: Role.OPERATOR,
        Permission.DECIDE: Role.OPERATOR,
        Permission.EDIT: Role.EDITOR,
        Permission.SECRET: Role.EDITOR,
        Permission.CONNECT: Role.ADMIN,
        Permission.MEMBERS: Role.ADMIN,
        Permission.AUDIT: Role.ADMIN,
        Permission.OWN: Role.OWNER,
    }
)


def min_role(one: Role, other: Role) -> Role:
    """The smaller of two roles: a token never gives more than its member has."""
    return one if one.rank <= other.rank else other


def check_may(role: Role | None, permission: Permission) -> None:
    """Refuses a role that is too small."""
    if role is None or not role.may(permission):
        raise role_too_small_error(role, permission)


def role_too_small_error(role: Role | None, permission: Permission) -> PermissionDenied:
    """The one refusal for whoever has too small a role, wherever they ask."""
    least = LEAST[permission]
    takes = least.value if least is Role.OWNER else f"{least.value} or more"
    shown = "Without a role here you" if role is None else f"Your role here ({role.value})"
    return PermissionDenied(
        f"{shown} may not {permission.deed}; that takes {takes}.",
        code="role_too_small",
        suggestion="Ask an admin or an owner of the workspace, or use a token that gives more.",
    )
