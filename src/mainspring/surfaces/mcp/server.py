"""The protocol's own low-level server, with our tools in it.

It negotiates versions, checks each request against the schema of its version and knows
which methods there are. Messages about tools are answered before they reach it: lists and
results are made by the toolbox, and each tool was brought into the form of a version once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    SERVER_INFO_META_KEY,
    CallToolRequestParams,
)
from mcp_types import PaginatedRequestParams as ListParams
from mcp_types.methods import serialize_server_result, validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mainspring import __version__
from mainspring.contracts.context import ClientWait
from mainspring.contracts.errors import InternalError, Problem
from mainspring.surfaces.mcp.toolbox import (
    URL_VERSION,
    AskPerson,
    InputRequired,
    McpToolbox,
    ask_by_request,
    ask_by_result,
    has_opened,
)
from mainspring.workspace.people.workspaces import name_if_several

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary
    from mainspring.gate.callers import CapabilityCaller
    from mainspring.surfaces.services import ApplicationServices

Context = ServerRequestContext[Any, Any]
# Says who sent a message: by what it came with, or always the same.
Who = Callable[[Context], Awaitable["CapabilityCaller"]]

# Sends progress: the seconds since the call came, and a sentence.
Report = Callable[[float, str], Awaitable[None]]

# Clients give up after 60 seconds; a call that can be answered earlier is.
CLIENT_SECONDS: Final = 45.0
METHODS: Final = frozenset({"tools/list", "tools/call"})
NAME: Final = "mainspring"
TITLE: Final = "Mainspring"
INSTRUCTIONS: Final = (
    "These tools are the capabilities of a Mainspring workspace: what it keeps, and what it may "
    "do outside. You see the ones that your token may call. Arguments are checked strictly: an "
    "unknown name or a value out of bounds is an error result that says where and what to do. "
    "A tool that reaches outside may answer with a draft (kind: draft), which a person must "
    "confirm before anything leaves: confirm_action leads them to the page where they do."
)
# A list changes seldom: with somebody's role or token, or with what the workspace connects to.
_LIST_MS: Final = 60_000
# What a message has around the arguments of a call.
_AROUND: Final = 65_536
_LEVELS_AROUND: Final = 2


class McpToolMethods:
    """Answers the two methods about tools, in the words of any version."""

    def __init__(
        self, rooms: ApplicationServices, has_page: Callable[[], bool] = lambda: True
    ) -> None:
        self._has_page = has_page
        self._toolbox = McpToolbox(
            rooms.gate,
            _serialize_tool,
            rooms.settings.address,
            partial(name_if_several, rooms.database),
        )
        self._stamp = {SERVER_INFO_META_KEY: {"name": NAME, "title": TITLE, "version": __version__}}

    async def answer(
        self,
        visitor: CapabilityCaller,
        method: str,
        version: str,
        params: Mapping[str, Any] | None,
        report: Report | None = None,
        ask_person: AskPerson | None = None,
    ) -> dict[str, Any]:
        """The result; errors of the protocol are raised as the library's.

        ``report`` sends progress to the client while the call goes on, ``ask_person`` a request to
        open a page.
        """
        given = params or {}
        is_modern = version in MODERN_PROTOCOL_VERSIONS
        # Raises what the library makes an error for wrong parameters of.
        validate_client_request(method, version, given)
        try:
            if method == "tools/list":
                made = await self._list(visitor, version, given.get("cursor"))
            else:
                arguments = given.get("arguments") or {}
                opened = is_modern and has_opened(given)
                made = await self._toolbox.call(
                    _with_client_wait(visitor, report, opened=opened),
                    given["name"],
                    arguments,
                    structured=is_modern,
                    ask_person=self._way(ask_by_result(given) if is_modern else ask_person),
                )
        except InputRequired as needed:
            return {**needed.result, "_meta": dict(self._stamp)}
        except Problem as problem:
            code = INTERNAL_ERROR if isinstance(problem, InternalError) else INVALID_PARAMS
            raise MCPError(code, problem.detail, problem.as_dict()) from None
        if is_modern:
            made |= {"resultType": "complete", "_meta": dict(self._stamp)}
        return made

    def _way(self, ask_person: AskPerson | None) -> AskPerson | None:
        """No client is asked to open a page that no server shows."""
        return ask_person if ask_person is not None and self._has_page() else None

    async def _list(
        self, caller: CapabilityCaller, version: str, cursor: str | None
    ) -> dict[str, Any]:
        tools, following = await self._toolbox.page(caller, version, cursor)
        made: dict[str, Any] = {"tools": tools}
        if following is not None:
            made["nextCursor"] = following
        if version in MODERN_PROTOCOL_VERSIONS:
            made |= {"ttlMs": _LIST_MS, "cacheScope": "private"}
        return made


def _with_client_wait(
    caller: CapabilityCaller, report: Report | None, *, opened: bool
) -> CapabilityCaller:
    """The visitor as one who waits as long as MCP clients do; a run waits as long as it takes.

    ``opened``: the client has opened the page where a person answers.
    """
    if caller.held is not None:
        return caller
    began, last = monotonic(), 0.0

    async def tell(message: str) -> None:
        nonlocal last
        assert report is not None
        # Each progress of a request is larger than the one before.
        last = round(max(monotonic() - began, last + 0.1), 1)
        await report(last, message)

    told = None if report is None else tell
    wait = ClientWait(CLIENT_SECONDS, told, (lambda: False) if opened else None)
    return replace(caller, client_wait=wait)


def progress_token(params: Mapping[str, Any] | None) -> str | int | None:
    """By what the client tells the progress of this request; None: it asked for none."""
    meta = (params or {}).get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    return token if isinstance(token, str | int) else None


def message_limits(limits: Limits, vocabulary: Vocabulary) -> Limits:
    """Room for the largest arguments that any capability takes, and for what is around them.

    It is the same for everybody, so natives alone count: a tool from outside takes no more.
    """
    largest = (one.annotations.arguments_bytes or 0 for one in vocabulary.capabilities.values())
    most = max(limits.json_bytes, *largest) + _AROUND
    return replace(limits, json_bytes=most, json_depth=limits.json_depth + _LEVELS_AROUND)


def build_server(tools: McpToolMethods, who: Who) -> Server[Any]:
    """The library's server with these tools; ``who`` is asked for each message about them."""

    async def answer(ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method not in METHODS or ctx.request_id is None:
            return await call_next(ctx)

        async def report(seconds: float, message: str) -> None:
            await ctx.session.report_progress(seconds, message=message)

        caller = await who(ctx)
        return await tools.answer(
            caller, ctx.method, ctx.protocol_version, ctx.params, report, _asking(ctx)
        )

    made: Server[Any] = Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=INSTRUCTIONS,
        cache_hints={"server/discover": CacheHint(_LIST_MS, "private")},
    )
    made.add_request_handler("tools/list", ListParams, _never)
    made.add_request_handler("tools/call", CallToolRequestParams, _never)
    # Nobody is set up to receive the library's telemetry, and it costs every message.
    made.middleware[:] = [answer]
    return made


