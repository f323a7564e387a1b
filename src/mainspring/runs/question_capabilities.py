"""Questions of plans as capabilities: a step asks, people list and answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from mainspring.actions.agent.sample import build_sample
from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import (
    Finding,
    InternalError,
    Invalid,
    PermissionDenied,
    PersonRequired,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Permission
from mainspring.definition.json_schema import compile_schema
from mainspring.runs.question_schemas import (
    ANSWER_INPUT,
    ANSWER_OUTPUT,
    ASK_INPUT,
    ASK_OUTPUT,
    LIST_INPUT,
    LIST_OUTPUT,
    USUAL,
)
from mainspring.runs.questions import StepQuestion, answer, ask, list_questions, lock_question
from mainspring.workspace.inbox import leave_message

ASK: Final = "approval.ask"
_DAY: Final = 86_400
# How much of a question's own words a message about it repeats.
_TOLD: Final = 2_000
_TEXTS: Final = ("id", "automation_id", "run_id")


def question_capabilities(limits: Limits, address: str = "") -> tuple[Capability, ...]:
    """All of them; ``address`` is the server's own."""

    async def answered(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        if ctx.run is not None or not ctx.actor.is_person:
            raise PersonRequired(
                "A person answers the question of a plan; a program cannot.",
                url=f"{address.rstrip('/')}/inbox?item={given['approval_id']}",
                command="mainspring approvals",
            )
        return await _answer_question(ctx, given, limits)

    return (
        build_capability(
            ASK,
            "Ask a person",
            "The step of an approval calls it; the question waits in the inbox.",
            ASK_INPUT,
            ASK_OUTPUT,
            _ask_question,
            Annotations(
                effect=Effect.KEEP,
                transactional=True,
                seconds=0.05,
                audience=Audience.RUNS,
                stub=_pretend_answer,
            ),
        ),
        build_capability(
            "list_approvals",
            "List the questions of plans",
            "The newest first: what a run asks, in which form it wants the answer, and until "
            "when. Left out, status is pending.",
            LIST_INPUT,
            LIST_OUTPUT,
            _list_questions,
            Annotations(
                effect=Effect.READ, transactional=True, seconds=0.1, audience=Audience.PEOPLE
            ),
        ),
        build_capability(
            "answer_approval",
            "Answer a question of a plan",
            "For a person alone, and once; the run goes on with it. The answer is judged by the "
            "form of the question.",
            ANSWER_INPUT,
            ANSWER_OUTPUT,
            answered,
            Annotations(
                effect=Effect.KEEP,
                transactional=True,
                seconds=0.1,
                audience=Audience.PEOPLE,
                permission=Permission.DECIDE,
                subject=lambda given, _: given.get("approval_id"),
            ),
        ),
    )


async def _ask_question(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
    run = ctx.run
    if run is None:
        raise InternalError("Only a run asks.", retryable=False)
    seconds = given.get("timeout_seconds", _DAY)
    roles = given.get("roles")
    question = StepQuestion(
        id=generate_id(),
        title=given["title"],
        message=given.get("message", ""),
        form=given.get("form"),
        usual={"value": given["default"]} if "default" in given else None,
        roles=None if roles is None else tuple(roles),
        on_decline=given.get("on_decline", "fail"),
        notify=tuple(given.get("notify", ("inbox",))),
        expires_at=ctx.clock.now() + timedelta(seconds=seconds),
    )
    place = (run.automation_id, run.id, run.step, run.item)
    await ask(ctx.tx, ctx.actor.workspace_id, place, question)
    await leave_message(
        ctx.tx,
        ctx.actor.workspace_id,
        title=f"A plan asks: {question.title}"[:200],
        message=f"{question.message[:_TOLD]}\n\nAnswer it in the inbox, or with "
        f"`mainspring approvals`, until {question.expires_at:%Y-%m-%d %H:%M} UTC.".strip(),
        automation_id=run.automation_id,
        run_id=run.id,
    )
    return {
        "approval_id": str(question.id),
        "expires_at": question.expires_at.isoformat(),
        "answer": None,
    }


def _pretend_answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """A trial asks nobody: it goes on with the answer for silence, or with one of that shape."""
    form = given.get("form")
    made_up = None if form is None else build_sample(form)
    return {"approval_id": None, "expires_at": None, "answer": given.get("default", made_up)}


async def _list_questions(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
    most = given.get("limit", USUAL)
    after = given.get("after")
    rows = await list_questions(
        ctx.tx,
        ctx.actor.workspace_id,
        status=given.get("status", "pending"),
        after=None if after is None else UUID(after),
        most=most + 1,
    )
    page = rows[:most]
    return {
        "approvals": [_entry(row) for row in page],
        "next": str(page[-1]["id"]) if len(rows) > most else None,
    }


async def _answer_question(
    ctx: CallContext, given: Mapping[str, Any], limits: Limits
) -> dict[str, Any]:
    row = await lock_question(ctx.tx, ctx.actor.workspace_id, UUID(given["approval_id"]))
    role = ctx.actor.role
    if row["roles"] is not None and (role is None or role.value not in row["roles"]):
        raise PermissionDenied(
            f"This question is for {' or '.join(row['roles'])}.",
            code="not_asked",
            suggestion="Let somebody with that role answer it.",
        )
    approved = given["decision"] == "approved"
    value = given.get("answer")
    if approved and row["form"] is not None:
        findings = compile_schema(row["form"], limits).findings(value, "/answer")
        if findings:
            raise Invalid(
                f"The answer does not fit the form: {findings[0].detail}",
                code="answer_invalid",
                findings=findings,
            )
    elif value is not None and row["form"] is None:
        detail = "This question has no form: approved or declined is all it takes."
        raise Invalid(detail, findings=[Finding("/answer", detail, "no_form")])
    await answer(ctx.tx, ctx.actor, row, approved=approved, answer=value)
    return {
        "ok": True,
        "approval_id": str(row["id"]),
        "status": "approved" if approved else "declined",
        "run_id": str(row["run_id"]),
    }


def _entry(row: Mapping[str, Any]) -> dict[str, Any]:
    ids = {name: str(row[name]) for name in _TEXTS}
    ids["approval_id"] = ids.pop("id")
    answered = row["answer"]
    return {
        **ids,
        "automation": row["automation"],
        "step": row["step"],
        "status": row["status"],
        "title": row["title"],
        "message": row["message"],
        "form": row["form"],
        "default": None if row["usual"] is None else row["usual"]["value"],
        "roles": row["roles"],
        "answer": None if answered is None else answered.get("value"),
        "answered_by": None if row["answered_by"] is None else str(row["answered_by"]),
        "answered_at": None if row["answered_at"] is None else row["answered_at"].isoformat(),
        "created_at": row["created_at"].isoformat(),
        "expires_at": row["expires_at"].isoformat(),
    }
