"""Taking over a former member's automations and webhook tokens.

The new owner is a person who was shown what each automation may do, and thereby consents to it. The
former owner's secrets and connections stay theirs and are no longer used. Webhook URLs and tokens
do not change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, NotFound, PermissionDenied
from mainspring.definition.strict_json import hash_content
from mainspring.definition.traits import read_stored_traits
from mainspring.workspace.automation_resources import find_missing_secrets
from mainspring.workspace.automations import read_grants
from mainspring.workspace.consent_rows import add_board_names, with_accounts
from mainspring.workspace.consents import (
    AgreedAuthority,
    find_consent_additions,
    get_consent_channel,
)
from mainspring.workspace.inbox import post_message
from mainspring.workspace.webhooks import OWNER_HERE

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction


# When a member leaves, their automations stop until another member takes them over.

OWNER_LEFT: Final = "owner_left"
_MOST_LISTED: Final = 20

# Whether the creator of trigger t's token is an active member.
MAKER_HERE = """EXISTS (SELECT FROM members m
            JOIN users u ON u.id = m.user_id AND u.disabled_at IS NULL
            WHERE m.workspace_id = t.workspace_id AND m.user_id = t.secret_made_by)"""
_ACTIVE = """
    SELECT workspace_id, id, name FROM automations
    WHERE created_by = $1 AND ($2::uuid IS NULL OR workspace_id = $2) AND state = 'active'
    ORDER BY id FOR NO KEY UPDATE
