"""``mcp``: the MCP server for a client that starts it, and what such a client is told."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

from mainspring.contracts.errors import Invalid, Unauthenticated, UpstreamError
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.running_server import find_running_server
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.server_presence import server_address
from mainspring.surfaces.mcp.toolsets import DESCRIPTIONS, ToolSelection, parse_toolsets
from mainspring.workspace.tokens import read_owner_token

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.context import CommandContext

NAME: Final = "mainspring"
_PATH: Final = "/mcp"
_TOKEN: Final = "MAINSPRING_TOKEN"  # noqa: S105


async def serve_mcp(context: CommandContext, url: str | None, selection: ToolSelection) -> int:
    """Speaks the protocol on stdin and stdout until stdin closes."""
    settings = context.settings()
    if url is not None:
        from mainspring.surfaces.mcp.bridge import bridge

        await bridge(_select(read_url(url), selection), _token(settings))
        return exits.DONE
    if await _forwarded(settings, selection):
        return exits.DONE
    from mainspring.surfaces.cli.caller import local_caller
    from mainspring.surfaces.mcp.stdio import serve_stdio

    async with context.doors.open(settings) as services:
        # Said before the client waits for an answer that cannot come.
        await local_caller(services)
        await serve_stdio(
            services,
            lambda: local_caller(services, by_program=True),
            has_page=lambda: _has_page(settings),
            selection=selection,
        )
    return exits.DONE


def _has_page(settings: Settings) -> bool:
    """Whether people can answer on a page: a server is up here, or is known to be elsewhere."""
    return settings.public_url is not None or find_running_server(settings.home) is not None


def _select(address: str, selection: ToolSelection) -> str:
    query = selection.as_query()
    return f"{address}?{query}" if query else address


async def _forwarded(settings: Settings, selection: ToolSelection) -> bool:
    """Lets the server that is up on this data folder answer, if it can be reached.

    Forwarding starts in a third of the time that loading the whole application takes.
    """
    server = find_running_server(settings.home)
    token = settings.token or read_owner_token(settings.home)
    if server is None or not server.local_address or token is None:
        return False
    from mainspring.surfaces.mcp.bridge import bridge

    try:
        await bridge(_select(server.local_address + _PATH, selection), token, proxies=False)
    except (UpstreamError, Unauthenticated):
        if settings.token is not None:
            raise
        return False
    return True


def read_selection(toolset: str | None, *, output_schemas: bool) -> ToolSelection:
    """The tools that the options choose."""
    names = None if toolset is None else parse_toolsets(toolset)
    return ToolSelection(names, output_schemas)


def list_toolsets(screen: Screen) -> int:
    """Every toolset with one sentence."""
    screen.answer(dict(DESCRIPTIONS))
    return exits.DONE


def show_config(
    context: CommandContext, screen: Screen, url: str | None, selection: ToolSelection
) -> int:
    """What to put into the settings of an MCP client: as a child, and over HTTP."""
    settings = context.settings()
    address = read_url(url) if url else server_address(settings) + _PATH
    child: dict[str, Any] = {
        "command": sys.executable,
        "args": ["-m", "mainspring", "--home", str(settings.home), "mcp"],
    }
    if url:
        child["args"] = ["-m", "mainspring", "mcp", "--url", address]
        child["env"] = {_TOKEN: "msk_…"}
    if selection.names is not None:
        child["args"] += ["--toolset", ",".join(sorted(selection.names))]
    if selection.output_schemas:
        child["args"].append("--output-schemas")
    http = {
        "type": "http",
        "url": _select(address, selection),
        "headers": {"Authorization": "Bearer msk_…"},
    }
    screen.answer({"mcpServers": {NAME: child, f"{NAME}-http": http}})
    return exits.DONE


def read_url(text: str) -> str:
    """The address of an MCP server; the path may be left out, a token may not be in it."""
    split = _split(text)
    if split is None:
        raise Invalid(
            "The address of the server is not one.",
            code="bad_url",
            suggestion="Write it like http://127.0.0.1:8420 or https://host/mcp.",
        )
    if split.username is not None or split.password is not None or split.query or split.fragment:
        raise Invalid(
            "The address may hold no user, query or fragment.",
            code="bad_url",
            suggestion=f"Set the token as {_TOKEN}; an address ends up in histories and logs.",
        )
    return text.rstrip("/") + ("" if split.path.strip("/") else _PATH)


def _split(text: str) -> SplitResult | None:
    try:
        split = urlsplit(text)
        usable = split.scheme in ("http", "https") and split.hostname and split.port != 0
    except ValueError:
        return None
    return split if usable else None


def _token(settings: Settings) -> str:
    if settings.token is None:
        raise Unauthenticated(
            "A server elsewhere needs a token.",
            code="no_token",
            suggestion=f"Set {_TOKEN} to a valid token.",
        )
    if not settings.token.isascii() or not settings.token.isprintable():
        raise Unauthenticated(
            f"What {_TOKEN} is set to is no token.",
            code="no_token",
            suggestion="Copy a whole token, as it was shown when it was made.",
        )
    return settings.token
