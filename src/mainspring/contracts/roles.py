"""Who may do what in a workspace: one table, read by every surface, test and page of docs.

Each role may do everything that the roles before it may. A route or a capability names a
permission, never a role, so that this table is the only place that weighs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


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

    READ = "read"  # see what the workspace keeps and what its runs did
    ACCOUNT = "account"  # one's own tokens, sessions and password
    RUN = "run"  # start, cancel, retry and replay runs; tell of events
    SWITCH = "switch"  # set an approved automation going or at rest
    DECIDE = "decide"  # answer what waits in the inbox
    EDIT = "edit"  # change definitions, boards, pages, event types
    SECRET = "secret"  # put one's own secrets into the vault  # noqa: S105
    MEMBERS = "members"  # invite, change and remove members; others' tokens and secrets
    AUDIT = "audit"  # read the audit log
    OWN = "own"  # name owners and admins; change the workspace itself


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
        Permission.MEMBERS: Role.ADMIN,
        Permission.AUDIT: Role.ADMIN,
        Permission.OWN: Role.OWNER,
    }
)


def lesser(one: Role, other: Role) -> Role:
    """The smaller of two roles: a token never gives more than its member has."""
    return one if one.rank <= other.rank else other
