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
from mainspring.contracts.toolset import Toolset
from mainspring.definition.json_schema import compile_schema
from mainspring.runs.questions import (
    StepQuestion,
    answer_question,
    ask,
    list_questions,
    lock_question,
)
from mainspring.workspace.inbox import post_message

# The schemas of the capabilities for questions.

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SOME_ID: Final = "01900000-0000-7000-8000-0000000000b1"
_SOME_TIME: Final = "2026-12-01T10:00:00+00:00"
USUAL: Final = 50
MOST: Final = 100
_ID: Final[dict[str, Any]] = {"type": "string", "format": "uuid"}
_MAYBE_ID: Final[dict[str, Any]] = {"type": ["string", "null"], "format": "uuid"}
_TIME: Final[dict[str, Any]] = {"type": "string", "format": "date-time"}
_MAYBE_TIME: Final[dict[str, Any]] = {"type": ["string", "null"], "format": "date-time"}

ASK_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["title"],
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 200},
        "message": {"type": "string", "maxLength": 20_000},
        "form": {"type": "object", "description": "JSON Schema of the answer."},
        "timeout_seconds": {"type": "integer", "minimum": 60, "maximum": 2_592_000},
        "default": {"description": "The answer after the timeout."},
        "roles": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "on_decline": {"enum": ["fail", "continue"]},
        "notify": {"type": "array", "items": {"enum": ["inbox", "email", "telegram"]}},
    },
    "examples": [{"title": "Publish the notes?", "message": "They are attached to the run."}],
    "x-mainspring-anti-examples": [
        {"value": {}, "reason": "a question has a title"},
        {"value": {"title": "x", "timeout_seconds": 1}, "reason": "no one is that quick"},
    ],
}
ASK_OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["approval_id", "expires_at", "answer"],
    "properties": {
        "approval_id": {**_MAYBE_ID, "description": "null in a dry run, which asks no one."},
        "expires_at": _MAYBE_TIME,
        "answer": {"description": "In a dry run, the assumed answer."},
    },
    "examples": [{"approval_id": _SOME_ID, "expires_at": _SOME_TIME, "answer": None}],
    "x-mainspring-anti-examples": [
        {"value": {"approval_id": _SOME_ID}, "reason": "until when it waits is always told"}
    ],
}
LIST_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "status": {"enum": ["pending", "approved", "declined", "expired"], "default": "pending"},
        "after": {**_ID, "description": "next of the previous page."},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
    },
    "examples": [{}, {"status": "expired", "limit": 10}],
    "x-mainspring-anti-examples": [
        {"value": {"status": "open"}, "reason": "no such status"},
        {"value": {"limit": 0}, "reason": "at least one"},
    ],
}
_ENTRY: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["approval_id", "run_id", "status", "title", "form", "expires_at"],
    "properties": {
        "approval_id": _ID,
        "automation_id": _ID,
        "automation": {"type": "string"},
        "run_id": _ID,
        "step": {"type": "string"},
        "status": {"enum": ["pending", "approved", "declined", "expired"]},
        "title": {"type": "string"},
        "message": {"type": "string"},
        "form": {"type": ["object", "null"]},
        "default": {"description": "The answer after the timeout."},
        "roles": {"type": ["array", "null"], "items": {"type": "string"}},
        "answer": {},
        "answered_by": _MAYBE_ID,
        "answered_at": _MAYBE_TIME,
        "created_at": _TIME,
        "expires_at": _TIME,
    },
}
LIST_OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["approvals", "next"],
    "properties": {"approvals": {"type": "array", "items": _ENTRY}, "next": _MAYBE_ID},
    "examples": [{"approvals": [], "next": None}],
    "x-mainspring-anti-examples": [
        {"value": {"approvals": []}, "reason": "whether there are more is always told"}
    ],
}
ANSWER_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["approval_id", "decision"],
    "properties": {
        "approval_id": _ID,
        "decision": {"enum": ["approved", "declined"]},
        "answer": {"description": "Values of the form; omit without a form."},
    },
    "examples": [
        {"approval_id": _SOME_ID, "decision": "approved"},
        {"approval_id": _SOME_ID, "decision": "approved", "answer": {"day": "2026-12-01"}},
    ],
    "x-mainspring-anti-examples": [
        {"value": {"approval_id": _SOME_ID}, "reason": "yes or no?"},
        {"value": {"approval_id": _SOME_ID, "decision": "yes"}, "reason": "approved or declined"},
    ],
}
ANSWER_OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["ok", "approval_id", "status", "run_id"],
    "properties": {
        "ok": {"const": True},
        "approval_id": _ID,
        "status": {"enum": ["approved", "declined"]},
        "run_id": _ID,
    },
    "examples": [{"ok": True, "approval_id": _SOME_ID, "status": "approved", "run_id": _SOME_ID}],
    "x-mainspring-anti-examples": [
        {"value": {"ok": True}, "reason": "what was decided is always told"}
    ],
}