"""
_PAUSE = f"""
    UPDATE automations SET state = 'paused', paused_reason = '{OWNER_LEFT}', updated_at = now()
    WHERE (workspace_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
"""
# Firing locks the trigger row, so nothing starts once this commits.
_HOLD = """
    SELECT t.workspace_id, t.id, t.slug, t.automation_id, a.name,
        t.secret_hash IS NOT NULL AND t.secret_made_by = $1 AS token
    FROM triggers t
    JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
    WHERE t.suspended_at IS NULL AND (
        (t.secret_made_by = $1 AND ($2::uuid IS NULL OR t.workspace_id = $2))
        OR (t.workspace_id, t.automation_id) IN (SELECT * FROM unnest($3::uuid[], $4::uuid[])))
    ORDER BY t.id FOR UPDATE OF t
"""
_SUSPEND = """
    UPDATE triggers SET suspended_at = now()
    WHERE (workspace_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
"""
_RESUME_MEMBER_TRIGGERS = f"""
    UPDATE triggers t SET suspended_at = NULL
    WHERE t.workspace_id = $1 AND t.automation_id = $2 AND t.suspended_at IS NOT NULL
        AND (t.secret_hash IS NULL OR {MAKER_HERE})
"""
_PERSON = "SELECT email, name FROM users WHERE id = $1"
_REMEMBER = """
    INSERT INTO former_members (workspace_id, user_id, email, name)
    SELECT $1, id, email, name FROM users WHERE id = $2
    ON CONFLICT (workspace_id, user_id)
    DO UPDATE SET email = excluded.email, name = excluded.name, left_at = now()
"""
# A suspended token whose creator came back still has to be taken over, perhaps by them.
_LEFT = f"""
    WITH waiting AS (
        SELECT a.created_by AS user_id, a.id AS automation_id, NULL::uuid AS trigger_id
        FROM automations a
        WHERE a.workspace_id = $1 AND a.state <> 'archived' AND NOT {OWNER_HERE}
        UNION ALL
        SELECT t.secret_made_by, NULL, t.id FROM triggers t
        JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
        WHERE t.workspace_id = $1 AND t.suspended_at IS NOT NULL AND t.secret_hash IS NOT NULL
            AND a.state <> 'archived' AND a.created_by <> t.secret_made_by
            AND (a.paused_reason IS DISTINCT FROM '{OWNER_LEFT}' OR NOT {MAKER_HERE})
    )
    SELECT w.user_id AS id, coalesce(u.email, f.email, '') AS email,
        coalesce(u.name, f.name, '') AS name, f.left_at, u.disabled_at IS NOT NULL AS disabled,
        count(w.automation_id) AS automations, count(w.trigger_id) AS webhooks
    FROM waiting w
    LEFT JOIN former_members f ON f.workspace_id = $1 AND f.user_id = w.user_id
    LEFT JOIN users u ON u.id = w.user_id
    GROUP BY w.user_id, u.email, u.name, u.disabled_at, f.email, f.name, f.left_at
    ORDER BY f.left_at DESC NULLS LAST, w.user_id
"""


@dataclass(slots=True)
class _StoppedResources:
    """What stopped in one workspace."""

    automations: list[str] = field(default_factory=list)
    # Webhooks of automations that otherwise continue, by automation name.
    webhooks: list[str] = field(default_factory=list)


async def stop_member_resources(
    tx: Transaction, user_id: UUID, workspace_id: UUID | None = None, *, why: str
) -> None:
    """Stop a member's automations in one workspace or all, and notify the remaining members."""
    active = await tx.fetch(_ACTIVE, user_id, workspace_id)
    spaces, ids = _split_columns(active)
    await tx.execute(_PAUSE, spaces, ids)
    triggers = await tx.fetch(_HOLD, user_id, workspace_id, spaces, ids)
    await tx.execute(_SUSPEND, *_split_columns(triggers))
    stopped: dict[UUID, _StoppedResources] = {}
    for row in active:
        stopped.setdefault(row["workspace_id"], _StoppedResources()).automations.append(row["name"])
    for row in triggers:
        if row["token"] and row["automation_id"] not in ids:
            found = stopped.setdefault(row["workspace_id"], _StoppedResources())
            found.webhooks.append(f"{row['name']} ({row['slug']})")
    person = await tx.fetchrow(_PERSON, user_id)
    for space, what in stopped.items():
        await _tell(tx, space, person, what, why)


async def record_departure(tx: Transaction, workspace_id: UUID, user_id: UUID) -> None:
    """Record a leaving member for the later takeover; call while they are still a member."""
    await tx.execute(_REMEMBER, workspace_id, user_id)


async def resume_triggers(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """Re-enable the triggers, except for tokens whose creator is still gone."""
    await tx.execute(_RESUME_MEMBER_TRIGGERS, workspace_id, automation_id)


async def list_leavers(tx: Transaction, workspace_id: UUID) -> list[dict[str, Any]]:
    """List former members whose automations or webhook tokens nobody has taken over yet."""
    return [dict(row) for row in await tx.fetch(_LEFT, workspace_id)]


async def _tell(
    tx: Transaction, workspace_id: UUID, person: Any, what: _StoppedResources, why: str
) -> None:
    name = person["name"] or person["email"]
    lines = [f"- {one}" for one in _shorten_names(what.automations)]
    command = f"mainspring members takeover {person['email']}"
    lines += [f"- the webhook token of {one}" for one in _shorten_names(what.webhooks)]
    await post_message(
        tx,
        workspace_id,
        title=f"{name[:100]} {why}: what they made has stopped",
        message="\n".join(
            [
                "What should have started meanwhile is recorded, and can be replayed.",
                *lines,
                f"Take it over under Settings, Members, or with `{command}`.",
            ]
        ),
        level="warning",
    )


def _shorten_names(names: list[str]) -> list[str]:
    rest = len(names) - _MOST_LISTED
    return [*names[:_MOST_LISTED], *([f"and {rest} more"] if rest > 0 else [])]


def _split_columns(rows: Iterable[Any]) -> tuple[list[UUID], list[UUID]]:
    found = list(rows)
    return [row["workspace_id"] for row in found], [row["id"] for row in found]


# The count of missed runs stops here.
MOST_COUNTED = 1_000
# Resources of a current member can only be taken over by that member.
_AUTOMATIONS = f"""
    SELECT a.id, a.name, a.state, a.paused_reason, a.version, v.grants, v.traits, d.document,
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
# Triggers of a stopped automation are re-enabled when it is activated.
_RESUME_TAKEN_OVER = f"""
    UPDATE triggers t SET suspended_at = NULL FROM automations a
    WHERE t.workspace_id = $1 AND t.id = ANY($2::uuid[])
        AND a.workspace_id = t.workspace_id AND a.id = t.automation_id
        AND a.paused_reason IS DISTINCT FROM '{OWNER_LEFT}'
"""


@dataclass(frozen=True, slots=True)
class UnownedAutomation:
    """An automation whose owner has left."""

    id: UUID
    name: str
    state: str
    # Whether it was active until its owner left.
    stopped: bool
    version: int
    # Its permissions, one sentence each.
    may: tuple[str, ...]
    # Secrets that the new owner would have to set.
    missing: tuple[Finding, ...]
    # How many runs it has missed, up to a limit.
    missed: int


@dataclass(frozen=True, slots=True)
class UnownedWebhook:
    """A webhook with a suspended token, of an automation with another owner."""

    id: UUID
    automation_id: UUID
    automation: str
    slug: str


@dataclass(frozen=True, slots=True)
class UnownedResources:
    """Everything of a former member that nobody has taken over yet."""

    automations: tuple[UnownedAutomation, ...]
    webhooks: tuple[UnownedWebhook, ...]

    @property
    def digest(self) -> str:
        """A digest of what a person was shown; it changes when there is something new to consent
        to."""
        shown = {
            "automations": [[str(one.id), one.version, list(one.may)] for one in self.automations],
            "webhooks": [str(one.id) for one in self.webhooks],
        }
        return hash_content(shown).hex()


async def load_unowned_resources(
    tx: Transaction, actor: Actor, member_id: UUID
) -> UnownedResources:
    """Load a former member's resources as the actor would take them over."""
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
    """Make the actor the owner of a former member's resources, or of some automations.

    Returns what was taken over. Nothing is activated here. The caller has locked the automations.
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
        AgreedAuthority(None, None),
        document,
        read_grants(row["grants"]),
        read_stored_traits(row["traits"], document),
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
