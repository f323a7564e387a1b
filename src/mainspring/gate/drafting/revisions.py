"""The wording of a draft: what was shown, what was seen of it, and another one by an edit.

What is sent is what the confirmer saw. A draft that was never edited was shown to everybody
in the same words; one that was edited is confirmed with the hash of the words that were seen.
An edit changes the fields that may be changed, is judged like any call, and makes another
wording with its own preview and its own hash.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.capability import DraftMetadata
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.gate.draft_binding import Place

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_KEEP = """
    INSERT INTO draft_revisions (workspace_id, draft_id, revision, arguments, secrets,
        arguments_hash, preview, bound_hash, edited_kind, edited_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT DO NOTHING
"""
_REWORD = """
    UPDATE drafts SET revision = $3, arguments = $4, secrets = $5, arguments_hash = $6,
        preview = $7, bound_hash = $8
    WHERE workspace_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class DraftEdit:
    """What somebody wants of a draft: other words, and what they have seen of it."""

    edits: Mapping[str, Any] | None = None
    # The hash of the wording that they saw.
    seen: str | None = None
    # Whether it is to be sent then.
    sends: bool = True


@dataclass(frozen=True, slots=True)
class DraftRevision:
    """What would be sent, and what a person is shown of it."""

    arguments: Mapping[str, Any]
    places: Sequence[Place]
    arguments_hash: bytes
    preview: str
    bound_hash: bytes


def check_reviewed_revision(row: Mapping[str, Any], edit: DraftEdit) -> None:
    """Refuses whoever agrees to something else than what stands there now."""
    now = None if row["bound_hash"] is None else row["bound_hash"].hex()
    if edit.seen is None:
        if edit.sends and row["revision"] > 1:
            raise Conflict(
                "This draft was edited after it was created, so nothing was sent.",
                code="draft_edited",
                suggestion="Read the current draft, and confirm it with the hash shown there.",
            )
    elif now is None or not hmac.compare_digest(edit.seen.lower(), now):
        raise Conflict(
            "This draft has changed since you read it, so nothing was sent.",
            code="draft_changed",
            suggestion="Read the current draft, and confirm it with the hash shown there.",
        )


def apply_edits(
    arguments: Mapping[str, Any],
    places: Sequence[Place],
    edits: Mapping[str, Any],
    envelope: DraftMetadata,
) -> tuple[dict[str, Any], list[Place]]:
    """The arguments with some fields changed, and where secrets stand in them then.

    A field that is given as null is taken away.
    """
    _check_fields(edits, envelope)
    inside = arguments.get(envelope.within, {}) if envelope.within else arguments
    fields = {name: value for name, value in inside.items() if name not in edits}
    # In the order they had, so that two wordings can be laid side by side.
    kept = {
        name: edits.get(name, value)
        for name, value in inside.items()
        if name in fields or edits[name] is not None
    }
    kept |= {name: value for name, value in edits.items() if value is not None}
    made = {**arguments, envelope.within: kept} if envelope.within else kept
    base = [envelope.within] if envelope.within else []
    gone = [[*base, name] for name in edits]
    left = [one for one in places if not any(one["at"][: len(at)] == at for at in gone)]
    return made, left


def _check_fields(edits: Mapping[str, Any], envelope: DraftMetadata) -> None:
    allowed = envelope.editable or ()
    strays = [name for name in edits if name not in allowed]
    if not strays:
        return
    may = f"What may be changed: {', '.join(allowed)}." if allowed else "Nothing may be changed."
    findings = [
        Finding(
            join_pointer("/edits", name),
            f"{name!r} of this draft cannot be changed. {may}",
            "not_editable",
            suggest_nearest(name, list(allowed)),
        )
        for name in strays
    ]
    raise Invalid(findings[0].detail, code="not_editable", findings=findings)


def raise_edit_findings(findings: Sequence[Finding], within: str) -> None:
    """Says what is wrong with edited arguments, at the place where it was edited."""
    if not findings:
        return
    base = join_pointer("", within) if within else ""
    told = [
        Finding(f"/edits{_below(one.pointer, base)}", one.detail, one.code, one.suggestion)
        for one in findings
    ]
    raise Invalid(
        f"These edits would make the draft invalid: {told[0].detail}",
        code="edits_invalid",
        findings=told,
    )


def _below(pointer: str, base: str) -> str:
    return pointer[len(base) :] if pointer.startswith(f"{base}/") else ""


async def store_revision(
    tx: Transaction, actor: Actor, row: Mapping[str, Any], draft_revision: DraftRevision
) -> dict[str, Any]:
    """Gives a draft another wording and keeps both; the row as it is then."""
    space, draft_id = row["workspace_id"], row["id"]
    await _keep(
        tx,
        space,
        draft_id,
        row["revision"],
        (row["actor_kind"], row["actor_id"]),
        DraftRevision(
            row["arguments"],
            row["secrets"],
            row["arguments_hash"],
            row["preview"],
            row["bound_hash"],
        ),
    )
    revision = row["revision"] + 1
    await _keep(tx, space, draft_id, revision, (actor.kind, actor.id), draft_revision)
    values = {
        "arguments": draft_revision.arguments,
        "secrets": list(draft_revision.places),
        "arguments_hash": draft_revision.arguments_hash,
        "preview": draft_revision.preview,
        "bound_hash": draft_revision.bound_hash,
    }
    await tx.execute(_REWORD, space, draft_id, revision, *values.values())
    return {**dict(row), **values, "revision": revision}


async def _keep(
    tx: Transaction,
    space: UUID,
    draft_id: UUID,
    revision: int,
    by: tuple[str, UUID | None],
    draft_revision: DraftRevision,
) -> None:
    await tx.execute(
        _KEEP,
        space,
        draft_id,
        revision,
        draft_revision.arguments,
        list(draft_revision.places),
        draft_revision.arguments_hash,
        draft_revision.preview,
        draft_revision.bound_hash,
        *by,
    )
