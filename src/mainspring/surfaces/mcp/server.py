"""The MCP methods and the tools that they list and call, in the protocol's low-level server.

It negotiates versions, validates each request against the schema of its version and knows the
methods. Messages about tools are answered before they reach it: lists and results come from the
toolbox, and each tool was converted once per version.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

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
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.context import ClientWait
from mainspring.contracts.errors import (
    ConsentRequired,
    Finding,
    InternalError,
    Invalid,
    NotFound,
    PersonRequired,
    Problem,
)
from mainspring.contracts.toolset import Toolset
from mainspring.definition.json_schema.published import flatten_schema, publish_schema
from mainspring.definition.tool_patterns import map_tool_aliases
from mainspring.surfaces.mcp.toolsets import ALL, DEFAULT, DESCRIPTIONS, ToolSelection
from mainspring.surfaces.rest.request_bodies import as_json
from mainspring.workspace.people.workspaces import name_if_several

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.contracts.context import Actor
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary
    from mainspring.gate.call import Gate
    from mainspring.gate.callers import CapabilityCaller
    from mainspring.gate.capability_offers import CapabilityOffer
    from mainspring.surfaces.services import ApplicationServices


# The tools of one caller: what the gate offers them, and a call served by the gate.
#
# Who is asking may differ from message to message, and so may the answer; a tool's text is
# the same for everybody who is offered it without pins, so it is made once.


# URL mode elicitation: the client opens the page where its person answers.

METHOD: Final = "elicitation/create"
COMPLETE: Final = "notifications/elicitation/complete"
# The first version of the protocol that has the URL mode.
URL_VERSION: Final = "2025-11-25"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_KEY: Final = "person"
# The first version in which a tool itself has a title; before that its annotations have it.
_TITLE_VERSION: Final = "2025-06-18"

# Makes the call again; it waits for the person until the event is set.
Serve = Callable[[asyncio.Event], Awaitable[Any]]
# Has the client open the page of a call that needs a person, and makes the call again; the client
# waits for so many seconds.
AskPerson = Callable[[PersonRequired, Serve, float], Awaitable[Any]]
# Sends the client a request, and answers what its person did with it: accept, decline or cancel.
Send = Callable[[dict[str, Any]], Awaitable[str]]
# Tells the client that the elicitation of this id is done.
Complete = Callable[[str], Awaitable[None]]


class InputRequired(Exception):
    """The call needs an answer of the client first."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        super().__init__("input required")
        self.result: dict[str, Any] = {
            "resultType": "input_required",
            "inputRequests": {_KEY: {"method": METHOD, "params": dict(params)}},
        }


def opens_urls(capabilities: Any) -> bool:
    """Whether a client with these capabilities opens pages; form mode alone does not count."""
    modes = capabilities.get("elicitation") if isinstance(capabilities, Mapping) else None
    return isinstance(modes, Mapping) and isinstance(modes.get("url"), Mapping)


def ask_by_request(send: Send, complete: Complete) -> AskPerson:
    """For versions in which the server sends requests to the client."""

    async def ask(problem: PersonRequired, serve: Serve, seconds: float) -> Any:
        dismissed, elicitation_id = asyncio.Event(), str(uuid4())

        async def open_page() -> None:
            if await send({**_params(problem), "elicitationId": elicitation_id}) != "accept":
                dismissed.set()

        asking = asyncio.create_task(open_page())
        try:
            value = await serve(dismissed)
        except PersonRequired:
            # It does not wait for the person; the client still shows the page.
            await asyncio.wait({asking}, timeout=seconds)
            raise
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        if not _is_pending(value):
            await complete(elicitation_id)
        return value

    return ask


