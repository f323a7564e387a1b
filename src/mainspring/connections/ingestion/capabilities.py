"""fetch_from_integration, poll_integration, and what could not be read.

To fetch is to ask for fresh data once; to poll is to go on from where the last poll ended. Both
keep what they read as pages, so that a search finds it afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.connections.board_links.addresses import check_linked
from mainspring.connections.ingestion import schemas
from mainspring.connections.ingestion.reader import IngestionResult, open_reader
from mainspring.connections.ingestion.sources import DataSource, DataSources
from mainspring.connections.ingestion.writing import list_problems
from mainspring.contracts.addresses import normalize_address
from mainspring.contracts.capability import Annotations, Capability, Effect, require_part
from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.toolset import Toolset

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database

_MOST_ERRORS: Final = 50
_ITEM_TEXT: Final = 20_000
_NOWHERE: Final = "00000000-0000-0000-0000-000000000000"

Arguments = Mapping[str, Any]


def ingestion_capabilities(
    reachable: DataSources, limits: Limits, database: Database | None
) -> tuple[Capability, ...]:
    """Everything that brings data in from the integrations of this installation."""
    return (
        _fetching(reachable, limits, database),
        _reading(reachable, limits, database),
        Capability(
            "poll_integration",
            "Read new items from an integration\n\n"
            "Continues after the last poll with your connection and stores items as pages, "
            "without loss or duplicates. Use watch_integration to do this on a schedule.",
            schemas.poll_input(reachable),
            schemas.POLLED,
            _poll(reachable, limits, database),
            annotations=Annotations(
                toolset=Toolset.INTEGRATIONS,
                effect=Effect.KEEP,
                seconds=30.0,
                connected={"source": "fetch"},
                judge=lambda given: _poll_findings(reachable, given),
                stub=_dry_run_poll,
            ),
        ),
        Capability(
            "list_ingest_problems",
            "List items that could not be ingested\n\n"
            "Returns each item of an integration with its problem, until it succeeds.",
            schemas.problems_input(reachable),
            schemas.PROBLEMS,
            _list(reachable),
            annotations=Annotations(
                toolset=Toolset.INTEGRATIONS, effect=Effect.READ, transactional=True, seconds=0.1
            ),
        ),
    )


def _fetching(reachable: DataSources, limits: Limits, database: Database | None) -> Capability:
    return Capability(
        "fetch_from_integration",
        "Fetch fresh data from an integration\n\n"
        "Reads from a connected source and stores the items as pages, without duplicates; then "
        "use search, query or list_pages. Use it when the person needs data newer than the stored "
        "pages. Describe what to read with input or with request. Gmail and Drive return up to "
        "250 items per call, a calendar everything in the window.",
        schemas.fetch_input(reachable),
        schemas.FETCHED,
        _fetch(reachable, limits, database),
        annotations=Annotations(
            toolset=Toolset.INTEGRATIONS,
            effect=Effect.KEEP,
            seconds=30.0,
            connected={"source": "fetch"},
            judge=lambda given: _fetch_findings(reachable, given),
            stub=_dry_run_fetch,
        ),
    )


def _reading(reachable: DataSources, limits: Limits, database: Database | None) -> Capability:
    return Capability(
        "read_from_integration",
        "Read items from an integration without storing them\n\n"
        "Returns the items of a connected source as they are now. Use it in a poll trigger; use "
        "fetch_from_integration to store items as pages.",
        schemas.read_input(reachable),
        schemas.READ,
        _read(reachable, limits, database),
        annotations=Annotations(
            toolset=Toolset.INTEGRATIONS,
            effect=Effect.READ,
            seconds=30.0,
            opens=True,
            judge=lambda given: _fetch_findings(reachable, given),
        ),
    )


def _read(reachable: DataSources, limits: Limits, database: Database | None) -> CapabilityHandler:
    # A run keeps what it reads as the output of a step.
    room = limits.step_output_bytes * 3 // 4

    async def read(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
        to, asked = reachable[arguments["source"]], arguments["input"]
        source = require_part(to.source)
        route = to.route
        if source.hosts is not None:
            ref = {"url": normalize_address(asked["url"], "/input/url")}
            route = replace(route, hosts=source.hosts(ref))
            await check_linked(ctx, require_part(database), to.name, ref, "/input/url")
        reading = await open_reader(ctx, to, require_part(database), limits, route)
        found, more = await reading.read(source, asked, _most(source.most, asked))
        items, left = _fit_items([one for one in found if isinstance(one, Item)], room)
        broken = [one for one in found if isinstance(one, UnreadableItem)]
        return {
            "source": to.name,
            "items": items,
            "more": more or left,
            "errors": [_error(one) for one in broken[:_MOST_ERRORS]],
        }

    return read


def _fit_items(found: Sequence[Item], room: int) -> tuple[list[dict[str, Any]], bool]:
    """As many of the first items as an answer holds, and whether some are left out."""
    items: list[dict[str, Any]] = []
    for one in found:
        shown = {
            "id": one.source_ref,
            "type": one.type,
            "title": one.title,
            "text": one.body[:_ITEM_TEXT],
            "fields": dict(one.frontmatter),
        }
        room -= len(orjson.dumps(shown, default=str)) + 1
        if room < 0:
            return items, True
        items.append(shown)
    return items, False


def _fetch_findings(reachable: DataSources, arguments: Arguments) -> Sequence[Finding]:
    one = reachable.get(arguments["source"])
    if one is None or one.source is None or one.shape is None:
        return [_unknown(reachable.fetched)]
    if "input" in arguments:
        return one.shape.findings(arguments["input"], "/input")
    return []


def _poll_findings(reachable: DataSources, arguments: Arguments) -> Sequence[Finding]:
    one = reachable.get(arguments["source"])
    if one is None or not one.polls:
        return [_unknown(reachable.poll_names)]
    named = arguments.get("poll")
    if named is not None and named not in one.polls:
        detail = f"{one.name} has no such poll. It has {', '.join(one.polls)}."
        return [Finding("/poll", detail, "unknown_poll")]
    return []


def _unknown(names: Sequence[str]) -> Finding:
    there_are = f"There are {', '.join(names)}." if names else "There is none here."
    return Finding("/source", f"There is no such source. {there_are}", "unknown_source")


def _fetch(reachable: DataSources, limits: Limits, database: Database | None) -> CapabilityHandler:
    async def fetch(ctx: CallContext, arguments: Arguments) -> dict[str, Any] | Unchanged:
        _check_brain(ctx, arguments)
        to = reachable[arguments["source"]]
        asked, log = _resolve_input(to, arguments, ctx)
        source = require_part(to.source)
        route = to.route
        if source.hosts is not None:
            ref = {"url": normalize_address(asked["url"], "/input/url")}
            route = replace(route, hosts=source.hosts(ref))
            await check_linked(ctx, require_part(database), to.name, ref, "/input/url")
        reading = await open_reader(ctx, to, require_part(database), limits, route)
        found = await reading.fetch(source, asked, _most(source.most, asked))
        result: dict[str, Any] = {
            "source": to.name,
            "request": arguments.get("request") or _text(asked),
            "brain_id": str(ctx.actor.workspace_id),
            **_describe_result(found),
            "translation_log": log,
        }
        if getattr(ctx, "mode", "live") == "verify":
            result["verify_mode"] = True
        note = _note(found, cut=found.more)
        if note:
            result["note"] = note
        return result if found.slugs or found.broken else Unchanged(result)

    return fetch


def _resolve_input(
    to: DataSource, arguments: Arguments, ctx: CallContext
) -> tuple[Arguments, list[str]]:
    """The input of the source, and how it was understood."""
    if "input" in arguments:
        return arguments["input"], []
    asked = require_part(to.source).from_request(arguments["request"], ctx.clock.now())
    wrong = require_part(to.shape).findings(asked, "")
    if wrong:
        detail = f"This request cannot be read for {to.name}: {wrong[0].detail}"
        way_out = f"Give input instead of request: {_fields(to)}."
        raise Invalid(
            detail,
            code="request_unclear",
            findings=[Finding("/request", detail, "request_unclear", way_out)],
            suggestion=way_out,
        )
    return asked, [f"The request was read as {_text(asked)}."]


def _fields(to: DataSource) -> str:
    return ", ".join(require_part(to.source).input_schema.get("properties", {}))


def _most(most: int | None, asked: Arguments) -> int | None:
    """As many as the source brings at once, or fewer where fewer are asked for."""
    limit = asked.get("limit")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        return most
    return limit if most is None else min(limit, most)


def _check_brain(ctx: CallContext, arguments: Arguments) -> None:
    """Any other workspace than the caller's looks as if it were not there."""
    if "brain_id" in arguments and UUID(arguments["brain_id"]) != ctx.actor.workspace_id:
        raise NotFound(
            "There is no such workspace.",
            code="no_workspace",
            findings=[Finding("/brain_id", "There is no such workspace.", "no_workspace")],
            suggestion="Leave brain_id out for the workspace you are in.",
        )


