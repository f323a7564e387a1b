"""Requests made into proposals by the product itself, in workspaces prepared for them.

Each workspace of the requests is an application in its own folder, with its boards, pages, secrets,
automations and tools; the tools are those of a server on loopback. The models are those that
the environment names.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from mainspring.app import Application, application_services, open_application
from mainspring.authoring.models import ProposalQuestion
from mainspring.authoring.resources import BoardSummary
from mainspring.contracts.errors import Problem
from mainspring.contracts.event import EventType
from mainspring.definition.validate import validate
from mainspring.gate.callers import CapabilityCaller
from mainspring.settings import read_settings
from mainspring.surfaces.cli.local import local_owner
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import FIRST_MEMBER, save
from mainspring.workspace.events import declare_type
from mainspring.workspace.pages.content import PageDraft
from mainspring.workspace.pages.writer import PageWriter, ingest
from tests.kit.mcp_server import McpDouble, Script, mcp_server
from tests.kit.requests import Made, Request, Tool, World, read_worlds, schema_of

_HELLO: Final[dict[str, Any]] = {
    "schema_version": "1.2",
    "goal": "Stand for an automation that is there.",
    "plan": [{"step_id": "nothing", "action": "transform_data", "config": {"output": 1}}],
}


async def made_by_model(
    requests: Sequence[Request], *, by: str = "model"
) -> list[tuple[Request, Made, World]]:
    """What the product proposes for each request, with the workspace it was made in."""
    made: list[tuple[Request, Made, World]] = []
    in_order = sorted(requests, key=lambda one: one.world)
    for name, some in groupby(in_order, key=lambda one: one.world):
        async with furnished(read_worlds()[name]) as (rooms, world):
            made += [(one, await _propose(rooms, one, by), world) for one in some]
    return made


async def _propose(services: ApplicationServices, request: Request, by: str) -> Made:
    arguments: dict[str, Any] = {"text": request.text, "by": by}
    if request.timezone is not None:
        arguments["timezone"] = request.timezone
    try:
        answer = await _call(services, "propose_automation", **arguments)
    except Problem as problem:
        if problem.code == "no_model":
            raise
        # Whatever else keeps a proposal from being made is a miss, and the next is asked for.
        return Made({"name": problem.detail})
    return Made(answer["definition"], tuple(map(ProposalQuestion.read, answer["questions"])))


@asynccontextmanager
async def furnished(world: World) -> AsyncIterator[tuple[ApplicationServices, World]]:
    """An application that has what a workspace of the requests has; its boards have new ids."""
    folder = _folder()
    try:
        async with AsyncExitStack() as stack:
            servers = {
                alias: await stack.enter_async_context(mcp_server(_server(list(tools))))
                for alias, tools in groupby(world.tools, key=_alias)
            }
            settings = read_settings()
            allowed = settings.egress_allow | {one.pair for one in servers.values()}
            settings = replace(settings, home=folder / "home", egress_allow=allowed)
            application = await stack.enter_async_context(open_application(settings))
            yield await _furnish(application, world, servers)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="mainspring-requests-"))
    folder.chmod(0o711)  # the database may run as a user of its own
    return folder


def _alias(tool: Tool) -> str:
    return tool.name.partition(".")[0]


def _server(tools: Sequence[Tool]) -> McpDouble:
    result = [
        {
            "name": tool.name.partition(".")[2],
            "description": tool.description,
            "inputSchema": schema_of(tool),
            "annotations": {"readOnlyHint": tool.effect == "read"},
        }
        for tool in tools
    ]
    return McpDouble(Script(tools=result))


async def _furnish(
    application: Application, world: World, servers: dict[str, McpDouble]
) -> tuple[ApplicationServices, World]:
    services = application_services(application)
    for alias, server in servers.items():
        await _call(services, "connect_mcp_server", alias=alias, server_url=server.url)
    for name in world.resources.secrets:
        await _call(services, "automation_secret_set", name=name, value="a value for requests")
    await _add_rows(application, world)
    boards = tuple([await _add_board(services, board) for board in world.resources.boards])
    words = await application.registry.of(application.workspace_id)
    return services, replace(
        world, resources=replace(world.resources, boards=boards), vocabulary=words
    )


async def _call(rooms: ApplicationServices, capability: str, **value: Any) -> Any:
    return await rooms.gate.direct(CapabilityCaller(local_owner(rooms)), capability, value)


async def _add_board(services: ApplicationServices, board: BoardSummary) -> BoardSummary:
    datasets = [
        {
            "name": one.name,
            "columns": [{"key": column} for column in one.columns],
            **({"dedupe_key_field": one.dedupe_key_field} if one.dedupe_key_field else {}),
        }
        for one in board.datasets
    ]
    made = await _call(
        services, "create_board", name=board.name, description=board.description, datasets=datasets
    )
    return replace(board, id=made["id"])


async def _add_rows(application: Application, world: World) -> None:
    """Pages, event types and automations, by name alone."""
    by = PageWriter(application.workspace_id, "member", FIRST_MEMBER, "member")
    async with application.database.transaction() as tx:
        for number, kind in enumerate(world.resources.page_types):
            await ingest(tx, PageDraft(f"page-{number}", kind, f"Page {number}", "Some text."), by)
        for name, description in (world.resources.event_types or {}).items():
            declared = EventType(name, description, {"type": "object"})
            await declare_type(tx, application.workspace_id, declared, application.limits, ())
        for name in world.resources.automations or ():
            report = validate({**_HELLO, "name": name}, application.registry, application.limits)
            if report.definition is not None:
                await save(
                    tx, application.workspace_id, report.definition, report.grants, FIRST_MEMBER
                )