def ask_by_result(params: Mapping[str, Any]) -> AskPerson | None:
    """For versions in which the call is sent again; None: the client opens no pages."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping) or not opens_urls(meta.get(_CAPABILITIES)):
        return None

    async def ask(problem: PersonRequired, serve: Serve, seconds: float) -> Any:
        del serve, seconds
        if _response(params) is None:
            raise InputRequired(_params(problem))
        raise problem

    return ask


def has_opened(params: Mapping[str, Any]) -> bool:
    """Whether a call was sent again because the client has opened the page."""
    return _response(params) == "accept"


def _response(params: Mapping[str, Any]) -> str | None:
    responses = params.get("inputResponses")
    found = responses.get(_KEY) if isinstance(responses, Mapping) else None
    return str(found.get("action")) if isinstance(found, Mapping) else None


def _is_pending(value: Any) -> bool:
    """Whether the person has not answered yet; of several drafts: all of them."""
    if not isinstance(value, Mapping):
        return False
    results = value.get("results")
    if isinstance(results, list):
        return any(map(_is_pending, results))
    return value.get("status") == "pending"


def _params(problem: PersonRequired) -> dict[str, Any]:
    return {"mode": "url", "message": problem.detail, "url": problem.url}


# What a call came to, as the protocol says it: the value and its text, or the problem.

# Where a program finds the whole problem when an error has no structured content.
PROBLEM_META_KEY: Final = "mainspring/problem"


def result_of(value: Any, *, wrapped: bool) -> dict[str, Any]:
    """The value as structured content, and the same as text for clients that read only that."""
    structured = {"result": value} if wrapped and not _is_otherwise(value) else value
    return {
        "content": [{"type": "text", "text": as_json(structured).decode()}],
        "structuredContent": structured,
        "isError": False,
    }


def failure_of(problem: Problem, *, structured: bool) -> dict[str, Any]:
    """The problem so that a model can act on it: a sentence, its places, a way out.

    Clients of the handshake versions (up to 2025-11-25) validate any structured content against
    the output schema, errors included, and show the mismatch instead of the error. For them the
    problem travels in the metadata, which no client validates.
    """
    whole = problem.as_dict()
    place = {"structuredContent": whole} if structured else {"_meta": {PROBLEM_META_KEY: whole}}
    return {
        "content": [{"type": "text", "text": "\n".join(_lines(problem))}],
        **place,
        "isError": True,
    }


def _lines(problem: Problem) -> list[str]:
    lines = [problem.detail]
    for finding in problem.findings:
        where = finding.pointer or "the arguments"
        lines.append(f"{where}: {finding.detail}")
        if finding.suggestion:
            lines.append(f"{where}: {finding.suggestion}")
    if problem.suggestion:
        lines.append(problem.suggestion)
    return lines


def _is_otherwise(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") in {
        "draft",
        "suppressed",
        "clarification",
        "noop",
    }


# Capabilities as tools: the same name, the same schemas, and hints about what a call does.

PAGE: Final = 200
# Examples of a tool's arguments that a list shows.
MOST_EXAMPLES: Final = 2

# A change under one of these verbs only adds; any other may change or remove what is there.
_ADDING: Final = frozenset({"add", "append", "create", "post", "publish", "save", "send"})
# Doing one of these again changes nothing more.
_REPEATABLE: Final = frozenset({"delete", "remove", "revoke", "set"})
_WORDS: Final = re.compile(r"[a-z0-9]+")

# What a call may come to instead of its result; see the outcomes of a call in the reference.
_OTHERWISE: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "Instead of the result: a draft that waits for a person, or why nothing was "
    "done.",
    "required": ["kind"],
    "properties": {"kind": {"enum": ["draft", "suppressed", "clarification", "noop"]}},
}


def describe(
    name: str,
    capability: Capability,
    input_schema: Mapping[str, Any],
    *,
    output_schema: bool = False,
) -> dict[str, Any]:
    """A tool of the protocol; ``input_schema`` is the capability's own, or one with pins."""
    schema, rule = flatten_schema(input_schema)
    if not schema.get("required", True):
        del schema["required"]
    if "examples" in schema:
        # A model needs one or two; the reference shows all of them.
        schema["examples"] = schema["examples"][:MOST_EXAMPLES]
    known_as = "" if name == capability.id else f"In an automation it is named {capability.id}."
    return {
        "name": name,
        "title": capability.label,
        "description": "\n\n".join(filter(None, (capability.description, rule, known_as))),
        "inputSchema": schema,
        **({"outputSchema": _output(capability)} if output_schema else {}),
        "annotations": hints(capability),
    }


def hints(capability: Capability) -> dict[str, Any]:
    """What a client may tell its person before a call."""
    effect = capability.annotations.effect
    words = frozenset(_WORDS.findall(capability.id))
    reads = effect is Effect.READ
    return {
        "title": capability.label,
        "readOnlyHint": reads,
        "destructiveHint": not reads and not words & _ADDING,
        "idempotentHint": reads or bool(words & _REPEATABLE),
        "openWorldHint": effect is Effect.SEND,
    }


