"""Automations as they are kept: a name, a state, versions that never change, triggers.

Saving the same definition twice makes no new version. Whoever gives out names holds the
names of the workspace first; whoever changes an automation then locks its row, and its
triggers after that. The row's lock leaves its key free, so that a worker which books money
on an automation never waits for a person who edits it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from mainspring.contracts.display_text import check_plain_name, name_findings, refuse_names
from mainspring.contracts.errors import Conflict, Finding, NotFound
from mainspring.contracts.grant import Grant
from mainspring.contracts.ids import generate_id
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.model import Definition
from mainspring.definition.strict_json import hash_content
from mainspring.definition.traits import UNDECLARED, DefinitionTraits
from mainspring.workspace.automation_resources import (
    check_accounts,
    check_not_widened,
    find_missing_boards,
    find_missing_secrets,
)
from mainspring.workspace.consent_rows import ConsentChannel, keep_agreed, renew_consent
from mainspring.workspace.triggers import agree, arm, hold_triggers, keep_triggers, list_triggers

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

AutomationStatus = Literal["active", "paused", "archived"]

_HOLD_NAMES = "SELECT pg_advisory_xact_lock(hashtextextended('automation names ' || $1, 0))"
_KEEP_DEFINITION = """
    INSERT INTO definitions (workspace_id, hash, document) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING
"""
_WHOLE = """
    SELECT a.id, a.name, a.version, a.state, a.created_by, v.definition_hash, v.grants,
        d.document
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
"""
_BY_ID = f"{_WHOLE} WHERE a.workspace_id = $1 AND a.id = $2"
# The row alone: whoever waits for it while it gets a new version would look for the old
# one in a join, and find nothing.
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
        (workspace_id, automation_id, version, definition_hash, grants, author, rollback_of)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
# A version that was left for an earlier one keeps its number.
_NEXT = """
    SELECT max(version) + 1 AS version FROM automation_versions
    WHERE workspace_id = $1 AND automation_id = $2
"""
_STATE = """
    SELECT state FROM automations WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE
"""
# Whoever activates an automation knows of its failures so far.
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

# Until there are people and sign-in, one workspace and one member stand for the owner.
FIRST_WORKSPACE = UUID("01900000-0000-7000-8000-000000000001")
FIRST_MEMBER = UUID("01900000-0000-7000-8000-000000000002")


@dataclass(frozen=True, slots=True)
class SavedAutomation:
    """An automation and the version that is in force."""

    automation_id: UUID
    version: int
    changed: bool
    state: AutomationStatus = "paused"
    # What its runs may do that those of the version before might not.
    widened: tuple[Grant, ...] = ()
    # There is no new version, yet triggers that were switched are what it says again.
    switched_back: bool = False
    # Secrets that it uses and its owner has not set, boards that it watches and are not there.
    warnings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionContent:
    """What a version is made of: a definition under its hash, and the grants beside it."""

    definition: Definition
    digest: bytes
    grants: list[dict[str, Any]]
    # What the vocabulary declares about them.
    traits: DefinitionTraits = UNDECLARED


async def ensure_workspace(tx: Transaction, workspace_id: UUID, name: str) -> None:
    """Makes the workspace if it is not there."""
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
    """Keeps a definition under its name; a changed one becomes a new version.

    ``via`` says how a person agreed to it with that; None: the caller decides that.
    """
    await hold_names(tx, workspace_id)
    content = await keep_content(tx, workspace_id, definition, grants, traits)
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
    *,
    via: ConsentChannel | None = None,
) -> SavedAutomation:
    """Keeps a definition as a new automation; a name that is taken is refused."""
    await hold_names(tx, workspace_id)
    await check_name(tx, workspace_id, definition.name, _NOBODY)
    content = await keep_content(tx, workspace_id, definition, grants)
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
    """Keeps a definition as the next version of an automation, perhaps under a new name.

    Its triggers are what the definition says afterwards, also when it says nothing new.
    """
    await hold_names(tx, workspace_id)
    row = await hold(tx, workspace_id, automation_id, archived=archived)
    if expected_version is not None and row["version"] != expected_version:
        raise Conflict(
            f"Version {row['version']} is in force, and this change was made to "
            f"version {expected_version}.",
            code="version_changed",
            suggestion="Read the automation again and make the change to what it is now.",
        )
    content = await keep_content(tx, workspace_id, definition, grants, traits)
    saved = await put_version(tx, workspace_id, row, content, author)
    if via is not None:
        await keep_agreed(tx, workspace_id, automation_id, author, via)
    if not saved.changed:
        rows = await list_triggers(tx, workspace_id, automation_id)
        if not agree(definition.as_dict(), rows):
            await _follow(tx, workspace_id, automation_id, definition, row["state"])
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
    """The next version of an automation whose row is held; none when it would say the same."""
    automation_id, state, owner = row["id"], row["state"], row["created_by"]
    document = content.definition.as_dict()
    lacking = await _find_warnings(tx, workspace_id, owner, document)
    if row["definition_hash"] == content.digest and row["grants"] == content.grants:
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
    await _follow(tx, workspace_id, automation_id, content.definition, state)
    return SavedAutomation(
        automation_id, version, changed=True, state=state, widened=widened, warnings=lacking
    )


async def put_in_force(
    tx: Transaction,
    workspace_id: UUID,
    row: Any,
    version: int,
    content: VersionContent,
    author: UUID,
) -> SavedAutomation:
    """An earlier version in force again, as it is kept, for an automation whose row is held."""
    automation_id, state, owner = row["id"], row["state"], row["created_by"]
    document = content.definition.as_dict()
    lacking = await _find_warnings(tx, workspace_id, owner, document)
    if row["version"] == version:
        return SavedAutomation(automation_id, version, changed=False, state=state, warnings=lacking)
    widened = await _check_change(tx, workspace_id, row, content, author)
    await tx.execute(_BUMP, workspace_id, automation_id, version, content.definition.name)
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
    await _follow(tx, workspace_id, automation_id, content.definition, state)
    return SavedAutomation(
        automation_id, version, changed=True, state=state, widened=widened, warnings=lacking
    )


async def _check_change(
    tx: Transaction, workspace_id: UUID, row: Any, content: VersionContent, author: UUID
) -> tuple[Grant, ...]:
    """Refuses what this author may not put in force; answers what runs may do now and could not.

    Whoever is not the owner may not let the owner's secrets go further, nor use the owner's
    accounts in another way.
    """
    widened = find_missing_grants(read_grants(content.grants), read_grants(row["grants"]))
    if author != row["created_by"]:
        document = content.definition.as_dict()
        check_not_widened(row["document"], document, widened)
        check_accounts(row["document"], document, widened, content.traits.lent)
    if content.definition.name != row["name"]:
        await check_name(tx, workspace_id, content.definition.name, row["id"])
    return widened


async def hold(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, *, archived: bool = False
) -> Any:
    """The row of an automation with its version in force, kept as it is until the end of the
    transaction. One that is archived is not to be changed, unless that is what is asked for.
    """
    await tx.execute(_HOLD, workspace_id, [automation_id])
    row = await tx.fetchrow(_BY_ID, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    if row["state"] == "archived" and not archived:
        raise Conflict(
            "The automation is archived.", code="archived", suggestion="Restore it first."
        )
    return row


async def hold_all(tx: Transaction, workspace_id: UUID, automations: Sequence[UUID]) -> None:
    """Automations and then all their triggers, each in one order: whoever changes several
    holds all of them before the first change.
    """
    await tx.execute(_HOLD, workspace_id, list(automations))
    await hold_triggers(tx, [(workspace_id, one) for one in automations])


async def find_automation_ids(
    tx: Transaction, workspace_id: UUID, names: Sequence[str]
) -> list[UUID]:
    """The automations that have these names now."""
    return [row["id"] for row in await tx.fetch(_NAMED, workspace_id, list(names))]


async def hold_names(tx: Transaction, workspace_id: UUID) -> None:
    """Nobody else gives out a name of this workspace until the transaction ends."""
    await tx.execute(_HOLD_NAMES, str(workspace_id))


async def check_name(tx: Transaction, workspace_id: UUID, name: str, automation_id: UUID) -> None:
    """Refuses a name that another automation has; the names are held."""
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
    """Activates, pauses or archives; answers the state before. Its triggers follow."""
    row = await tx.fetchrow(_STATE, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    before: AutomationStatus = row["state"]
    await tx.execute(_SET_STATE, workspace_id, automation_id, state, reason)
    await arm(tx, workspace_id, automation_id, active=state == "active")
    return before


async def load_current_version(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> int:
    """The number of the version in force."""
    row: Any = await tx.fetchrow(_CURRENT, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    return int(row["version"])


def no_automation_error() -> NotFound:
    return NotFound("There is no such automation.", code="no_automation")


def read_grants(kept: Sequence[dict[str, Any]]) -> tuple[Grant, ...]:
    """Grants as they are kept beside a version."""
    return tuple(Grant(entry["capability"], entry["params"]) for entry in kept)


async def keep_content(
    tx: Transaction,
    workspace_id: UUID,
    definition: Definition,
    grants: Sequence[Grant],
    traits: DefinitionTraits | None = None,
) -> VersionContent:
    """Keeps a definition by its hash, and answers all that a version is made of."""
    document = definition.as_dict()
    digest = hash_content(document)
    await tx.execute(_KEEP_DEFINITION, workspace_id, digest, document)
    if traits is None:
        traits = DefinitionTraits(frozenset(grant.capability for grant in grants if grant.lent))
    return VersionContent(definition, digest, [grant.as_dict() for grant in grants], traits)


def _check_tags(definition: Definition, stored: Sequence[str] = ()) -> None:
    """Tags are read as names are; those that are stored may stay."""
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
        _VERSION, workspace_id, automation_id, 1, content.digest, content.grants, author, None
    )
    await _follow(tx, workspace_id, automation_id, content.definition, "paused")
    lacking = await _find_warnings(tx, workspace_id, author, content.definition.as_dict())
    widened = read_grants(content.grants)
    return SavedAutomation(automation_id, 1, changed=True, widened=widened, warnings=lacking)


async def _find_warnings(
    tx: Transaction, workspace_id: UUID, owner: UUID, document: Mapping[str, Any]
) -> tuple[Finding, ...]:
    """What a definition counts on and the workspace does not have yet."""
    return (
        *await find_missing_secrets(tx, workspace_id, owner, document),
        *await find_missing_boards(tx, workspace_id, document),
    )


async def _follow(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    definition: Definition,
    state: AutomationStatus,
) -> None:
    """The triggers become what the definition says, armed or at rest with the automation."""
    await hold_triggers(tx, [(workspace_id, automation_id)])
    await keep_triggers(tx, workspace_id, automation_id, definition)
    await arm(tx, workspace_id, automation_id, active=state == "active")


_NOBODY = UUID(int=0)
