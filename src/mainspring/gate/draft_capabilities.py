"""What waits for a person, as capabilities: list it, edit it, confirm it, discard it, repeat it.

Confirming is for people. A program that confirms is answered with the page where a person does it.
A run may confirm in one case only, which is decided where the draft is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.connections.call_context import DraftConfirmer, GateContext
from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import Actor, CallContext
from mainspring.contracts.errors import (
    Conflict,
    Finding,
    InternalError,
    PermissionDenied,
    PersonRequired,
    Problem,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.model_schema import build_model_schema
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.definition.strict_json import join_pointer
from mainspring.gate.draft_schemas import (
    USUAL,
    ConfirmActionArguments,
    ConfirmActionResult,
    ConfirmActionsArguments,
    ConfirmActionsResult,
    DiscardActionArguments,
    DiscardActionResult,
    DiscardActionsArguments,
    DiscardActionsResult,
    EditActionArguments,
    EditActionResult,
    ListPendingActionsArguments,
    ListPendingActionsResult,
    RedraftActionArguments,
    RedraftActionResult,
)
from mainspring.gate.draft_sending import (
    CONFIRM_ACTION,
    CONFIRM_ACTIONS,
    EDIT_ACTION,
    persons_needed,
)
from mainspring.gate.drafting.approvals import check_can_edit, find_draft_authors
from mainspring.gate.drafting.attachments import copy_files
from mainspring.gate.drafting.resume import NullResumer, Resumer
from mainspring.gate.drafts import (
    OUTCOME,
    STATUS,
    DraftLifetimes,
    discard_draft,
    is_held_by_run,
    list_drafts_for,
    lock_drafts,
    missing_draft_error,
    read_draft_for,
)
from mainspring.store.audit import append_audit, build_audit_record
from mainspring.workspace.approval_policy import GET_APPROVAL_POLICY, SET_APPROVAL_POLICY
from mainspring.workspace.inbox import ACK_INBOX_ACTION

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# A draft once more: its time was over, or it was let go of, and somebody wants it after all.

# The first of a line is held before its others are looked for: two who repeat at once, from
# whichever of them, see each other.
_FIRST = """
    WITH RECURSIVE line AS (
        SELECT id, redraft_of FROM drafts WHERE workspace_id = $1 AND id = $2
        UNION SELECT d.id, d.redraft_of FROM line
            JOIN drafts d ON d.workspace_id = $1 AND d.id = line.redraft_of
    )
    SELECT id FROM drafts
    WHERE workspace_id = $1 AND id = (SELECT id FROM line ORDER BY id LIMIT 1) FOR UPDATE
"""
_LINE = """
    WITH RECURSIVE line AS (
        SELECT $2::uuid AS id
        UNION SELECT d.id FROM line
            JOIN drafts d ON d.workspace_id = $1 AND d.redraft_of = line.id
    )
    SELECT id FROM line
"""
_HOLD = f"""
    SELECT workspace_id, id, {STATUS} AS current_status, {OUTCOME} AS came_to, run_id, actor_id,
        automation_id, version, revision, answered_by, bound_hash, capability
    FROM drafts WHERE workspace_id = $1 AND id = ANY($2) ORDER BY id FOR UPDATE
"""
_REPEAT = """
    INSERT INTO drafts (workspace_id, id, run_id, step, item, capability, arguments,
        arguments_hash, preview, expires_at, actor_kind, actor_id, secrets, automation_id, version,
        bound_hash, batch_id, notify, source, action, connection, redraft_of)
    SELECT workspace_id, $3, run_id, step, item, capability, arguments, arguments_hash, preview,
        $4::timestamptz + make_interval(secs => coalesce(
            (SELECT CASE WHEN $6 THEN held_seconds ELSE draft_seconds END
             FROM workspaces WHERE workspace_id = $1), $5::float8)),
        actor_kind, actor_id, secrets, automation_id, version, bound_hash, batch_id, notify,
        source, action, connection, id
    FROM drafts WHERE workspace_id = $1 AND id = $2