def wraps(capability: Capability) -> bool:
    """Whether its results are put into an object, which is all that a tool may answer."""
    return capability.output_schema.get("type") != "object"


def _output(capability: Capability) -> dict[str, Any]:
    declared: dict[str, Any] = publish_schema(capability.output_schema)
    if wraps(capability):
        declared = _around(declared, lambda inner: {"properties": {"result": inner}})
        declared["required"] = ["result"]
    if capability.annotations.effect is Effect.READ:
        return declared
    return _around(declared, lambda inner: {"anyOf": [inner, _OTHERWISE]})


def _around(schema: dict[str, Any], outer: Any) -> dict[str, Any]:
    """A schema inside another one; its definitions stay at the root, where they are looked for."""
    lifted = {key: schema[key] for key in ("$schema", "$defs") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in lifted and key != "$id"}
    return {**lifted, "type": "object", **outer(inner)}


# Brings a tool into the form of one version of the protocol.
Spelling = Callable[[str, dict[str, Any]], dict[str, Any]]
# The id and the name of the workspace of a caller who is in several.
NameWorkspace = Callable[["Actor"], Awaitable["tuple[UUID, str] | None"]]


class McpToolbox:
    """Lists and calls, for any caller and any version of the protocol."""

    def __init__(
        self,
        gate: Gate,
        spell: Spelling,
        address: str = "",
        workspace: NameWorkspace | None = None,
    ) -> None:
        self._address = address
        self._workspace = workspace
        self._gate = gate
        self._spell = spell
        self._made: dict[tuple[str, str, bool], tuple[Capability, dict[str, Any]]] = {}

    async def page(
        self,
        caller: CapabilityCaller,
        version: str,
        cursor: str | None,
        selection: ToolSelection,
    ) -> tuple[list[dict[str, Any]], str | None]:
        """The tools after the cursor, and the cursor of the next page if there is one."""
        space = caller.actor.workspace_id
        alias_of = {
            known: alias for alias, known in map_tool_aliases(await self._gate.names(space)).items()
        }
        offers = sorted(
            (
                (alias_of.get(offer.capability.id, offer.capability.id), offer)
                for offer in await self._gate.offers(caller)
                if selection.includes(offer.capability, caller)
            ),
            key=_name,
        )
        begin = 0 if cursor is None else bisect_right(offers, _read_cursor(cursor), key=_name)
        shown = offers[begin : begin + PAGE]
        more = begin + PAGE < len(offers)
        tools = [self._tool(name, offer, version, selection) for name, offer in shown]
        return tools, _cursor(_name(shown[-1])) if more else None

    async def call(
        self,
        caller: CapabilityCaller,
        name: str,
        arguments: Mapping[str, Any],
        selection: ToolSelection,
        *,
        structured: bool,
        ask_person: AskPerson | None = None,
    ) -> dict[str, Any]:
        """The result of a call, also when it failed; ``Missing`` for a tool that is not offered.

        ``structured`` says whether an error may have structured content. ``ask_person`` is for
        clients that open pages.
        """
        space = caller.actor.workspace_id
        capability, found = name, await self._gate.find(space, name)
        if found is None:
            capability = map_tool_aliases(await self._gate.names(space)).get(name, name)
            found = await self._gate.find(space, capability)
        _check_selected(name, found, caller, selection)
        try:
            value = await self._served(caller, capability, arguments, ask_person)
        except Problem as problem:
            if found is None or not caller.sees(found):
                raise unknown_tool(name) from None
            if isinstance(problem, ConsentRequired):
                problem.locate(self._address)
            return failure_of(problem, structured=structured)
        # A tool that has come only while it was called is asked for anew.
        found = found or await self._gate.find(space, capability)
        return result_of(value, wrapped=found is None or wraps(found))

    async def _served(
        self,
        caller: CapabilityCaller,
        capability: str,
        arguments: Mapping[str, Any],
        ask_person: AskPerson | None,
    ) -> Any:
        wait = caller.client_wait
        if wait is not None:
            wait = replace(wait, opens_pages=ask_person is not None)
            caller = replace(caller, client_wait=wait)
        try:
            return await self._gate.serve(caller, capability, arguments)
        except PersonRequired as problem:
            problem.locate(self._address)
            if self._workspace is not None:
                problem.name_workspace(await self._workspace(caller.actor))
            if ask_person is None or wait is None:
                raise

            async def again(dismissed: asyncio.Event) -> Any:
                opened = replace(wait, dismissed=dismissed.is_set)
                waiting = replace(caller, client_wait=opened)
                return await self._gate.serve(waiting, capability, arguments)

            return await ask_person(problem, again, wait.seconds)

    def _tool(
        self, name: str, offer: CapabilityOffer, version: str, selection: ToolSelection
    ) -> dict[str, Any]:
        capability, with_output = offer.capability, selection.output_schemas

        def spell() -> dict[str, Any]:
            schema = offer.input_schema
            return self._spell(
                version, describe(name, capability, schema, output_schema=with_output)
            )

        if offer.input_schema is not capability.input_schema:
            return spell()
        known, made = self._made.get((name, version, with_output), (None, {}))
        # One name may mean another tool in another workspace, or a newer one in the same.
        if known is not capability:
            made = spell()
            self._made[name, version, with_output] = (capability, made)
        return made


