"""Boards and accounts by their names, in the sentences that a person is asked to agree to.

What an automation may do is read from its definition alone, which knows a board by its id and says
nothing of the account that its owner has connected. A person knows both by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.definition.authority import AuthorityAddition
from mainspring.definition.authority_words import quote_name
from mainspring.definition.write_words import OWNER_ACCOUNTS

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_ID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NAMES = "SELECT id, name FROM boards WHERE workspace_id = $1 AND id = ANY($2::uuid[])"
# A member's own connection comes before that of the workspace, as it does in a run.
_ACCOUNTS = """
    SELECT DISTINCT ON (integration) integration, account FROM integration_connections
    WHERE workspace_id = $1 AND (owner_id = $2 OR shared_at IS NOT NULL)
        AND state <> 'sign_in' AND account <> ''
    ORDER BY integration, owner_id = $2 DESC
"""
_MAKER = "SELECT created_by FROM automations WHERE workspace_id = $1 AND id = $2"


async def with_names(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, added: Sequence[AuthorityAddition]
) -> tuple[AuthorityAddition, ...]:
    """The additions of an automation, with its boards and its owner's accounts by name."""
    row = await tx.fetchrow(_MAKER, workspace_id, automation_id)
    named = await add_board_names(tx, workspace_id, added)
    return named if row is None else await with_accounts(tx, workspace_id, row["created_by"], named)


async def with_accounts(
    tx: Transaction, workspace_id: UUID, owner: UUID, added: Sequence[AuthorityAddition]
) -> tuple[AuthorityAddition, ...]:
    """The same additions, with each account that the owner has connected by its name."""
    wanted = {
        words: integration
        for integration, words in OWNER_ACCOUNTS.items()
        if any(words in one.says for one in added)
    }
    if not wanted:
        return tuple(added)
    known = await account_names(tx, workspace_id, owner)

    def named(says: str) -> str:
        for words, integration in wanted.items():
            if integration in known:
                says = says.replace(words, f"as {quote_name(known[integration])}")
        return says

    return tuple(replace(one, says=named(one.says)) for one in added)


async def account_names(tx: Transaction, workspace_id: UUID, owner: UUID) -> dict[str, str]:
    """Who somebody is at each integration that they have connected, or that is shared with them."""
    rows = await tx.fetch(_ACCOUNTS, workspace_id, owner)
    return {row["integration"]: row["account"] for row in rows}


async def add_board_names(
    tx: Transaction, workspace_id: UUID, added: Sequence[AuthorityAddition]
) -> tuple[AuthorityAddition, ...]:
    """The same additions, with the name of each board that there is before its id."""
    wanted = {found for one in added for found in _ID.findall(one.says)}
    if not wanted:
        return tuple(added)
    rows = await tx.fetch(_NAMES, workspace_id, [UUID(one) for one in sorted(wanted)])
    names = {str(row["id"]): quote_name(row["name"]).replace('"', "'") for row in rows}

    def named(found: re.Match[str]) -> str:
        name = names.get(found[0])
        return found[0] if name is None else f'"{name}" ({found[0]})'

    return tuple(replace(one, says=_ID.sub(named, one.says)) for one in added)
