"""The commands about workflows, and their words."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import KEPT, Json, help_alone, make_group, open_context

Flow = Annotated[str, typer.Argument(metavar="WORKFLOW", help="A workflow's title, or its id.")]


class WorkflowStatusOption(StrEnum):
    """What a workflow can be."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


class WorkflowTemplateOption(StrEnum):
    """The automations that a workflow can bring along."""

    SCORER = "progress_scorer"
    NUDGER = "task_nudger"
    REVIEWER = "milestone_reviewer"


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands about workflows."""
    group = make_group("Hold numbers, days, people, a board and automations together.")

    @group.callback(invoke_without_command=True)
    def workflows(ctx: typer.Context) -> None:
        """Hold numbers, days, people, a board and automations together."""
        help_alone(ctx)

    group.command(name="list")(_list)
    group.command(name="show")(_show)
    group.command(name="create")(_create)
    group.command(name="status")(_status)
    group.command(name="delete")(_delete)
    kpi = make_group("Say what a KPI of a workflow is now.")

    @kpi.callback(invoke_without_command=True)
    def kpis(ctx: typer.Context) -> None:
        """Say what a KPI of a workflow is now."""
        help_alone(ctx)

    kpi.command(name="set")(_set_kpi)
    group.add_typer(kpi, name="kpi")
    app.add_typer(group, name="workflows", rich_help_panel=KEPT)


def _list(
    ctx: typer.Context,
    status: Annotated[
        WorkflowStatusOption | None, typer.Option(metavar="STATUS", help="Only those that are so.")
    ] = None,
    for_programs: Json = False,
) -> int:
    """List workflows and how many automations each has."""
    from mainspring.surfaces.cli.workflows import list_workflows

    context, screen = open_context(ctx, for_programs)
    return finish(list_workflows(context, screen, None if status is None else status.value))


def _show(ctx: typer.Context, workflow: Flow, for_programs: Json = False) -> int:
    """Show a workflow: its KPIs against the time, its days, its people, its automations."""
    from mainspring.surfaces.cli.workflows import show_workflow

    context, screen = open_context(ctx, for_programs)
    return finish(show_workflow(context, screen, workflow))


def _create(
    ctx: typer.Context,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What it is called.")],
    charter: Annotated[str, typer.Option(help="What it is for.")] = "",
    kpis: Annotated[
        list[str] | None,
        typer.Option("--kpi", metavar="NAME=TARGET", help="A number to reach; may be repeated."),
    ] = None,
    deadlines: Annotated[
        list[str] | None,
        typer.Option("--deadline", metavar="LABEL=DAY", help="As in Beta=2026-12-31."),
    ] = None,
    templates: Annotated[
        list[WorkflowTemplateOption] | None,
        typer.Option("--template", metavar="NAME", help="An automation to make for it."),
    ] = None,
    board: Annotated[
        str | None, typer.Option(metavar="BOARD", help="A board that is there; else one is made.")
    ] = None,
    status: Annotated[
        WorkflowStatusOption, typer.Option(metavar="STATUS", help="draft, active or paused.")
    ] = WorkflowStatusOption.DRAFT,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Of the templates' hours; else UTC.")
    ] = None,
    for_programs: Json = False,
) -> int:
    """Create a workflow; as a draft it starts nothing."""
    from mainspring.surfaces.cli.workflows import create_workflow, read_deadline, read_kpi

    context, screen = open_context(ctx, for_programs)
    arguments: dict[str, Any] = {
        "title": title,
        "charter": charter,
        "kpis": [read_kpi(one) for one in kpis or []],
        "deadlines": [read_deadline(one) for one in deadlines or []],
        "templates": [one.value for one in templates or []],
        "status": status.value,
    }
    if timezone is not None:
        arguments["timezone"] = timezone
    return finish(create_workflow(context, screen, arguments, board))


def _status(
    ctx: typer.Context,
    workflow: Flow,
    status: Annotated[
        WorkflowStatusOption,
        typer.Argument(metavar="STATUS", help="draft, active, paused or archived."),
    ],
    for_programs: Json = False,
) -> int:
    """Set a workflow and all its automations going, or at rest."""
    from mainspring.surfaces.cli.workflows import set_status

    context, screen = open_context(ctx, for_programs)
    return finish(set_status(context, screen, workflow, status.value))


def _delete(
    ctx: typer.Context,
    workflow: Flow,
    board: Annotated[bool, typer.Option("--board", help="Archive its board too.")] = False,
    for_programs: Json = False,
) -> int:
    """Delete a workflow and archive its automations; its board stays."""
    from mainspring.surfaces.cli.workflows import delete_workflow

    context, screen = open_context(ctx, for_programs)
    return finish(delete_workflow(context, screen, workflow, board=board))


def _set_kpi(
    ctx: typer.Context,
    workflow: Flow,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The KPI.")],
    value: Annotated[str, typer.Argument(metavar="NUMBER", help="What it is now.")],
    for_programs: Json = False,
) -> int:
    """Say what a KPI is now."""
    from mainspring.surfaces.cli.workflows import read_number, set_kpi

    context, screen = open_context(ctx, for_programs)
    return finish(set_kpi(context, screen, workflow, name, read_number(value, name)))
