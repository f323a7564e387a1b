"""The Chat Completions and Embeddings wires of OpenAI as a double speaks them."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.kit.model_rules import openai_refuses
from tests.kit.model_script import Answer, Call, Seen, SeenCall, Turn

_IDS = itertools.count(1)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PLAIN = frozenset(
    {
        "model",
        "messages",
        "max_tokens",
        "temperature",
        "top_p",
        "stop",
        "stream",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "seed",
        "n",
        "presence_penalty",
        "frequency_penalty",
        "response_format",
        "user",
        "stream_options",
    }
)
_KNOWN = _PLAIN | {
    "max_completion_tokens",
    "reasoning_effort",
    "metadata",
    "store",
    "service_tier",
    "prompt_cache_key",
    "verbosity",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "safety_identifier",
    "prompt_cache_retention",
}
_FINISHES = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
    "stop_sequence": "stop",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "invalid_request_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    429: "requests",
    500: "server_error",
    503: "server_error",
}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
DIMENSIONS = 1_536


def read(seen_as: Mapping[str, Any], method: str, path: str, headers: Mapping[str, str]) -> Seen:
    """A request in the words of both wires."""
    body = dict(seen_as)
    messages = _dicts(body.get("messages"))
    first = [_text_of(one) for one in messages if one.get("role") in {"system", "developer"}]
    chosen = body.get("tool_choice", "auto")
    named = chosen.get("function", {}).get("name", "any") if isinstance(chosen, dict) else chosen
    return Seen(
        "embeddings" if path.endswith("/embeddings") else "openai",
        method,
        path,
        headers,
        body,
        model=str(body.get("model", "")),
        system="\n".join(first),
        turns=tuple(
            _turn(one) for one in messages if one.get("role") not in {"system", "developer"}
        ),
        tools=tuple(
            (
                str(tool["function"].get("name")),
                str(tool["function"].get("description", "")),
                tool["function"].get("parameters", {}),
            )
            for tool in _dicts(body.get("tools"))
            if isinstance(tool.get("function"), dict)
        ),
        choice="any" if named == "required" else str(named),
        max_tokens=body.get("max_completion_tokens", body.get("max_tokens")),
        parallel=body.get("parallel_tool_calls") is not False,
    )


def refusal(seen: Seen, key: str | None, *, plain: bool) -> tuple[int, str] | None:
    """What the provider would not take, as it says it. A plain server knows the old fields only."""
    given = seen.headers.get("authorization", "")
    if key is not None and not given:
        return 401, "You didn't provide an API key."
    if key is not None and given != f"Bearer {key}":
        shown = given.removeprefix("Bearer ")
        return 401, f"Incorrect API key provided: {shown}. You can find your API key at the site."
    if seen.wire == "embeddings":
        return None if _inputs(seen.body) else (400, "'$.input' is invalid.")
    wrong = next(_wrong(seen.body, plain=plain), None)
    return None if wrong is None else (400, wrong)


def spell_error(status: int, sentence: str, kind: str = "") -> dict[str, Any]:
    return {
        "error": {
            "message": sentence,
            "type": kind or _ERRORS.get(status, "server_error"),
            "param": None,
            "code": _CODES.get(status),
        }
    }


def spell(seen: Seen, answer: Answer, read_tokens: int, written: int) -> dict[str, Any]:
    """One answer as a completion."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text or None,
        "refusal": None,
        "annotations": [],
    }
    if answer.thoughts:
        message["reasoning_content"] = answer.thoughts
    if answer.calls:
        message["tool_calls"] = [_tool_call(call) for call in answer.calls]
    finish = answer.finish or ("tool_use" if answer.calls else "end_turn")
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _FINISHES.get(finish, finish),
    }
    made: dict[str, Any] = {
        "id": f"chatcmpl-{next(_IDS):06}",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": answer.model or seen.model,
        "choices": [choice],
        "usage": _usage(answer, read_tokens, written),
        "service_tier": "default",
        "system_fingerprint": "fp_double",
    }
    if answer.broken == "no_usage":
        del made["usage"]
    if answer.broken == "no_finish":
        choice["finish_reason"] = None
    if answer.broken == "empty":
        made["choices"] = []
    return made


def events(completion: Mapping[str, Any]) -> str:
    """The same completion as the events of a stream, in two chunks."""
    result = []
    for choice in completion["choices"]:
        delta = dict(choice["message"])
        for place, call in enumerate(delta.get("tool_calls", ())):
            call["index"] = place
        for piece, finish in ((delta, None), ({}, choice["finish_reason"])):
            result.append([{"index": 0, "delta": piece, "finish_reason": finish}])
    result.append([])
    lines = [
        {**completion, "object": "chat.completion.chunk", "choices": choices, "usage": None}
        for choices in result
    ]
    lines[-1]["usage"] = completion.get("usage")
    return "".join(f"data: {json.dumps(one)}\n\n" for one in lines) + "data: [DONE]\n\n"


