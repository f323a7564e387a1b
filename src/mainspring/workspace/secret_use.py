"""An automation and its owner's secrets: which are missing, and who may let them go further.

Runs use the secrets of the member who made the automation. Somebody else may change it, yet
may not send those secrets anywhere new: that would be reaching into another's drawer. When
that member has left, nobody uses their secrets any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, NotFound, PermissionDenied
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.secret_use import SecretUsage, find_secret_uses
from mainspring.workspace.publisher_secrets import (
    PREFIX,
    check_may_publish,
    format_set_hint,
    list_set_publisher_secrets,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_THERE = """
    SELECT name FROM secrets
    WHERE workspace_id = $1 AND kind = 'automation' AND owner_id = $2 AND name = ANY($3::text[])
"""
_HERE = """
    SELECT 1 FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = $1 AND m.user_id = $2 AND u.disabled_at IS NULL
"""
_MOST_SHOWN = 10


async def find_missing_secrets(
    tx: Transaction,
    workspace_id: UUID,
    owner_id: UUID,
    document: Mapping[str, Any],
    limits: Limits | None = None,
) -> tuple[Finding, ...]:
    """The secrets that a definition uses and its owner does not have, each where it is used."""
    lacking = await _list_unset_secrets(tx, workspace_id, owner_id, document, limits or Limits())
    return tuple(_build_missing_finding(use) for use in lacking)


async def check_owner_here(tx: Transaction, workspace_id: UUID, owner_id: UUID) -> None:
    """Refuses to work for an owner who is no member any more, or was disabled."""
    if await tx.fetchrow(_HERE, workspace_id, owner_id) is None:
        raise NotFound(
            "The owner of this automation is no longer a member here; nothing of theirs is used.",
            code="owner_left",
            suggestion="Take it over under Settings, Members, or with "
            "`mainspring members takeover`.",
        )


async def check_secrets_there(
    tx: Transaction,
    workspace_id: UUID,
    owner_id: UUID,
    document: Mapping[str, Any],
    limits: Limits,
) -> None:
    """Refuses to set an automation going that could only fail."""
    uses = find_secret_uses(document, limits)
    if any(use.secret.startswith(PREFIX) for use in uses):
        await check_may_publish(tx, workspace_id, owner_id)
    lacking = await _list_unset_secrets(tx, workspace_id, owner_id, document, limits)
    if lacking:
        names = sorted({use.secret for use in lacking})
        raise Conflict(
            f"The secrets it uses are not set: {_format_names(names)}.",
            code="secrets_missing",
            findings=[_build_missing_finding(use) for use in lacking],
            suggestion="Set them in the vault, then activate it.",
        )


def check_not_widened(
    before: Mapping[str, Any], after: Mapping[str, Any], widened: Sequence[Grant]
) -> None:
    """Refuses a version, by somebody other than the owner, that lets secrets go further."""
    limits = Limits()
    uses = find_secret_uses(after, limits)
    if not uses:
        return
    known = find_secret_uses(before, limits)
    findings = [_build_widening_finding(use) for use in uses if not use.is_within(known)]
    findings += [
        Finding(
            "/grants",
            f"This version may call {grant.capability} in ways that the one in force may not.",
            "grant_widened",
        )
        for grant in widened
    ]
    if findings:
        raise PermissionDenied(
            "This automation uses its owner's secrets, and this version would let them go further.",
            code="secrets_widened",
            findings=findings,
            suggestion="Let its owner save this version, or save it as an automation of your own.",
        )


async def _list_unset_secrets(
    tx: Transaction, workspace_id: UUID, owner_id: UUID, document: Mapping[str, Any], limits: Limits
) -> list[SecretUsage]:
    uses = find_secret_uses(document, limits)
    if not uses:
        return []
    rows = await tx.fetch(_THERE, workspace_id, owner_id, sorted({use.secret for use in uses}))
    there = {row["name"] for row in rows}
    there |= await list_set_publisher_secrets(tx, workspace_id, (use.secret for use in uses))
    return [use for use in uses if use.secret not in there]


def _build_missing_finding(use: SecretUsage) -> Finding:
    if use.secret.startswith(PREFIX):
        name = use.secret.removeprefix(PREFIX)
        detail = f"The workspace has no publisher secret called {name}."
        return Finding(use.pointer, detail, "secret_missing", format_set_hint(name))
    return Finding(
        use.pointer,
        f"The automation's owner has no secret called {use.secret}.",
        "secret_missing",
        f"The owner adds it with `mainspring secrets set {use.secret}`.",
    )


def _build_widening_finding(use: SecretUsage) -> Finding:
    where = f" to {use.site}" if use.site else ""
    part = f"the {use.part} of " if use.part else ""
    detail = f"The owner's secret {use.secret} did not go{where} from {part}{use.action} before."
    return Finding(use.pointer, detail, "secret_goes_further")


def _format_names(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
