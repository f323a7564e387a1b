"""The Messages wire of Anthropic as a double speaks it: what it reads, refuses and answers."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from tests.kit.model_rules import anthropic_refuses
from tests.kit.model_script import Answer, Call, Seen, SeenCall, Turn

_IDS = itertools.count(1)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_KNOWN = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "stream",
        "metadata",
        "thinking",
        "service_tier",
        "cache_control",
        "container",
        "context_management",
        "mcp_servers",
        "output_config",
    }
)
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
# What signs its thoughts; other signatures are refused when they come back.
SIGNATURE = "sig-of-the-double-{}=="


def read(seen_as: Mapping[str, Any], method: str, path: str, headers: Mapping[str, str]) -> Seen:
    """A request in the words of both wires."""
    body = dict(seen_as)
    chosen = body.get("tool_choice") or {}
    return Seen(
        "anthropic",
        method,
        path,
        headers,
        body,
        model=str(body.get("model", "")),
        system=_text_of(body.get("system", "")),
        turns=tuple(_turn(message) for message in _dicts(body.get("messages"))),
        tools=tuple(
            (str(tool.get("name")), str(tool.get("description", "")), tool.get("input_schema", {}))
            for tool in _dicts(body.get("tools"))
        ),
        choice=str(chosen.get("name") or chosen.get("type", "auto")),
        max_tokens=body.get("max_tokens"),
        parallel=not chosen.get("disable_parallel_tool_use", False),
    )


def refusal(seen: Seen, key: str | None) -> tuple[int, str] | None:
    """What the provider would not take, as it says it."""
    given = seen.headers.get("x-api-key") or seen.headers.get("authorization", "")
    if key is not None and not given:
        return 401, "x-api-key header is required"
    if key is not None and given.removeprefix("Bearer ") != key:
        return 401, "invalid x-api-key"
    if not seen.headers.get("anthropic-version"):
        return 400, "anthropic-version: header is required"
    version = seen.headers["anthropic-version"]
    wrong = next(chain(_wrong(seen.body), anthropic_refuses(version, seen.body)), None)
    return None if wrong is None else (400, wrong)


def spell_error(status: int, sentence: str, kind: str = "") -> dict[str, Any]:
    kind = kind or _ERRORS.get(status, "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": sentence},
        "request_id": f"req_{next(_IDS):06}",
    }


def spell(seen: Seen, answer: Answer, read_tokens: int, written: int) -> dict[str, Any]:
    """One answer as a message."""
    content: list[dict[str, Any]] = []
    if answer.thoughts:
        signed = SIGNATURE.format(len(answer.thoughts))
        content.append({"type": "thinking", "thinking": answer.thoughts, "signature": signed})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    content += [_tool_use(call) for call in answer.calls]
    made: dict[str, Any] = {
        "id": f"msg_{next(_IDS):06}",
        "type": "message",
        "role": "assistant",
        "model": answer.model or seen.model,
        "content": content,
        "stop_reason": answer.finish or ("tool_use" if answer.calls else "end_turn"),
        "stop_sequence": None,
        "usage": _usage(answer, read_tokens, written),
    }
    if answer.broken == "no_usage":
        del made["usage"]
    if answer.broken == "no_finish":
        made["stop_reason"] = None
    if answer.broken == "empty":
        made["content"] = []
    return made


def events(message: Mapping[str, Any]) -> str:
    """The same message as the events of a stream."""
    opened = {**message, "content": [], "stop_reason": None}
    entries: list[dict[str, Any]] = [{"type": "message_start", "message": opened}]
    for index, block in enumerate(message["content"]):
        entries.append(
            {"type": "content_block_start", "index": index, "content_block": _bare(block)}
        )
        entries += [
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in _deltas(block)
        ]
        entries.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    entries.append({"type": "message_delta", "delta": ended, "usage": message.get("usage", {})})
    entries.append({"type": "message_stop"})
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in entries)


def _bare(block: Mapping[str, Any]) -> dict[str, Any]:
    emptied = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {name: emptied.get(name, value) for name, value in block.items()}


def _deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        yield {"type": "text_delta", "text": block["text"]}
    elif block["type"] == "thinking":
        yield {"type": "thinking_delta", "thinking": block["thinking"]}
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


def _usage(answer: Answer, read_tokens: int, written: int) -> dict[str, Any]:
    aside = answer.cached_tokens + answer.stored_tokens
    return {
        # What was read from the cache or written to it is counted separately, not in it.
        "input_tokens": read_tokens - aside,
        "cache_creation_input_tokens": answer.stored_tokens,
        "cache_read_input_tokens": answer.cached_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": answer.stored_tokens,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": written,
        "service_tier": "standard",
    }


def _tool_use(call: Call) -> dict[str, Any]:
    value: Any = call.arguments
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = {"text": value}
    used_id = call.id or f"toolu_{next(_IDS):06}"
    return {"type": "tool_use", "id": used_id, "name": call.name, "input": value}


def _turn(message: Mapping[str, Any]) -> Turn:
    blocks = _blocks(message)
    return Turn(
        str(message.get("role")),
        "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"),
        tuple(
            SeenCall(str(block.get("id")), str(block.get("name")), block.get("input"))
            for block in blocks
            if block.get("type") == "tool_use"
        ),
        tuple(
            (str(block.get("tool_use_id")), _text_of(block.get("content", "")))
            for block in blocks
            if block.get("type") == "tool_result"
        ),
    )


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else _dicts(content)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in _dicts(content))


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _wrong(body: Mapping[str, Any]) -> Iterator[str]:
    for name in ("model", "max_tokens", "messages"):
        if body.get(name) is None:
            yield f"{name}: Field required"
    if not isinstance(body["max_tokens"], int) or body["max_tokens"] < 1:
        yield "max_tokens: Input should be greater than or equal to 1"
    for name in body.keys() - _KNOWN:
        yield f"{name}: Extra inputs are not permitted"
    warmth = body.get("temperature")
    if warmth is not None and not 0 <= warmth <= 1:
        yield "temperature: range: 0..1"
    if json.dumps(body).count('"cache_control"') > 4:
        yield "A maximum of 4 blocks with cache_control may be provided."
    yield from _wrong_tools(body)
    yield from _wrong_messages(body)


def _wrong_tools(body: Mapping[str, Any]) -> Iterator[str]:
    names: set[str] = set()
    for place, tool in enumerate(_dicts(body.get("tools"))):
        name = str(tool.get("name", ""))
        if not _NAME.fullmatch(name):
            yield f"tools.{place}.custom.name: String should match pattern '{_NAME.pattern}'"
        if tool.get("input_schema", {}).get("type") != "object":
            yield f"tools.{place}.custom.input_schema.type: Field required"
        if name in names:
            yield "tools: Tool names must be unique."
        names.add(name)
    chosen = body.get("tool_choice")
    if chosen is not None and not names:
        yield "tool_choice may only be specified while providing tools."
    if chosen is not None and chosen.get("type") not in {"auto", "any", "none", "tool"}:
        yield "tool_choice: Input tag does not match any of the expected tags"


def _wrong_messages(body: Mapping[str, Any]) -> Iterator[str]:
    messages = _dicts(body.get("messages"))
    if not messages:
        yield "messages: at least one message is required"
    if messages[0].get("role") != "user":
        yield 'messages: first message must use the "user" role'
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        if message.get("role") not in {"user", "assistant"}:
            yield f'messages.{place}.role: Input should be "user" or "assistant"'
        yield from _wrong_message(place, message, open_ids, has_tools=bool(body.get("tools")))
        if message.get("role") == "assistant":
            open_ids = [call.id for call in _turn(message).calls]
        else:
            open_ids = []
    if messages[-1].get("role") == "assistant":
        yield (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def _wrong_message(
    place: int, message: Mapping[str, Any], open_ids: list[str], *, has_tools: bool
) -> Iterator[str]:
    blocks = _blocks(message)
    if not blocks:
        yield f"messages.{place}: all messages must have non-empty content"
    kinds = [block.get("type") for block in blocks]
    if not has_tools and {"tool_use", "tool_result"} & set(kinds):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools."
    for block in blocks:
        if block.get("type") == "text" and not str(block.get("text", "")).strip():
            yield "messages: text content blocks must be non-empty"
        if block.get("type") == "tool_use" and not _ID.fullmatch(str(block.get("id", ""))):
            yield f"messages.{place}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if block.get("type") == "tool_use" and not _NAME.fullmatch(str(block.get("name", ""))):
            yield f"messages.{place}: tool_use.name: String should match pattern"
        if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
            yield f"messages.{place}: tool_use.input: Input should be a valid dictionary"
        if block.get("type") == "thinking":
            signed = SIGNATURE.format(len(str(block.get("thinking"))))
            if block.get("signature") != signed:
                yield f"messages.{place}.content.0: Invalid `signature` in `thinking` block"
    yield from _wrong_results(place, message, open_ids, kinds)


def _wrong_results(
    place: int, message: Mapping[str, Any], open_ids: list[str], kinds: list[Any]
) -> Iterator[str]:
    answered = [result for result, _ in _turn(message).results]
    for result in answered:
        if result not in open_ids:
            yield (
                f"messages.{place}.content.0: unexpected `tool_use_id` found in `tool_result` "
                f"blocks: {result}. Each `tool_result` block must have a corresponding `tool_use` "
                "block in the previous message."
            )
    missing = [one for one in open_ids if one not in answered]
    if missing:
        yield (
            f"messages.{place - 1}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )
    if "tool_result" in kinds and "text" in kinds[: len(answered)]:
        yield f"messages.{place}: `tool_result` blocks must come before other content"
