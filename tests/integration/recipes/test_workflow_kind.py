"""Workflows as the codex makes them: drafts, rebuilt without loss, put away and brought back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.connections.call_context import GateContext
from mainspring.contracts.errors import Invalid
from mainspring.recipes.entities.workflows import WorkflowHandler, normalize_workflow
from mainspring.triggers.trigger_changes import record_overtaken
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.workflows.automations import WorkflowDependencies
from tests.kit.bench import Bench, document, step
from tests.kit.boards import Boards
from tests.kit.handler_context import visiting

TEMPLATE: dict[str, Any] = {
    "title": "Launch",
    "charter": "A hundred customers.",
    "kpis": [{"name": "Sales", "target": 100, "unit": "pcs"}],
    "deadlines": [{"label": "Beta", "date": "2030-03-31"}],
    "automations": ["task_nudger", "progress_scorer"],
}


@asynccontextmanager
async def _inside(bench: Bench) -> AsyncIterator[GateContext]:
    actor = Boards(bench.application).caller.actor
    async with (
        visiting(integration="none") as ctx,
        bench.application.database.transaction() as tx,
    ):
        yield replace(ctx, actor=actor, transaction=tx)


async def _refuses(bench: Bench, kind: WorkflowHandler) -> None:
    """What is wrong with a template is reported at its place."""
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"kpis": [{"name": "n", "target": "many"}]}, "/template/kpis/0/target"),
        ({"automations": ["scorer"]}, "/template/automations/0"),
        ({"board": "crm"}, "/template/board"),
    ]
    for wrong, place in mistakes:
        async with _inside(bench) as ctx:
            with pytest.raises(Invalid) as refused:
                await kind.create(ctx, {**TEMPLATE, **wrong})
        assert place in [one.pointer for one in refused.value.findings]


async def test_a_workflow_of_a_recipe_lives_on_through_an_upgrade(bench: Bench) -> None:
    desk, kind = (
        Boards(bench.application),
        WorkflowHandler(
            WorkflowDependencies(bench.application.registry.studio, record_overtaken)  # type: ignore[attr-defined]
        ),
    )
    await _refuses(bench, kind)
    own = await bench.save(document(step("echo", "transform_data", {"output": 1}), name="own"))
    content = {**TEMPLATE, "automations": [*TEMPLATE["automations"], str(own.automation_id)]}
    async with _inside(bench) as ctx:
        made = await kind.create(ctx, content)
    assert made.content == normalize_workflow(content)
    known = {"workflow_id": str(made.id)}
    told = await desk.call("set_workflow_status", **known, status="active")
    # What nobody has agreed to waits; what was never active goes with its workflow.
    assert told["activated"] == [str(own.automation_id)]
    assert {one["code"] for one in told["waiting"]} == {"consent_needed"}

    await desk.call("set_workflow_kpi", **known, name="Sales", current=40)
    newer = {
        **content,
        "charter": "Two hundred.",
        "roster": [],
        "kpis": [{"name": "Sales", "target": 200}, {"name": "Calls", "target": 5}],
        "automations": [*content["automations"], "milestone_reviewer"],
    }
    async with _inside(bench) as ctx:
        rebuilt = await kind.rebuild(ctx, made.id, newer)
    assert rebuilt.content == normalize_workflow(newer)
    now = await desk.call("get_workflow", **known)
    assert now["kpis"] == [
        {"name": "Sales", "target": 200, "current": 40},
        {"name": "Calls", "target": 5},
    ]
    assert now["roster"] == [{"user_id": str(FIRST_MEMBER), "role": "owner"}]
    assert (now["status"], now["board_id"]) == ("active", made.details["board_id"])
    states = {one["template"]: one["state"] for one in now["automations"]}
    assert states == {
        None: "active",
        "task_nudger": "paused",
        "progress_scorer": "paused",
        "milestone_reviewer": "paused",
    }
    waiting = (await desk.call("set_workflow_status", **known, status="active"))["waiting"]
    assert len(waiting) == 3

    async with _inside(bench) as ctx:
        await kind.archive(ctx, made.id)
        await kind.archive(ctx, UUID(int=1))
        assert await kind.read(ctx, UUID(int=1)) is None
    away = await desk.call("get_workflow", **known)
    assert away["status"] == "archived"
    states = {one["automation_id"]: one["state"] for one in away["automations"]}
    assert states.pop(str(own.automation_id)) == "paused"
    assert set(states.values()) == {"archived"}, "what it made is not set going any more"
    taken = document(step("echo", "transform_data", {"output": 1}))
    name = next(one["name"] for one in away["automations"] if one["template"] == "task_nudger")
    await bench.save({**taken, "name": name})
    async with _inside(bench) as ctx:
        back = await kind.restore(ctx, made.id)
    assert (back.content, back.details["status"]) == (normalize_workflow(newer), "paused")
    shown = await desk.call("get_workflow", **known)
    assert {one["state"] for one in shown["automations"]} == {"paused"}
    assert f"{name} (2)" in {one["name"] for one in shown["automations"]}
    again = await desk.call("set_workflow_status", **known, status="active")
    assert again["activated"] == [str(own.automation_id)]
