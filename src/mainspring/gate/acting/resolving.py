"""What was asked for, made exact before it is held: one action with its input and its files.

Nothing is sent here. Whoever is not connected is told so now, and not when somebody has agreed.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import ConnectionRoute, Resolve, require_part
from mainspring.contracts.errors import Finding, InternalError, Invalid, Problem
from mainspring.contracts.integration import ItemFile
from mainspring.contracts.model import NO_MODEL
from mainspring.contracts.outcome import NeedsClarification, NothingToDo, ResolvedArguments
from mainspring.gate.acting.by_model import DECLINED, read_by_model
from mainspring.gate.acting.by_rules import read_plainly
from mainspring.gate.acting.schemas import FILE_BYTES, MOST_FILES
from mainspring.gate.context import GateContext
from mainspring.gate.ingestion.sources import route_to
from mainspring.gate.installs import InstalledIntegration, InstalledIntegrations, IntegrationAction
from mainspring.store.walls import WorkspaceDatabase
from mainspring.workspace.pages.read import find_page

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database

Arguments = Mapping[str, Any]

# No model can be asked, or the one that was asked refused: rules read the request. What may pass
# by itself, such as a busy provider, is not among them, because then the caller can try again.
_TO_RULES: Final = frozenset(
    {
        NO_MODEL,
        DECLINED,
        "unknown_price",
        "unknown_model",
        "model_refused",
        "model_key_refused",
        "model_account_empty",
        "model_address",
        "model_request_too_large",
        "no_key",
    }
)
_FROM_PAGE: Final = "/attach_from_page"


def resolver(installs: InstalledIntegrations, database: Database | None) -> Resolve:
    """Makes exact calls of act_on_integration, over what is installed here."""

    async def resolve(
        ctx: CallContext, given: Arguments
    ) -> Arguments | ResolvedArguments | NeedsClarification | NothingToDo:
        install, exact, note = _install(installs, given), given, ""
        if "source" in given:
            await _check_connected(ctx, list(install.deeds.values()))
            made, note = await _read(ctx, install, given)
            if isinstance(made, (NeedsClarification, NothingToDo)):
                return made
            _refuse(installs.findings(made))
            exact = made
        else:
            await _check_connected(ctx, [installs.deed(given)])
        if "attach_from_page" in exact:
            exact = await _with_files(ctx, install, exact, require_part(database))
        return ResolvedArguments(exact, note) if note else exact

    return resolve


def _install(installs: InstalledIntegrations, given: Arguments) -> InstalledIntegration:
    by_name = installs.by_source(given["source"]) if "source" in given else None
    found = by_name or installs.by_id(given.get("install_id"))
    return require_part(found)


async def _read(
    ctx: CallContext, install: InstalledIntegration, given: Arguments
) -> tuple[Arguments | NeedsClarification | NothingToDo, str]:
    """The exact call that a request in words means, and why no model read it."""
    note = ""
    try:
        made = await read_by_model(ctx, install, given["request"])
    except Problem as problem:
        if problem.code not in _TO_RULES:
            raise
        # Without any connection there is nothing to put right.
        if problem.code != NO_MODEL:
            way_out = f" {problem.suggestion}" if problem.suggestion else ""
            note = f"No model read this request, so rules did: {problem.detail}{way_out}"
        made = read_plainly(install, given["request"])
    if isinstance(made, NeedsClarification) and note:
        return NeedsClarification(f"{note} {made.question}"), note
    if isinstance(made, (NeedsClarification, NothingToDo)):
        return made, note
    beside = {name: value for name, value in given.items() if name not in ("source", "request")}
    return {"install_id": str(install.id), **made, **beside}, note


async def _check_connected(ctx: CallContext, deeds: Sequence[IntegrationAction]) -> None:
    """Says now that nobody is connected; what waits for a person must be able to leave."""
    routes = [one.capability.annotations.route for one in deeds]
    needed = [one for one in routes if one is not None and one.connection == "needed"]
    if needed and len(needed) == len(routes):
        await _over(ctx, needed[0])


async def _over(ctx: CallContext, route: ConnectionRoute) -> GateContext:
    """The same call over the connection that a route leads over."""
    if not isinstance(ctx, GateContext) or ctx.connect is None:
        raise InternalError("This call cannot open a connection.", retryable=False)
    way = await ctx.connect(route)
    return replace(ctx, http=way.http, account=way.account)


async def _with_files(
    ctx: CallContext, install: InstalledIntegration, given: Arguments, database: Database
) -> Arguments:
    """The call with the files of a page, fetched once more from where they came."""
    reads = require_part(install.reads)
    async with WorkspaceDatabase(database, ctx.actor.workspace_id).transaction() as tx:
        page = await find_page(tx, ctx.actor.workspace_id, {"slug": given["attach_from_page"]})
    if page["source"] != install.source:
        raise _invalid(f"The page {page['slug']} did not come from {install.name}.")
    inside = await _over(ctx, route_to(install.integration))
    files = await require_part(reads.files)(inside, page["frontmatter"])
    if not files:
        raise _invalid(f"The page {page['slug']} has no attachments.")
    return {**_without(given), "attachments": _join_files(given.get("attachments", ()), files)}


def _without(given: Arguments) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "attach_from_page"}


def _join_files(own: Sequence[Arguments], files: Sequence[ItemFile]) -> list[dict[str, Any]]:
    if len(own) + len(files) > MOST_FILES:
        raise _invalid(
            f"At most {MOST_FILES} files leave together; there are {len(own) + len(files)}."
        )
    for one in files:
        if len(one.content) > FILE_BYTES:
            raise _invalid(f"The file {one.filename[:100]} is larger than 10 MB.")
    return [*map(dict, own), *map(_encode_file, files)]


def _encode_file(one: ItemFile) -> dict[str, Any]:
    return {
        "filename": one.filename[:255] or "file",
        "content_base64": base64.b64encode(one.content).decode(),
        "mime_type": one.mime_type[:255] or "application/octet-stream",
    }


def _refuse(findings: Sequence[Finding]) -> None:
    if findings:
        raise Invalid(findings[0].detail, code=findings[0].code, findings=findings)


def _invalid(detail: str) -> Invalid:
    return Invalid(
        detail, code="attach_from_page", findings=[Finding(_FROM_PAGE, detail, "attach_from_page")]
    )
