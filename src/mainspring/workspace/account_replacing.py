"""Which account an agreed automation writes with: only a person makes it another one.

The account is part of what a person agrees to. A secret that a write uses, and a connection that
it goes over, decide the account, although the definition stays the same. A program that could
replace them could send what an automation sends to an account of its own. Rotating the key of the
same account over a connection stays free, and so does everything that only reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.errors import PersonRequired
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.approval import AGENTS
from mainspring.definition.secret_use import find_secret_uses
from mainspring.definition.traits import find_sending_steps
from mainspring.definition.upgrade import upgrade
from mainspring.workspace.automations import read_grants
from mainspring.workspace.consents import may_agree

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction

# What one workspace can say about a document.
Words = Callable[[UUID, Any], Awaitable[Vocabulary]]
# Whether a definition with these grants writes with what would be replaced.
WritesWith = Callable[[Mapping[str, Any], Sequence[Grant], Vocabulary], bool]

_MOST_NAMED: Final = 3
# The version in force, and the one that a person agreed to where that is another one. An archived
# automation is brought back with its agreement, so it counts.
_AGREED = """
    SELECT a.id, a.name, a.state, v.grants, d.document
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version IN (a.version, a.agreed_version)
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND ($2::uuid IS NULL OR a.created_by = $2)
        AND a.agreed_version IS NOT NULL
    ORDER BY a.id
"""


def writes_with_secret(name: str) -> WritesWith:
    """Whether a write uses the secret of this name, by its template or without naming it."""

    def test(document: Mapping[str, Any], grants: Sequence[Grant], words: Vocabulary) -> bool:
        if any(name in route.secrets for route in _routes(grants, words)):
            return True
        uses = [one for one in find_secret_uses(document, Limits()) if one.secret == name]
        if not uses:
            return False
        sending = tuple(f"{pointer}/" for pointer in find_sending_steps(document, words))
        return any(one.action in AGENTS or one.pointer.startswith(sending) for one in uses)

    return test


def writes_over(integration: str) -> WritesWith:
    """Whether a write goes over the connection to this integration."""

    def test(document: Mapping[str, Any], grants: Sequence[Grant], words: Vocabulary) -> bool:
        del document
        return any(route.integration == integration for route in _routes(grants, words))

    return test


def writes_instead_of(integration: str, secrets: Collection[str] | None) -> WritesWith:
    """Whether a write goes over this integration, and without it with one of these secrets.

    None: with any secret that does as well.
    """

    def test(document: Mapping[str, Any], grants: Sequence[Grant], words: Vocabulary) -> bool:
        del document
        routes = [one for one in _routes(grants, words) if one.integration == integration]
        if secrets is None:
            return any(one.secrets for one in routes)
        return any(not one.secrets.isdisjoint(secrets) for one in routes)

    return test


async def check_may_replace(
    tx: Transaction,
    actor: Actor,
    workspace_id: UUID,
    owner_id: UUID | None,
    words: Words,
    writes_with: WritesWith,
    detail: str,
    *,
    page: str,
    command: str = "",
) -> None:
    """Refuses a program that would give agreed automations of this owner another account.

    A token with the permission approve may, if it names all of these automations. No owner: the
    automations of everybody. ``detail`` says what is replaced.
    """
    if actor.is_person:
        return
    found: dict[UUID, str] = {}
    for row in await tx.fetch(_AGREED, workspace_id, owner_id):
        if row["id"] in found or may_agree(actor, row["id"]):
            continue
        document, grants = upgrade(row["document"])[0], read_grants(row["grants"])
        known = await words(workspace_id, document)
        if await asyncio.to_thread(writes_with, document, grants, known):
            found[row["id"]] = _name(row)
    if found:
        raise PersonRequired(
            f"{detail} decides which account {_named(found.values())} writes with. A person "
            "replaces it; a program cannot.",
            url=page,
            command=command,
        )


def _routes(grants: Iterable[Grant], words: Vocabulary) -> list[Any]:
    """Where the granted capabilities that write lead."""
    granted = (words.capabilities.get(one.capability) for one in grants)
    return [
        one.annotations.route
        for one in granted
        if one is not None and _writes(one) and one.annotations.route is not None
    ]


def _writes(capability: Capability) -> bool:
    return capability.write is not None or capability.annotations.effect is Effect.SEND


def _name(row: Mapping[str, Any]) -> str:
    archived = " (archived)" if row["state"] == "archived" else ""
    return f"{row['name'][:60]!r}{archived}"


def _named(names: Iterable[str]) -> str:
    shown = list(names)
    rest = len(shown) - _MOST_NAMED
    return ", ".join(shown[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
