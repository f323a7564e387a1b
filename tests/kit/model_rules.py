"""Which settings the providers refuse, by model and API version, as they have published it.

The doubles apply these rules to every request, so a client that sends a setting which the model
does not take fails here as it would with a real key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ANTHROPIC_OLD, ANTHROPIC_NEW = "2023-06-01", "2026-10-21"
_SAMPLING = ("temperature", "top_p", "top_k")
# Opus 4.7 and everything after it.
_NO_SAMPLING = re.compile(
    r"claude-(opus-4-[78]|opus-5|sonnet-5|haiku-5-5|fable-5|mythos-5|mythos-preview)"
)
_NO_FORCED_TOOL = re.compile(r"claude-(fable-5|mythos-5|mythos-preview|opus-5-5|sonnet-5-5)")

_OPENAI_SAMPLING = (
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "logit_bias",
)
_OPENAI_REASONS = re.compile(r"o\d(-mini|-pro|-preview)?(-\d{4}-\d\d-\d\d)?|gpt-[5-9].*")
_OPENAI_CHATS = re.compile(r"gpt-5-chat.*")
# These reason only when they are asked to: without an effort theirs is none.
_OPENAI_OPTIONAL = re.compile(r"gpt-5\.[1-4](-mini|-nano)?(-\d{4}-\d\d-\d\d)?")
_OPENAI_EFFORT_NONE = re.compile(
    r"gpt-5\.[1-6](?!.*(-pro|-chat|-codex))|gpt-6-(sol|luna)|gpt-6.1-t"
)


def anthropic_refuses(version: str, body: Mapping[str, Any]) -> Iterator[str]:
    """What the Messages API does not take from this model under this version."""
    model = str(body.get("model"))
    if version not in {ANTHROPIC_OLD, ANTHROPIC_NEW}:
        yield f'anthropic-version: "{version}" is not a valid version'
    for name in _SAMPLING:
        if name in body and version == ANTHROPIC_NEW:
            yield f"{name}: Extra inputs are not permitted"
        elif name in body and _NO_SAMPLING.match(model):
            yield f"`{name}` is deprecated for this model."
    thinking = body.get("thinking") or {}
    if "budget_tokens" in thinking and _NO_SAMPLING.match(model):
        yield '"thinking.type.enabled" is not supported for this model.'
    forced = (body.get("tool_choice") or {}).get("type") in {"any", "tool"}
    if forced and _NO_FORCED_TOOL.match(model):
        yield "tool_choice: forcing tool use is not supported for this model."
    if forced and thinking.get("type") == "enabled":
        yield "Thinking may not be enabled when tool_choice forces tool use."
    if version == ANTHROPIC_NEW:
        yield from _refused_blocks(body.get("messages"))


def _refused_blocks(messages: Any) -> Iterator[str]:
    for place, message in enumerate(messages if isinstance(messages, list) else ()):
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "document" and message.get("role") == "assistant":
                yield f"messages.{place}: document blocks are not permitted in assistant messages"
            if block.get("citations") and message.get("role") == "user":
                yield f"messages.{place}: citations are not permitted on user text"


def openai_refuses(body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the Chat Completions API does not take from this model."""
    model = str(body.get("model"))
    for place, message in enumerate(messages):
        if model.startswith("o1-mini") and message.get("role") in {"system", "developer"}:
            yield (
                f"Unsupported value: 'messages[{place}].role' does not support "
                f"'{message['role']}' with this model."
            )
    if not _OPENAI_REASONS.fullmatch(model) or _OPENAI_CHATS.fullmatch(model):
        return
    if "max_tokens" in body:
        yield (
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead."
        )
    effort = body.get("reasoning_effort")
    if effort == "none" and not _OPENAI_EFFORT_NONE.match(model):
        yield "Unsupported value: 'reasoning_effort' does not support 'none' with this model."
    if effort == "none" or (effort is None and _OPENAI_OPTIONAL.fullmatch(model)):
        return
    for name in _OPENAI_SAMPLING:
        if name in body:
            yield f"Unsupported parameter: '{name}' is not supported with this model."