def _check_selected(
    name: str, found: Capability | None, caller: CapabilityCaller, selection: ToolSelection
) -> None:
    """Refuse a tool that the session does not list."""
    if found is None:
        # It may still be a tool of a connected server that is not loaded yet.
        if selection.names is None or selection.names & {ALL, DEFAULT, Toolset.CONNECTED}:
            return
        raise unknown_tool(name)
    if selection.includes(found, caller):
        return
    if not caller.sees(found):
        raise unknown_tool(name)
    toolset = found.annotations.toolset or ALL
    chosen = {toolset, *(selection.names or (DEFAULT,))}
    raise NotFound(
        f"The tool {name!r} is not in the toolsets of this session.",
        code="unknown_tool",
        suggestion=f"Connect with ?toolset={','.join(sorted(chosen))} in the address, "
        "or with that value as --toolset.",
    )


def unknown_tool(name: str) -> NotFound:
    """The same for what does not exist and for what this caller may not know of."""
    return NotFound(
        f"There is no tool called {name[:100]!r}.",
        code="unknown_tool",
        suggestion="Ask for tools/list to see what you may call.",
    )


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _read_cursor(cursor: str) -> str:
    """The last name of the page before; a tool that is gone since then breaks nothing."""
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        detail = "The cursor was not given out by this server."
        raise Invalid(detail, findings=[Finding("/cursor", detail, "cursor")]) from None


def _name(named: tuple[str, CapabilityOffer]) -> str:
    return named[0]


Context = ServerRequestContext[Any, Any]
# Identifies the sender of a message: from its transport, or a fixed caller.
Who = Callable[[Context], Awaitable["CapabilityCaller"]]

# Sends progress: the seconds since the call began, and a sentence.
Report = Callable[[float, str], Awaitable[None]]

# Clients time out after 60 seconds; a call that can be answered earlier is.
CLIENT_SECONDS: Final = 45.0
METHODS: Final = frozenset({"tools/list", "tools/call"})
NAME: Final = "mainspring"
TITLE: Final = "Mainspring"
INSTRUCTIONS: Final = (
    "These tools are the capabilities of a Mainspring workspace that your token can call and that "
    "the toolsets of this session contain. Arguments are validated strictly: an unknown name or an "
    "invalid value is an error result that says where and how to fix it. A tool that writes "
    "outside can return a draft (kind: draft). Nothing is sent until a person confirms it: call "
    "confirm_action to lead them to the page. More tools are in other toolsets: connect with "
    f"?toolset=NAMES, separated by commas ({', '.join(DESCRIPTIONS)})."
)
# A list changes rarely: with a role or a token, or with the connections of the workspace.
_LIST_MS: Final = 60_000
# The overhead of a message around the arguments of a call.
_AROUND: Final = 65_536
_LEVELS_AROUND: Final = 2