def embeddings(seen: Seen) -> dict[str, Any]:
    """Vectors that are near for texts that share words."""
    texts = _inputs(seen.body)
    size = int(seen.body.get("dimensions") or DIMENSIONS)
    coded = seen.body.get("encoding_format") == "base64"
    vectors = [vector_of(text, size) for text in texts]
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(struct.pack(f"<{size}f", *vector)).decode()
            if coded
            else vector,
        }
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(text) // 4 + 1 for text in texts)
    return {
        "object": "list",
        "data": data,
        "model": seen.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def vector_of(text: str, size: int) -> list[float]:
    vector = [0.0] * size
    for word in re.findall(r"\w+", text.lower()) or [text]:
        place = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") % size
        vector[place] += 1.0
    length = math.sqrt(sum(one * one for one in vector)) or 1.0
    return [one / length for one in vector]


def _inputs(body: Mapping[str, Any]) -> list[str]:
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or len(texts) > 2_048:
        return []
    return texts if all(isinstance(text, str) and text for text in texts) else []


def _usage(answer: Answer, read_tokens: int, written: int) -> dict[str, Any]:
    return {
        "prompt_tokens": read_tokens,
        "completion_tokens": written,
        "total_tokens": read_tokens + written,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": len(answer.thoughts) // 4,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _tool_call(call: Call) -> dict[str, Any]:
    given = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    return {
        "id": call.id or f"call_{next(_IDS):06}",
        "type": "function",
        "function": {"name": call.name, "arguments": given},
    }


def _turn(message: Mapping[str, Any]) -> Turn:
    if message.get("role") == "tool":
        return Turn("user", results=((str(message.get("tool_call_id")), _text_of(message)),))
    calls = tuple(
        SeenCall(
            str(call.get("id")),
            str(call["function"].get("name")),
            _read_arguments(call["function"].get("arguments")),
        )
        for call in _dicts(message.get("tool_calls"))
        if isinstance(call.get("function"), dict)
    )
    return Turn(str(message.get("role")), _text_of(message), calls)


def _read_arguments(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in _dicts(content))


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _wrong(body: Mapping[str, Any], *, plain: bool) -> Iterator[str]:
    if not isinstance(body.get("model"), str):
        yield "you must provide a model parameter"
    for name in body.keys() - (_PLAIN if plain else _KNOWN):
        yield f"Unrecognized request argument supplied: {name}"
    if not plain:
        yield from openai_refuses(body, _dicts(body.get("messages")))
    names = []
    for place, tool in enumerate(_dicts(body.get("tools"))):
        made = tool.get("function", {})
        names.append(made.get("name"))
        if tool.get("type") != "function" or not _NAME.fullmatch(str(made.get("name", ""))):
            yield (
                f"Invalid 'tools[{place}].function.name': string does not match pattern. "
                "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            )
        if made.get("parameters", {}).get("type") != "object":
            yield f"Invalid schema for function '{made.get('name')}': schema must be of type object"
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in body and not names:
            yield f"'{name}' is only allowed when 'tools' are specified."
    yield from _wrong_messages(_dicts(body.get("messages")))


def _wrong_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not messages:
        yield "Invalid 'messages': empty array. Expected an array with minimum length 1."
    waiting: list[str] = []
    for place, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                yield (
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'."
                )
            waiting = [one for one in waiting if one != message.get("tool_call_id")]
            continue
        yield from _unanswered(waiting)
        if role not in {"system", "developer", "user", "assistant"}:
            yield f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user'."
        calls = _dicts(message.get("tool_calls"))
        if message.get("content") in (None, "", []) and not calls:
            yield f"Invalid value for 'messages.[{place}].content': expected a string, got null."
        for call in calls:
            if not _NAME.fullmatch(str(call.get("function", {}).get("name", ""))):
                yield f"Invalid 'messages[{place}].tool_calls[0].function.name'."
            if not isinstance(call.get("function", {}).get("arguments"), str):
                yield f"Invalid type for 'messages[{place}].tool_calls[0].function.arguments'."
        waiting = [str(call.get("id")) for call in calls]
    yield from _unanswered(waiting)


def _unanswered(waiting: list[str]) -> Iterator[str]:
    if waiting:
        yield (
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(waiting)
        )
