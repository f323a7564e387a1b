"""Taking over what a member left: automations get a new owner, webhook tokens a new maker.

The new owner is a person who was shown what each automation may do, and thereby agrees to it.
Secrets and connections of the former owner stay theirs and are used no more. The address and the
token of a webhook do not change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, NotFound, PermissionDenied
from mainspring.definition.json_text import hash_content
from mainspring.workspace.automations import read_grants
from mainspring.workspace.consent_names import add_board_names, with_accounts
from mainspring.workspace.consents import (
    AgreedAuthority,
    find_consent_additions,
    get_consent_channel,
)
from mainspring.workspace.leavers import MAKER_HERE, OWNER_LEFT
from mainspring.workspace.secret_use import find_missing_secrets
from mainspring.workspace.webhooks import OWNER_HERE

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction

# More runs than this are not counted.
MOST_COUNTED = 1_000
# Of somebody who is a member, nobody takes anything over but they themselves.
_AUTOMATIONS = f"""
    SELECT a.id, a.name, a.state, a.paused_reason, a.version, v.grants, d.document,
        (SELECT count(*) FROM (
            SELECT FROM runs r WHERE r.workspace_id = a.workspace_id AND r.automation_id = a.id
                AND r.status = 'skipped' AND r.reason = '{OWNER_LEFT}'
                AND NOT EXISTS (SELECT FROM runs x WHERE x.workspace_id = r.workspace_id
                    AND x.automation_id = r.automation_id AND x.replay_of = r.id)
            LIMIT {MOST_COUNTED + 1}) AS counted) AS missed
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND a.created_by = $2 AND a.state <> 'archived'
        AND (NOT {OWNER_HERE} OR (a.created_by = $3 AND a.paused_reason = '{OWNER_LEFT}'))
    ORDER BY a.name, a.id
"""
_WEBHOOKS = f"""
    SELECT t.id, t.slug, t.automation_id, a.name FROM triggers t
    JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
    WHERE t.workspace_id = $1 AND t.secret_made_by = $2 AND t.secret_hash IS NOT NULL
        AND t.suspended_at IS NOT NULL AND a.state <> 'archived' AND a.created_by <> $2
        AND (NOT {MAKER_HERE} OR t.secret_made_by = $3)
    ORDER BY a.name, t.slug, t.id
"""
_OWN = """
    UPDATE automations SET created_by = $3, updated_at = now(),
        agreed_by = CASE WHEN agreed_version = version THEN $3 ELSE agreed_by END,
        agreed_via = CASE WHEN agreed_version = version THEN $4 ELSE agreed_via END
    WHERE workspace_id = $1 AND id = ANY($2::uuid[])
"""
_TOKENS = """
    UPDATE triggers SET secret_made_by = $3
    WHERE workspace_id = $1 AND secret_made_by = $2
        AND (automation_id = ANY($4::uuid[]) OR id = ANY($5::uuid[]))
"""
# Those of an automation that is stopped itself fire again when it is activated.
_RESUME_TAKEN_OVER = f"""
    UPDATE triggers t SET suspended_at = NULL FROM automations a
    WHERE t.workspace_id = $1 AND t.id = ANY($2::uuid[])
        AND a.workspace_id = t.workspace_id AND a.id = t.automation_id
        AND a.paused_reason IS DISTINCT FROM '{OWNER_LEFT}'
