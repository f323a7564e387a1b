"""Models are asked over the providers' real libraries and our own way out."""

from __future__ import annotations

import gc
import json
import logging
import subprocess
import sys
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel

from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelMessage, ModelRequest, ModelTool, ToolResult
from mainspring.gate.providers.spelling import MOST_CALLS
from mainspring.gate.providers.wire import Kind
from tests.kit.model_server import Answer, Call, Seen
from tests.kit.wires import KEY, LOOK, MODELS, connected, said

KINDS: tuple[Kind, ...] = ("anthropic", "openai", "groq", "compatible")
BOTH: tuple[Kind, ...] = ("anthropic", "openai")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_model_of_every_kind_is_asked_in_the_words_of_its_wire(kind: Kind) -> None:
    asked = ModelRequest(
        "", (ModelMessage("user", "What is it?"),), system="Be short.", max_tokens=77,
        temperature=0.25,
    )  # fmt: skip
    answer = Answer("It is a lamp.", input_tokens=40, output_tokens=9)
    async with connected([answer], plain=kind == "compatible") as connection:
        reply = await connection.ask(kind, asked)
        seen = connection.server.seen[0]

    assert (reply.text, reply.stop_reason, reply.calls) == ("It is a lamp.", "end_turn", ())
    assert (reply.model, reply.provider) == (MODELS[kind], f"my-{kind}")
    assert (reply.input_tokens, reply.output_tokens) == (40, 9)
    assert (reply.cached_tokens, reply.stored_tokens, reply.kept) == (0, 0, "")
    assert (seen.system, seen.last_text, seen.max_tokens) == ("Be short.", "What is it?", 77)
    assert seen.body["temperature"] == 0.25
    assert "tools" not in seen.body
    assert "tool_choice" not in seen.body
    # One ask is put nowhere to be read again: that would only cost more.
    assert "cache_control" not in json.dumps(seen.body)


@pytest.mark.parametrize("kind", KINDS)
async def test_tools_and_what_came_of_them_go_over_two_turns(kind: Kind) -> None:
    first = Answer(
        "I look.",
        calls=(Call("look_up", {"at": 'ä\n"x"'}), Call("look_up", {"at": "y", "how": "fast"})),
    )
    asked = said("Find it.", tools=(LOOK, ModelTool("stop", "Ends.", {"type": "object"})))
    async with connected([first, "Found."], plain=kind == "compatible") as connection:
        one = await connection.ask(kind, asked)
        turns = (
            *asked.messages,
            ModelMessage("assistant", one.text, one.calls, kept=one.kept),
            ModelMessage(
                "user",
                "Go on.",
                results=(
                    ToolResult(one.calls[0].id, "look_up", '{"found": 1}'),
                    ToolResult(one.calls[1].id, "look_up", "", failed=True),
                ),
            ),
        )
        two = await connection.ask(kind, replace(asked, messages=turns))
        assert connection.server.refusals == []
        seen = connection.server.seen[1]

    assert one.stop_reason == "tool_use"
    assert [(call.name, call.arguments) for call in one.calls] == [
        ("look_up", {"at": 'ä\n"x"'}),
        ("look_up", {"at": "y", "how": "fast"}),
    ]
    assert (two.text, two.stop_reason) == ("Found.", "end_turn")
    # The schema of a tool arrives as it was given.
    assert seen.tools[0] == (LOOK.name, LOOK.description, LOOK.input_schema)
    assert [call.name for turn in seen.turns for call in turn.calls] == ["look_up", "look_up"]
    told = {place: content for turn in seen.turns for place, content in turn.results}
    assert told[one.calls[0].id] == '{"found": 1}'
    assert "no content" in told[one.calls[1].id]
    assert seen.last_text == "Go on."


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("choice", "spelled"), [("auto", "auto"), ("any", "any"), ("none", "none")]
)
async def test_whether_a_tool_must_be_asked_for_is_said(
    kind: Kind, choice: Any, spelled: str
) -> None:
    async with connected("echo") as connection:
        await connection.ask(kind, replace(said("Well?", tools=(LOOK,)), choice=choice))
        assert connection.server.seen[0].choice == spelled


