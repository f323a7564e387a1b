"""act_on_integration: one write to an integration, by an exact action or in words.

Either way it becomes exact first, is judged by the action's own words, and is then held: a
person sees what would leave before anything does.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mainspring.connections.call_context import GateContext
from mainspring.connections.ingestion.sources import route_to
from mainspring.connections.installed_integrations import (
    InstalledIntegration,
    InstalledIntegrations,
    IntegrationAction,
    install_id_of,
)
from mainspring.contracts.capability import (
    Annotations,
    Capability,
    ConnectionRoute,
    Effect,
    Resolve,
    Write,
    require_part,
)
from mainspring.contracts.errors import Conflict, Finding, InternalError, Invalid, Problem
from mainspring.contracts.integration import ItemFile
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import (
    NO_MODEL,
    ModelMessage,
    ModelReply,
    ModelRequest,
    ModelTool,
    ToolCall,
    ToolResult,
)
from mainspring.contracts.outcome import NeedsClarification, NothingToDo, ResolvedArguments
from mainspring.contracts.toolset import Toolset
from mainspring.definition.json_in_text import parse_json_text
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.pages.read import find_page

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database


# The shapes of act_on_integration: an exact action, or a request in words.

MOST_FILES: Final = 5
FILE_BYTES: Final = 10 * 1024 * 1024
# Base64 has four characters for three bytes; what stands around the files is small.
ARGUMENTS_BYTES: Final = MOST_FILES * (FILE_BYTES + 2) // 3 * 4 + 1_048_576
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_EXAMPLE_TIME: Final = "2026-08-01T10:00:00+00:00"

_OTHER_SHAPE: Final[dict[str, Any]] = {
    "not": {},
    "x-mainspring-says": "Give source and request, or install_id, action_name and input; not a "
    "part of both.",
}
MAIL: Final[dict[str, Any]] = {
    "install_id": str(install_id_of("email")),
    "action_name": "send_email",
    "input": {
        "to": ["ada@example.com"],
        "subject": "Re: next week",
        "body": "Friday works for us.",
    },
}
_FILE: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["filename", "content_base64"],
    "properties": {
        "filename": {"type": "string", "minLength": 1, "maxLength": 255},
        "content_base64": {"type": "string", "minLength": 1},
        "mime_type": {"type": "string", "minLength": 1, "maxLength": 255},
    },
}


def acting_input(sources: Sequence[str]) -> dict[str, Any]:
    """What act_on_integration takes: one of two shapes, and what goes with either."""
    words = {"source": "email", "request": "Tell ada@example.com that Friday works."}
    mixed = {**MAIL, "request": "and be quick"}
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "properties": {**_tuple(), **_words_schema(sources), **_beside()},
        "if": {"anyOf": [{"required": ["source"]}, {"required": ["request"]}]},
        "then": {
            "required": ["source", "request"],
            "properties": dict.fromkeys(("install_id", "action_name", "input"), _OTHER_SHAPE),
        },
        "else": {"required": ["install_id", "action_name", "input"]},
        "examples": [
            MAIL,
            words,
            {
                "install_id": str(install_id_of("slack")),
                "action_name": "slack_post",
                "input": {"channel": "C0123456789", "text": "The build is green again."},
                "batch_id": "01900000-0000-7000-8000-0000000000b1",
                "notify": ["inbox", "telegram"],
            },
        ],
        "x-mainspring-anti-examples": [
            {
                "value": {"action_name": "send_email", "input": {}},
                "reason": "of which integration?",
            },
            {
                "value": {**MAIL, "install_id": "email"},
                "reason": "an integration is named by its install id",
            },
            {"value": {"source": "email"}, "reason": "and what is to be done?"},
            {"value": {"request": words["request"]}, "reason": "with which integration?"},
            {"value": {**MAIL, "input": "Friday works."}, "reason": "an input is an object"},
            {"value": mixed, "reason": "one shape or the other"},
            {"value": {**words, "notify": ["sms"]}, "reason": "the inbox or Telegram"},
            {
                "value": {**MAIL, "attachments": [{"filename": "a.pdf"}]},
                "reason": "a file has a content",
            },
        ],
    }


def _tuple() -> dict[str, Any]:
    return {
        "install_id": {
            "type": "string",
            "format": "uuid",
            "description": "The integration, from the description of this tool or a query with "
            "type integration_action.",
        },
        "action_name": {
            "type": "string",
            "description": "Such as send_email.",
            "minLength": 1,
            "maxLength": 200,
        },
        "input": {
            "type": "object",
            "description": "Arguments of the action. send_email: to, subject, body and, for a "
            "reply, thread_id.",
        },
    }


def _words_schema(sources: Sequence[str]) -> dict[str, Any]:
    source: dict[str, Any] = {
        "type": "string",
        "description": "The integration of a request.",
    }
    return {
        "source": {**source, "enum": list(sources)} if sources else source,
        "request": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1_000,
            "description": "What to do, in plain words. Describes one action.",
        },
    }


def _beside() -> dict[str, Any]:
    return {
        "attachments": {
            "type": "array",
            "maxItems": MOST_FILES,
            "items": _FILE,
            "description": "At most 10 MB each.",
        },
        "attach_from_page": {
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
            "description": "Gmail only: slug of an email page whose attachments to send.",
        },
        "notify": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"enum": ["inbox", "telegram"]},
            "default": ["inbox"],
            "description": "Where people confirm.",
        },
        "batch_id": {
            "type": "string",
            "format": "uuid",
            "description": "Groups the drafts of one turn for one decision.",
        },
    }


OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "required": ["kind"],
    "properties": {
        "kind": {
            "description": "clarification: answer the question and call again. noop: nothing to "
            "do. suppressed: a dry run.",
            "enum": ["draft", "clarification", "noop", "suppressed"],
        },
        "draft_id": {"type": "string", "format": "uuid"},
        "action": {"type": "string", "description": "Name of the action."},
        "preview": {"type": "string", "description": "One sentence about the effect."},
        "payload": {"type": "object", "description": "The request as given."},
        "expires_at": {"type": "string", "format": "date-time"},
        "hash": {"type": "string", "description": "Of what a person is shown."},
        "account": {"type": "string", "description": "The account it would be sent from."},
        "question": {"type": "string"},
        "reason": {"type": "string"},
        "note": {
            "type": "string",
            "description": "How a request was read if no model was available.",
        },
    },
    "allOf": [
        {
            "if": {"properties": {"kind": {"enum": ["draft", "suppressed"]}}},
            "then": {"required": ["draft_id", "preview", "payload", "expires_at"]},
        },
        {
            "if": {"properties": {"kind": {"const": "clarification"}}},
            "then": {"required": ["question"]},
        },
        {"if": {"properties": {"kind": {"const": "noop"}}}, "then": {"required": ["reason"]}},
    ],
    "examples": [
        {
            "kind": "draft",
            "draft_id": "01900000-0000-7000-8000-0000000000d1",
            "action": "send_email",
            "preview": "Send to ada@example.com “Re: next week”: Friday works for us.",
            "payload": MAIL,
            "expires_at": _EXAMPLE_TIME,
        },
        {"kind": "clarification", "question": "Which Omer do you mean?"},
        {"kind": "noop", "reason": "There is no one to answer."},
    ],
    "x-mainspring-anti-examples": [
        {"value": {"kind": "draft"}, "reason": "a draft says what waits, and until when"},
        {"value": {"kind": "clarification"}, "reason": "what is asked?"},
    ],
}


# Reading a request without a model, where it cannot mean anything else.

_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
# What sets the text off: a word that can mean nothing else, or a colon.
_TEXT: Final = re.compile(
    r"(?:\bsaying(?:\s+that)?\b|\bto say(?:\s+that)?\b|\bthat\b|:)\s*(?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT: Final = re.compile(
    r"\b(?:about|subject|re)\s+(?:\"(?P<quoted>[^\"]+)\"|(?P<plain>.+?))\s*"
    r"(?=,|$|\bsaying\b|\bto say\b|\bthat\b|:)",
    re.IGNORECASE,
)
_QUOTES: Final = "\"'“”‘’ \n\t"
_SUBJECT: Final = 60
# More than one thing at once, or a moment that nobody has worked out: not for rules.
_NOT_PLAIN: Final = re.compile(
    r"\b(?:unless|if|tomorrow|later|schedule|attach|forward|reply to all|everyone|everybody)\b",
    re.IGNORECASE,
)


def read_plainly(
    install: InstalledIntegration, request: str
) -> Mapping[str, Any] | NeedsClarification:
    """The action and its input, or the question that makes it clear."""
    mails = [(name, one) for name, one in install.deeds.items() if _writes_to_somebody(one)]
    if len(mails) == 1:
        name, deed = mails[0]
        made = _message(deed, request)
        if made is not None and not deed.shape.findings(made, ""):
            return {"action_name": name, "input": made}
    return ask_back(install)


def ask_back(install: InstalledIntegration, text: str = "") -> NeedsClarification:
    """The question that names every action with what it takes."""
    known = "; ".join(f"{name} ({_fields(deed)})" for name, deed in install.deeds.items())
    asked = f"Which action of {install.name} is meant, with which values? It has {known}."
    return NeedsClarification(f"{text} {asked}".strip())


def _fields(deed: IntegrationAction) -> str:
    needed = deed.offer.input_schema.get("required", ())
    others = [name for name in deed.fields if name not in needed]
    told = ", ".join(needed)
    return f"{told}; also {', '.join(others)}" if others else told


def _writes_to_somebody(deed: IntegrationAction) -> bool:
    """A mail whose readers are named; one to the owner alone is another thing."""
    return deed.family == "email" and {"to", "subject", "body"} <= set(deed.fields)


def _message(deed: IntegrationAction, request: str) -> dict[str, Any] | None:
    if _NOT_PLAIN.search(request):
        return None
    found = _TEXT.search(request)
    if found is None:
        return None
    head, text = request[: found.start()], found["text"].strip(_QUOTES)
    to = list(dict.fromkeys(_ADDRESS.findall(head)))
    if not to or not text or _ADDRESS.search(text):
        return None
    return {"to": to, "subject": _subject(head) or _shorten(text), "body": _sentence(text)}


def _subject(head: str) -> str:
    found = _ABOUT.search(head)
    return "" if found is None else (found["quoted"] or found["plain"] or "").strip(_QUOTES)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SUBJECT else f"{line[: _SUBJECT - 1].rsplit(' ', 1)[0]}…"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# Reading a request with a model: it chooses one of the actions, asks back, or declines.

_MENDS: Final = 2
_TOKENS: Final = 2_000
_LONGEST: Final = 500
_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_ASK: Final = "ask_back"
_DECLINE: Final = "nothing_to_do"
# What each of the two that do nothing takes.
_ANSWERS: Final = {_ASK: "question", _DECLINE: "reason"}
_DECLINED: Final = frozenset({"refusal", "content_filter"})
DECLINED: Final = "model_declined"
_ORDERS: Final = (
    "You turn one request into one action of {name}. Choose the tool that does what the request "
    "asks for, with values that stand in the request. Never make up an address, a name, a date "
    "or an id. If something that the tool needs is missing or could mean two things, call "
    f"{_ASK} with one short question. If no tool does it, or nothing should be done, call "
    f"{_DECLINE} with the reason. Nothing is sent: a person sees a draft first. It is now {{now}}."
)


def _text_property(name: str, text: str) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name],
        "properties": {name: {"type": "string", "description": text}},
    }


async def read_by_model(
    ctx: CallContext, install: InstalledIntegration, request: str
) -> Mapping[str, Any] | NeedsClarification | NothingToDo:
    """The action and its input as the model understood them, or its question, or its reason."""
    names = {_NAME.sub("_", name)[:64]: name for name in install.deeds}
    system = _ORDERS.format(name=install.name, now=ctx.clock.now().isoformat(timespec="minutes"))
    tools = tuple(_tools(install, names))
    talk = [ModelMessage("user", request)]
    for _ in range(_MENDS + 1):
        reply = await ctx.complete(
            ModelRequest(
                ctx.model, tuple(talk), system, max_tokens=_TOKENS, tools=tools, choice="any"
            )
        )
        if reply.stop_reason in _DECLINED:
            raise Conflict("The model declined to read the request.", code=DECLINED)
        made = _interpret_reply(install, names, reply)
        if not isinstance(made, str):
            return made
        talk += _build_correction_turns(reply, made)
    return ask_back(install, "The request could not be read as one action.")


def _tools(install: InstalledIntegration, names: Mapping[str, str]) -> Sequence[ModelTool]:
    deeds = [
        ModelTool(shown, install.deeds[name].capability.description, _shape(install, name))
        for shown, name in names.items()
    ]
    question = _text_property("question", "What has to be known.")
    reason = _text_property("reason", "Why nothing is to be done.")
    return [
        *deeds,
        ModelTool(_ASK, "Ask the person who made the request.", question),
        ModelTool(_DECLINE, "Say that there is nothing to do.", reason),
    ]


def _shape(install: InstalledIntegration, name: str) -> Mapping[str, Any]:
    """What the action takes, without files: their bytes are not a model's to write."""
    schema = install.deeds[name].display_schema()
    properties = {
        key: value for key, value in schema.get("properties", {}).items() if key != "attachments"
    }
    return {**schema, "properties": properties}


