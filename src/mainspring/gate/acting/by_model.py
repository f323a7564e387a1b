"""Reading a request with a model: it chooses one of the actions, asks back, or declines.

What the model answers is judged by the schema of the action; it may mend its answer twice. What
it chose is drafted and seen by a person, so a request that was misread costs a look and no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Conflict
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import (
    ModelMessage,
    ModelReply,
    ModelRequest,
    ModelTool,
    ToolCall,
    ToolResult,
)
from mainspring.contracts.outcome import NeedsClarification, NothingToDo
from mainspring.definition.json_in_text import parse_json_text
from mainspring.gate.acting.by_rules import ask_back
from mainspring.gate.installs import InstalledIntegration

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

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


def _text_property(name: str, words: str) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name],
        "properties": {name: {"type": "string", "description": words}},
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
