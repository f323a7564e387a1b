"""Which accounts and models agreed automations use: a person changes them, a program does not.

An agreement covers the account of what is sent and the model that writes it. Before anybody has
agreed to an automation that uses one, a program may set it up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.errors import PersonRequired

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction

_MOST_NAMED: Final = 5
# The version in force, and the one that a person agreed to where that is another one. An archived
# automation is brought back with its agreement, so it counts.
_USERS = """
    SELECT DISTINCT a.name, a.workspace_id = $5 AS here
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version IN (a.version, a.agreed_version)
    CROSS JOIN LATERAL jsonb_array_elements(v.grants) AS g(entry)
    WHERE ($1::uuid IS NULL OR a.workspace_id = $1)
        AND a.agreed_version IS NOT NULL
        AND ($2::uuid IS NULL OR a.created_by = $2)
        AND g.entry ->> 'capability' = ANY($3::text[])
    ORDER BY here DESC, a.name LIMIT $4
"""


async def check_changes_account(
    tx: Transaction,
    actor: Actor,
    owner_id: UUID | None,
    capabilities: Iterable[str],
    *,
    space: UUID | None,
) -> None:
    """Refuses a program where agreed automations of a member send over the account.

    ``owner_id`` is the member whose automations use it; None: those of all members. ``space`` is
    the workspace; None: all of them.
    """
    if actor.is_person:
        return
    here = actor.workspace_id
    rows = await tx.fetch(_USERS, space, owner_id, list(capabilities), _MOST_NAMED, here)
    if rows:
        # What other workspaces have is not said.
        names = ", ".join(row["name"] for row in rows if row["here"])
        raise PersonRequired(
            "A person changes the account or the model that agreed automations use "
            f"({names or 'in another workspace'}); a program cannot.",
            suggestion="Change it on the page, where you are signed in, or with a command at a "
            "terminal of the server.",
        )