def _poll(reachable: DataSources, limits: Limits, database: Database | None) -> CapabilityHandler:
    async def poll(ctx: CallContext, arguments: Arguments) -> dict[str, Any] | Unchanged:
        to = reachable[arguments["source"]]
        reading = await open_reader(ctx, to, require_part(database), limits)
        whole = IngestionResult()
        for one in to.polls.values():
            if arguments.get("poll") in (None, one.name):
                whole.join(await reading.poll(one))
        result: dict[str, Any] = {"source": to.name, **_describe_result(whole), "more": whole.more}
        note = _note(whole)
        if note:
            result["note"] = note
        return result if whole.slugs or whole.broken else Unchanged(result)

    return poll


def _describe_result(found: IngestionResult) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ingested_count": len(found.slugs),
        "page_slugs": found.slugs[: schemas.MOST_LISTED],
    }
    if found.broken:
        result["errors"] = [_error(one) for one in found.broken[:_MOST_ERRORS]]
    return result


def _error(one: UnreadableItem) -> dict[str, str]:
    return {
        "source_ref": one.source_ref,
        "detail": one.problem.detail,
        "code": one.problem.code,
    }


def _note(found: IngestionResult, *, cut: bool = False) -> str:
    entries = list(found.notes)
    if found.known:
        entries.append(f"{found.known} more were there already and say the same.")
    if cut:
        entries.append("There is more than one call brings; ask for less, or narrow it down.")
    hidden = len(found.slugs) - schemas.MOST_LISTED
    if hidden > 0:
        entries.append(f"{hidden} more pages are not listed here.")
    return " ".join(entries)