"""
# Whose words they are stays known.
_WORDS = """
    INSERT INTO draft_revisions (workspace_id, draft_id, revision, arguments, secrets,
        arguments_hash, preview, bound_hash, edited_kind, edited_by, at)
    SELECT workspace_id, $3, 1, arguments, secrets, arguments_hash, preview, bound_hash,
        edited_kind, edited_by, at
    FROM draft_revisions WHERE workspace_id = $1 AND draft_id = $2 AND revision = $4
"""


async def repeat_draft(
    tx: Transaction, actor: Actor, draft_id: UUID, now: datetime, lifetimes: DraftLifetimes
) -> tuple[UUID, bool]:
    """The draft that repeats another, and whether it is new; asked twice, it is the same one."""
    space = actor.workspace_id
    line = await _lock_repeat_chain(tx, space, draft_id)
    newest = line[-1]
    check_can_edit(actor, newest)
    waiting = next((one for one in line if one["current_status"] == "pending"), None)
    if waiting is not None and waiting["id"] != draft_id:
        return waiting["id"], False
    for one in line:
        _check_over(one)
    await _check_may_redraft(tx, actor, newest)
    made = generate_id()
    by_run = is_held_by_run(newest["capability"], newest["run_id"] is not None)
    lasting = lifetimes.held if by_run else lifetimes.draft
    await tx.execute(_REPEAT, space, newest["id"], made, now, lasting.total_seconds(), by_run)
    await tx.execute(_WORDS, space, newest["id"], made, newest["revision"])
    await copy_files(tx, space, newest["id"], made)
    return made, True


async def _lock_repeat_chain(
    tx: Transaction, space: UUID, draft_id: UUID
) -> Sequence[Mapping[str, Any]]:
    """A draft, all that it repeats and all that repeats it, the oldest first; nobody sends one."""
    first = await tx.fetchrow(_FIRST, space, draft_id)
    if first is None:
        raise missing_draft_error()
    ids = [one["id"] for one in await tx.fetch(_LINE, space, first["id"])]
    return await tx.fetch(_HOLD, space, ids)


async def _check_may_redraft(tx: Transaction, actor: Actor, row: Mapping[str, Any]) -> None:
    """What its author has let go of is theirs to want again."""
    whose = row["answered_by"]
    if row["current_status"] != "discarded" or whose in (None, actor.id):
        return
    if whose in await find_draft_authors(tx, row):
        raise PermissionDenied(
            "The person who requested this has discarded it, so others cannot draft it again.",
            code="not_your_draft",
            suggestion="Ask them, or request it again.",
        )


def _check_over(row: Mapping[str, Any]) -> None:
    status, came_to = row["current_status"], row["came_to"]
    if row["bound_hash"] is None:
        # Held before drafts could be confirmed: where its secrets belong was not recorded.
        raise Conflict(
            "This draft is from a version that could not send drafts, so it cannot be drafted "
            "again.",
            code="draft_too_old",
            suggestion="Replay its run to make a draft that can be confirmed.",
        )
    if status in ("expired", "discarded") or (status == "failed" and came_to == "not_sent"):
        return
    if status == "pending":
        raise Conflict(
            "This draft is still waiting, so there is nothing to repeat.",
            code="draft_waits",
            suggestion="Confirm it, or edit it first.",
        )
    if came_to == "unknown" or status == "sending":
        raise Conflict(
            "This draft may already have been sent, so it is not drafted again.",
            code="send_in_doubt",
            suggestion="Check the receiving service. If it did not arrive, request it again.",
        )
    raise Conflict(
        "This draft was sent, so it is not drafted again.",
        code="draft_answered",
        suggestion="Request it again to send it another time.",
    )


def draft_capabilities(
    known: Mapping[str, Capability],
    lifetimes: DraftLifetimes | None = None,
    resumer: Resumer | None = None,
    address: str = "",
) -> tuple[Capability, ...]:
    """Everything that answers drafts of these capabilities; ``address`` is the server's own."""
    wakes = resumer or NullResumer()
    return (
        _confirm(address),
        _confirm_all(address),
        _edit(),
        _discard(wakes),
        _discard_all(wakes),
        _again(known, lifetimes),
        _list(known),
        ACK_INBOX_ACTION,
        GET_APPROVAL_POLICY,
        SET_APPROVAL_POLICY,
    )


