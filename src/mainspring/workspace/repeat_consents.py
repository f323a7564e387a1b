"""Consent to repeat a run of an older version that may do more than is agreed to now.

A person may repeat what ran for real before. A program may not use an old version to do more than
is agreed to: it gets a question that a person can answer. The question has the id of the run and is
computed when it is read; a row lists it until it is answered or another version is agreed to. The
answer covers this run until then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import ConsentRequired, Finding
from mainspring.definition.authority import AuthorityAddition, find_additions
from mainspring.workspace.consent_rows import (
    REPEAT,
    AutomationConsent,
    ConsentStatus,
    compute_consent_digest,
    load_version_authority,
    with_names,
)
from mainspring.workspace.consents import (
    AgreedAuthority,
    check_consent,
    ensure_asked,
    load_agreed_authority,
    summarize_consent,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.store.database import Connection

_RUN: Final = """
    SELECT r.id, r.automation_id, r.version, r.mode, r.created_at, a.name, a.version AS in_force,
        a.agreed_version
    FROM runs r
    JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND r.id = $2
"""
_ANSWERED: Final = """
    SELECT status, digest, answered_by, answered_at, created_at FROM consents
    WHERE workspace_id = $1 AND id = $2 AND asked_kind = $3
"""
_KEEP: Final = """
    INSERT INTO consents (workspace_id, id, automation_id, version, origin, additions, digest,
        status, agreed_version, asked_kind, asked_by, answered_by, answered_at)
    VALUES ($1, $2, $3, $4, 'edit', $5, $6, $7, $8, $9, $2, $10,
        CASE WHEN $10::uuid IS NOT NULL THEN now() END)
    ON CONFLICT (workspace_id, id) DO UPDATE SET additions = excluded.additions,
        digest = excluded.digest, status = excluded.status,
        agreed_version = excluded.agreed_version, answered_by = excluded.answered_by,
        answered_at = excluded.answered_at, created_at = CASE
            WHEN excluded.status = 'waiting' AND consents.status <> 'waiting' THEN now()
            ELSE consents.created_at END
"""


async def check_may_repeat(
    connection: Connection,
    workspace_id: UUID,
    run_id: UUID,
    actor: Actor | None,
    mode: str | None = None,
    *,
    own_file: bool = False,
) -> None:
    """Refuses to repeat a run of a version that may do what is not agreed to now.

    A person may repeat what ran for real before; a program may not use an old version to do
    more than is agreed to. None: the local owner. ``own_file``: a command on this machine, which
    may run a file without an agreement, and so may go on with a live run of the version in force.
    The question is kept, so no transaction around this may be undone.
    """
    row = await connection.fetchrow(_RUN, workspace_id, run_id)
    if row is None or (mode or row["mode"]) == "dry_run":
        return
    if row["version"] == row["agreed_version"]:
        return
    person = actor is None or actor.is_person
    current = row["version"] == row["in_force"]
    if row["mode"] == "live" and (person or (own_file and current)):
        return
    agreed, found = await _find_repeat_additions(connection, workspace_id, row)
    if not found:
        return
    if current:
        automation_id = row["automation_id"]
        if actor is not None:
            async with connection.transaction():
                await ensure_asked(connection, workspace_id, automation_id, actor)
        problem = await check_consent(connection, workspace_id, automation_id, row["version"])
    else:
        question = await _build_consent(connection, workspace_id, row, agreed, found)
        if actor is not None and question.status == "waiting":
            # Listed for the people who can answer it.
            async with connection.transaction():
                await _keep(connection, workspace_id, question, "waiting", question.digest)
        problem = None if question.status == "agreed" else _repeat_refused_error(question)
    if problem is not None:
        raise problem


async def load_repeat_consent(
    tx: Transaction, workspace_id: UUID, run_id: UUID
) -> AutomationConsent | None:
    """The question whether a run of an older version may be repeated; None: there is none."""
    row = await tx.fetchrow(_RUN, workspace_id, run_id)
    if row is None or row["version"] == row["in_force"]:
        return None
    agreed, found = await _find_repeat_additions(tx, workspace_id, row)
    return await _build_consent(tx, workspace_id, row, agreed, found) if found else None


async def keep_repeat_answer(
    tx: Transaction, workspace_id: UUID, asked: AutomationConsent, member: UUID, *, agree: bool
) -> None:
    """Keeps a person's answer; it changes nothing about the version in force."""
    about = (asked.automation_id, asked.version, asked.agreed_version, asked.additions)
    status: ConsentStatus = "agreed" if agree else "refused"
    await _keep(tx, workspace_id, asked, status, _digest(*about, agree), member)


