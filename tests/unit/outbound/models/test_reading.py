"""What an answer took is read from its own words, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mainspring.outbound.models.reply_metadata import (
    ProviderReplyMetadata,
    embedding_tokens,
    read_answer,
)

MESSAGE: dict[str, Any] = {
    "model": "claude",
    "stop_reason": "end_turn",
    "content": [],
    "usage": {
        "input_tokens": 10,
        "output_tokens": 3,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 2,
    },
}
COMPLETION: dict[str, Any] = {
    "model": "gpt",
    "choices": [{"finish_reason": "stop", "message": {"content": "x"}}],
    "usage": {
        "prompt_tokens": 17,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 5},
    },
}


def test_what_was_read_is_everything_on_both_wires() -> None:
    assert read_answer("anthropic", json.dumps(MESSAGE).encode()) == ProviderReplyMetadata(
        "claude", 17, 3, 5, 2, "end_turn"
    )
    assert read_answer("openai", json.dumps(COMPLETION).encode()) == ProviderReplyMetadata(
        "gpt", 17, 3, 5, 0, "end_turn"
    )


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("end_turn", "end_turn"),
        ("tool_use", "tool_use"),
        ("max_tokens", "max_tokens"),
        ("refusal", "refusal"),
        ("stop_sequence", "stop_sequence"),
        ("model_context_window_exceeded", "max_tokens"),
        ("something_new", "something_new"),
    ],
)
def test_the_end_of_a_message_has_one_name(text: str, ours: str) -> None:
    found = read_answer("anthropic", json.dumps({**MESSAGE, "stop_reason": text}).encode())
    assert found is not None
    assert found.finish == ours


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("function_call", "tool_use"),
        ("content_filter", "refusal"),
        ("eos", "eos"),
    ],
)
def test_the_end_of_a_completion_has_one_name(text: str, ours: str) -> None:
    choice = {"finish_reason": text, "message": {}}
    found = read_answer("openai", json.dumps({**COMPLETION, "choices": [choice]}).encode())
    assert found is not None
    assert found.finish == ours


def test_a_completion_that_declines_says_why() -> None:
    choice = {"finish_reason": "stop", "message": {"refusal": "I will not."}}
    found = read_answer("openai", json.dumps({**COMPLETION, "choices": [choice]}).encode())
    assert found is not None
    assert (found.finish, found.refusal) == ("refusal", "I will not.")


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
@pytest.mark.parametrize("wrong", [None, -1, 10**12, "5", True, 1.5, [], {}])
def test_a_number_of_tokens_that_cannot_be_spoils_the_answer(wire: Any, wrong: Any) -> None:
    whole = MESSAGE if wire == "anthropic" else COMPLETION
    for name in ("output_tokens", "completion_tokens", "input_tokens", "prompt_tokens"):
        if name in whole["usage"]:
            spoilt = {**whole, "usage": {**whole["usage"], name: wrong}}
            assert read_answer(wire, json.dumps(spoilt).encode()) is None


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
@pytest.mark.parametrize("body", [b"", b"x", b"[]", b"null", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_no_answer_is_none(wire: Any, body: bytes) -> None:
    assert read_answer(wire, body) is None


def test_more_from_the_cache_than_was_read_cannot_be() -> None:
    usage = {**COMPLETION["usage"], "prompt_tokens_details": {"cached_tokens": 99}}
    found = read_answer("openai", json.dumps({**COMPLETION, "usage": usage}).encode())
    assert found is not None
    assert found.cached_tokens == 17


def test_vectors_say_what_they_took() -> None:
    assert embedding_tokens(b'{"usage": {"prompt_tokens": 8}}') == 8
    assert embedding_tokens(b'{"usage": null}') is None
    assert embedding_tokens(b"") is None
