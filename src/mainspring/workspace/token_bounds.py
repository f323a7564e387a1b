"""What a new token may give: no more than its maker has, and nothing that it could never call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Audience, Capability
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Finding, Invalid, PermissionDenied
from mainspring.contracts.roles import Permission, Role
from mainspring.definition.words import suggest_nearest
from mainspring.workspace.tokens import StoredToken, TokenLimits

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

ANSWER: Final = "answer_consent"
MOST_APPROVED: Final = 100
APPROVE_WARNING: Final = (
    "This token agrees without a person: a program that holds it can let the named automations "
    "send, spend and use secrets as it likes, until it expires or is revoked. Keep it away from "
    "whatever writes automations."
)
_THERE: Final = """
    SELECT id FROM automations
    WHERE workspace_id = $1 AND id = ANY($2::uuid[]) AND state <> 'archived'
"""
# Its last hours cannot be written in UTC from every zone.
LAST_YEAR: Final = 9999


def check_bounds(
    bounds: TokenLimits,
    actor: Actor,
    known: Mapping[str, Capability],
    now: datetime,
    ends: datetime | None,
) -> None:
    """Refuses a token that would give more than its maker has, or name what it cannot call.

    Whoever makes it with a token gives away no more time than that token has left.
    """
    if bounds.approves is not None and not actor.is_person:
        detail = "A person makes a token with the permission approve; a program cannot."
        raise PermissionDenied(
            detail,
            code="person_needed",
            findings=[Finding("/approves", detail, "person_needed")],
            suggestion="Make it on the page Settings, or with `mainspring tokens create` at a "
            "terminal.",
        )
    if actor.role is None or bounds.role.rank > actor.role.rank:
        detail = "A token cannot have a higher role than you have here."
        raise PermissionDenied(
            detail, code="role_too_small", findings=[Finding("/role", detail, "role")]
        )
    judged = (
        _judge(name, f"/capabilities/{place}", bounds.role, actor, known)
        for place, name in enumerate(bounds.capabilities or ())
    )
    findings = [found for found in judged if found is not None]
    if bounds.approves is not None:
        findings += _judge_approving(bounds)
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
        raise PermissionDenied(detail, code="outlives", findings=[found])


def _judge_approving(bounds: TokenLimits) -> Iterator[Finding]:
    """What is missing from a token that may approve."""
    if not bounds.approves:
        yield Finding("/approves", "Name the automations that it may approve.", "required")
    elif len(bounds.approves) > MOST_APPROVED:
        detail = f"A token approves at most {MOST_APPROVED} automations."
        yield Finding("/approves", detail, "length")
    if bounds.expires_at is None:
        detail = "A token with the permission approve must expire."
        yield Finding("/expires_at", detail, "expiry_required", "Say when it ends.")
    if not bounds.role.may(Permission.EDIT):
        detail = f"Agreeing takes the role {Role.EDITOR.value}; this token could not use approve."
        yield Finding("/role", detail, "role_too_small")
    if bounds.capabilities is not None and ANSWER not in bounds.capabilities:
        detail = f"A token that may approve calls {ANSWER}, which is not among these."
        yield Finding("/capabilities", detail, "capability_missing", f"Add {ANSWER}.")


async def check_approved_exist(
    tx: Transaction, workspace_id: UUID, approves: Sequence[UUID] | None
) -> None:
    """Refuses a token that names an automation which is not in this workspace."""
    if approves is None:
        return
    rows = await tx.fetch(_THERE, workspace_id, list(approves))
    there = {row["id"] for row in rows}
    findings = [
        Finding(f"/approves/{place}", "There is no such automation.", "no_automation")
        for place, one in enumerate(approves)
        if one not in there
    ]
    if findings:
        raise Invalid("A token cannot be made like this.", findings=findings)


def _judge(
    name: str, pointer: str, role: Role, actor: Actor, known: Mapping[str, Capability]
) -> Finding | None:
    """What is wrong with a capability's name in a token, which would never be able to call it."""
    found = known.get(name)
    if found is None:
        detail = f"There is no capability called {name[:64]!r}."
        return Finding(pointer, detail, "unknown_capability", suggest_nearest(name, known))
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


def describe_token(stored: StoredToken) -> dict[str, Any]:
    """What the audit log says of a new token."""
    told: dict[str, Any] = {"role": stored.role.value}
    if stored.approves is not None:
        told["approves"] = [str(one) for one in stored.approves]
    return told