def _interpret_reply(
    install: InstalledIntegration, names: Mapping[str, str], reply: ModelReply
) -> Mapping[str, Any] | NeedsClarification | NothingToDo | str:
    """What a reply comes to; as text: what is wrong with it."""
    call = reply.calls[0] if reply.calls else _in_text(install, names, reply.text)
    if call is None:
        return "Choose one of the tools."
    if isinstance(call.arguments, str):
        return "The arguments must be one JSON object."
    if call.name == _ASK:
        return NeedsClarification(
            _read_text_argument(call, "question") or "What exactly is to be done?"
        )
    if call.name == _DECLINE:
        return NothingToDo(_read_text_argument(call, "reason") or "Nothing was to be done.")
    name = names.get(call.name)
    if name is None:
        return f"There is no tool called {call.name[:80]!r}."
    given = dict(call.arguments)
    wrong = install.deeds[name].shape.findings(given, "")
    if wrong:
        return "; ".join(f"{one.pointer or '/'}: {one.detail}" for one in wrong[:10])
    return {"action_name": name, "input": given}


def _in_text(install: InstalledIntegration, names: Mapping[str, str], text: str) -> ToolCall | None:
    """The call that a model wrote as JSON, where only one of the tools takes that."""
    for given in parse_json_text(text, Limits()):
        if isinstance(given, dict):
            fits = [one for one, field in _ANSWERS.items() if given.keys() == {field}]
            fits += [
                shown
                for shown, name in names.items()
                if not install.deeds[name].shape.findings(given, "")
            ]
            if len(fits) == 1:
                return ToolCall("", fits[0], given)
    return None


