"""The commands about capabilities, and their words."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import get_context
from mainspring.surfaces.cli.typer_functions import declared

_PANEL: Final = "Capabilities"


def add_to(app: typer.Typer) -> None:
    """Adds the commands, in the order in which a person meets them."""
    app.command(name="capabilities", rich_help_panel=_PANEL)(declared("capabilities"))
    app.command(name="call", rich_help_panel=_PANEL)(declared("call"))
    app.command(name="mcp", rich_help_panel=_PANEL)(_mcp)


def _mcp(
    ctx: typer.Context,
    url: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Use this server. Default: the one on this machine."),
    ] = None,
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print the configuration for an MCP client.")
    ] = False,
    toolset: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Offer these toolsets, such as authoring,boards."),
    ] = None,
    list_toolsets: Annotated[
        bool, typer.Option("--list-toolsets", help="List the toolsets.")
    ] = False,
    output_schemas: Annotated[
        bool, typer.Option("--output-schemas", help="List tools with their output schemas.")
    ] = False,
) -> int:
    """Serve MCP over stdin and stdout, for an MCP client that starts this command.

    It acts as the owner of the data folder, or as the holder of MAINSPRING_TOKEN.
    """
    from mainspring.surfaces.cli import mcp

    context = get_context(ctx)
    if list_toolsets:
        return mcp.list_toolsets(context.screen())
    selection = mcp.read_selection(toolset, output_schemas=output_schemas)
    if show_config:
        return mcp.show_config(context, context.screen(), url, selection)
    return finish(mcp.serve_mcp(context, url, selection))
