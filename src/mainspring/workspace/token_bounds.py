"""What a new token may give: no more than its maker has, and nothing that it could never call."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from mainspring.contracts.capability import Audience, Capability
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Denied, Finding, Invalid
from mainspring.contracts.roles import Role
from mainspring.definition.words import did_you_mean
from mainspring.workspace.tokens import Bounds

# Its last hours cannot be written in UTC from every zone.
LAST_YEAR: Final = 9999


def check_bounds(
    bounds: Bounds,
    actor: Actor,
    known: Mapping[str, Capability],
    now: datetime,
    ends: datetime | None,
) -> None:
    """Refuses a token that would give more than its maker has, or name what it cannot call.

    Whoever makes it with a token gives away no more time than that token has left.
    """
    if actor.role is None or bounds.role.rank > actor.role.rank:
        detail = "A token cannot have a higher role than you have here."
        raise Denied(detail, code="role_too_small", findings=[Finding("/role", detail, "role")])
    judged = (
        _judge(name, f"/capabilities/{place}", bounds.role, actor, known)
        for place, name in enumerate(bounds.capabilities or ())
    )
    findings = [found for found in judged if found is not None]
    if bounds.expires_at is not None and bounds.expires_at <= now:
        findings.append(Finding("/expires_at", "This moment has passed.", "past"))
    elif bounds.expires_at is not None and bounds.expires_at.year >= LAST_YEAR:
        detail = f"A token ends before the year {LAST_YEAR}, or never (null)."
        findings.append(Finding("/expires_at", detail, "range"))
    if findings:
        raise Invalid("A token cannot be made like this.", findings=findings)
    if ends is not None and (bounds.expires_at is None or bounds.expires_at > ends):
        detail = "A token that is made with another cannot outlive it."
        found = Finding("/expires_at", detail, "outlives")
        raise Denied(detail, code="outlives", findings=[found])


def _judge(
    name: str, pointer: str, role: Role, actor: Actor, known: Mapping[str, Capability]
) -> Finding | None:
    """What is wrong with a capability's name in a token, which would never be able to call it."""
    found = known.get(name)
    if found is None:
        detail = f"There is no capability called {name[:64]!r}."
        return Finding(pointer, detail, "unknown_capability", did_you_mean(name, known))
    audience = found.annotations.audience
    if audience is Audience.RUNS:
        detail = f"{name} is there for runs alone; no token can call it."
    elif audience is Audience.ADMINISTRATORS:
        if actor.administrator and role is Role.OWNER:
            return None
        detail = f"{name} takes a token of an administrator with the role {Role.OWNER.value}."
    elif not role.may(found.permission):
        detail = f"{name} takes more than the role {role.value}; this token could not call it."
    else:
        return None
    return Finding(pointer, detail, "capability_out_of_reach")
