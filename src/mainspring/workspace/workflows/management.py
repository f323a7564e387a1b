"""Creating and changing workflows, each in one transaction."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import name_findings
from mainspring.contracts.errors import Conflict, Finding, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.outcome import Unchanged
from mainspring.definition.strict_json import is_same_value
from mainspring.workspace.boards.datasets import store_datasets
from mainspring.workspace.boards.lookup import check_may_bind, list_board_datasets, open_board
from mainspring.workspace.boards.management import create_handler
from mainspring.workspace.workflows import automations, roster
from mainspring.workspace.workflows.repository import (
    Workflow,
    add_workflow,
    change_workflow,
    check_version,
    describe_workflows,
    find_workflow,
)
from mainspring.workspace.workflows.templates import DATASETS
from mainspring.workspace.workflows.validation import ensure_owner, find_workflow_problems, refuse

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.workspace.workflows.automations import WorkflowDependencies

Arguments = Mapping[str, Any]
UTC_ZONE: Final = "UTC"


async def make(ctx: CallContext, dependencies: WorkflowDependencies, given: Arguments) -> UUID:
    """Create a workflow with its board, people and automations; return its id."""
    refuse([*find_workflow_problems(given), *_validate_new_names(given, "", ())])
    templates = list(given.get("templates", []))
    wants_board = given.get("make_board", True) or "board_id" in given
    _check_board_for(templates, there=wants_board)
    people = await roster.parse_roster(ctx, given.get("roster", []))
    board_id = await _resolve_board(ctx, dependencies, given) if wants_board else None
    space, workflow_id = ctx.actor.workspace_id, generate_id()
    own = wants_board and "board_id" not in given
    await add_workflow(ctx.tx, space, workflow_id, given, board_id, ctx.actor.id, made_board=own)
    people = ensure_owner(people, ctx.actor.id)
    await roster.store_roster(ctx.tx, space, workflow_id, board_id, people)
    workflow = await find_workflow(ctx.tx, space, workflow_id, hold=True)
    await _bring_along(ctx, dependencies, workflow, given)
    return workflow_id


async def create(
    ctx: CallContext, dependencies: WorkflowDependencies, given: Arguments
) -> dict[str, Any]:
    """Create a workflow, and start it when requested."""
    workflow_id = await make(ctx, dependencies, given)
    waiting: list[dict[str, str]] = []
    if given.get("status") == "active":
        _, waiting = await automations.resume(
            ctx.tx, dependencies, ctx.actor.workspace_id, workflow_id
        )
    return {**await describe_workflow(ctx, workflow_id), "waiting": waiting}


async def describe_workflow(ctx: CallContext, workflow_id: UUID) -> dict[str, Any]:
    """Describe a workflow's current state."""
    found = await find_workflow(ctx.tx, ctx.actor.workspace_id, workflow_id)
    return (await describe_workflows(ctx.tx, ctx.actor.workspace_id, [found]))[0]


async def update(
    ctx: CallContext, dependencies: WorkflowDependencies, given: Arguments, *, starts: bool = True
) -> dict[str, Any] | Unchanged:
    """Update the given fields; ``starts``: new automations are activated at once."""
    space = ctx.actor.workspace_id
    workflow = await find_workflow(ctx.tx, space, UUID(given["workflow_id"]), hold=True)
    await roster.check_may_change(ctx, workflow)
    check_version(workflow, given.get("expected_version"))
    kpis = [one["name"] for one in workflow.kpis]
    refuse([*find_workflow_problems(given), *_validate_new_names(given, workflow.title, kpis)])
    before = await describe_workflow(ctx, workflow.id)
    fields = {
        name: given[name] for name in ("title", "charter", "kpis", "deadlines") if name in given
    }
    if "kpis" in fields:
        fields["kpis"] = merge_kpis(fields["kpis"], workflow.kpis)
    board_id = await _resolve_other_board(ctx, dependencies, workflow, given)
    if board_id != workflow.board_id:
        fields["board_id"] = board_id
    changed = any(
        not is_same_value(value, getattr(workflow, name)) for name, value in fields.items()
    )
    if changed:
        await change_workflow(ctx.tx, space, workflow, fields)
    workflow = await find_workflow(ctx.tx, space, workflow.id)
    await _change_people(ctx, workflow, given, moved="board_id" in fields)
    _check_board_for(given.get("templates", []), there=workflow.board_id is not None)
    await _bring_along(ctx, dependencies, workflow, given, replacing=True)
    waiting: list[dict[str, str]] = []
    if starts and workflow.status == "active" and given.get("templates"):
        _, waiting = await automations.resume(ctx.tx, dependencies, space, workflow.id)
    after = {**await describe_workflow(ctx, workflow.id), "waiting": waiting}
    return Unchanged(after) if is_same_value({**before, "waiting": []}, after) else after


def _validate_new_names(arguments: Arguments, title: str, kpis: Container[str]) -> list[Finding]:
    """Validate a title and new KPI names."""
    found = (
        name_findings(arguments["title"], "/title")
        if arguments.get("title", title) != title
        else []
    )
    for number, one in enumerate(arguments.get("kpis", [])):
        if one["name"] not in kpis:
            found += name_findings(one["name"], f"/kpis/{number}/name")
    return found