class McpToolMethods:
    """Answers the two methods about tools, in any protocol version."""

    def __init__(
        self,
        services: ApplicationServices,
        has_page: Callable[[], bool] = lambda: True,
        selection: ToolSelection | None = None,
    ) -> None:
        self._has_page = has_page
        self._selection = selection or ToolSelection()
        self._toolbox = McpToolbox(
            services.gate,
            serialize_tool,
            services.settings.address,
            partial(name_if_several, services.database),
        )
        self._stamp = {SERVER_INFO_META_KEY: {"name": NAME, "title": TITLE, "version": __version__}}

    async def answer(
        self,
        caller: CapabilityCaller,
        method: str,
        version: str,
        params: Mapping[str, Any] | None,
        report: Report | None = None,
        ask_person: AskPerson | None = None,
        selection: ToolSelection | None = None,
    ) -> dict[str, Any]:
        """The result; protocol errors are raised as the library's.

        ``report`` sends progress to the client during the call, ``ask_person`` a request to open a
        page. ``selection`` replaces the tools that the server was built with.
        """
        given = params or {}
        chosen = selection or self._selection
        is_modern = version in MODERN_PROTOCOL_VERSIONS
        # Raises the exception that the library maps to invalid parameters.
        validate_client_request(method, version, given)
        try:
            if method == "tools/list":
                made = await self._list(caller, version, given.get("cursor"), chosen)
            else:
                arguments = given.get("arguments") or {}
                opened = is_modern and has_opened(given)
                made = await self._toolbox.call(
                    _with_client_wait(caller, report, opened=opened),
                    given["name"],
                    arguments,
                    chosen,
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
        """Elicitation is disabled if no server shows the page."""
        return ask_person if ask_person is not None and self._has_page() else None

    async def _list(
        self,
        caller: CapabilityCaller,
        version: str,
        cursor: str | None,
        selection: ToolSelection,
    ) -> dict[str, Any]:
        tools, following = await self._toolbox.page(caller, version, cursor, selection)
        made: dict[str, Any] = {"tools": tools}
        if following is not None:
            made["nextCursor"] = following
        if version in MODERN_PROTOCOL_VERSIONS:
            made |= {"ttlMs": _LIST_MS, "cacheScope": "private"}
        return made


def _with_client_wait(
    caller: CapabilityCaller, report: Report | None, *, opened: bool
) -> CapabilityCaller:
    """The caller with the timeout of MCP clients; a run has none.

    ``opened``: the client has opened the page where a person answers.
    """
    if caller.held is not None:
        return caller
    began, last = monotonic(), 0.0

    async def tell(message: str) -> None:
        nonlocal last
        assert report is not None
        # Progress values must increase.
        last = round(max(monotonic() - began, last + 0.1), 1)
        await report(last, message)

    send_progress = None if report is None else tell
    wait = ClientWait(CLIENT_SECONDS, send_progress, (lambda: False) if opened else None)
    return replace(caller, client_wait=wait)


def progress_token(params: Mapping[str, Any] | None) -> str | int | None:
    """The progress token of a request; None: the client requested no progress."""
    meta = (params or {}).get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    return token if isinstance(token, str | int) else None


def message_limits(limits: Limits, vocabulary: Vocabulary) -> Limits:
    """The size limit of a message: the largest arguments of any capability and the overhead.

    It is the same for every caller, so only native capabilities count: an external tool takes no
    more.
    """
    largest = (one.annotations.arguments_bytes or 0 for one in vocabulary.capabilities.values())
    most = max(limits.json_bytes, *largest) + _AROUND
    return replace(limits, json_bytes=most, json_depth=limits.json_depth + _LEVELS_AROUND)


def build_server(tools: McpToolMethods, who: Who) -> Server[Any]:
    """The library's server with these tools; ``who`` identifies the sender of each message."""

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
    # The library's telemetry has no receiver here, and costs every message.
    made.middleware[:] = [answer]
    return made


def _asking(ctx: Context) -> AskPerson | None:
    """Asks a client to open a page, over a connection on which it accepts requests."""
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


def serialize_tool(version: str, tool: dict[str, Any]) -> dict[str, Any]:
    """A tool in the schema of this protocol version; an invalid one is a bug."""
    if version >= _TITLE_VERSION:
        shown = {key: value for key, value in tool["annotations"].items() if key != "title"}
        tool = {**tool, "annotations": shown}
    whole = {"tools": [tool], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    try:
        made: dict[str, Any] = serialize_server_result("tools/list", version, whole)["tools"][0]
    except ValidationError:
        raise InternalError(f"The tool {tool['name']} does not fit the protocol.") from None
    return made


async def _never(ctx: Context, params: Any) -> HandlerResult:
    """Only declares that there are tools; messages about them are answered before."""
    raise AssertionError(f"{ctx.method} was not answered: {type(params).__name__}")