def _asking(ctx: Context) -> AskPerson | None:
    """How a client is asked to open a page over a connection on which it takes requests."""
    has = ctx.session.client_capabilities
    modes = None if has is None else has.elicitation
    if ctx.protocol_version != URL_VERSION or modes is None or modes.url is None:
        return None

    async def send(params: dict[str, Any]) -> str:
        given = (params["message"], params["url"], params["elicitationId"], ctx.request_id)
        try:
            return (await ctx.session.elicit_url(*given)).action
        except MCPError:
            # The client cannot open it after all.
            return "cancel"

    async def complete(elicitation_id: str) -> None:
        await ctx.session.send_elicit_complete(elicitation_id, ctx.request_id)

    return ask_by_request(send, complete)


def _serialize_tool(version: str, tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as this version of the protocol writes it; a wrong one is a mistake of ours."""
    whole = {"tools": [tool], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    try:
        made: dict[str, Any] = serialize_server_result("tools/list", version, whole)["tools"][0]
    except ValidationError:
        raise InternalError(f"The tool {tool['name']} does not fit the protocol.") from None
    return made


async def _never(ctx: Context, params: Any) -> HandlerResult:
    """Only says that there are tools; messages about them are answered before they come here."""
    raise AssertionError(f"{ctx.method} was not answered: {type(params).__name__}")