def _text(value: Arguments) -> str:
    return orjson.dumps(value).decode()


def _dry_run_fetch(arguments: Arguments) -> dict[str, Any]:
    """What a dry run answers: it reads nothing, because what is read is kept."""
    return {
        "source": arguments["source"],
        "request": arguments.get("request") or _text(arguments.get("input", {})),
        "brain_id": arguments.get("brain_id", _NOWHERE),
        "ingested_count": 0,
        "page_slugs": [],
        "translation_log": [],
        "note": "A dry run reads nothing.",
    }


def _dry_run_poll(arguments: Arguments) -> dict[str, Any]:
    return {
        "source": arguments["source"],
        "ingested_count": 0,
        "page_slugs": [],
        "more": False,
        "note": "A dry run reads nothing.",
    }


def _list(reachable: DataSources) -> CapabilityHandler:
    names = {one.integration.id: name for name, one in reachable.items()}

    async def listed(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
        one = reachable.get(arguments.get("source", ""))
        wanted = None if one is None else one.integration.id
        space, most = ctx.actor.workspace_id, int(arguments.get("limit", 50))
        rows = await list_problems(ctx.tx, space, wanted, most)
        return {
            "problems": [
                {"source": names.get(row["integration"], row["integration"]), **row} for row in rows
            ]
        }

    return listed