def _read_text_argument(call: ToolCall, name: str) -> str:
    given = call.arguments
    said = given.get(name) if isinstance(given, Mapping) else None
    return " ".join(said.split())[:_LONGEST] if isinstance(said, str) else ""


def _build_correction_turns(reply: ModelReply, wrong: str) -> Sequence[ModelMessage]:
    """The reply and what is wrong with it, as the next turns of the conversation."""
    own = ModelMessage("assistant", reply.text, reply.calls, kept=reply.kept)
    if not reply.calls:
        return [ModelMessage("assistant", reply.text or "…"), ModelMessage("user", wrong)]
    results = tuple(
        ToolResult(one.id, one.name, wrong if number == 0 else "Call one tool only.", failed=True)
        for number, one in enumerate(reply.calls)
    )
    return [own, ModelMessage("user", results=results)]


# What was asked for, made exact before it is held: one action with its input and its files.

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
        ctx: CallContext, arguments: Arguments
    ) -> Arguments | ResolvedArguments | NeedsClarification | NothingToDo:
        install, exact, note = _install(installs, arguments), arguments, ""
        if "source" in arguments:
            await _check_connected(ctx, list(install.deeds.values()))
            made, note = await _read(ctx, install, arguments)
            if isinstance(made, (NeedsClarification, NothingToDo)):
                return made
            _refuse(installs.findings(made))
            exact = made
        else:
            await _check_connected(ctx, [installs.deed(arguments)])
        if "attach_from_page" in exact:
            exact = await _with_files(ctx, install, exact, require_part(database))
        return ResolvedArguments(exact, note) if note else exact

    return resolve