def _confirm(address: str) -> Capability:
    async def confirmed(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        draft, edits, seen = (
            UUID(arguments["draft_id"]),
            arguments.get("edits"),
            arguments.get("hash"),
        )
        try:
            answer = await _way(ctx)(draft, edits=edits, seen=seen)
        except PersonRequired as problem:
            problem.locate(address)
            raise
        return _located(answer, address)

    return Capability(
        id=CONFIRM_ACTION,
        description="Confirm a draft\n\n"
        "Sends exactly what the draft shows, once; a repeated call returns the result "
        "and sends nothing. Show the draft to the person first. edits changes "
        "editable fields. An edited draft needs its hash. Only a person can confirm: "
        "a client with URL elicitation opens the page where they do and waits; "
        "pending means call again later. Other programs get person_needed with a "
        "link. If it failed with an unknown outcome, check the other system before "
        "you retry. A run can confirm its own safe drafts under auto_confirm_safe.",
        input_schema=build_model_schema(ConfirmActionArguments),
        output_schema=build_model_schema(ConfirmActionResult),
        handler=confirmed,
        annotations=Annotations(
            toolset=Toolset.APPROVALS,
            effect=Effect.SEND,
            seconds=2.0,
            permission=Permission.DECIDE,
            stub=_pretend_confirmation,
        ),
    )


def _located(answer: Any, address: str) -> Any:
    """The answer with the whole address of the page where a person still has to answer."""
    if isinstance(answer, Unchanged) and answer.value["status"] == "pending":
        return Unchanged({**answer.value, "url": address.rstrip("/") + answer.value["url"]})
    return answer


def _way(ctx: CallContext) -> DraftConfirmer:
    if not isinstance(ctx, GateContext) or ctx.confirm is None:
        raise InternalError("Only the gate can send a draft.", retryable=False)
    return ctx.confirm


def _pretend_confirmation(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A trial holds nothing, so there is nothing to send either."""
    return {
        "draft_id": arguments["draft_id"],
        "status": "confirmed",
        "outcome": "not_sent",
        "action": CONFIRM_ACTION,
        "result": None,
    }


def _confirm_all(address: str) -> Capability:
    async def confirmed(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return await _confirm_all_drafts(ctx, arguments, address)

    return Capability(
        id=CONFIRM_ACTIONS,
        description="Confirm several drafts\n\n"
        "Confirms each like confirm_action; a failure does not stop the rest. Show "
        "every preview to the person first. Only a person can confirm: clients with "
        "URL elicitation wait for the page, other programs get person_needed with a "
        "link for each. Give the hashes of edited drafts.",
        input_schema=build_model_schema(ConfirmActionsArguments),
        output_schema=build_model_schema(ConfirmActionsResult),
        handler=confirmed,
        annotations=Annotations(
            toolset=Toolset.APPROVALS,
            effect=Effect.SEND,
            seconds=5.0,
            permission=Permission.DECIDE,
            audience=Audience.PEOPLE,
            subject=_first,
            judge=_stray_hashes,
        ),
    )


def _stray_hashes(arguments: Mapping[str, Any]) -> list[Finding]:
    """A hash that would be held against no draft of the list is a mistake, and is said to be."""
    left = {UUID(draft) for draft in arguments["draft_ids"]}
    found = []
    for named in arguments.get("hashes", {}):
        draft = _read_id(named)
        if draft in left:
            left.remove(draft)
        else:
            detail = f"{named[:100]!r} is not in the list of drafts, or is listed twice."
            found.append(Finding(join_pointer("/hashes", named), detail, "stray_hash"))
    return found


def _read_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


async def _confirm_all_drafts(
    ctx: CallContext, arguments: Mapping[str, Any], address: str
) -> dict[str, Any]:
    confirm, wait = _way(ctx), ctx.client_wait
    hashes = {UUID(named): seen for named, seen in arguments.get("hashes", {}).items()}
    people: list[PersonRequired] = []

    async def one(draft: str) -> dict[str, Any]:
        try:
            answer = await confirm(UUID(draft), seen=hashes.get(UUID(draft)), noted=True)
        except Problem as problem:
            if isinstance(problem, PersonRequired):
                problem.locate(address)
                people.append(problem)
            return {"draft_id": draft, "status": "failed", "error": problem.as_dict()}
        # What was sent before is told again, and is no news.
        result = _located(answer, address)
        return dict(result.value if isinstance(result, Unchanged) else result)

    if wait is not None and wait.dismissed is not None:
        # One page is open for all of them: their answers are waited for at the same time.
        return {"results": await asyncio.gather(*map(one, arguments["draft_ids"]))}
    results = [await one(draft) for draft in arguments["draft_ids"]]
    if people and wait is not None and wait.opens_pages:
        raise persons_needed(people)
    return {"results": results}


def _first(arguments: Mapping[str, Any], answered: Any) -> str | None:
    del answered
    drafts = arguments.get("draft_ids")
    return str(drafts[0]) if isinstance(drafts, list) and len(drafts) == 1 else None


def _edit() -> Capability:
    return Capability(
        id=EDIT_ACTION,
        description="Edit a draft\n\n"
        "Changes editable fields and returns the new preview with its hash; nothing "
        "is sent. Confirm with that hash; earlier approvals are reset. null removes a "
        "field.",
        input_schema=build_model_schema(EditActionArguments),
        output_schema=build_model_schema(EditActionResult),
        handler=_edit_draft,
        annotations=Annotations(
            toolset=Toolset.APPROVALS,
            effect=Effect.KEEP,
            seconds=0.1,
            permission=Permission.DECIDE,
            audience=Audience.PEOPLE,
        ),
    )


async def _edit_draft(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    return await _way(ctx)(
        UUID(arguments["draft_id"]),
        edits=arguments["edits"],
        seen=arguments.get("hash"),
        sends=False,
    )


def _discard(resumer: Resumer) -> Capability:
    return Capability(
        id="discard_action",
        description="Discard a draft\n\n"
        "Nothing is sent and it can no longer be confirmed. A repeated call changes "
        "nothing.",
        input_schema=build_model_schema(DiscardActionArguments),
        output_schema=build_model_schema(DiscardActionResult),
        handler=partial(_discard_draft, resumer),
        annotations=_deciding(),
    )


async def _discard_draft(resumer: Resumer, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    draft_id = UUID(arguments["draft_id"])
    news = await discard_draft(ctx.tx, ctx.actor, draft_id, arguments.get("reason"), resumer)
    answer = {"ok": True, "draft_id": str(draft_id), "status": "discarded"}
    return answer if news else Unchanged(answer)


def _discard_all(resumer: Resumer) -> Capability:
    return Capability(
        id="discard_actions",
        description="Discard several drafts\n\nNothing is sent. A failure does not stop the rest.",
        input_schema=build_model_schema(DiscardActionsArguments),
        output_schema=build_model_schema(DiscardActionsResult),
        handler=partial(_discard_all_drafts, resumer),
        annotations=_deciding(_first),
    )


async def _discard_all_drafts(
    resumer: Resumer, ctx: CallContext, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    drafts = [UUID(draft) for draft in arguments["draft_ids"]]
    await lock_drafts(ctx.tx, ctx.actor.workspace_id, drafts)
    results, told = [], []
    for draft in drafts:
        one: dict[str, Any] = {"draft_id": str(draft), "status": "discarded"}
        try:
            await discard_draft(ctx.tx, ctx.actor, draft, arguments.get("reason"), resumer)
            told.append(build_audit_record(ctx.actor, "draft.discarded", draft))
        except Problem as problem:
            one |= {"status": "failed", "error": problem.as_dict()}
            told.append(
                build_audit_record(ctx.actor, "draft.refused", draft, {"code": problem.code})
            )
        results.append(one)
    await append_audit(ctx.tx, told)
    return {"results": results}


def _deciding(subject: Any = None) -> Annotations:
    return Annotations(
        toolset=Toolset.APPROVALS,
        effect=Effect.KEEP,
        transactional=True,
        seconds=0.1,
        audience=Audience.PEOPLE,
        permission=Permission.DECIDE,
        subject=subject,
    )


def _again(known: Mapping[str, Capability], lifetimes: DraftLifetimes | None) -> Capability:
    lasting = lifetimes or DraftLifetimes()

    async def repeated(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        old = UUID(arguments["draft_id"])
        made, news = await repeat_draft(ctx.tx, ctx.actor, old, ctx.clock.now(), lasting)
        answer = _entry(
            await read_draft_for(ctx.tx, ctx.actor.workspace_id, known, made, ctx.actor)
        )
        return answer if news else Unchanged(answer)

    return Capability(
        id="redraft_action",
        description="Create a draft again\n\n"
        "Copies a draft that expired, was discarded, or failed without sending. The "
        "copy waits for a person; nothing is sent. A repeated call returns the same "
        "copy.",
        input_schema=build_model_schema(RedraftActionArguments),
        output_schema=build_model_schema(RedraftActionResult),
        handler=repeated,
        annotations=_deciding(),
    )


def _list(known: Mapping[str, Capability]) -> Capability:
    async def listed(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        most = arguments.get("limit", USUAL)
        after = arguments.get("after")
        rows = await list_drafts_for(
            ctx.tx,
            ctx.actor.workspace_id,
            known,
            status=arguments.get("status", "pending"),
            after=None if after is None else UUID(after),
            most=most + 1,
            source=arguments.get("source"),
            reader=ctx.actor,
        )
        page = rows[:most]
        return {
            "count": len(page),
            "drafts": [_entry(row) for row in page],
            "next": str(page[-1]["id"]) if len(rows) > most else None,
        }

    return Capability(
        id="list_pending_actions",
        description="List drafts\n\n"
        "Newest first: what would happen, the arguments and the deadline. status "
        "defaults to pending; expired drafts are under expired. Reading sends nothing.",
        input_schema=build_model_schema(ListPendingActionsArguments),
        output_schema=build_model_schema(ListPendingActionsResult),
        handler=listed,
        annotations=Annotations(
            toolset=Toolset.APPROVALS,
            effect=Effect.READ,
            transactional=True,
            seconds=0.1,
            audience=Audience.PEOPLE,
        ),
    )


def _entry(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "draft_id": str(row["id"]),
        "source": row["source"],
        "action": row["action"],
        "preview": row["preview"],
        "created_at": row["created_at"].isoformat(),
        "expires_at": row["expires_at"].isoformat(),
        "notify_targets": list(row["notify"]),
        "hash": row["hash"],
        "revision": row["revision"],
        "batch_id": _text(row["batch_id"]),
        "status": row["status"],
        "outcome": row["outcome"],
        "payload": row["arguments"],
        "editable": row["editable"],
        "approvals": row["approvals"],
        "automation_id": _text(row["automation_id"]),
        "run_id": _text(row["run_id"]),
        "redraft_of": _text(row["redraft_of"]),
        "account": row["account"],
    }


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)
