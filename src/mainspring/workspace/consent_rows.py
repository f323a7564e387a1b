"""Stored consents: at most one pending per automation, and all answered ones.

A consent is relative to the version that a person has consented to. Every save while it is pending
is compared with that version again: a reduction may leave nothing to ask, and an addition joins the
same consent. Writers hold the lock of the automation's row.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.contracts.grant import Grant
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.write_description import quote_name
from mainspring.definition.authority import (
    AuthorityAddition,
    AutomationAuthority,
    build_review_addition,
    find_additions,
    read_authority,
)
from mainspring.definition.authority_writes import list_owner_accounts
from mainspring.definition.strict_json import encode_canonical, is_same_value
from mainspring.definition.traits import DefinitionTraits, read_stored_traits
from mainspring.definition.upgrade import upgrade
from mainspring.workspace.inbox import mark_consent_read

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Boards and accounts by their names, in the sentences that a person is asked to agree to.

_ID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NAMES = "SELECT id, name FROM boards WHERE workspace_id = $1 AND id = ANY($2::uuid[])"
# A member's own connection comes before that of the workspace, as it does in a run.
_ACCOUNTS = """
    SELECT DISTINCT ON (integration) integration, account FROM integration_connections
    WHERE workspace_id = $1 AND (owner_id = $2 OR shared_at IS NOT NULL)
        AND state <> 'sign_in' AND account <> ''
    ORDER BY integration, owner_id = $2 DESC
"""
# Quotes texts as they are sent, so no name is inserted into it.
_QUOTES: Final = "send"
# Begins the text of a write in any other sentence. No quoted name or value contains it.
_TEXT: Final = "“"
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
        for integration, words in list_owner_accounts().items()
        if any(words in one.says for one in added if one.kind != _QUOTES)
    }
    if not wanted:
        return tuple(added)
    known = await account_names(tx, workspace_id, owner)

    def named(says: str) -> str:
        before, begins, text = says.partition(_TEXT)
        for words, integration in wanted.items():
            if integration in known:
                before = before.replace(words, f"as {quote_name(known[integration])}")
        return before + begins + text

    return tuple(
        one if one.kind == _QUOTES else replace(one, says=named(one.says)) for one in added
    )


async def account_names(tx: Transaction, workspace_id: UUID, owner: UUID) -> dict[str, str]:
    """Who somebody is at each integration that they have connected, or that is shared with them."""
    rows = await tx.fetch(_ACCOUNTS, workspace_id, owner)
    return {row["integration"]: row["account"] for row in rows}


async def add_board_names(
    tx: Transaction, workspace_id: UUID, added: Sequence[AuthorityAddition]
) -> tuple[AuthorityAddition, ...]:
    """The same additions, with the name of each board that there is before its id."""
    wanted = {found for one in added if one.kind != _QUOTES for found in _ID.findall(one.says)}
    if not wanted:
        return tuple(added)
    rows = await tx.fetch(_NAMES, workspace_id, [UUID(one) for one in sorted(wanted)])
    names = {str(row["id"]): quote_name(row["name"]).replace('"', "'") for row in rows}

    def named(found: re.Match[str]) -> str:
        name = names.get(found[0])
        if name is None or found.string.endswith('" (', 0, found.start()):
            return found[0]
        return f'"{name}" ({found[0]})'

    def with_board_names(says: str) -> str:
        before, begins, text = says.partition(_TEXT)
        return _ID.sub(named, before) + begins + text

    return tuple(
        one if one.kind == _QUOTES else replace(one, says=with_board_names(one.says))
        for one in added
    )


# What a proposal says is approved by a person, also after the proposal itself is gone.
_UNSAVED_PROPOSAL = """
    SELECT p.id FROM automation_versions v
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    JOIN proposals p ON p.workspace_id = v.workspace_id AND p.saved_at IS NULL
    WHERE v.workspace_id = $1 AND v.automation_id = $2 AND v.version = $3
      AND jsonb_path_query_array((p.body -> 'document')::jsonb, '$.plan[*].step_id')
        = jsonb_path_query_array(d.document::jsonb, '$.plan[*].step_id')
      AND jsonb_path_query_array((p.body -> 'document')::jsonb, '$.plan[*].action')
        = jsonb_path_query_array(d.document::jsonb, '$.plan[*].action')
    LIMIT 1