ASK: Final = "approval.ask"
_DAY: Final = 86_400
# How much of a question's text a message about it repeats.
_TOLD: Final = 2_000
_TEXTS: Final = ("id", "automation_id", "run_id")


def question_capabilities(limits: Limits, address: str = "") -> tuple[Capability, ...]:
    """All of them; ``address`` is the server's own URL."""

    async def answered(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if ctx.run is not None or not ctx.actor.is_person:
            raise PersonRequired(
                "A person answers the question of a plan; a program cannot.",
                url=f"{address.rstrip('/')}/inbox?item={arguments['approval_id']}",
                command="mainspring approvals",
            )
        return await _answer_question(ctx, arguments, limits)

    return (
        build_capability(
            ASK,
            "Ask a person for approval",
            "Called by approval steps; the question waits in the inbox.",
            ASK_INPUT,
            ASK_OUTPUT,
            _ask_question,
            Annotations(
                toolset=Toolset.APPROVALS,
                effect=Effect.KEEP,
                transactional=True,
                seconds=0.05,
                audience=Audience.RUNS,
                stub=_pretend_answer,
            ),
        ),
        build_capability(
            "list_approvals",
            "List approval questions of runs",
            "Newest first, with form and deadline. status defaults to pending.",
            LIST_INPUT,
            LIST_OUTPUT,
            _list_questions,
            Annotations(
                toolset=Toolset.APPROVALS,
                effect=Effect.READ,
                transactional=True,
                seconds=0.1,
                audience=Audience.PEOPLE,
            ),
        ),
        build_capability(
            "answer_approval",
            "Answer an approval question of a run",
            "Only a person can answer, and only once. The answer must match the form of the "
            "question; then the run continues.",
            ANSWER_INPUT,
            ANSWER_OUTPUT,
            answered,
            Annotations(
                toolset=Toolset.APPROVALS,
                effect=Effect.KEEP,
                transactional=True,
                seconds=0.1,
                audience=Audience.PEOPLE,
                permission=Permission.DECIDE,
                subject=lambda given, _: given.get("approval_id"),
            ),
        ),
    )


async def _ask_question(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    run = ctx.run
    if run is None:
        raise InternalError("Only a run asks.", retryable=False)
    seconds = arguments.get("timeout_seconds", _DAY)
    roles = arguments.get("roles")
    question = StepQuestion(
        id=generate_id(),
        title=arguments["title"],
        message=arguments.get("message", ""),
        form=arguments.get("form"),
        usual={"value": arguments["default"]} if "default" in arguments else None,
        roles=None if roles is None else tuple(roles),
        on_decline=arguments.get("on_decline", "fail"),
        notify=tuple(arguments.get("notify", ("inbox",))),
        expires_at=ctx.clock.now() + timedelta(seconds=seconds),
    )
    place = (run.automation_id, run.id, run.step, run.item)
    await ask(ctx.tx, ctx.actor.workspace_id, place, question)
    await post_message(
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


def _pretend_answer(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A trial asks nobody: it continues with the default answer, or with a sample of the schema."""
    form = arguments.get("form")
    made_up = None if form is None else build_sample(form)
    return {"approval_id": None, "expires_at": None, "answer": arguments.get("default", made_up)}


async def _list_questions(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    most = arguments.get("limit", USUAL)
    after = arguments.get("after")
    rows = await list_questions(
        ctx.tx,
        ctx.actor.workspace_id,
        status=arguments.get("status", "pending"),
        after=None if after is None else UUID(after),
        most=most + 1,
    )
    page = rows[:most]
    return {
        "approvals": [_entry(row) for row in page],
        "next": str(page[-1]["id"]) if len(rows) > most else None,
    }


async def _answer_question(
    ctx: CallContext, arguments: Mapping[str, Any], limits: Limits
) -> dict[str, Any]:
    row = await lock_question(ctx.tx, ctx.actor.workspace_id, UUID(arguments["approval_id"]))
    role = ctx.actor.role
    if row["roles"] is not None and (role is None or role.value not in row["roles"]):
        raise PermissionDenied(
            f"This question is for {' or '.join(row['roles'])}.",
            code="not_asked",
            suggestion="Ask a member with that role to answer it.",
        )
    approved = arguments["decision"] == "approved"
    value = arguments.get("answer")
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
    await answer_question(ctx.tx, ctx.actor, row, approved=approved, answer=value)
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