def _install(installs: InstalledIntegrations, arguments: Arguments) -> InstalledIntegration:
    by_name = installs.by_source(arguments["source"]) if "source" in arguments else None
    found = by_name or installs.by_id(arguments.get("install_id"))
    return require_part(found)


async def _read(
    ctx: CallContext, install: InstalledIntegration, arguments: Arguments
) -> tuple[Arguments | NeedsClarification | NothingToDo, str]:
    """The exact call that a request in words means, and why no model read it."""
    note = ""
    try:
        made = await read_by_model(ctx, install, arguments["request"])
    except Problem as problem:
        if problem.code not in _TO_RULES:
            raise
        # Without any connection there is nothing to put right.
        if problem.code != NO_MODEL:
            way_out = f" {problem.suggestion}" if problem.suggestion else ""
            note = f"No model read this request, so rules did: {problem.detail}{way_out}"
        made = read_plainly(install, arguments["request"])
    if isinstance(made, NeedsClarification) and note:
        return NeedsClarification(f"{note} {made.question}"), note
    if isinstance(made, (NeedsClarification, NothingToDo)):
        return made, note
    beside = {name: value for name, value in arguments.items() if name not in ("source", "request")}
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
    return replace(ctx, open_http=lambda: way.http, account=way.account)


async def _with_files(
    ctx: CallContext, install: InstalledIntegration, arguments: Arguments, database: Database
) -> Arguments:
    """The call with the files of a page, fetched once more from where they came."""
    reads = require_part(install.reads)
    async with WorkspaceDatabase(database, ctx.actor.workspace_id).transaction() as tx:
        page = await find_page(tx, ctx.actor.workspace_id, {"slug": arguments["attach_from_page"]})
    if page["source"] != install.source:
        raise _invalid(f"The page {page['slug']} did not come from {install.name}.")
    inside = await _over(ctx, route_to(install.integration))
    files = await require_part(reads.files)(inside, page["frontmatter"])
    if not files:
        raise _invalid(f"The page {page['slug']} has no attachments.")
    return {
        **_without(arguments),
        "attachments": _join_files(arguments.get("attachments", ()), files),
    }