"""
_PROPOSES: Final = "propose_automation"
_WORDS: Final = AuthorityAddition(
    "review",
    "",
    "A program saved the steps of a proposal that was written from a request in words.",
    _PROPOSES,
)


def is_from_words(added: Sequence[AuthorityAddition]) -> bool:
    """Whether a question is about a proposal that a program has saved."""
    return any(one.capability == _PROPOSES for one in added)


async def matches_unsaved_proposal(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, version: int
) -> bool:
    """Whether a version has the plan of a proposal that no person has saved."""
    return await tx.fetchrow(_UNSAVED_PROPOSAL, workspace_id, automation_id, version) is not None


async def mark_words(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    version: int,
    added: Sequence[AuthorityAddition],
    before: Sequence[AuthorityAddition] = (),
) -> tuple[AuthorityAddition, ...]:
    """The additions; one more where this version, or what was asked before it, is a proposal."""
    kept = tuple(one for one in added if one.capability != _PROPOSES)
    marked = is_from_words(before) or await matches_unsaved_proposal(
        tx, workspace_id, automation_id, version
    )
    return (*kept, _WORDS) if marked else kept


ConsentOrigin = Literal["create", "install", "upgrade", "import", "edit", "tools"]
ConsentStatus = Literal["waiting", "agreed", "refused", "overtaken"]
Triggers = Sequence[Mapping[str, Any]]
# How a person agreed; upgrade: it was at work before agreement was recorded.
ConsentChannel = Literal["page", "terminal", "token", "upgrade"]

PAUSED_REASON: Final = "consent"
NOTHING_NEW: Final = "It has no new permissions. Review it before it starts here."
_PURPOSE: Final = b"mainspring consent v1\0"
# Who asked whether a run of an older version may be repeated: the answer says nothing about the
# version in force, and does not keep it from starting.
REPEAT: Final = "repeat"
# These came from elsewhere: a person looks at them once, whatever they say.
LOOKED_AT_ONCE: Final = frozenset({"install", "import"})

_COLUMNS = """
    c.id, c.automation_id, a.name AS automation, c.version, c.origin, c.additions, c.digest,
    c.status, c.agreed_version, c.agreed_triggers, c.asked_kind, c.asked_by, c.answered_by,
    c.created_at, c.answered_at
"""
_FROM = """
    FROM consents c
    JOIN automations a ON a.workspace_id = c.workspace_id AND a.id = c.automation_id
