"""A plan asks a person: the run sleeps, and goes on with what they answered."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import (
    Conflict,
    Expired,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
)
from mainspring.contracts.roles import Role
from mainspring.definition.validate import validate
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step

FORM = {
    "type": "object",
    "required": ["day"],
    "additionalProperties": False,
    "properties": {"day": {"type": "string", "format": "date"}},
}
ASKING = document(
    step(
        "ask",
        "approval",
        {"title": "Which day?", "message": "For {{ inputs.what }}.", "form": FORM},
    ),
    step("note", "notification", {"title": "On {{ steps.ask.answer.day }}"}),
    inputs={
        "schema": {
            "type": "object",
            "properties": {"what": {"type": "string", "default": "the talk"}},
        }
    },
)


def _person(bench: Bench, role: Role = Role.OWNER) -> CapabilityCaller:
    return CapabilityCaller(
        Actor(bench.application.workspace_id, "member", FIRST_MEMBER, role=role)
    )


async def _call(bench: Bench, name: str, role: Role = Role.OWNER, **value: Any) -> Any:
    return await bench.application.gate.direct(_person(bench, role), name, value)


async def _asked(bench: Bench) -> dict[str, Any]:
    """The one question that waits."""
    (found,) = (await _call(bench, "list_approvals"))["approvals"]
    return dict(found)


async def _too_late(bench: Bench, run_id: UUID) -> None:
    """Time passes: for the question, and for the run that sleeps until then."""
    async with bench.application.database.transaction() as tx:
        await tx.execute(
            "UPDATE approvals SET expires_at = now() - interval '1 second' WHERE run_id = $1",
            run_id,
        )
        await tx.execute("UPDATE runs SET due_at = now() WHERE id = $1", run_id)


async def test_a_run_sleeps_until_somebody_answers_and_goes_on_with_the_answer(
    bench: Bench,
) -> None:
    made = await bench.dispatch(ASKING)
    async with bench.worker() as worker:
        await bench.until(made.run_id, "waiting")
        await bench.until_idle(worker)
        asked = await _asked(bench)
        assert (asked["title"], asked["message"], asked["form"]) == (
            "Which day?",
            "For the talk.",
            FORM,
        )

        with pytest.raises(Invalid) as wrong:
            await _call(
                bench,
                "answer_approval",
                approval_id=asked["approval_id"],
                decision="approved",
                answer={"day": "soon"},
            )
        assert wrong.value.findings[0].pointer == "/answer/day"
        assert (await bench.read(made.run_id))["status"] == "waiting"

        await _call(
            bench,
            "answer_approval",
            approval_id=asked["approval_id"],
            decision="approved",
            answer={"day": "2026-12-01"},
        )
        run = await bench.until(made.run_id)

    assert (run["status"], run["outcome"]) == ("succeeded", "effects")
    values = {one["step"]: one["output"] for one in run["steps"]}
    assert values["ask"] == {
        "approved": True,
        "answer": {"day": "2026-12-01"},
        "answered_by": str(FIRST_MEMBER),
        "timed_out": False,
    }
    with pytest.raises(Conflict):
        await _call(bench, "answer_approval", approval_id=asked["approval_id"], decision="declined")


async def test_what_is_asked_before_the_run_sleeps_is_not_lost(bench: Bench) -> None:
    """The answer comes while the worker still holds the run: it does not sleep then."""
    made = await bench.dispatch(document(step("ask", "approval", {"title": "Go on?"})))
    async with bench.worker() as worker:
        await bench.until(made.run_id, "waiting")
        await bench.until_idle(worker)
    asked = await _asked(bench)
    async with bench.application.database.transaction() as tx:
        await tx.execute("UPDATE runs SET status = 'running' WHERE id = $1", made.run_id)
    await _call(bench, "answer_approval", approval_id=asked["approval_id"], decision="approved")
    async with bench.application.database.transaction() as tx:
        nudged = await tx.fetchrow("SELECT nudged_at FROM runs WHERE id = $1", made.run_id)
        assert nudged is not None
        assert nudged["nudged_at"] is not None
        # The worker that held it was lost; the next worker finds it, and the answer.
        await tx.execute(
            "UPDATE runs SET status = 'pending', due_at = now() WHERE id = $1", made.run_id
        )
    async with bench.worker():
        run = await bench.until(made.run_id)
    assert run["output"]["approved"] is True


async def test_no_one_and_no_are_said_as_such(bench: Bench) -> None:
    """Declined, too late, too late with an answer for that, and a role that is not asked."""
    plans: dict[str, dict[str, Any]] = {
        "declined": {"title": "Send?"},
        "declined_on": {"title": "Send?", "on_decline": "continue"},
        "late": {"title": "Send?"},
        "late_on": {"title": "Which day?", "form": FORM, "default": {"day": "2026-12-24"}},
        "roles": {"title": "Send?", "roles": ["owner"]},
    }
    runs: dict[str, UUID] = {}
    ends: dict[str, dict[str, Any]] = {}
    async with bench.worker():
        for name, config in plans.items():
            made = await bench.dispatch(document(step("ask", "approval", config), name=name))
            runs[name] = made.run_id
            await bench.until(made.run_id, "waiting")
            asked = await _asked(bench)
            given = {"approval_id": asked["approval_id"]}
            if name.startswith("declined"):
                await _call(bench, "answer_approval", **given, decision="declined")
            elif name.startswith("late"):
                await _too_late(bench, made.run_id)
                with pytest.raises(Expired):
                    await _call(bench, "answer_approval", **given, decision="declined")
            else:
                with pytest.raises(PermissionDenied) as denied:
                    await _call(bench, "answer_approval", Role.ADMIN, **given, decision="approved")
                assert denied.value.code == "not_asked"
                await _call(bench, "answer_approval", **given, decision="approved")
            ends[name] = await bench.until(made.run_id)

    assert (ends["declined"]["status"], ends["declined"]["reason"]) == (
        "failed",
        "approval_declined",
    )
    assert ends["declined_on"]["output"]["approved"] is False
    assert (ends["late"]["status"], ends["late"]["reason"]) == ("failed", "approval_expired")
    assert ends["late_on"]["output"] == {
        "approved": True,
        "answer": {"day": "2026-12-24"},
        "answered_by": None,
        "timed_out": True,
    }
    assert ends["roles"]["status"] == "succeeded"


async def test_a_trial_asks_nobody_and_a_run_that_is_gone_waits_for_nobody(bench: Bench) -> None:
    trial = await bench.run(ASKING | {"name": "trial"}, mode="dry_run")
    assert trial["status"] == "succeeded"
    assert (await _call(bench, "list_approvals"))["approvals"] == []

    made = await bench.dispatch(document(step("ask", "approval", {"title": "Go on?"})))
    async with bench.worker():
        await bench.until(made.run_id, "waiting")
        asked = await _asked(bench)
        await bench.application.control.cancel(bench.application.workspace_id, made.run_id)
        problems: list[Problem] = []
        for expected in (asked["approval_id"], str(FIRST_MEMBER)):
            with pytest.raises((Conflict, NotFound)) as refused:
                await _call(bench, "answer_approval", approval_id=expected, decision="approved")
            problems.append(refused.value)
    assert [one.code for one in problems] == ["run_ended", "no_approval"]
    assert (await _call(bench, "list_approvals"))["approvals"] == []


async def test_a_form_that_cannot_be_judged_by_is_refused_when_it_is_saved(bench: Bench) -> None:
    bad = [
        ({"title": "x", "form": {"type": "strange"}}, "/plan/0/config/form"),
        ({"title": "x", "form": FORM, "default": {"day": 3}}, "/plan/0/config/default/day"),
    ]
    for config, pointer in bad:
        report = validate(
            document(step("ask", "approval", config)),
            bench.application.registry,
            bench.application.limits,
        )
        assert any(one.pointer.startswith(pointer) for one in report.findings), report.findings