def merge_kpis(
    kpis: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Merge requested KPIs; one without a value keeps its current one."""
    known = {one["name"]: one["current"] for one in before if "current" in one}
    return [
        {**({"current": known[one["name"]]} if one["name"] in known else {}), **one} for one in kpis
    ]


async def set_kpi(ctx: CallContext, arguments: Arguments) -> dict[str, Any] | Unchanged:
    """Set a KPI's current value; its target is not changed."""
    space = ctx.actor.workspace_id
    workflow = await find_workflow(ctx.tx, space, UUID(arguments["workflow_id"]), hold=True)
    await roster.check_may_change(ctx, workflow)
    names = [one["name"] for one in workflow.kpis]
    if arguments["name"] not in names:
        has = ", ".join(names) or "none"
        detail = f"The workflow {workflow.title!r} has no KPI called {arguments['name'][:100]!r}."
        raise NotFound(
            f"{detail} It has: {has}.",
            code="no_kpi",
            findings=[Finding("/name", detail, "no_kpi")],
            suggestion="update_workflow adds one.",
        )
    kpis = [
        {**one, "current": arguments["current"]} if one["name"] == arguments["name"] else one
        for one in workflow.kpis
    ]
    answer = {
        "workflow_id": str(workflow.id),
        "name": arguments["name"],
        "current": arguments["current"],
        "target": next(one["target"] for one in kpis if one["name"] == arguments["name"]),
    }
    if is_same_value(kpis, workflow.kpis):
        return Unchanged(answer)
    await change_workflow(ctx.tx, space, workflow, {"kpis": kpis})
    return answer


async def _resolve_board(
    ctx: CallContext, dependencies: WorkflowDependencies, arguments: Arguments
) -> UUID:
    """Use the named board or create one; naming one needs permission to set its roles."""
    if "board_id" not in arguments:
        made = await create_handler(dependencies.limits)(
            ctx,
            {
                "name": arguments["title"],
                "description": f"The board of the workflow {arguments['title']}.",
                "datasets": list(DATASETS),
            },
        )
        return UUID(made["id"])
    return await _use_named_board(
        ctx, dependencies, arguments["board_id"], arguments.get("templates", []), new=True
    )


async def _use_named_board(
    ctx: CallContext,
    dependencies: WorkflowDependencies,
    board_id: str,
    templates: Sequence[str],
    *,
    new: bool,
) -> UUID:
    """Use an existing board; one ``new`` to the workflow gets its roles."""
    board = await open_board(ctx, {"board_id": board_id}, hold=True)
    if new:
        await check_may_bind(ctx, board.id, board.name, board.created_by)
    if templates:
        known = {one.name for one in await list_board_datasets(ctx, board)}
        lacking = [one for one in DATASETS if one["name"] not in known]
        await store_datasets(ctx, board, lacking, dependencies.limits)
    return board.id


async def _resolve_other_board(
    ctx: CallContext, dependencies: WorkflowDependencies, workflow: Workflow, arguments: Arguments
) -> UUID | None:
    """Resolve a replacement board; the workflow's templates write to the current one."""
    asked = arguments.get("board_id", workflow.board_id)
    if asked is None or str(asked) == str(workflow.board_id):
        board_id = None if asked is None else UUID(str(asked))
    else:
        board_id = await _use_named_board(
            ctx, dependencies, asked, arguments.get("templates", []), new=True
        )
    if board_id == workflow.board_id:
        if board_id is not None and arguments.get("templates"):
            await _use_named_board(
                ctx, dependencies, str(board_id), arguments["templates"], new=False
            )
        return board_id
    rows = await automations.list_attached(ctx.tx, ctx.actor.workspace_id, workflow.id)
    if any(row["template"] is not None for row in rows):
        raise Conflict(
            "Automations of this workflow write to the board that it has.",
            code="board_in_use",
            suggestion="Detach those that were made from templates first.",
        )
    return board_id


async def _change_people(
    ctx: CallContext, workflow: Workflow, arguments: Arguments, *, moved: bool
) -> None:
    space = ctx.actor.workspace_id
    before = await roster.load_roster(ctx.tx, space, workflow.id)
    people = before
    if "roster" in arguments:
        people = await roster.parse_roster(ctx, arguments["roster"])
        # Its only owner may have left; writing back what was read must not fail.
        if people != before:
            roster.check_owner_stays(people)
    if people != before or moved:
        await roster.check_may_own(ctx, workflow, "changes its roster or its board")
        await roster.store_roster(ctx.tx, space, workflow.id, workflow.board_id, people)


async def _bring_along(
    ctx: CallContext,
    dependencies: WorkflowDependencies,
    workflow: Workflow,
    arguments: Arguments,
    *,
    replacing: bool = False,
) -> None:
    """Attach the requested automations and create those from templates."""
    space = ctx.actor.workspace_id
    wanted = [UUID(one) for one in arguments.get("automation_ids", [])]
    rows = await automations.list_attached(ctx.tx, space, workflow.id)
    known = {row["automation_id"] for row in rows}
    if replacing and "automation_ids" in arguments:
        for row in rows:
            if row["template"] is None and row["automation_id"] not in wanted:
                await automations.detach(ctx.tx, space, workflow.id, row["automation_id"])
    if arguments.get("templates"):
        await automations.make_from_templates(
            ctx.tx,
            dependencies,
            space,
            ctx.actor,
            workflow,
            arguments["templates"],
            arguments.get("timezone", UTC_ZONE),
        )
    new = [one for one in wanted if one not in known]
    if new:
        await automations.attach(ctx.tx, dependencies, space, workflow, new)


def _check_board_for(templates: Sequence[str], *, there: bool) -> None:
    if templates and not there:
        detail = "These automations write to the board of the workflow, and it has none."
        refuse([Finding("/templates", detail, "no_board", "Give it a board, or leave them out.")])
