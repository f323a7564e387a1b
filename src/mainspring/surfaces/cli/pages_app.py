"""The commands about pages, and their words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import KEPT, Json, help_alone, make_group, open_context

Slug = Annotated[str, typer.Argument(metavar="PAGE", help="A page's slug, or its id.")]
Words = Annotated[list[str], typer.Argument(metavar="WORDS...", help="What to look for.")]
Type = Annotated[str | None, typer.Option("--type", help="Only pages of this type.")]
Most = Annotated[int, typer.Option("--limit", min=1, max=100, help="How many at most.")]


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands about pages."""
    group = make_group("Keep texts, and find them by words and by meaning.")

    @group.callback(invoke_without_command=True)
    def pages(ctx: typer.Context) -> None:
        """Keep texts, and find them by words and by meaning."""
        help_alone(ctx)

    group.command(name="list")(_list)
    group.command(name="show")(_show)
    group.command(name="add")(_add)
    group.command(name="search")(_search)
    group.command(name="query")(_query)
    group.command(name="delete")(_delete)
    group.command(name="restore")(_restore)
    app.add_typer(group, name="pages", rich_help_panel=KEPT)


def _list(
    ctx: typer.Context, kind: Type = None, limit: Most = 50, for_programs: Json = False
) -> int:
    """List pages, the last to come in first."""
    from mainspring.surfaces.cli.pages import list_pages

    context, screen = open_context(ctx, for_programs)
    return finish(list_pages(context, screen, kind, limit))


def _show(
    ctx: typer.Context,
    page: Slug,
    raw: Annotated[
        bool, typer.Option("--raw", help="The whole text alone, as `add` takes it.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Show a page: its text, its values, and what happened to it."""
    from mainspring.surfaces.cli.pages import show_page

    context, screen = open_context(ctx, for_programs)
    return finish(show_page(context, screen, page, raw=raw))


def _add(
    ctx: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Markdown with front matter, or - for a pipe.")
    ],
    slug: Annotated[str | None, typer.Option(help="Its name; default: from the title.")] = None,
    kind: Annotated[
        str | None, typer.Option("--type", help="Its type, where the text says none: note.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Its title, where the text has none.")] = None,
    for_programs: Json = False,
) -> int:
    """Write a page from a text; the same page again is changed, never doubled."""
    from mainspring.surfaces.cli.pages import add_page

    context, screen = open_context(ctx, for_programs)
    said = {"slug": slug, "type": kind, "title": title}
    return finish(add_page(context, screen, file, said))


def _search(
    ctx: typer.Context,
    words: Words,
    kind: Type = None,
    limit: Most = 20,
    for_programs: Json = False,
) -> int:
    """Search pages by words; "a phrase", OR and, after --, -without are understood."""
    from mainspring.surfaces.cli.pages import find_pages

    context, screen = open_context(ctx, for_programs)
    return finish(find_pages(context, screen, "search", " ".join(words), kind, limit))


def _query(
    ctx: typer.Context,
    words: Words,
    kind: Type = None,
    limit: Most = 20,
    for_programs: Json = False,
) -> int:
    """Ask for pages by words, by likeness and, where a model is set, by meaning."""
    from mainspring.surfaces.cli.pages import find_pages

    context, screen = open_context(ctx, for_programs)
    return finish(find_pages(context, screen, "query", " ".join(words), kind, limit))


def _delete(ctx: typer.Context, page: Slug, for_programs: Json = False) -> int:
    """Delete a page; writing it again, or restoring it, brings it back."""
    from mainspring.surfaces.cli.pages import delete_page

    context, screen = open_context(ctx, for_programs)
    return finish(delete_page(context, screen, page))


def _restore(ctx: typer.Context, page: Slug, for_programs: Json = False) -> int:
    """Bring a deleted page back."""
    from mainspring.surfaces.cli.pages import restore_page

    context, screen = open_context(ctx, for_programs)
    return finish(restore_page(context, screen, page))