async def test_a_model_that_cannot_be_made_to_ask_for_a_tool_is_left_to_it() -> None:
    async with connected(["Words instead."]) as connection:
        asked = replace(said("Well?", tools=(LOOK,)), choice="any", temperature=0.5)
        reply = await connection.ask("anthropic", asked, "claude-opus-5")
        seen = connection.server.seen[0]
    assert reply.text == "Words instead."
    assert seen.choice == "auto"
    # Nor does it take a temperature.
    assert "temperature" not in seen.body


async def test_the_bound_on_what_is_written_has_the_name_that_a_server_knows() -> None:
    async with connected([Answer("Yes.", keep=True)]) as connection:
        for kind, model, name in (
            ("openai", "gpt-5", "max_completion_tokens"),
            ("groq", "llama-4", "max_completion_tokens"),
            ("compatible", "o3-at-home", "max_tokens"),
        ):
            await connection.ask(kind, replace(said("?"), temperature=0.5), model)  # type: ignore[arg-type]
            seen = connection.server.seen[-1]
            assert seen.body[name] == 200
            assert ("max_tokens" in seen.body) is (name == "max_tokens")
            # A name that looks like one of OpenAI's says nothing of a model somewhere else.
            assert ("temperature" in seen.body) is (model != "gpt-5")


async def test_what_was_read_from_the_cache_or_put_into_it_is_counted() -> None:
    answer = Answer("Ok.", input_tokens=1000, output_tokens=5, cached_tokens=600, stored_tokens=300)
    async with connected([answer, answer]) as connection:
        asked = replace(said("Again.", tools=(LOOK,)), system="Always the same.")
        one = await connection.ask("anthropic", asked)
        two = await connection.ask("openai", asked)
        body = connection.server.requests[0]

    assert (one.input_tokens, one.cached_tokens, one.stored_tokens) == (1000, 600, 300)
    assert (two.input_tokens, two.cached_tokens, two.stored_tokens) == (1000, 600, 0)
    # A conversation with tools is read again at each turn, so its beginning is put aside.
    marked = [body["system"][-1], body["tools"][-1], body["messages"][-1]["content"][-1]]
    assert all("cache_control" in block for block in marked)


@pytest.mark.parametrize("kind", ["anthropic", "compatible"])
async def test_thoughts_are_told_and_go_back_to_who_thought_them(kind: Kind) -> None:
    first = Answer("Hm.", thoughts="The lamp?", calls=(Call("look_up", {"at": "x"}),))
    asked = said("Find it.", tools=(LOOK,))
    async with connected([first, "Found.", "Found."]) as connection:
        one = await connection.ask(kind, asked)
        turns = (
            *asked.messages,
            ModelMessage("assistant", one.text, one.calls, kept=one.kept),
            ModelMessage("user", results=(ToolResult(one.calls[0].id, "look_up", "yes"),)),
        )
        await connection.ask(kind, replace(asked, messages=turns))
        other: Kind = "openai" if kind == "anthropic" else "anthropic"
        await connection.ask(other, replace(asked, messages=turns))
        assert connection.server.refusals == []
        back, elsewhere = (json.dumps(body) for body in connection.server.requests[1:])

    assert one.thoughts == "The lamp?"
    assert "The lamp?" in back
    assert "The lamp?" not in elsewhere


@pytest.mark.parametrize("kind", BOTH)
async def test_a_long_answer_comes_in_one_piece(kind: Kind) -> None:
    async with connected(["Long."]) as connection:
        reply = await connection.ask(kind, replace(said("Tell me all."), max_tokens=128_000))
        seen = connection.server.seen[0]
    assert (reply.text, seen.max_tokens) == ("Long.", 128_000)
    # A stream that breaks would leave half an answer behind.
    assert not seen.body.get("stream")