async def _keep(
    tx: Transaction,
    workspace_id: UUID,
    asked: AutomationConsent,
    status: ConsentStatus,
    digest: bytes,
    member: UUID | None = None,
) -> None:
    await tx.execute(
        _KEEP,
        workspace_id,
        asked.id,
        asked.automation_id,
        asked.version,
        [one.as_dict() for one in asked.additions],
        digest,
        status,
        asked.agreed_version,
        REPEAT,
        member,
    )


async def _find_repeat_additions(
    tx: Transaction, workspace_id: UUID, row: Any
) -> tuple[AgreedAuthority, tuple[AuthorityAddition, ...]]:
    agreed = await load_agreed_authority(tx, workspace_id, row["automation_id"])
    then = await load_version_authority(tx, workspace_id, row["automation_id"], row["version"])
    # What starts it says nothing about a run that was started.
    before = agreed.authority and replace(agreed.authority, starts=())
    return agreed, () if then is None else find_additions(before, replace(then, starts=()))


async def _build_consent(
    tx: Transaction,
    workspace_id: UUID,
    row: Any,
    agreed: AgreedAuthority,
    found: tuple[AuthorityAddition, ...],
) -> AutomationConsent:
    """The question as it is now, with the answer that was given to just this one."""
    added = await with_names(tx, workspace_id, row["automation_id"], found)
    about = (row["automation_id"], row["version"], agreed.version, added)
    given = await tx.fetchrow(_ANSWERED, workspace_id, row["id"], REPEAT)
    status: ConsentStatus = "waiting"
    digest = _digest(*about, True)
    if given is not None and given["digest"] == _digest(*about, given["status"] == "agreed"):
        status, digest = given["status"], given["digest"]
    answered = given is not None and status != "waiting"
    return AutomationConsent(
        id=row["id"],
        automation_id=row["automation_id"],
        automation=row["name"],
        version=row["version"],
        origin="edit",
        additions=added,
        digest=digest,
        status=status,
        agreed_version=agreed.version,
        agreed_triggers=None,
        asked_kind=REPEAT,
        asked_by=row["id"],
        answered_by=given["answered_by"] if answered else None,
        created_at=row["created_at"] if given is None else given["created_at"],
        answered_at=given["answered_at"] if answered else None,
    )


def _digest(
    automation_id: UUID,
    version: int,
    agreed_version: int | None,
    added: tuple[AuthorityAddition, ...],
    agree: bool,
) -> bytes:
    """Another agreement makes it another question."""
    return compute_consent_digest(
        automation_id, version, f"{REPEAT} beyond {agreed_version}", added, refused=not agree
    )


def _repeat_refused_error(asked: AutomationConsent) -> ConsentRequired:
    refused = asked.status == "refused"
    return ConsentRequired(
        "A person has refused to repeat this run."
        if refused
        else (
            "The version of this run has more permissions than the approved ones. A person must "
            "consent before it is repeated."
        ),
        code="consent_refused" if refused else "consent_needed",
        findings=[Finding(one.pointer, one.says, f"adds_{one.kind}") for one in asked.additions],
        consent={**(summarize_consent(asked) or {}), "url": f"/runs/{asked.id}"},
        command=f"mainspring consents agree {asked.id}",
    )