def _without(arguments: Arguments) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "attach_from_page"}


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


_NO_DRAFT: Final = "00000000-0000-0000-0000-000000000000"
_SOME_TIME: Final = "2026-08-01T10:00:00+00:00"


def act_on_integration(
    installs: InstalledIntegrations, database: Database | None = None
) -> Capability:
    """The capability over what is installed here."""

    def stub(arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "kind": "suppressed",
            "draft_id": _NO_DRAFT,
            "preview": installs.preview(arguments),
            "payload": dict(arguments),
            "expires_at": _SOME_TIME,
        }

    return Capability(
        id="act_on_integration",
        description="Act on an integration\n\n"
        "Prepares a write to an outside system and returns a draft; nothing is sent "
        "until a person confirms it. Show the preview to the person. Give install_id, "
        "action_name and input, or source and request in plain words; an unclear "
        f"request returns a question. Installed: {installs.listed()}.",
        input_schema=acting_input(installs.sources),
        output_schema=OUTPUT,
        handler=_perform,
        write=Write(
            preview=installs.preview,
            performs=installs.performs,
            envelope=installs.envelope,
            resolve=resolver(installs, database),
            granted_as=installs.grant_arguments,
        ),
        annotations=Annotations(
            toolset=Toolset.INTEGRATIONS,
            effect=Effect.SEND,
            seconds=1.0,
            judge=installs.findings,
            stub=stub,
            connected={"source": "act"},
            arguments_bytes=ARGUMENTS_BYTES,
        ),
    )


async def _perform(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """No policy lets it go by itself: what was confirmed is the action's own to do."""
    del ctx, arguments
    raise Conflict(
        "What is prepared for an integration is sent by confirming its draft.",
        code="cannot_confirm",
    )
