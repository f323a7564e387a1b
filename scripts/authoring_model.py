"""Requests made into proposals by the product itself, in houses furnished for them.

Each workspace of the requests is a house in a folder of its own, with its boards, pages, secrets,
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


async def _propose(rooms: ApplicationServices, request: Request, by: str) -> Made:
    given: dict[str, Any] = {"text": request.text, "by": by}
    if request.timezone is not None:
        given["timezone"] = request.timezone
    try:
        answer = await _call(rooms, "propose_automation", **given)
    except Problem as problem:
        if problem.code == "no_model":
            raise
        # Whatever else keeps a proposal from being made is a miss, and the next is asked for.
        return Made({"name": problem.detail})
    return Made(answer["definition"], tuple(map(ProposalQuestion.read, answer["questions"])))


@asynccontextmanager
async def furnished(world: World) -> AsyncIterator[tuple[ApplicationServices, World]]:
    """A house that has what a workspace of the requests has; its boards have ids of their own."""
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
            house = await stack.enter_async_context(open_application(settings))
            yield await _furnish(house, world, servers)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="mainspring-requests-"))
    folder.chmod(0o711)  # the database may run as a user of its own
    return folder


def _alias(tool: Tool) -> str:
    return tool.name.partition(".")[0]


def _server(tools: Sequence[Tool]) -> McpDouble:
    told = [
        {
            "name": tool.name.partition(".")[2],
            "description": tool.words,
            "inputSchema": schema_of(tool),
            "annotations": {"readOnlyHint": tool.effect == "read"},
        }
        for tool in tools
    ]
    return McpDouble(Script(tools=told))


async def _furnish(
    house: Application, world: World, servers: dict[str, McpDouble]
) -> tuple[ApplicationServices, World]:
    rooms = application_services(house)
    for alias, server in servers.items():
        await _call(rooms, "connect_mcp_server", alias=alias, server_url=server.url)
    for name in world.resources.secrets:
        await _call(rooms, "automation_secret_set", name=name, value="a value for requests")
    await _add_rows(house, world)
    boards = tuple([await _add_board(rooms, board) for board in world.resources.boards])
    words = await house.registry.of(house.workspace_id)
    return rooms, replace(world, resources=replace(world.resources, boards=boards), words=words)


async def _call(rooms: ApplicationServices, capability: str, **given: Any) -> Any:
    return await rooms.gate.direct(CapabilityCaller(local_owner(rooms)), capability, given)


async def _add_board(rooms: ApplicationServices, board: BoardSummary) -> BoardSummary:
    datasets = [
        {
            "name": one.name,
            "columns": [{"key": column} for column in one.columns],
            **({"dedupe_key_field": one.dedupe_key_field} if one.dedupe_key_field else {}),
        }
        for one in board.datasets
    ]
    made = await _call(
        rooms, "create_board", name=board.name, description=board.description, datasets=datasets
    )
    return replace(board, id=made["id"])


async def _add_rows(house: Application, world: World) -> None:
    """Pages, event types and automations, by name alone."""
    by = PageWriter(house.workspace_id, "member", FIRST_MEMBER, "member")
    async with house.database.transaction() as tx:
        for number, kind in enumerate(world.resources.page_types):
            await ingest(tx, PageDraft(f"page-{number}", kind, f"Page {number}", "Some text."), by)
        for name, description in (world.resources.event_types or {}).items():
            declared = EventType(name, description, {"type": "object"})
            await declare_type(tx, house.workspace_id, declared, house.limits, ())
        for name in world.resources.automations or ():
            report = validate({**_HELLO, "name": name}, house.registry, house.limits)
            if report.definition is not None:
                await save(tx, house.workspace_id, report.definition, report.grants, FIRST_MEMBER)