@pytest.mark.parametrize("kind", BOTH)
async def test_an_answer_that_reached_its_bound_says_so(kind: Kind) -> None:
    async with connected([Answer("It is a", finish="max_tokens")]) as connection:
        reply = await connection.ask(kind, "What?")
    assert (reply.text, reply.stop_reason) == ("It is a", "max_tokens")


@pytest.mark.parametrize("kind", BOTH)
async def test_a_model_that_declines_is_an_answer_that_is_paid_for(kind: Kind) -> None:
    refused = Answer("", finish="refusal", input_tokens=30, output_tokens=0)
    async with connected([refused]) as connection:
        reply = await connection.ask(kind, "Something bad.")
    assert (reply.stop_reason, reply.input_tokens, reply.calls) == ("refusal", 30, ())


async def test_arguments_that_are_no_object_are_handed_on_as_text() -> None:
    texts = ('{"at": "x"', "[1, 2]", "look at x", "")
    answer = Answer(calls=tuple(Call("look_up", text, id=f"c{n}") for n, text in enumerate(texts)))
    asked = said("Find it.", tools=(LOOK,))
    async with connected([answer, "Ok."]) as connection:
        one = await connection.ask("openai", asked)
        results = tuple(ToolResult(call.id, call.name, "That was no JSON.") for call in one.calls)
        turns = (ModelMessage("assistant", "", one.calls), ModelMessage("user", results=results))
        await connection.ask("openai", replace(asked, messages=(*asked.messages, *turns)))
        assert connection.server.refusals == []

    assert [call.arguments for call in one.calls] == ['{"at": "x"', "[1, 2]", "look at x", {}]


async def test_calls_of_one_answer_can_be_told_apart() -> None:
    call = {"id": "same", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    body = {
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": None, "tool_calls": [call, call]},
        }],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }  # fmt: skip
    async with connected([Answer(body=json.dumps(body))]) as connection:
        reply = await connection.ask("compatible", said("?", tools=(LOOK,)))
    assert len({call.id for call in reply.calls}) == 2
    # A server that says that it is done while it asks for a tool is not done.
    assert reply.stop_reason == "tool_use"


async def test_thinking_that_only_the_total_counts_is_paid_for() -> None:
    body = {
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Ok"}}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 90},
    }  # fmt: skip
    async with connected([Answer(body=json.dumps(body))]) as connection:
        reply = await connection.ask("compatible", "?")
    assert (reply.input_tokens, reply.output_tokens) == (5, 85)


