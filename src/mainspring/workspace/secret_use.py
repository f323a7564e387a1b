"""An automation and its owner's secrets: which are missing, and who may let them go further.

Runs use the secrets of the member who made the automation. Somebody else may change it, yet
may not send those secrets anywhere new: that would be reaching into another's drawer. When
that member has left, nobody uses their secrets any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Clash, Denied, Finding, Missing
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.secret_use import SecretUse, secret_uses
from mainspring.workspace.publisher_secrets import (
    PREFIX,
    check_may_publish,
    how_to_set,
    published_there,
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


async def missing_secrets(
    tx: Transaction,
    workspace_id: UUID,
    owner_id: UUID,
    document: Mapping[str, Any],
    limits: Limits | None = None,
) -> tuple[Finding, ...]:
    """The secrets that a definition uses and its owner does not have, each where it is used."""
    lacking = await _lacking(tx, workspace_id, owner_id, document, limits or Limits())
    return tuple(_missing(use) for use in lacking)


async def check_owner_here(tx: Transaction, workspace_id: UUID, owner_id: UUID) -> None:
    """Refuses to work for an owner who is no member any more, or was disabled."""
    if await tx.fetchrow(_HERE, workspace_id, owner_id) is None:
        raise Missing(
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
    uses = secret_uses(document, limits)
    if any(use.secret.startswith(PREFIX) for use in uses):
        await check_may_publish(tx, workspace_id, owner_id)
    lacking = await _lacking(tx, workspace_id, owner_id, document, limits)
    if lacking:
        names = sorted({use.secret for use in lacking})
        raise Clash(
            f"The secrets it uses are not set: {_shown(names)}.",
            code="secrets_missing",
            findings=[_missing(use) for use in lacking],
            suggestion="Set them in the vault, then activate it.",
        )


def check_not_widened(
    before: Mapping[str, Any], after: Mapping[str, Any], widened: Sequence[Grant]
) -> None:
    """Refuses a version, by somebody other than the owner, that lets secrets go further."""
    limits = Limits()
    uses = secret_uses(after, limits)
    if not uses:
        return
    known = secret_uses(before, limits)
    findings = [_further(use) for use in uses if not use.is_within(known)]
    findings += [
        Finding(
            "/grants",
            f"This version may call {grant.capability} in ways that the one in force may not.",
            "grant_widened",
        )
        for grant in widened
    ]
    if findings:
        raise Denied(
            "This automation uses its owner's secrets, and this version would let them go further.",
            code="secrets_widened",
            findings=findings,
            suggestion="Let its owner save this version, or save it as an automation of your own.",
        )


async def _lacking(
    tx: Transaction, workspace_id: UUID, owner_id: UUID, document: Mapping[str, Any], limits: Limits
) -> list[SecretUse]:
    uses = secret_uses(document, limits)
    if not uses:
        return []
    rows = await tx.fetch(_THERE, workspace_id, owner_id, sorted({use.secret for use in uses}))
    there = {row["name"] for row in rows}
    there |= await published_there(tx, workspace_id, (use.secret for use in uses))
    return [use for use in uses if use.secret not in there]


def _missing(use: SecretUse) -> Finding:
    if use.secret.startswith(PREFIX):
        name = use.secret.removeprefix(PREFIX)
        detail = f"The workspace has no publisher secret called {name}."
        return Finding(use.pointer, detail, "secret_missing", how_to_set(name))
    return Finding(
        use.pointer,
        f"The automation's owner has no secret called {use.secret}.",
        "secret_missing",
        f"The owner adds it with `mainspring secrets set {use.secret}`.",
    )


def _further(use: SecretUse) -> Finding:
    where = f" to {use.site}" if use.site else ""
    part = f"the {use.part} of " if use.part else ""
    detail = f"The owner's secret {use.secret} did not go{where} from {part}{use.action} before."
    return Finding(use.pointer, detail, "secret_goes_further")


def _shown(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
