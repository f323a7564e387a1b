"""Who holds a token, asked for many requests at once.

Requests that arrive together are answered by one query, which begins after the last of them
arrived. No answer is kept: whoever arrives while a query is under way waits for the next one,
so what was committed before a request arrived, a revocation above all, counts for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.roles import Role, min_role

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

# Whose token it is, while the person is still a member and nobody has shut them out.
_HOLDER = """
    SELECT t.hash, t.workspace_id, t.id, t.member_id, t.role, t.capabilities,
        m.role AS member_role, t.expires_at, u.administrator,
        t.client_id, t.approves,
        t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute' AS stale
    FROM access_tokens t
    JOIN users u ON u.id = t.member_id AND u.disabled_at IS NULL
    JOIN members m ON m.workspace_id = t.workspace_id AND m.user_id = t.member_id
    WHERE t.hash = ANY ($1::bytea[]) AND t.revoked_at IS NULL
        AND (t.expires_at IS NULL OR t.expires_at > now())
"""


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """Who shows a token, and what it lets them do."""

    workspace_id: UUID
    token_id: UUID
    member_id: UUID
    role: Role
    capabilities: frozenset[str] | None
    administrator: bool
    expires_at: datetime | None
    # Whether its last use was written down some time ago.
    stale: bool
    # The client that was given it; such a token works at the MCP server alone.
    client_id: UUID | None
    # The automations whose consents the token may answer; None: a usual token.
    approves: frozenset[UUID] | None = None


async def find_holder(tx: Transaction, digest: bytes) -> TokenHolder | None:
    """The holder of the token with this hash, if it works now."""
    return (await find_holders(tx, [digest])).get(digest)


async def find_holders(tx: Transaction, digests: Collection[bytes]) -> dict[bytes, TokenHolder]:
    """The holders of those tokens that work now, by their hashes."""
    return {row["hash"]: _build_holder(row) for row in await tx.fetch(_HOLDER, list(digests))}


def _build_holder(row: Any) -> TokenHolder:
    limited, role, approves = row["capabilities"], Role(row["role"]), row["approves"]
    return TokenHolder(
        row["workspace_id"],
        row["id"],
        row["member_id"],
        min_role(role, Role(row["member_role"])),
        None if limited is None else frozenset(limited),
        # Whoever looks after everything may hand out a token that does not.
        row["administrator"] and role is Role.OWNER,
        row["expires_at"],
        row["stale"],
        row["client_id"],
        None if approves is None else frozenset(approves),
    )


class TokenHolderLookup:
    """Looks tokens up by their hashes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[tuple[bytes, asyncio.Future[TokenHolder | None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def find(self, digest: bytes) -> TokenHolder | None:
        """The holder of the token with this hash, if it works now."""
        found: asyncio.Future[TokenHolder | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((digest, found))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer_all(), name="token-holders")
        return await found

    async def _answer_all(self) -> None:
        while self._waiting:
            taken, self._waiting = self._waiting, []
            try:
                known = await find_holders(self._database, {digest for digest, _ in taken})
            except Exception as error:
                for _, found in taken:
                    if not found.done():
                        found.set_exception(error)
            else:
                for digest, found in taken:
                    if not found.done():
                        found.set_result(known.get(digest))
            finally:
                # Only a task that is itself cancelled leaves anybody without an answer.
                for _, found in taken:
                    found.cancel()
