"""What a model answered, in a form that everybody can go on with.

A provider may say anything: half a character, a NUL, numbers and nesting that no JSON of ours
has, a name with orders for a terminal in it. That is put right once, where a reply is taken, so
that neither the books nor the record nor the next ask stumbles over it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mainspring.contracts.model import ModelReply, ToolCall

TOO_DEEP: Final = "(nested too deeply,omitted)"
_LONGEST_NAME: Final = 200
# The database keeps no NUL, and half a character is no text at all.
_UNREADABLE: Final = re.compile("[\x00\ud800-\udfff]")
_SIGN: Final = "\ufffd"
# Signs that move a cursor, break a line or turn the direction of what is read.
_UNSEEN: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+"
)
# What the store keeps as a whole number.
_BITS: Final = 63


def drop_deep_arguments(reply: ModelReply, levels: int) -> ModelReply:
    """The same reply; arguments nested more than so many levels deep are left out of it."""
    return replace(
        reply,
        text=readable(reply.text),
        model=tidy_name(reply.model),
        stop_reason=tidy_name(reply.stop_reason),
        provider=tidy_name(reply.provider),
        calls=_calls(reply.calls, levels),
        thoughts=readable(reply.thoughts),
        kept=readable(reply.kept),
    )


def readable(text: Any) -> str:
    """A text with a sign for each character that cannot be one, as long as it was."""
    return _UNREADABLE.sub(_SIGN, text) if isinstance(text, str) else ""


def tidy_name(name: Any) -> str:
    """A name from outside as one short line that hides nothing."""
    if not isinstance(name, str):
        return ""
    return " ".join(_UNSEEN.sub(" ", name[: _LONGEST_NAME * 4]).split())[:_LONGEST_NAME].rstrip()


def deeper(value: Any, levels: int) -> bool:
    """Whether a value is nested more than so many levels deep, however deep it is."""
    inside = [value]
    for _ in range(levels + 1):
        inside = [
            entry
            for one in inside
            if isinstance(one, Mapping | list | tuple)
            for entry in (one.values() if isinstance(one, Mapping) else one)
        ]
    return bool(inside)


def _calls(calls: Sequence[ToolCall], levels: int) -> tuple[ToolCall, ...]:
    made: list[ToolCall] = []
    used: set[str] = set()
    for place, call in enumerate(calls):
        # Two ids may differ in nothing but what cannot be read.
        unique = readable(call.id)
        while unique in used:
            unique = f"{unique}-{place}"
        used.add(unique)
        given = TOO_DEEP if deeper(call.arguments, levels) else _plain(call.arguments)
        made.append(ToolCall(unique, readable(call.name), given))
    return tuple(made)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, Mapping):
        return {readable(str(key)): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if type(value) is int and value.bit_length() > _BITS:
        return _digits(value)
    return value


def _digits(number: int) -> str:
    try:
        return str(number)
    except ValueError:
        # More digits than anybody writes out.
        return hex(number)
