"""The local workspace as a command sees it: behind its wall, and with the owner as the actor.

A command acts for whoever owns this machine's data folder. What it changes is told to the
audit log under the names that the other surfaces use for the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.store.audit import build_audit_record
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.automations import FIRST_MEMBER

if TYPE_CHECKING:
    from mainspring.surfaces.services import ApplicationServices


@dataclass(slots=True)
class AuditedAction:
    """Something that a command does; it may be completed until it is committed."""

    action: str
    subject: object = None
    detail: dict[str, Any] = field(default_factory=dict)
    # Everything is as it was before: then there is nothing to tell.
    idle: bool = False


def local_owner(services: ApplicationServices) -> Actor:
    """The user who gives commands on this machine; without a terminal it is a program of theirs."""
    return Actor(
        services.workspace_id,
        "member",
        FIRST_MEMBER,
        role=Role.OWNER,
        administrator=True,
        by_program=services.by_program,
        at_terminal=not services.by_program,
    )


def local(services: ApplicationServices, deed: AuditedAction | None = None) -> WorkspaceDatabase:
    """The local workspace; with a deed, each transaction tells the audit log of it."""
    if deed is None:
        return WorkspaceDatabase(services.database, services.workspace_id)
    owner = local_owner(services)
    return WorkspaceDatabase(
        services.database,
        services.workspace_id,
        tell=lambda: (
            [] if deed.idle else [build_audit_record(owner, deed.action, deed.subject, deed.detail)]
        ),
    )
