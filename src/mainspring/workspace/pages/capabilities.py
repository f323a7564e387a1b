"""The page capabilities, shared by people, clients and runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Annotations, Capability, CapabilityHandler, Effect
from mainspring.contracts.display_text import clean_name, name_findings
from mainspring.contracts.errors import Conflict, Finding, NotFound
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.toolset import Toolset
from mainspring.workspace.pages import read, schemas, writer
from mainspring.workspace.pages.action_pages import ActionPages
from mainspring.workspace.pages.content import (
    RESERVED,
    PageDraft,
    find_page_problems,
    read_writing,
    refuse,
    refuse_reserved,
)
from mainspring.workspace.pages.search import PageQuery, PageSearch
from mainspring.workspace.pages.writer import get_page_writer

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.embedding import Embedder
    from mainspring.contracts.limits import Limits

_READS: Final = Annotations(
    toolset=Toolset.PAGES, effect=Effect.READ, transactional=True, seconds=0.1
)
_KEEPS: Final = Annotations(
    toolset=Toolset.PAGES, effect=Effect.KEEP, transactional=True, seconds=0.1
)
# JSON encoding lengthens a text: a line break becomes two characters.
_SPELLED: Final = 2

Arguments = Mapping[str, Any]


def capabilities(
    limits: Limits, embedder: Embedder | None = None, discovery: ActionPages | None = None
) -> tuple[Capability, ...]:
    """Build the page capabilities with the operator's limits and the embedding model."""
    finder, actions = PageSearch(embedder), discovery or ActionPages()
    return (
        *_build_write_capabilities(limits),
        *_build_read_capabilities(actions),
        *_build_search_capabilities(finder, actions),
        *_build_alias_capabilities(finder, actions),
    )


def _build_write_capabilities(limits: Limits) -> tuple[Capability, ...]:
    return (
        Capability(
            "create_page",
            "Create or replace a page\n\n"
            "Stores text under a slug. The same slug or source_ref updates that page instead of "
            "creating a second one; identical content within a day changes nothing. Without a "
            "slug, it is made from the title, with -2, -3 and so on if taken. Types of "
            f"integrations ({', '.join(sorted(RESERVED))}) are refused.",
            schemas.create_input(limits),
            schemas.KEPT,
            _create(limits),
            annotations=_build_text_annotations(limits),
        ),
        Capability(
            "update_page",
            "Update a page\n\nChanges the given fields and records it in the timeline.",
            schemas.update_input(limits),
            schemas.KEPT,
            _update(limits),
            annotations=_build_text_annotations(limits),
        ),
        Capability(
            "delete_page",
            "Delete a page\n\nRemoves it from lists and search. Restore it with restore_page.",
            schemas.ONE_INPUT,
            schemas.DELETED,
            _delete,
            annotations=_KEEPS,
        ),
        Capability(
            "restore_page",
            "Restore a deleted page\n\nRestores it unchanged.",
            schemas.ONE_INPUT,
            schemas.DELETED,
            _restore,
            annotations=_KEEPS,
        ),
    )


def _build_text_annotations(limits: Limits) -> Annotations:
    """Annotations for a call that may carry a whole page."""
    room = _SPELLED * limits.page_bytes + 2 * limits.page_values_bytes
    return replace(_KEEPS, arguments_bytes=max(room, limits.call_arguments_bytes))


def _build_read_capabilities(actions: ActionPages) -> tuple[Capability, ...]:
    return (
        Capability(
            "get_page",
            "Get a page\n\n"
            "Returns the full markdown, the body without front matter, its values, its origin and "
            "its latest changes.",
            schemas.GET_INPUT,
            schemas.WHOLE_OUTPUT,
            _get,
            annotations=_READS,
        ),
        Capability(
            "list_pages",
            "List pages\n\nNewest first. To find pages by text, use search.",
            schemas.LIST_INPUT,
            schemas.LIST_OUTPUT,
            _list(actions),
            annotations=_READS,
        ),
        Capability(
            "list_calendar_events",
            "List calendar events\n\n"
            "Returns event pages between two times, earliest first. Call fetch_from_integration "
            "first for fresh events.",
            schemas.EVENTS_INPUT,
            schemas.EVENTS_OUTPUT,
            _list_events,
            annotations=_READS,
        ),
        Capability(
            "list_page_timeline",
            "List the history of a page\n\nNewest first, also for a deleted page.",
            schemas.TIMELINE_INPUT,
            schemas.TIMELINE_OUTPUT,
            _list_timeline,
            annotations=_READS,
        ),
    )


