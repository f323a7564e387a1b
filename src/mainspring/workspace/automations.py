"""Stored automations: a name, a state, immutable versions and triggers.

Saving the same definition twice makes no new version. Lock order: the workspace's names when a name
is assigned, then the automation row, then its triggers. The row lock is FOR NO KEY UPDATE, so a
worker that books cost on an automation never waits for an editor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from mainspring.contracts.display_text import check_plain_name, name_findings, refuse_names
from mainspring.contracts.errors import Conflict, Finding, NotFound
from mainspring.contracts.grant import Grant
from mainspring.contracts.ids import generate_id
from mainspring.definition.forms import FORM
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.model import Definition
from mainspring.definition.polls import POLL_TYPES, read_poll
from mainspring.definition.schedules import parse_schedule
from mainspring.definition.strict_json import hash_content, is_same_value
from mainspring.definition.traits import UNDECLARED, DefinitionTraits
from mainspring.definition.upgrade import upgrade
from mainspring.workspace.automation_resources import (
    check_accounts,
    check_not_widened,
    find_missing_boards,
    find_missing_secrets,
)
from mainspring.workspace.consent_rows import (
    ConsentChannel,
    keep_agreed,
    remove_trigger_from_consent,
    renew_consent,
)
from mainspring.workspace.forms import create_links
from mainspring.workspace.polls import arm_poll, rest_poll

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Triggers as they are kept: armed while they are enabled and their automation is active.
#
# A trigger is known by its slug: it keeps its id, its history and its webhook token while
# the slug stays in the definition. Firing locks the trigger row and pausing
# updates it, so nothing starts once a pause has committed.


# A stored definition together with the truth of the trigger table.


def merge_stored_triggers(
    document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The definition with each trigger as its row has it; nothing that belongs to one place
    alone (an id, a token, a moment) goes along.
    """
    # A definition that was stored by an older release says what it does in today's format.
    document, _ = upgrade(document)
    found = {row["slug"]: row for row in rows}
    entries = document.get("triggers", [])
    triggers = [_merge_trigger(entry, found.get(entry.get("id"))) for entry in entries]
    return {**document, "triggers": triggers} if "triggers" in document else dict(document)