"""
_INSERT = """
    INSERT INTO consents (workspace_id, id, automation_id, version, origin, additions, digest,
        status, agreed_version, agreed_triggers, asked_kind, asked_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', $8, $9, $10, $11)
"""
_ONE = f"SELECT {_COLUMNS} {_FROM} WHERE c.workspace_id = $1 AND c.id = $2"
_LATEST = f"""
    SELECT {_COLUMNS} {_FROM}
    WHERE c.workspace_id = $1 AND c.automation_id = $2 AND c.asked_kind <> '{REPEAT}'
    ORDER BY c.id DESC LIMIT 1
"""
_LIST = f"""
    SELECT {_COLUMNS} {_FROM}
    WHERE c.workspace_id = $1 AND ($2::text IS NULL OR c.status = $2)
        AND ($3::uuid IS NULL OR c.automation_id = $3)
        AND a.state <> 'archived'
    ORDER BY c.id DESC LIMIT $4
"""
_BY_UPGRADE = """
    SELECT id, name, agreed_version AS version FROM automations
    WHERE workspace_id = $1 AND agreed_via = 'upgrade' AND state <> 'archived'
        AND ($2::uuid IS NULL OR id = $2)
    ORDER BY id DESC LIMIT $3
"""
_OVERTAKE = f"""
    UPDATE consents SET status = 'overtaken', answered_at = now()
    WHERE workspace_id = $1 AND automation_id = $2 AND status = 'waiting'
        AND asked_kind <> '{REPEAT}'
"""
_OVERTAKE_REPEATS = f"""
    UPDATE consents SET status = 'overtaken', answered_at = now()
    WHERE workspace_id = $1 AND automation_id = $2 AND status = 'waiting'
        AND asked_kind = '{REPEAT}'
"""
_ANSWER = """
    UPDATE consents SET status = $3, digest = $4, answered_by = $5, answered_at = now(),
        additions = $6
    WHERE workspace_id = $1 AND id = $2
"""
# The same question about another version: the answer is given to the digest, which is new.
_ASK_AGAIN = """
    UPDATE consents SET version = $3, digest = $4, asked_kind = $5, asked_by = $6
    WHERE workspace_id = $1 AND id = $2 AND status = 'waiting'
"""
_SWITCHED = "UPDATE consents SET agreed_triggers = $3 WHERE workspace_id = $1 AND id = $2"
_AGREED = """
    UPDATE automations SET agreed_version = version, agreed_by = $3, agreed_via = $4,
        paused_reason = CASE WHEN paused_reason = 'consent' THEN NULL ELSE paused_reason END
    WHERE workspace_id = $1 AND id = $2
"""
# A change that adds nothing: what was agreed to covers the new version too.
_COVERED = """
    UPDATE automations SET agreed_version = version,
        paused_reason = CASE WHEN paused_reason = 'consent' THEN NULL ELSE paused_reason END
    WHERE workspace_id = $1 AND id = $2 AND agreed_version IS NOT NULL
"""
# An agreement names the accounts that are used, so neither changes while the other is decided.
_EVERY_WORKSPACE: Final = "everywhere"
_HOLD_ACCOUNTS = (
    "SELECT pg_advisory_xact_lock_shared(hashtextextended('agreed accounts ' || $1, 0))"
)
_HOLD_AGREEMENTS = "SELECT pg_advisory_xact_lock(hashtextextended('agreed accounts ' || $1, 0))"
_VERSION = """
    SELECT v.grants, v.traits, d.document
    FROM automation_versions v
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE v.workspace_id = $1 AND v.automation_id = $2 AND v.version = $3
"""


@dataclass(frozen=True, slots=True)
class AutomationConsent:
    """One question to a person, and what became of it."""

    id: UUID
    automation_id: UUID
    automation: str
    version: int
    origin: ConsentOrigin
    additions: tuple[AuthorityAddition, ...]
    digest: bytes
    status: ConsentStatus
    # The version that a person had agreed to when it was asked; None: none of them.
    agreed_version: int | None
    # The triggers of that version as they were then; None: as it says itself.
    agreed_triggers: Triggers | None
    asked_kind: str
    asked_by: UUID
    answered_by: UUID | None
    created_at: datetime
    answered_at: datetime | None

    def blocks(self, version: int) -> bool:
        """Whether this version may not start: somebody has to agree, or has refused to."""
        return self.status == "waiting" or (self.status == "refused" and self.version == version)

    def asks_same(
        self,
        origin: ConsentOrigin,
        added: Sequence[AuthorityAddition],
        agreed_version: int | None,
        agreed_triggers: Triggers | None,
    ) -> bool:
        """Whether this question is open and asks for just this, measured by the same agreement."""
        triggers = None if agreed_triggers is None else list(agreed_triggers)
        before = (self.agreed_version, self.agreed_triggers)
        return (
            self.status == "waiting"
            and (self.origin, self.additions) == (origin, tuple(added))
            and before == (agreed_version, triggers)
        )


def compute_consent_digest(
    automation_id: UUID,
    version: int,
    origin: str,
    added: Sequence[AuthorityAddition],
    *,
    refused: bool = False,
) -> bytes:
    """What is agreed to, in one hash. One that was refused is another question."""
    shown = {
        "automation_id": str(automation_id),
        "version": version,
        "origin": origin,
        "additions": [one.as_dict() for one in added],
        "refused": refused,
    }
    return hashlib.sha256(_PURPOSE + encode_canonical(shown)).digest()


async def find_consent(tx: Transaction, workspace_id: UUID, consent_id: UUID) -> AutomationConsent:
    """One question, with the accounts and boards of an open one by their names of now."""
    row = await tx.fetchrow(_ONE, workspace_id, consent_id)
    if row is None:
        raise NotFound("There is no such consent.", code="no_consent")
    return await _name_current(tx, workspace_id, _read(row))


async def load_latest_consent(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> AutomationConsent | None:
    """The last that was asked for an automation, whatever became of it."""
    found = await _load_latest_stored(tx, workspace_id, automation_id)
    return None if found is None else await _name_current(tx, workspace_id, found)


async def _load_latest_stored(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> AutomationConsent | None:
    row = await tx.fetchrow(_LATEST, workspace_id, automation_id)
    return None if row is None else _read(row)


async def _name_current(
    tx: Transaction, workspace_id: UUID, consent: AutomationConsent
) -> AutomationConsent:
    """The question as it is to be shown and answered now.

    The names of accounts and boards are not stored with an open question: an account that was
    replaced since makes it another question, with another digest. What was agreed to is stored as
    it was shown.
    """
    if consent.status == "agreed":
        return consent
    shown = await with_names(tx, workspace_id, consent.automation_id, consent.additions)
    if shown == consent.additions:
        return consent
    digest = compute_consent_digest(
        consent.automation_id,
        consent.version,
        consent.origin,
        shown,
        refused=consent.status == "refused",
    )
    return replace(consent, additions=shown, digest=digest)


async def list_consents(
    tx: Transaction,
    workspace_id: UUID,
    status: str | None = None,
    automation_id: UUID | None = None,
    most: int = 100,
) -> list[AutomationConsent]:
    """The newest first; without those of archived automations."""
    rows = await tx.fetch(_LIST, workspace_id, status, automation_id, most)
    return [await _name_current(tx, workspace_id, _read(row)) for row in rows]


async def list_agreed_by_upgrade(
    tx: Transaction, workspace_id: UUID, automation_id: UUID | None, most: int
) -> list[dict[str, Any]]:
    """What was at work before agreement was recorded, and nobody has looked at since."""
    rows = await tx.fetch(_BY_UPGRADE, workspace_id, automation_id, most)
    return [
        {"automation_id": str(row["id"]), "name": row["name"], "version": row["version"]}
        for row in rows
    ]


async def hold_accounts(tx: Transaction, workspace_id: UUID) -> None:
    """Nobody replaces an account or a model of this workspace until the transaction ends."""
    await tx.execute(_HOLD_ACCOUNTS, _EVERY_WORKSPACE)
    await tx.execute(_HOLD_ACCOUNTS, str(workspace_id))


async def hold_agreements(tx: Transaction, workspace_id: UUID | None) -> None:
    """Nobody agrees to an automation of this workspace until the transaction ends.

    None: of any workspace. To be called before an account or a model is replaced.
    """
    await tx.execute(_HOLD_AGREEMENTS, str(workspace_id or _EVERY_WORKSPACE))


async def keep_waiting(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    version: int,
    origin: ConsentOrigin,
    added: Sequence[AuthorityAddition],
    asked: tuple[str, UUID],
    agreed_version: int | None,
    agreed_triggers: Triggers | None = None,
) -> UUID:
    """Keeps a question; another one that waited before it is overtaken.

    The same question about a newer version keeps its id, so that saving a file again and again
    leaves one question and not one for each version.
    """
    digest = compute_consent_digest(automation_id, version, origin, added)
    there = await _load_latest_stored(tx, workspace_id, automation_id)
    if there is not None and there.asks_same(origin, added, agreed_version, agreed_triggers):
        await tx.execute(_ASK_AGAIN, workspace_id, there.id, version, digest, *asked)
        return there.id
    await supersede_consents(tx, workspace_id, automation_id)
    made = generate_id()
    await tx.execute(
        _INSERT,
        workspace_id,
        made,
        automation_id,
        version,
        origin,
        [one.as_dict() for one in added],
        digest,
        agreed_version,
        None if agreed_triggers is None else list(agreed_triggers),
        *asked,
    )
    return made


async def supersede_consents(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """Whatever waited for this automation is not asked any more."""
    await tx.execute(_OVERTAKE, workspace_id, automation_id)


async def keep_agreed(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, member: UUID, via: ConsentChannel
) -> None:
    """Records that a person has agreed to the version in force."""
    await hold_accounts(tx, workspace_id)
    await tx.execute(_AGREED, workspace_id, automation_id, member, via)
    # They were about what goes beyond the agreement before.
    await tx.execute(_OVERTAKE_REPEATS, workspace_id, automation_id)


async def keep_covered(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """Records that the version in force adds nothing to what was agreed to."""
    await tx.execute(_COVERED, workspace_id, automation_id)


async def record_answer(
    tx: Transaction,
    workspace_id: UUID,
    consent: AutomationConsent,
    status: ConsentStatus,
    member: UUID,
    via: ConsentChannel = "page",
) -> None:
    """Keeps an answer. Once agreed to, nothing but a person keeps it from starting.

    ``consent`` is the question with the names that were shown. A refusal keeps none of them: it can
    still be agreed to, and then with the accounts of that time.
    """
    row = await tx.fetchrow(_ONE, workspace_id, consent.id)
    kept = consent if status == "agreed" else _read(row)
    digest = compute_consent_digest(
        consent.automation_id,
        consent.version,
        consent.origin,
        kept.additions,
        refused=status == "refused",
    )
    stored = [one.as_dict() for one in kept.additions]
    await tx.execute(_ANSWER, workspace_id, consent.id, status, digest, member, stored)
    await mark_consent_read(tx, workspace_id, consent.automation_id)
    if status == "agreed":
        await keep_agreed(tx, workspace_id, consent.automation_id, member, via)


async def renew_consent(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    before: int,
    version: int,
    document: Mapping[str, Any],
    grants: Sequence[Mapping[str, Any]],
    traits: DefinitionTraits,
    *,
    by_program: bool = False,
) -> None:
    """Another version is in force: what is asked about the one before is asked about this.

    What came from elsewhere is asked about until a person has answered, or until what they had
    agreed to is back as it was.
    """
    there = await _load_latest_stored(tx, workspace_id, automation_id)
    if there is None or not there.blocks(before):
        return
    then = await _load_agreed_definition(tx, workspace_id, there)
    agreed = None if then is None else await read_authority_in_thread(*then)
    found = find_additions(agreed, await read_authority_in_thread(document, grants, traits))
    if not found and (there.origin not in LOOKED_AT_ONCE or _is_back(then, document, grants)):
        await supersede_consents(tx, workspace_id, automation_id)
        await mark_consent_read(tx, workspace_id, automation_id)
        await keep_covered(tx, workspace_id, automation_id)
        return
    asked = found or (build_review_addition(NOTHING_NEW),)
    if by_program or is_from_words(there.additions):
        asked = await mark_words(tx, workspace_id, automation_id, version, asked, there.additions)
    if there.version == version and there.additions == asked:
        return
    await keep_waiting(
        tx,
        workspace_id,
        automation_id,
        version,
        there.origin,
        asked,
        (there.asked_kind, there.asked_by),
        there.agreed_version,
        there.agreed_triggers,
    )


async def remove_trigger_from_consent(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str
) -> None:
    """A trigger is switched off while a question is open: it is not agreed to any more."""
    there = await load_latest_consent(tx, workspace_id, automation_id)
    if there is None or there.status not in ("waiting", "refused") or not there.agreed_triggers:
        return
    kept = [
        {**one, "enabled": False} if one.get("id") == slug else one for one in there.agreed_triggers
    ]
    await tx.execute(_SWITCHED, workspace_id, there.id, kept)


async def load_authority_before(
    tx: Transaction, workspace_id: UUID, consent: AutomationConsent
) -> AutomationAuthority | None:
    """What was agreed to before this was asked; None where nothing was."""
    then = await _load_agreed_definition(tx, workspace_id, consent)
    return None if then is None else await read_authority_in_thread(*then)


async def load_version_authority(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, version: int
) -> AutomationAuthority | None:
    """What a version may do as it was saved; None where there is no such version."""
    row = await tx.fetchrow(_VERSION, workspace_id, automation_id, version)
    if row is None:
        return None
    traits = read_stored_traits(row["traits"], row["document"])
    return await read_authority_in_thread(row["document"], row["grants"], traits)


async def _load_agreed_definition(
    tx: Transaction, workspace_id: UUID, consent: AutomationConsent
) -> tuple[dict[str, Any], Sequence[Mapping[str, Any]], DefinitionTraits] | None:
    """The definition that was agreed to, with its triggers as they were then, and its grants."""
    if consent.agreed_version is None:
        return None
    row = await tx.fetchrow(_VERSION, workspace_id, consent.automation_id, consent.agreed_version)
    if row is None:
        return None
    document = dict(upgrade(row["document"])[0])
    if consent.agreed_triggers is not None:
        document["triggers"] = list(consent.agreed_triggers)
    return document, row["grants"], read_stored_traits(row["traits"], document)


def _is_back(
    then: tuple[Mapping[str, Any], Sequence[Mapping[str, Any]], DefinitionTraits] | None,
    document: Mapping[str, Any],
    grants: Sequence[Mapping[str, Any]],
) -> bool:
    """Whether this is what was agreed to; which of its triggers are on has been compared."""
    if then is None:
        return False
    was, now = ({k: v for k, v in one.items() if k != "triggers"} for one in (then[0], document))
    return is_same_value(was, now) and is_same_value(list(then[1]), list(grants))


async def read_authority_in_thread(
    document: Mapping[str, Any],
    grants: Sequence[Mapping[str, Any]],
    traits: DefinitionTraits,
) -> AutomationAuthority:
    """What a definition may do, read beside the loop: a large script takes its time."""
    read = [
        Grant(entry["capability"], entry["params"], lent=entry["capability"] in traits.lent)
        for entry in grants
    ]
    return await asyncio.to_thread(
        read_authority, document, read, Limits(), None, traits.pure, traits.sends, traits.labels
    )


def _read(row: Any) -> AutomationConsent:
    values = dict(row)
    values["additions"] = tuple(AuthorityAddition(**one) for one in values["additions"])
    return AutomationConsent(**values)
