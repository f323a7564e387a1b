"""What an answer says of itself: its tokens, why it ended, which model gave it.

Money follows from these numbers, so they are read from the provider's own words and not from what
a library makes of them. An answer in which they are missing or cannot be is no answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from mainspring.outbound.models.model_replies import tidy_name

WireName = Literal["anthropic", "openai"]

_MOST_TOKENS: Final = 1_000_000_000
_NAME: Final = 200
_FINISHES: Final[Mapping[str, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


@dataclass(frozen=True, slots=True)
class ProviderReplyMetadata:
    """The part of an answer that is counted."""

    model: str
    # Everything it read, cached and stored included.
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    stored_tokens: int
    # end_turn, tool_use, max_tokens, refusal, stop_sequence, or what else a provider says.
    finish: str
    # The sentence with which it declined, where that stands apart from its words.
    refusal: str = ""


def read_object(body: bytes) -> dict[str, Any] | None:
    """A body as a JSON object; None when it is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_answer(wire: WireName, body: bytes) -> ProviderReplyMetadata | None:
    """What an answer says of itself; None when it does not say it all."""
    found = read_object(body)
    if found is None:
        return None
    return _anthropic(found) if wire == "anthropic" else _openai(found)


def embedding_tokens(body: bytes) -> int | None:
    usage = (read_object(body) or {}).get("usage")
    return _count(usage, "prompt_tokens") if isinstance(usage, dict) else None


def _anthropic(found: Mapping[str, Any]) -> ProviderReplyMetadata | None:
    usage, finish = found.get("usage"), found.get("stop_reason")
    if not isinstance(usage, dict) or not isinstance(finish, str) or not finish:
        return None
    plain, written = _count(usage, "input_tokens"), _count(usage, "output_tokens")
    cached = _count(usage, "cache_read_input_tokens", missing=0)
    stored = _count(usage, "cache_creation_input_tokens", missing=0)
    if plain is None or written is None or cached is None or stored is None:
        return None
    return ProviderReplyMetadata(
        _model(found),
        plain + cached + stored,
        written,
        cached,
        stored,
        _FINISHES.get(finish, finish[:_NAME]),
    )


def _openai(found: Mapping[str, Any]) -> ProviderReplyMetadata | None:
    choices, usage = found.get("choices"), found.get("usage")
    if not isinstance(choices, list) or not choices or not isinstance(usage, dict):
        return None
    choice = choices[0] if isinstance(choices[0], dict) else {}
    finish = choice.get("finish_reason")
    read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if read is None or written is None or not isinstance(finish, str) or not finish:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details, "cached_tokens", missing=0) if isinstance(details, dict) else 0
    # Some providers count thinking in the total alone.
    total = _count(usage, "total_tokens", missing=0) or 0
    declined = _read_refusal(choice)
    return ProviderReplyMetadata(
        _model(found),
        read,
        max(written, total - read),
        min(cached or 0, read),
        0,
        "refusal" if declined else _FINISHES.get(finish, finish[:_NAME]),
        declined,
    )


def _read_refusal(choice: Mapping[str, Any]) -> str:
    message = choice.get("message")
    said = message.get("refusal") if isinstance(message, dict) else None
    return said if isinstance(said, str) else ""


def _model(found: Mapping[str, Any]) -> str:
    return tidy_name(found.get("model"))


def _count(usage: Mapping[str, Any], name: str, *, missing: int | None = None) -> int | None:
    """A number of tokens; None when it cannot be one."""
    found = usage.get(name)
    if found is None:
        return missing
    if isinstance(found, bool) or not isinstance(found, int):
        return None
    return found if 0 <= found <= _MOST_TOKENS else None