def match_definition(document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the rows say what the definition says."""
    return is_same_value(
        document.get("triggers", []), merge_stored_triggers(document, rows).get("triggers", [])
    )


def _merge_trigger(entry: Mapping[str, Any], row: Mapping[str, Any] | None) -> dict[str, Any]:
    if row is None:
        return dict(entry)
    shown = {name: row[name] for name in ("type", "config", "inputs", "enabled")}
    return {**entry, **shown}


# A schedule that was changed begins anew; an unchanged one keeps the moment it waits for.
_KEEP = """
    INSERT INTO triggers (workspace_id, id, automation_id, slug, type, config, inputs, enabled)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (workspace_id, automation_id, slug) DO UPDATE
        SET type = excluded.type, config = excluded.config, inputs = excluded.inputs,
            enabled = excluded.enabled,
            next_due_at = CASE WHEN triggers.config = excluded.config
                AND triggers.type = excluded.type THEN triggers.next_due_at END,
            secret_hash = CASE WHEN triggers.type = excluded.type THEN triggers.secret_hash END,
            old_secret_hash = CASE WHEN triggers.type = excluded.type
                THEN triggers.old_secret_hash END,
            old_secret_until = CASE WHEN triggers.type = excluded.type
                THEN triggers.old_secret_until END,
            secret_hint = CASE WHEN triggers.type = excluded.type THEN triggers.secret_hint END,
            secret_made_at = CASE WHEN triggers.type = excluded.type
                THEN triggers.secret_made_at END,
            secret_made_by = CASE WHEN triggers.type = excluded.type
                THEN triggers.secret_made_by END,
            link_token = CASE WHEN triggers.type = excluded.type THEN triggers.link_token END
"""
_DROP = """
    DELETE FROM triggers
    WHERE workspace_id = $1 AND automation_id = $2 AND NOT slug = ANY($3::text[])
"""
# In the order of those who fire several of them at once.
_HOLD_TRIGGERS = """
    SELECT id FROM triggers
    WHERE (workspace_id, automation_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
    ORDER BY id FOR UPDATE
"""
# The time as it is now: a transaction that waited for others began long before.
_OF_AUTOMATION = """
    SELECT id, type, config, enabled, next_due_at, clock_timestamp() AS now FROM triggers
    WHERE workspace_id = $1 AND automation_id = $2 ORDER BY id FOR UPDATE
"""
_ARM = """
    UPDATE triggers SET armed_at = coalesce(armed_at, now()), next_due_at = $3
    WHERE workspace_id = $1 AND id = $2
"""
# What a member left stays armed, so that what it misses is recorded, also when it is edited.
_DISARM = """
    UPDATE triggers t SET armed_at = NULL, next_due_at = NULL
    WHERE t.workspace_id = $1 AND t.id = $2 AND NOT (t.suspended_at IS NOT NULL AND EXISTS (
        SELECT FROM automations a WHERE a.workspace_id = t.workspace_id AND a.id = t.automation_id
            AND a.state = 'paused' AND a.paused_reason = 'owner_left'))
"""
_MOVE_EPOCH = """
    INSERT INTO trigger_epochs (workspace_id) VALUES ($1)
    ON CONFLICT (workspace_id) DO UPDATE SET epoch = trigger_epochs.epoch + 1
"""
_LIST = """
    SELECT id, automation_id, slug, type, config, inputs, enabled, armed_at, next_due_at,
        last_fired_at, secret_hint, secret_made_at, link_token, created_at
    FROM triggers WHERE workspace_id = $1 AND automation_id = $2 ORDER BY slug
"""


async def lock_triggers(tx: Transaction, automations: Sequence[tuple[UUID, UUID]]) -> None:
    """Every trigger of these automations stays as it is until the transaction ends.

    Automations are named by workspace and id; their own rows are held already.
    """
    spaces, ids = [space for space, _ in automations], [one for _, one in automations]
    await tx.execute(_HOLD_TRIGGERS, spaces, ids)


async def sync_triggers(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, definition: Definition
) -> None:
    """Makes the rows what the definition says; those it no longer names are gone."""
    slugs = [trigger.id for trigger in definition.triggers]
    await tx.execute(_DROP, workspace_id, automation_id, slugs)
    for trigger in definition.triggers:
        await tx.execute(
            _KEEP,
            workspace_id,
            generate_id(),
            automation_id,
            trigger.id,
            trigger.type,
            trigger.config,
            trigger.inputs,
            trigger.enabled,
        )
    if any(trigger.type == FORM for trigger in definition.triggers):
        await create_links(tx, workspace_id, automation_id)


async def arm(tx: Transaction, workspace_id: UUID, automation_id: UUID, *, active: bool) -> None:
    """Brings every trigger in line with its automation: armed, or at rest.

    A schedule that is armed waits for its next moment from now on: what passed while it
    was at rest was not missed.
    """
    for row in await tx.fetch(_OF_AUTOMATION, workspace_id, automation_id):
        polls = row["type"] in POLL_TYPES
        if active and row["enabled"]:
            await tx.execute(_ARM, workspace_id, row["id"], _compute_next_due(row))
            if polls:
                every = read_poll(row["type"], row["config"]).every
                await arm_poll(tx, workspace_id, row["id"], every)
        else:
            await tx.execute(_DISARM, workspace_id, row["id"])
            if polls:
                await rest_poll(tx, workspace_id, row["id"])
    await tx.execute(_MOVE_EPOCH, workspace_id)


def _compute_next_due(row: Any) -> datetime | None:
    if row["type"] != "schedule" or row["next_due_at"] is not None:
        found: datetime | None = row["next_due_at"]
        return found
    return parse_schedule(row["config"], str(row["id"])).after(row["now"])


async def list_triggers(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> list[dict[str, Any]]:
    """The triggers of an automation; never the hash of a token."""
    return [dict(row) for row in await tx.fetch(_LIST, workspace_id, automation_id)]


# One trigger: looked at, turned on, turned off.

_EXISTS = "SELECT 1 AS one FROM automations WHERE workspace_id = $1 AND id = $2"
_TRIGGER_STATE = (
    "SELECT state FROM automations WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE"
)
_SWITCH = """
    UPDATE triggers SET enabled = $4
    WHERE workspace_id = $1 AND automation_id = $2 AND slug = $3 RETURNING id
"""


async def read_triggers(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> list[dict[str, Any]]:
    """The triggers of an automation that is there."""
    if await tx.fetchrow(_EXISTS, workspace_id, automation_id) is None:
        raise NotFound("There is no such automation.", code="no_automation")
    return await list_triggers(tx, workspace_id, automation_id)


async def read_trigger(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str
) -> dict[str, Any]:
    """One trigger by its slug."""
    found = await read_triggers(tx, workspace_id, automation_id)
    for trigger in found:
        if trigger["slug"] == slug:
            return trigger
    raise _no_trigger_error()


async def switch(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str, *, enabled: bool
) -> None:
    """Turns a trigger on or off; it is armed or at rest when this commits."""
    row = await tx.fetchrow(_TRIGGER_STATE, workspace_id, automation_id)
    if row is None:
        raise NotFound("There is no such automation.", code="no_automation")
    await lock_triggers(tx, [(workspace_id, automation_id)])
    if await tx.fetchrow(_SWITCH, workspace_id, automation_id, slug, enabled) is None:
        raise _no_trigger_error()
    if not enabled:
        await remove_trigger_from_consent(tx, workspace_id, automation_id, slug)
    await arm(tx, workspace_id, automation_id, active=row["state"] == "active")


def _no_trigger_error() -> NotFound:
    return NotFound("This automation has no such trigger.", code="no_trigger")


AutomationStatus = Literal["active", "paused", "archived"]

_HOLD_NAMES = "SELECT pg_advisory_xact_lock(hashtextextended('automation names ' || $1, 0))"
_KEEP_DEFINITION = """
    INSERT INTO definitions (workspace_id, hash, document) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING
"""
_WHOLE = """
    SELECT a.id, a.name, a.version, a.state, a.created_by, v.definition_hash, v.grants,
        v.traits, d.document
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
"""
_BY_ID = f"{_WHOLE} WHERE a.workspace_id = $1 AND a.id = $2"
# The row alone: a waiter that joins the version would re-check the old one after an update and find
# nothing.
_HOLD_NAMED = """
    SELECT id FROM automations
    WHERE workspace_id = $1 AND name = $2 AND state <> 'archived' FOR NO KEY UPDATE
"""
_HOLD = """
    SELECT id FROM automations
    WHERE workspace_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR NO KEY UPDATE
"""
_NAMED = """
    SELECT id FROM automations
    WHERE workspace_id = $1 AND name = ANY($2::text[]) AND state <> 'archived'
"""
_TAKEN = """
    SELECT id FROM automations
    WHERE workspace_id = $1 AND name = $2 AND state <> 'archived' AND id <> $3
"""
_CREATE = """
    INSERT INTO automations (workspace_id, id, name, version, created_by)
    VALUES ($1, $2, $3, 1, $4)
"""
_BUMP = """
    UPDATE automations SET version = $3, name = $4, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_VERSION = """
    INSERT INTO automation_versions
        (workspace_id, automation_id, version, definition_hash, grants, author, rollback_of, traits)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
# The same version was validated again: what is declared about it may be known better by now.
_TRAITS = """
    UPDATE automation_versions SET traits = $4
    WHERE workspace_id = $1 AND automation_id = $2 AND version = $3
"""
# A version that was reverted keeps its number.
_NEXT = """
    SELECT max(version) + 1 AS version FROM automation_versions
    WHERE workspace_id = $1 AND automation_id = $2
"""
_STATE = """
    SELECT state FROM automations WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE
"""
# Activating acknowledges the failures so far.
_SET_STATE = """
    UPDATE automations
    SET state = $3, paused_reason = $4, updated_at = now(),
        failures = CASE WHEN $3 = 'active' THEN 0 ELSE failures END,
        acknowledged_at = CASE WHEN $3 = 'active' THEN now() ELSE acknowledged_at END
    WHERE workspace_id = $1 AND id = $2
"""
_WORKSPACE = """
    INSERT INTO workspaces (workspace_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING
"""
_CURRENT = """
    SELECT id, version FROM automations
    WHERE workspace_id = $1 AND id = $2 AND state <> 'archived'
"""

# The ids of the first workspace and its first member, the installation's owner.
FIRST_WORKSPACE = UUID("01900000-0000-7000-8000-000000000001")
FIRST_MEMBER = UUID("01900000-0000-7000-8000-000000000002")


@dataclass(frozen=True, slots=True)
class SavedAutomation:
    """An automation and its current version."""

    automation_id: UUID
    version: int
    changed: bool
    state: AutomationStatus = "paused"
    # Grants that the previous version did not have.
    widened: tuple[Grant, ...] = ()
    # No new version, but switched triggers were reset to the definition.
    switched_back: bool = False
    # Unset secrets that it uses, and missing boards that it watches.
    warnings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionContent:
    """The content of a version: a definition by its hash, and its grants."""

    definition: Definition
    digest: bytes
    grants: list[dict[str, Any]]
    # What the registry declares about its actions.
    traits: DefinitionTraits = UNDECLARED


async def ensure_workspace(tx: Transaction, workspace_id: UUID, name: str) -> None:
    """Create the workspace if it does not exist."""
    await tx.execute(_WORKSPACE, workspace_id, name)


async def save(
    tx: Transaction,
    workspace_id: UUID,
    definition: Definition,
    grants: Sequence[Grant],
    author: UUID,
    traits: DefinitionTraits | None = None,
    *,
    via: ConsentChannel | None = None,
) -> SavedAutomation:
    """Save a definition under its name; a changed one becomes a new version.

    ``via`` says how a person consented to it in the same call; None: the caller handles consent.
    """
    await lock_names(tx, workspace_id)
    content = await store_content(tx, workspace_id, definition, grants, traits)
    named = await tx.fetchrow(_HOLD_NAMED, workspace_id, definition.name)
    if named is None:
        saved = await _save_first_version(tx, workspace_id, content, author)
    else:
        found = await tx.fetchrow(_BY_ID, workspace_id, named["id"])
        saved = await put_version(tx, workspace_id, found, content, author)
    if via is not None:
        await keep_agreed(tx, workspace_id, saved.automation_id, author, via)
    return saved


async def create(
    tx: Transaction,
    workspace_id: UUID,
    definition: Definition,
    grants: Sequence[Grant],
    author: UUID,
    traits: DefinitionTraits | None = None,
    *,
    via: ConsentChannel | None = None,
) -> SavedAutomation:
    """Create an automation; a name in use is rejected."""
    await lock_names(tx, workspace_id)
    await check_name(tx, workspace_id, definition.name, _NOBODY)
    content = await store_content(tx, workspace_id, definition, grants, traits)
    saved = await _save_first_version(tx, workspace_id, content, author)
    if via is not None:
        await keep_agreed(tx, workspace_id, saved.automation_id, author, via)
    return saved


async def update(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    definition: Definition,
    grants: Sequence[Grant],
    author: UUID,
    *,
    expected_version: int | None = None,
    archived: bool = False,
    traits: DefinitionTraits | None = None,
    via: ConsentChannel | None = None,
) -> SavedAutomation:
    """Save a definition as the next version, perhaps under a new name.

    Afterwards its triggers match the definition, also when the definition did not change.
    """
    await lock_names(tx, workspace_id)
    row = await lock_automation(tx, workspace_id, automation_id, archived=archived)
    if expected_version is not None and row["version"] != expected_version:
        raise Conflict(
            f"Version {row['version']} is in force, and this change was made to "
            f"version {expected_version}.",
            code="version_changed",
            suggestion="Read the automation again and make the change to what it is now.",
        )
    content = await store_content(tx, workspace_id, definition, grants, traits)
    saved = await put_version(tx, workspace_id, row, content, author)
    if via is not None:
        await keep_agreed(tx, workspace_id, automation_id, author, via)
    if not saved.changed:
        rows = await list_triggers(tx, workspace_id, automation_id)
        if not match_definition(definition.as_dict(), rows):
            await _sync_triggers(tx, workspace_id, automation_id, definition, row["state"])
            return replace(saved, switched_back=True)
    return saved


async def put_version(
    tx: Transaction,
    workspace_id: UUID,
    row: Any,
    content: VersionContent,
    author: UUID,
    rollback_of: int | None = None,
) -> SavedAutomation:
    """Add the next version of a locked automation; none when the definition is the same."""
    automation_id, state, owner = row["id"], row["state"], row["created_by"]
    document = content.definition.as_dict()
    lacking = await _find_warnings(tx, workspace_id, owner, document)
    if row["definition_hash"] == content.digest and row["grants"] == content.grants:
        await _keep_traits(tx, workspace_id, automation_id, row["version"], content)
        return SavedAutomation(
            automation_id, row["version"], changed=False, state=state, warnings=lacking
        )
    if rollback_of is None:
        if content.definition.name != row["name"]:
            check_plain_name(content.definition.name)
        _check_tags(content.definition, row["document"].get("metadata", {}).get("tags", ()))
    widened = await _check_change(tx, workspace_id, row, content, author)
    version = int((await tx.fetchrow(_NEXT, workspace_id, automation_id))["version"])
    await tx.execute(_BUMP, workspace_id, automation_id, version, content.definition.name)
    await tx.execute(
        _VERSION,
        workspace_id,
        automation_id,
        version,
        content.digest,
        content.grants,
        author,
        rollback_of,
        content.traits.as_dict(),
    )
    await renew_consent(
        tx,
        workspace_id,
        automation_id,
        row["version"],
        version,
        document,
        content.grants,
        content.traits,
    )
    await _sync_triggers(tx, workspace_id, automation_id, content.definition, state)
    return SavedAutomation(
        automation_id, version, changed=True, state=state, widened=widened, warnings=lacking
    )


async def make_version_current(
    tx: Transaction,
    workspace_id: UUID,
    row: Any,
    version: int,
    content: VersionContent,
    author: UUID,
) -> SavedAutomation:
    """Make an earlier version of a locked automation current again."""
    automation_id, state, owner = row["id"], row["state"], row["created_by"]
    document = content.definition.as_dict()
    lacking = await _find_warnings(tx, workspace_id, owner, document)
    if row["version"] == version:
        return SavedAutomation(automation_id, version, changed=False, state=state, warnings=lacking)
    widened = await _check_change(tx, workspace_id, row, content, author)
    await tx.execute(_BUMP, workspace_id, automation_id, version, content.definition.name)
    await _keep_traits(tx, workspace_id, automation_id, version, content)
    await renew_consent(
        tx,
        workspace_id,
        automation_id,
        row["version"],
        version,
        document,
        content.grants,
        content.traits,
    )
    await _sync_triggers(tx, workspace_id, automation_id, content.definition, state)
    return SavedAutomation(
        automation_id, version, changed=True, state=state, widened=widened, warnings=lacking
    )


async def _check_change(
    tx: Transaction, workspace_id: UUID, row: Any, content: VersionContent, author: UUID
) -> tuple[Grant, ...]:
    """Reject changes that this author may not make; return the newly added grants.

    Only the owner may extend the use of the owner's secrets or accounts.
    """
    widened = find_missing_grants(read_grants(content.grants), read_grants(row["grants"]))
    if author != row["created_by"]:
        document = content.definition.as_dict()
        check_not_widened(row["document"], document, widened)
        check_accounts(row["document"], document, widened, content.traits.lent)
    if content.definition.name != row["name"]:
        await check_name(tx, workspace_id, content.definition.name, row["id"])
    return widened


async def lock_automation(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, *, archived: bool = False
) -> Any:
    """Lock an automation with its current version until the transaction ends. Archived ones are
    rejected unless the caller asks for them."""
    await tx.execute(_HOLD, workspace_id, [automation_id])
    row = await tx.fetchrow(_BY_ID, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    if row["state"] == "archived" and not archived:
        raise Conflict(
            "The automation is archived.", code="archived", suggestion="Restore it first."
        )
    return row


async def lock_automations(
    tx: Transaction, workspace_id: UUID, automations: Sequence[UUID]
) -> None:
    """Lock automations and then all their triggers, each in a fixed order. Callers that change
    several lock all of them first, to avoid deadlocks."""
    await tx.execute(_HOLD, workspace_id, list(automations))
    await lock_triggers(tx, [(workspace_id, one) for one in automations])


async def find_automation_ids(
    tx: Transaction, workspace_id: UUID, names: Sequence[str]
) -> list[UUID]:
    """Find the automations that have these names now."""
    return [row["id"] for row in await tx.fetch(_NAMED, workspace_id, list(names))]


async def lock_names(tx: Transaction, workspace_id: UUID) -> None:
    """Lock the workspace's automation names until the transaction ends."""
    await tx.execute(_HOLD_NAMES, str(workspace_id))


async def check_name(tx: Transaction, workspace_id: UUID, name: str, automation_id: UUID) -> None:
    """Reject a name that another automation has; the caller holds the name lock."""
    if await tx.fetchrow(_TAKEN, workspace_id, name, automation_id) is not None:
        detail = f"There is an automation called {name!r} already."
        raise Conflict(
            detail,
            code="name_taken",
            findings=[Finding("/name", detail, "name_taken")],
            suggestion="Choose another name, or save to the one that is there.",
        )


async def set_state(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    state: AutomationStatus,
    reason: str | None = None,
) -> AutomationStatus:
    """Set the state and that of its triggers; return the previous state."""
    row = await tx.fetchrow(_STATE, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    before: AutomationStatus = row["state"]
    await tx.execute(_SET_STATE, workspace_id, automation_id, state, reason)
    await arm(tx, workspace_id, automation_id, active=state == "active")
    return before


async def load_current_version(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> int:
    """Return the number of the current version."""
    row: Any = await tx.fetchrow(_CURRENT, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    return int(row["version"])


def no_automation_error() -> NotFound:
    return NotFound("There is no such automation.", code="no_automation")


def read_grants(kept: Sequence[dict[str, Any]]) -> tuple[Grant, ...]:
    """Parse the grants stored with a version."""
    return tuple(Grant(entry["capability"], entry["params"]) for entry in kept)


async def store_content(
    tx: Transaction,
    workspace_id: UUID,
    definition: Definition,
    grants: Sequence[Grant],
    traits: DefinitionTraits | None = None,
) -> VersionContent:
    """Store a definition by its hash, and return the content of a version."""
    document = definition.as_dict()
    digest = hash_content(document)
    await tx.execute(_KEEP_DEFINITION, workspace_id, digest, document)
    if traits is None:
        traits = DefinitionTraits(frozenset(grant.capability for grant in grants if grant.lent))
    return VersionContent(definition, digest, [grant.as_dict() for grant in grants], traits)


def _check_tags(definition: Definition, stored: Sequence[str] = ()) -> None:
    """Validate new tags as names are; stored ones are kept."""
    tags = enumerate(definition.metadata.tags)
    refuse_names(
        [one for n, tag in tags for one in name_findings(tag, f"/metadata/tags/{n}", stored)]
    )


async def _save_first_version(
    tx: Transaction, workspace_id: UUID, content: VersionContent, author: UUID
) -> SavedAutomation:
    check_plain_name(content.definition.name)
    _check_tags(content.definition)
    automation_id = generate_id()
    await tx.execute(_CREATE, workspace_id, automation_id, content.definition.name, author)
    await tx.execute(
        _VERSION,
        workspace_id,
        automation_id,
        1,
        content.digest,
        content.grants,
        author,
        None,
        content.traits.as_dict(),
    )
    await _sync_triggers(tx, workspace_id, automation_id, content.definition, "paused")
    lacking = await _find_warnings(tx, workspace_id, author, content.definition.as_dict())
    widened = read_grants(content.grants)
    return SavedAutomation(automation_id, 1, changed=True, widened=widened, warnings=lacking)


async def _keep_traits(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, version: int, content: VersionContent
) -> None:
    traits = content.traits.as_dict()
    await tx.execute(_TRAITS, workspace_id, automation_id, version, traits)


async def _find_warnings(
    tx: Transaction, workspace_id: UUID, owner: UUID, document: Mapping[str, Any]
) -> tuple[Finding, ...]:
    """Find what a definition needs and the workspace does not have yet."""
    return (
        *await find_missing_secrets(tx, workspace_id, owner, document),
        *await find_missing_boards(tx, workspace_id, document),
    )


async def _sync_triggers(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    definition: Definition,
    state: AutomationStatus,
) -> None:
    """Sync the triggers with the definition; they are armed while the automation is active."""
    await lock_triggers(tx, [(workspace_id, automation_id)])
    await sync_triggers(tx, workspace_id, automation_id, definition)
    await arm(tx, workspace_id, automation_id, active=state == "active")


_NOBODY = UUID(int=0)
