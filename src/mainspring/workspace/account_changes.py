"""Which accounts and models agreed automations use: a person changes them, a program does not.

An agreement covers the account of a write and the model that writes the text. A secret, a
connection and a model connection decide them, although the definition stays the same. A program
that could replace one could send what an automation sends to an account of its own. Before anybody
has agreed to an automation that uses one, a program may set it up. Another key for the same account
or the same address stays free, and so does everything that only reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.errors import PersonRequired
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry, Vocabulary
from mainspring.definition.approval import AGENTS
from mainspring.definition.secret_use import find_secret_uses
from mainspring.definition.traits import find_sending_steps
from mainspring.definition.upgrade import upgrade
from mainspring.workspace.automations import read_grants
from mainspring.workspace.consent_rows import hold_agreements
from mainspring.workspace.consents import may_agree

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction

# What one workspace can say about documents.
Words = Callable[[UUID, Any], Awaitable[Vocabulary]]
# Whether a definition with these grants uses what would be replaced.
UsesAccount = Callable[[Mapping[str, Any], Sequence[Grant], Vocabulary], bool]

_MOST_NAMED: Final = 3
# The capabilities that ask a model.
_ASKING_MODELS: Final = frozenset({"automation_llm_complete", AGENT_RUN})
# The version in force, and the one that a person agreed to where that is another one. An archived
# automation is brought back with its agreement, so it counts.
_AGREED = """
    SELECT a.workspace_id, a.id, a.name, a.state, v.grants, d.document
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version IN (a.version, a.agreed_version)
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE ($1::uuid IS NULL OR a.workspace_id = $1) AND ($2::uuid IS NULL OR a.created_by = $2)
        AND a.agreed_version IS NOT NULL
    ORDER BY a.id
"""


@dataclass(frozen=True, slots=True)
class AccountChange:
    """What would be replaced, whose automations use it, and where a person replaces it."""

    subject: str
    uses: UsesAccount
    # What the definitions are read with; None: their grants say it alone.
    words: Words | None
    # None: the automations of all workspaces, or of all members.
    workspace_id: UUID | None
    owner_id: UUID | None
    page: str
    command: str = ""
    decides: str = "which account {users} {use}"


def writes_with_secret(name: str) -> UsesAccount:
    """Whether a write uses the secret of this name, by its template or without naming it."""

    def uses(document: Mapping[str, Any], grants: Sequence[Grant], known: Vocabulary) -> bool:
        if any(name in route.secrets for route in _routes(grants, known)):
            return True
        found = [one for one in find_secret_uses(document, Limits()) if one.secret == name]
        if not found:
            return False
        sending = tuple(f"{pointer}/" for pointer in find_sending_steps(document, known))
        return any(one.action in AGENTS or one.pointer.startswith(sending) for one in found)

    return uses


def writes_over(integration: str) -> UsesAccount:
    """Whether a write goes over the connection to this integration."""

    def uses(document: Mapping[str, Any], grants: Sequence[Grant], known: Vocabulary) -> bool:
        del document
        return any(route.integration == integration for route in _routes(grants, known))

    return uses


def writes_instead_of(integration: str, secrets: Collection[str] | None) -> UsesAccount:
    """Whether a write goes over this integration, and without it with one of these secrets.

    None: with any secret that does as well.
    """

    def uses(document: Mapping[str, Any], grants: Sequence[Grant], known: Vocabulary) -> bool:
        del document
        routes = [one for one in _routes(grants, known) if one.integration == integration]
        if secrets is None:
            return any(one.secrets for one in routes)
        return any(not one.secrets.isdisjoint(secrets) for one in routes)

    return uses


def asks_model(document: Mapping[str, Any], grants: Sequence[Grant], known: Vocabulary) -> bool:
    """Whether a model is asked; any connection may decide which one answers."""
    del document, known
    return any(one.capability in _ASKING_MODELS for one in grants)


async def check_account_change(tx: Transaction, actor: Actor, change: AccountChange) -> None:
    """Refuses a program that would give agreed automations another account or model.

    A token with the permission approve may do it, if it names all of these automations. Nobody
    agrees to anything until the transaction ends, so an agreement always names the account that is
    used.
    """
    known: Vocabulary = Registry()
    asked = (change.workspace_id, change.owner_id)
    if not actor.is_person and change.words is not None and change.workspace_id is not None:
        # Once for all of them, and before the lock: it may need a connection of its own, which
        # transactions that wait for the lock could hold.
        documents = [row["document"] for row in await tx.fetch(_AGREED, *asked)]
        known = await change.words(change.workspace_id, documents)
    await hold_agreements(tx, change.workspace_id)
    if actor.is_person:
        return
    rows = [row for row in await tx.fetch(_AGREED, *asked) if not may_agree(actor, row["id"])]
    found = await asyncio.to_thread(_find_users, rows, change.uses, known)
    if found:
        own = [name for space, name in found.values() if space == actor.workspace_id]
        use = "uses" if len(found) == 1 else "use"
        decides = change.decides.format(users=_list_users(own, len(found)), use=use)
        raise PersonRequired(
            f"{change.subject} decides {decides}. Only a person can change it.",
            url=change.page,
            command=change.command,
        )


def _find_users(
    rows: Iterable[Mapping[str, Any]], uses: UsesAccount, known: Vocabulary
) -> dict[UUID, tuple[UUID, str]]:
    """The automations that use it, each with its workspace and how it is called in a message."""
    found: dict[UUID, tuple[UUID, str]] = {}
    for row in rows:
        if row["id"] not in found and uses(
            upgrade(row["document"])[0], read_grants(row["grants"]), known
        ):
            found[row["id"]] = row["workspace_id"], _describe(row)
    return found


def _routes(grants: Iterable[Grant], vocabulary: Vocabulary) -> list[Any]:
    """Where the granted capabilities that write lead."""
    granted = (vocabulary.capabilities.get(one.capability) for one in grants)
    return [
        one.annotations.route
        for one in granted
        if one is not None and _writes(one) and one.annotations.route is not None
    ]


def _writes(capability: Capability) -> bool:
    return capability.write is not None or capability.annotations.effect is Effect.SEND


def _describe(row: Mapping[str, Any]) -> str:
    archived = " (archived)" if row["state"] == "archived" else ""
    return f"{row['name'][:60]!r}{archived}"


def _list_users(own: Sequence[str], total: int) -> str:
    """The automations as a list to read; those of other workspaces are not named."""
    listed = list(own[:_MOST_NAMED])
    if len(own) > _MOST_NAMED:
        listed.append(f"{len(own) - _MOST_NAMED} more")
    elsewhere = total - len(own)
    if elsewhere == 1:
        listed.append("an automation of another workspace")
    elif elsewhere:
        listed.append(f"{elsewhere} automations of other workspaces")
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))