def _build_search_capabilities(finder: PageSearch, actions: ActionPages) -> tuple[Capability, ...]:
    return (
        Capability(
            "search",
            "Search pages by words\n\n"
            "All words must match; the last may be a prefix. Use quotes for a phrase, OR for "
            "either, - to exclude a word. Use query for questions in natural language.",
            schemas.ASK_INPUT,
            schemas.SEARCH_OUTPUT,
            _search(finder, actions),
            annotations=_READS,
        ),
        Capability(
            "query",
            "Find pages by text and meaning\n\n"
            "Combines full text, title similarity and, if an embedding model is set, semantic "
            "similarity; the result says which were used. Use it for questions; use search for "
            "exact words.",
            schemas.ASK_INPUT,
            schemas.QUERY_OUTPUT,
            _build_query_handler(finder, actions),
            annotations=replace(_READS, asks_outside=finder.outward),
        ),
    )


def _build_alias_capabilities(finder: PageSearch, actions: ActionPages) -> tuple[Capability, ...]:
    return (
        Capability(
            "search_space.query",
            "Find pages by text and meaning (query)\n\nSame as query.",
            schemas.SPACE_ASK_INPUT,
            schemas.QUERY_OUTPUT,
            _build_query_handler(finder, actions),
            annotations=replace(_READS, asks_outside=finder.outward),
        ),
        Capability(
            "search_space.fetch_document",
            "Get a page (get_page)\n\nSame as get_page; a document is a page.",
            schemas.FETCH_INPUT,
            schemas.WHOLE_OUTPUT,
            _get,
            annotations=_READS,
        ),
    )


def _create(limits: Limits) -> CapabilityHandler:
    async def create(ctx: CallContext, arguments: Arguments) -> dict[str, Any] | Unchanged:
        page = read_writing(arguments, limits, in_run=ctx.run is not None)
        refuse_reserved(page.type)
        kept = await writer.write_page(ctx.tx, page, get_page_writer(ctx))
        told = {"id": str(kept.id), "slug": kept.slug, "became": kept.became}
        return Unchanged(told) if kept.became == "unchanged" else told

    return create


def _update(limits: Limits) -> CapabilityHandler:
    async def update(ctx: CallContext, arguments: Arguments) -> dict[str, Any] | Unchanged:
        by = get_page_writer(ctx)
        if ctx.run is not None and "title" in arguments:
            arguments = {**arguments, "title": clean_name(arguments["title"])}
        row = await read.find_page(ctx.tx, by.workspace_id, arguments, hold=True)
        _check_changeable(row, arguments)
        before = PageDraft(
            row["slug"], row["type"], row["title"], row["body"], row["frontmatter"], row["head"]
        )
        changed = {
            name: arguments[name]
            for name in ("title", "type", "body", "frontmatter")
            if name in arguments and arguments[name] != row[name]
        }
        told = {"id": str(row["id"]), "slug": row["slug"], "became": "unchanged"}
        if not changed:
            return Unchanged(told)
        # The stored front matter text no longer matches the page.
        head = row["head"] if changed.keys() <= {"body"} else None
        page = replace(before, head=head, **changed)
        named = name_findings(page.title, "/title") if "title" in changed else []
        refuse([*named, *find_page_problems(page, limits)])
        refuse_reserved(page.type)
        await writer.change(ctx.tx, row["id"], page, by)
        await writer.note(ctx.tx, row["id"], "updated", by, {"fields": sorted(changed)})
        return {**told, "became": "updated"}

    return update


