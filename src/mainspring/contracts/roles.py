"""Roles and permissions in a workspace: one table for every interface, test and docs page.

Each role has all permissions of the roles before it. A route or a capability names a permission,
never a role, so that only this table maps one to the other.
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
        """Whether this role has a permission."""
        return self.rank >= LEAST[permission].rank


class Permission(StrEnum):
    """One permission of a member."""

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
        """What it allows, as a sentence."""
        return _MEANINGS[self]

    @property
    def deed(self) -> str:
        """What a member without it may not do, as the end of a sentence."""
        return _DEEDS[self]


_MEANINGS: Final[Mapping[Permission, str]] = MappingProxyType(
    {
        Permission.READ: "View the workspace and its runs.",
        Permission.ACCOUNT: "Manage your own tokens, sessions and password.",
        Permission.RUN: "Start, cancel, retry and replay runs, and publish events.",
        Permission.SWITCH: "Activate and pause approved automations.",
        Permission.DECIDE: "Answer requests in the inbox.",
        Permission.EDIT: "Change definitions, boards, pages, event types, files and webhooks.",
        Permission.SECRET: "Store your own secrets in the vault.",
        Permission.CONNECT: "Connect the workspace to models and tools.",
        Permission.MEMBERS: (
            "Invite, change and remove members; revoke others' tokens and secrets."
        ),
        Permission.AUDIT: "Read the audit log.",
        Permission.OWN: "Appoint owners and admins, and change the workspace itself.",
    }
)
_DEEDS: Final[Mapping[Permission, str]] = MappingProxyType(
    {
        Permission.READ: "view this workspace",
        Permission.ACCOUNT: "manage tokens, sessions and a password",
        Permission.RUN: "start, cancel, retry or replay runs, or publish events",
        Permission.SWITCH: "activate or pause automations",
        Permission.DECIDE: "answer requests in the inbox",
        Permission.EDIT: "change this workspace's content",
        Permission.SECRET: "change secrets",
        Permission.CONNECT: "connect the workspace to other services",
        Permission.MEMBERS: "manage members, their tokens and their secrets",
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
    """The lesser of two roles: a token never has more permissions than its member."""
    return one if one.rank <= other.rank else other


def check_may(role: Role | None, permission: Permission) -> None:
    """Raise unless the role has the permission."""
    if role is None or not role.may(permission):
        raise role_too_small_error(role, permission)


def role_too_small_error(role: Role | None, permission: Permission) -> PermissionDenied:
    """The error for a missing permission, the same on every interface."""
    least = LEAST[permission]
    takes = least.value if least is Role.OWNER else f"{least.value} or more"
    shown = "Without a role here you" if role is None else f"Your role here ({role.value})"
    return PermissionDenied(
        f"{shown} may not {permission.deed}; the required role is {takes}.",
        code="role_too_small",
        suggestion=(
            "Ask an admin or an owner of the workspace, or use a token with more permissions."
        ),
    )
