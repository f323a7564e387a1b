"""A conversation is spelled for a provider's library and read back without a loss."""

from __future__ import annotations

import json

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from mainspring.contracts import model as ours
from mainspring.gate.providers.spelling import from_response, to_messages, to_parameters

TOOL = ours.ModelTool("look_up", "Looks.", {"type": "object", "title": "T"})
CALL = ours.ToolCall("c1", "look_up", {"at": "x"})


def _spelled(*messages: ours.ModelMessage, system: str = "anthropic") -> list[ModelMessage]:
    return to_messages(ours.ModelRequest("m", messages), system)


def test_results_stand_before_what_a_user_says() -> None:
    (made,) = _spelled(
        ours.ModelMessage(
            "user",
            "And now?",
            results=(
                ours.ToolResult("c1", "look_up", "found"),
                ours.ToolResult("c2", "look_up", "", failed=True),
            ),
        )
    )
    assert isinstance(made, ModelRequest)
    one, two, three = made.parts
    assert isinstance(one, ToolReturnPart)
    assert (one.tool_call_id, one.content, one.outcome) == ("c1", "found", "success")
    assert isinstance(two, ToolReturnPart)
    assert (two.content, two.outcome) == ("(no content)", "failed")
    assert isinstance(three, UserPromptPart)
    assert three.content == "And now?"


def test_a_turn_of_the_model_has_its_words_and_its_calls() -> None:
    text = ours.ToolCall("c2", "look_up", "no json")
    (made,) = _spelled(ours.ModelMessage("assistant", "Hm.", (CALL, text)))
    assert isinstance(made, ModelResponse)
    assert [type(part) for part in made.parts] == [TextPart, ToolCallPart, ToolCallPart]
    assert [part.args for part in made.parts if isinstance(part, ToolCallPart)] == [
        {"at": "x"},
        "no json",
    ]


def test_an_empty_turn_has_no_parts() -> None:
    made = _spelled(ours.ModelMessage("assistant"), ours.ModelMessage("user"))
    assert [list(message.parts) for message in made] == [[], []]


def test_the_system_text_and_the_tools_are_spelled() -> None:
    request = ours.ModelRequest("m", (), system="Be short.", tools=(TOOL,))
    made = to_parameters(request)
    assert made.instruction_parts is not None
    assert [part.content for part in made.instruction_parts] == ["Be short."]
    (tool,) = made.function_tools
    assert (tool.name, tool.description, tool.strict) == ("look_up", "Looks.", False)
    assert tool.parameters_json_schema == {"type": "object", "title": "T"}
    assert made.allow_text_output is True


@pytest.mark.parametrize(
    ("tools", "choice", "may_talk"),
    [((TOOL,), "auto", True), ((TOOL,), "any", False), ((), "any", True), ((TOOL,), "none", True)],
)
def test_a_tool_can_be_wanted_only_where_there_is_one(
    tools: tuple[ours.ModelTool, ...], choice: str, may_talk: bool
) -> None:
    request = ours.ModelRequest("m", (), tools=tools, choice=choice)  # type: ignore[arg-type]
    assert to_parameters(request).allow_text_output is may_talk


def test_what_came_back_is_read() -> None:
    said = from_response(
        ModelResponse(
            parts=[
                ThinkingPart(content="One."),
                TextPart(content="Hel"),
                TextPart(content="lo."),
                ThinkingPart(content="Two."),
                ToolCallPart("look_up", '{"at": "x"}', "c1"),
                ToolCallPart("look_up", None, "c2"),
                ToolCallPart("look_up", "[1]", "c3"),
            ]
        )
    )
    assert (said.text, said.thoughts) == ("Hello.", "One.\n\nTwo.")
    assert [call.arguments for call in said.calls] == [{"at": "x"}, {}, "[1]"]
    # Thoughts that nobody signed need not go back.
    assert said.kept == ""


def test_calls_without_an_id_or_with_the_same_get_their_own() -> None:
    parts = [ToolCallPart("look_up", {}, given) for given in ("a", "a", "", "a")]
    ids = [call.id for call in from_response(ModelResponse(parts=parts)).calls]
    assert ids[0] == "a"
    assert len(set(ids)) == 4
    assert all(ids)


SIGNED = ModelResponse(
    parts=[
        ThinkingPart(content="One.", signature="s1", provider_name="anthropic"),
        TextPart(content="Hel"),
        ThinkingPart(content="", signature="s2", id="redacted_thinking", provider_name="anthropic"),
        TextPart(content="lo."),
        ToolCallPart("look_up", {"at": "x"}, "c1"),
    ],
    provider_name="anthropic",
)


def test_signed_thoughts_come_back_in_their_places() -> None:
    said = from_response(SIGNED)
    (made,) = _spelled(ours.ModelMessage("assistant", said.text, said.calls, kept=said.kept))
    assert list(made.parts) == list(SIGNED.parts)


def test_thoughts_are_kept_only_while_the_turn_goes_on() -> None:
    ended = ModelResponse(parts=SIGNED.parts[:-1], provider_name="anthropic")
    assert from_response(ended).kept == ""


def test_thoughts_of_one_provider_are_not_told_to_another() -> None:
    said = from_response(SIGNED)
    (made,) = _spelled(
        ours.ModelMessage("assistant", said.text, said.calls, kept=said.kept), system="openai"
    )
    assert [type(part) for part in made.parts] == [TextPart, ToolCallPart]


@pytest.mark.parametrize(
    "kept",
    [
        "no json",
        "[]",
        "{}",
        "null",
        '{"system": "anthropic"}',
        '{"system": "anthropic", "order": [["call"], ["call"]]}',
        '{"system": "anthropic", "order": [["text", 2]]}',
        '{"system": "anthropic", "order": [["text", "2"]]}',
        '{"system": "anthropic", "order": [["thought"]]}',
        '{"system": "anthropic", "order": 5}',
    ],
)
def test_what_was_kept_and_does_not_fit_is_left_out(kept: str) -> None:
    (made,) = _spelled(ours.ModelMessage("assistant", "Hello.", (CALL,), kept=kept))
    assert [type(part) for part in made.parts] == [TextPart, ToolCallPart]


def test_what_is_kept_is_short() -> None:
    long = "a" * 10_000
    said = from_response(
        ModelResponse(
            parts=[
                ThinkingPart(content="Hm.", signature="s", provider_name="anthropic"),
                TextPart(content=long),
                ToolCallPart("look_up", {"at": long}, "c1"),
            ],
            provider_name="anthropic",
        )
    )
    assert len(said.kept) < 200
    assert json.loads(said.kept)["system"] == "anthropic"