def _check_changeable(row: Mapping[str, Any], arguments: Arguments) -> None:
    if row["type"] in RESERVED:
        raise Conflict(
            f"The page {row['slug']} was brought in by an integration; its source changes it.",
            code="page_of_integration",
            suggestion="Write a page of your own that tells what you have to add.",
        )
    known = arguments.get("content_hash")
    if known is not None and known != row["content_hash"].hex():
        detail = "The page was changed by another person in the meantime."
        raise Conflict(
            detail,
            code="page_changed",
            suggestion="Read it again and repeat the change.",
            findings=[Finding("/content_hash", detail, "page_changed")],
        )


async def _delete(ctx: CallContext, arguments: Arguments) -> dict[str, Any] | Unchanged:
    by = get_page_writer(ctx)
    row = await read.find_page(ctx.tx, by.workspace_id, arguments)
    changed = await writer.delete(ctx.tx, row["id"], by)
    return {"id": str(row["id"]), "slug": row["slug"], "changed": changed}


async def _restore(ctx: CallContext, arguments: Arguments) -> dict[str, Any] | Unchanged:
    by = get_page_writer(ctx)
    row = await read.find_page(ctx.tx, by.workspace_id, arguments, deleted=True)
    changed = await writer.restore(ctx.tx, row["id"], by)
    told = {"id": str(row["id"]), "slug": row["slug"], "changed": changed}
    return told if changed else Unchanged(told)


async def _get(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
    workspace_id = _resolve_workspace(ctx, arguments)
    named = {"id": arguments["document_id"]} if "document_id" in arguments else arguments
    row = await read.find_page(ctx.tx, workspace_id, named)
    wanted = arguments.get("include", schemas.PART_NAMES)
    told = []
    if "timeline" in wanted:
        told = await read.load_timeline(ctx.tx, workspace_id, row["id"], read.TIMELINE_SHOWN)
    left_out = set(schemas.PART_NAMES) - set(wanted)
    return {
        name: part for name, part in read.describe_page(row, told).items() if name not in left_out
    }


def _list(actions: ActionPages) -> CapabilityHandler:
    async def listed(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
        await actions.ensure(ctx, arguments.get("type"))
        most = int(arguments.get("limit", schemas.DEFAULT_LIST))
        pages, following = await read.list_pages(ctx.tx, ctx.actor.workspace_id, arguments, most)
        return {"pages": pages, "next": following}

    return listed


async def _list_events(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
    most = int(arguments.get("limit", schemas.DEFAULT_LIST))
    pages, following = await read.list_events(ctx.tx, ctx.actor.workspace_id, arguments, most)
    return {"pages": pages, "next": following}


async def _list_timeline(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
    workspace_id = ctx.actor.workspace_id
    row = await read.find_page(ctx.tx, workspace_id, arguments, deleted=True)
    before = UUID(arguments["before"]) if "before" in arguments else None
    most = int(arguments.get("limit", schemas.DEFAULT_LIST))
    return {"entries": await read.load_timeline(ctx.tx, workspace_id, row["id"], most, before)}


def _search(finder: PageSearch, actions: ActionPages) -> CapabilityHandler:
    async def search(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
        await actions.ensure(ctx, arguments.get("type"))
        return await finder.search(ctx.tx, ctx.actor.workspace_id, _parse_query(arguments))

    return search


def _build_query_handler(finder: PageSearch, actions: ActionPages) -> CapabilityHandler:
    async def query(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
        workspace_id = _resolve_workspace(ctx, arguments)
        await actions.ensure(ctx, arguments.get("type"))
        return await finder.query(ctx.tx, workspace_id, _parse_query(arguments))

    return query


def _parse_query(arguments: Arguments) -> PageQuery:
    text = next((arguments[name] for name in ("q", "query", "text") if name in arguments), "")
    most = int(arguments.get("limit", schemas.DEFAULT_SEARCH))
    since = read.parse_moment(arguments, "since") if "since" in arguments else None
    tags = tuple(tag.strip().lower() for tag in arguments.get("tags", ()))
    return PageQuery(text, arguments.get("type"), most, tags, since)


def _resolve_workspace(ctx: CallContext, arguments: Arguments) -> UUID:
    """Return the caller's workspace; any other one is reported as not found."""
    here = ctx.actor.workspace_id
    for name in ("search_space_id", "brain_id"):
        if name in arguments and UUID(arguments[name]) != here:
            raise NotFound("There is no such workspace.", code="no_workspace")
    return here