@pytest.mark.parametrize("kind", BOTH)
async def test_the_key_stands_in_its_header_and_in_nothing_that_a_library_holds(
    kind: Kind, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("anthropic", "openai", "httpx2", "httpcore2", "pydantic_ai"):
        caplog.set_level(logging.DEBUG, logger=name)
    # What an operator's shell may hold belongs to other programs.
    for name in ("ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "of-the-environment")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-of: the-environment")
    held: list[str] = []

    def look_around(seen: Seen) -> Answer:
        del seen
        held.extend(_insides(thing) for thing in gc.get_objects() if _is_of_a_library(thing))
        return Answer("Fine.")

    async with connected(look_around) as connection:
        reply = await connection.ask(kind, "Who are you?")
        headers = connection.server.seen[0].headers

    assert reply.text == "Fine."
    assert any("unused" in text for text in held)
    assert not any(KEY in text for text in held)
    assert KEY not in caplog.text
    assert KEY not in repr(reply)
    assert headers["x-api-key" if kind == "anthropic" else "authorization"].endswith(KEY)
    assert "of-the-environment" not in repr(headers)
    assert "the-environment" not in repr(headers)
    # Nothing tells of this machine, and the run is not named either.
    assert not any(name.startswith("x-stainless") for name in headers)
    assert "run/step" not in repr(headers)


def _is_of_a_library(thing: object) -> bool:
    kinds = (httpx2.Request, httpx2.AsyncClient, AsyncAnthropic, AsyncOpenAI)
    return type(thing) in kinds or type(thing) in (AnthropicModel, OpenAIChatModel)


def _insides(thing: object) -> str:
    try:
        return f"{vars(thing)!r} {getattr(thing, 'headers', '')!r}"
    except Exception:
        return ""


async def test_a_server_without_a_key_is_told_none() -> None:
    async with connected(["Hello."], key=None) as connection:
        connection.secrets.clear()
        await connection.ask("compatible", "Hello?")
        assert "authorization" not in connection.server.seen[0].headers


async def test_a_key_that_an_answer_quotes_is_not_handed_on() -> None:
    async with connected([Answer(f"Your key is {KEY}.")]) as connection:
        reply = await connection.ask("openai", "What is my key?")
    assert reply.text == "Your key is [secret api_key]."


async def test_texts_become_vectors_in_their_order_over_many_requests() -> None:
    texts = [f"the lamp number {n}" for n in range(300)]
    async with connected() as connection:
        vectors, tokens = await connection.embed(texts)
        again, _ = await connection.embed([texts[299]])
        assert connection.server.count == 4
        assert {len(body["input"]) for body in connection.server.requests} == {128, 44, 1}

    assert (len(vectors), {len(vector) for vector in vectors}) == (300, {1536})
    assert vectors[299] == again[0]
    assert vectors[298] != again[0]
    assert tokens == sum(len(text) // 4 + 1 for text in texts)


def test_nothing_that_asks_no_model_loads_the_libraries_of_providers() -> None:
    program = (
        "import sys, mainspring.wiring, mainspring.gate.providers.desk;"
        "heavy = {'pydantic_ai', 'anthropic', 'openai'} & set(sys.modules);"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


async def test_a_conversation_as_long_as_the_bound_is_sent_and_a_longer_one_is_not() -> None:
    limits = replace(Limits(), model_request_bytes=20_000)
    async with connected([Answer("Ok.", keep=True)], limits=limits) as connection:
        await connection.ask("openai", "x" * 10_000)
        with pytest.raises(Exception, match="20000 bytes") as caught:
            await connection.ask("openai", "x" * 30_000)
        assert connection.server.count == 1
    assert getattr(caught.value, "code", "") != "model_cut_off"


@pytest.mark.parametrize("kind", BOTH)
async def test_an_answer_with_too_many_calls_is_counted_and_ends_as_one_that_was_cut(
    kind: Kind,
) -> None:
    many = tuple(Call("look_up", {"at": str(n)}) for n in range(300))
    answer = Answer(calls=many, input_tokens=70, output_tokens=9)
    async with connected([answer]) as connection:
        reply = await connection.ask(kind, said("Look.", tools=(LOOK,)))
    assert (len(reply.calls), reply.stop_reason) == (MOST_CALLS, "max_tokens")
    assert (reply.input_tokens, reply.output_tokens) == (70, 9)


def _nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"at": "a\ud800\x00", "\udfff": 10**30}, {"at": "a\ufffd\ufffd", "\ufffd": str(10**30)}),
        (_nested(300), None),
    ],
)
async def test_an_odd_answer_is_put_right_and_the_conversation_goes_on(
    kind: Kind, given: Any, taken: Any
) -> None:
    odd = "m\ud800\x1b[31m\x00"
    first = Answer("I \ud800look.", calls=(Call("look_up", given),), model=odd)
    asked = said("Find it.", tools=(LOOK,))
    async with connected([first, "Found."]) as connection:
        one = await connection.ask(kind, asked)
        (call,) = one.calls
        turns = (
            *asked.messages,
            ModelMessage("assistant", one.text, one.calls, kept=one.kept),
            ModelMessage("user", results=(ToolResult(call.id, call.name, "no", failed=True),)),
        )
        two = await connection.ask(kind, replace(asked, messages=turns))
    assert (one.text, one.model) == ("I \ufffdlook.", "m [31m")
    assert call.arguments == taken if taken is not None else isinstance(call.arguments, str)
    assert two.text == "Found."
