"""``pages``: texts kept and found, through the gate like every other call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import date_time, hint
from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext

_BECAME = {
    "created": "The page {slug} is created.",
    "updated": "The page {slug} is changed.",
    "ingested_again": "The page {slug} was ingested again; its text is unchanged.",
    "unchanged": "The page {slug} is unchanged: it was there already, just so.",
}


async def _call(context: CommandContext, capability: str, arguments: Mapping[str, Any]) -> Any:
    given = {name: value for name, value in arguments.items() if value is not None}
    async with open_client(context) as client:
        return await client.call(capability, given)


def _build_page_key(page: str) -> dict[str, str]:
    """A page by its id where the word is one, else by its slug."""
    try:
        return {"id": str(UUID(page))}
    except ValueError:
        return {"slug": page}


async def list_pages(context: CommandContext, screen: Screen, kind: str | None, limit: int) -> int:
    found = await _call(context, "list_pages", {"type": kind, "limit": limit})
    if screen.for_programs:
        screen.answer(found)
    elif found["pages"]:
        rows = (
            (
                page["slug"],
                page["type"],
                one_line(page["title"], 80),
                format_time(datetime.fromisoformat(page["ingested_at"]), screen),
            )
            for page in found["pages"]
        )
        screen.say(columns(("Page", "Type", "Title", "Came in"), rows, whole=("Page", "Came in")))
    else:
        screen.say("There are no such pages." if kind else "There are no pages yet.")
        screen.say(f"  {hint('pages', 'add', 'FILE')}")
    return exits.DONE


async def show_page(context: CommandContext, screen: Screen, page: str, *, raw: bool) -> int:
    found = await _call(context, "get_page", _build_page_key(page))
    if screen.for_programs:
        screen.answer(found)
    elif raw:
        screen.say(clean(found["markdown"]))
    else:
        screen.say(*_lines(found))
    return exits.DONE


def _lines(page: Mapping[str, Any]) -> list[Text]:
    from rich.text import Text

    lines = [
        Text(one_line(page["title"]), style="bold"),
        Text(f"  {page['slug']}, {page['type']}, id {page['id']}", style="bright_black"),
    ]
    if page["source_ref"]:
        lines.append(Text(f"  made from {one_line(page['source_ref'])}", style="bright_black"))
    lines += [
        Text(f"  {name}: {one_line(_plain(value), 120)}")
        for name, value in page["frontmatter"].items()
        if name not in {"title", "type", "slug", "source_ref"}
    ]
    lines += [Text(""), Text(clean(page["body"])), Text("")]
    for entry in page["timeline"]:
        at = date_time(datetime.fromisoformat(entry["at"]))
        by = f"run {entry['run_id']}" if entry["run_id"] else entry["actor_kind"]
        lines.append(Text(f"  {at}  {entry['action']} by {by}", style="bright_black"))
    return lines


def _plain(value: Any) -> str:
    """A value of the front matter as a person would write it."""
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    return value if isinstance(value, str) else as_json(value, indent=None)


async def add_page(
    context: CommandContext,
    screen: Screen,
    file: str,
    slug: str | None,
    kind: str | None,
    title: str | None,
) -> int:
    """A page from a file or a pipe."""
    from mainspring.surfaces.cli.documents import read_text
    from mainspring.workspace.pages.front_matter import split

    limits = context.limits()
    text = read_text(file, limits.page_bytes + limits.page_values_bytes)
    arguments = {"slug": slug, "type": kind, "title": title, "markdown": text}
    if kind is None and "type" not in split(text)[2]:
        arguments["type"] = "note"
    made = await _call(context, "create_page", arguments)
    if screen.for_programs:
        screen.answer(made)
    else:
        screen.say(_BECAME[made["became"]].format(slug=made["slug"]))
        screen.say(f"  {hint('pages', 'show', made['slug'])}")
    return exits.DONE


async def search_pages(
    context: CommandContext, screen: Screen, words: Sequence[str], kind: str | None, limit: int
) -> int:
    return await _show_found(context, screen, "search", " ".join(words), kind, limit)


async def query_pages(
    context: CommandContext, screen: Screen, words: Sequence[str], kind: str | None, limit: int
) -> int:
    return await _show_found(context, screen, "query", " ".join(words), kind, limit)


async def _show_found(
    context: CommandContext, screen: Screen, way: str, asked: str, kind: str | None, most: int
) -> int:
    if not asked.strip():
        detail = "There is nothing to look for."
        raise Invalid(detail, code="usage", findings=[Finding("/q", detail, "empty")])
    found = await _call(context, way, {"q": asked, "type": kind, "limit": most})
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    for page in found["pages"]:
        screen.say(*_hit(page))
    if not found["pages"]:
        screen.say("Nothing was found.")
    if found.get("note"):
        screen.say(f"  {found['note']}")
    return exits.DONE


def _hit(page: Mapping[str, Any]) -> list[Text]:
    from rich.text import Text

    head = Text.assemble((one_line(page["title"], 100), "bold"), f"  {page['slug']}")
    head.append(f"  {page['type']}", style="bright_black")
    shown = Text(f"  {page['snippet']}")
    for start, end in page["highlights"]:
        shown.stylize("bold", start + 2, end + 2)
    # The places were counted in the text as it is, so it is cleaned afterwards, sign by sign.
    if clean(page["snippet"]) != page["snippet"]:
        shown = Text(f"  {clean(page['snippet'])}")
    return [head, shown]


async def delete_page(context: CommandContext, screen: Screen, page: str) -> int:
    gone = await _call(context, "delete_page", _build_page_key(page))
    if screen.for_programs:
        screen.answer(gone)
    else:
        screen.say(f"The page {gone['slug']} is deleted.")
        screen.say(f"  {hint('pages', 'restore', gone['slug'])}")
    return exits.DONE


async def restore_page(context: CommandContext, screen: Screen, page: str) -> int:
    back = await _call(context, "restore_page", _build_page_key(page))
    if screen.for_programs:
        screen.answer(back)
    else:
        screen.say(f"The page {back['slug']} is there again.")
    return exits.DONE