"""


@dataclass(frozen=True, slots=True)
class UnownedAutomation:
    """An automation without an owner who is here."""

    id: UUID
    name: str
    state: str
    # Whether it was active until its owner left.
    stopped: bool
    version: int
    # What it may do, a sentence each.
    may: tuple[str, ...]
    # Secrets that the new owner would have to set.
    missing: tuple[Finding, ...]
    # How many runs it has missed, counted up to a limit.
    missed: int


@dataclass(frozen=True, slots=True)
class UnownedWebhook:
    """A webhook of an automation that somebody else owns, with a suspended token."""

    id: UUID
    automation_id: UUID
    automation: str
    slug: str


@dataclass(frozen=True, slots=True)
class UnownedResources:
    """All that a member left and nobody has taken over yet."""

    automations: tuple[UnownedAutomation, ...]
    webhooks: tuple[UnownedWebhook, ...]

    @property
    def digest(self) -> str:
        """What a person was shown; another one once there is something else to agree to."""
        shown = {
            "automations": [[str(one.id), one.version, list(one.may)] for one in self.automations],
            "webhooks": [str(one.id) for one in self.webhooks],
        }
        return hash_content(shown).hex()


async def load_unowned_resources(
    tx: Transaction, actor: Actor, member_id: UUID
) -> UnownedResources:
    """What a member left, as the actor would take it over."""
    space = actor.workspace_id
    rows = await tx.fetch(_AUTOMATIONS, space, member_id, actor.id)
    automations = [await _load_unowned_automation(tx, space, row, actor.id) for row in rows]
    webhooks = await tx.fetch(_WEBHOOKS, space, member_id, actor.id)
    return UnownedResources(
        tuple(automations),
        tuple(
            UnownedWebhook(row["id"], row["automation_id"], row["name"], row["slug"])
            for row in webhooks
        ),
    )


async def take_over(
    tx: Transaction,
    actor: Actor,
    member_id: UUID,
    digest: str,
    wanted: Collection[UUID] | None = None,
) -> UnownedResources:
    """Makes the actor the owner of what a member left, or of some of its automations.

    Answers what was taken over. Nothing is activated here. The caller holds the automations.
    """
    if not actor.is_person:
        raise PermissionDenied(
            "A person takes over an automation, because they agree to what it may do.",
            code="person_needed",
            suggestion="Sign in and open Settings, Members.",
        )
    space = actor.workspace_id
    found = await load_unowned_resources(tx, actor, member_id)
    _check(found, digest, wanted)
    if wanted is not None:
        chosen = tuple(one for one in found.automations if one.id in set(wanted))
        found = UnownedResources(chosen, ())
    ids, hooks = [one.id for one in found.automations], [one.id for one in found.webhooks]
    await tx.execute(_OWN, space, ids, actor.id, get_consent_channel(actor))
    await tx.execute(_TOKENS, space, member_id, actor.id, ids, hooks)
    await tx.execute(_RESUME_TAKEN_OVER, space, hooks)
    return found


def _check(found: UnownedResources, digest: str, wanted: Collection[UUID] | None) -> None:
    if not found.automations and not found.webhooks:
        raise NotFound(
            "There is nothing to take over: this member is here, or left nothing.",
            code="nothing_left",
        )
    if found.digest != digest:
        detail = "What there is to take over is not what was shown."
        raise Conflict(
            detail,
            code="takeover_changed",
            findings=[Finding("/digest", detail, "takeover_changed")],
            suggestion="Read it again, and answer with the digest that it has now.",
        )
    unknown = set(wanted or ()) - {one.id for one in found.automations}
    if unknown:
        raise NotFound(
            "One of these automations is not among those that the member left.",
            code="no_automation",
        )


async def _load_unowned_automation(
    tx: Transaction, workspace_id: UUID, row: Mapping[str, Any], new_owner: UUID
) -> UnownedAutomation:
    document = row["document"]
    added = await find_consent_additions(
        AgreedAuthority(None, None), document, read_grants(row["grants"])
    )
    named = await add_board_names(tx, workspace_id, added)
    named = await with_accounts(tx, workspace_id, new_owner, named)
    return UnownedAutomation(
        row["id"],
        row["name"],
        row["state"],
        row["paused_reason"] == OWNER_LEFT,
        row["version"],
        tuple(one.says for one in named),
        await find_missing_secrets(tx, workspace_id, new_owner, document),
        row["missed"],
    )
