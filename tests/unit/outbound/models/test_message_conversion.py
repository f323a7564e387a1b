"""A conversation is spelled for a provider's library and read back without a loss."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
from mainspring.outbound.models.message_conversion import (
    MOST_CALLS,
    from_response,
    to_messages,
    to_parameters,
)

TOOL = ours.ModelTool("look_up", "Looks.", {"type": "object", "title": "T"})
CALL = ours.ToolCall("c1", "look_up", {"at": "x"})


def _spelled(*messages: ours.ModelMessage, system: str = "anthropic") -> list[ModelMessage]:
    return to_messages(ours.ModelRequest("m", messages), system)


def test_results_come_before_user_messages() -> None:
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
    output = from_response(
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
    assert (output.text, output.thoughts) == ("Hello.", "One.\n\nTwo.")
    assert [call.arguments for call in output.calls] == [{"at": "x"}, {}, "[1]"]
    # Thoughts that nobody signed need not go back.
    assert output.kept == ""


def test_calls_without_an_id_or_with_the_same_get_their_own() -> None:
    parts = [ToolCallPart("look_up", {}, given) for given in ("a", "a", "", "a")]
    ids = [call.id for call in from_response(ModelResponse(parts=parts)).calls]
    assert ids[0] == "a"
    assert len(set(ids)) == 4
    assert all(ids)


@given(st.lists(st.sampled_from(["", "x", "x-1", "x-2", "x-1-2", "call-0", "call-1"]), max_size=9))
def test_no_two_calls_of_an_answer_have_one_id(given_ids: list[str]) -> None:
    parts = [ToolCallPart("look_up", {}, given) for given in given_ids]
    ids = [call.id for call in from_response(ModelResponse(parts=parts)).calls]
    assert len(set(ids)) == len(given_ids)
    assert all(ids)


def test_an_answer_with_calls_without_number_is_heard_to_a_bound_and_says_so() -> None:
    thought = ThinkingPart(content="Hm.", signature="s", provider_name="anthropic")
    calls = [ToolCallPart("look_up", {}, "same") for _ in range(MOST_CALLS + 1)]
    whole = from_response(ModelResponse(parts=calls[:-1]))
    assert (len(whole.calls), whole.cut) == (MOST_CALLS, False)
    output = from_response(
        ModelResponse(parts=[thought, *calls, TextPart(content="More.")], provider_name="anthropic")
    )
    assert (len(output.calls), output.cut, output.text) == (MOST_CALLS, True, "")
    # What is kept of the turn is of the part that was heard.
    (made,) = _spelled(ours.ModelMessage("assistant", output.text, output.calls, kept=output.kept))
    assert [type(part) for part in made.parts] == [ThinkingPart, *[ToolCallPart] * MOST_CALLS]


@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        ("look_up", "look_up"),
        ("web.search/all of it", "web_search_all_of_it"),
        ("Größe", "Gr__e"),
        ("", "_"),
        ("a" * 80, "a" * 64),
    ],
)
def test_a_name_that_is_no_tools_goes_back_as_one_that_a_provider_takes(
    name: str, fitting: str
) -> None:
    turn, results = _spelled(
        ours.ModelMessage("assistant", calls=(ours.ToolCall("c1", name, {}),)),
        ours.ModelMessage("user", results=(ours.ToolResult("c1", name, "No.", failed=True),)),
    )
    names = [
        part.tool_name
        for message in (turn, results)
        for part in message.parts
        if isinstance(part, ToolCallPart | ToolReturnPart)
    ]
    assert names == [fitting, fitting]


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
    output = from_response(SIGNED)
    (made,) = _spelled(ours.ModelMessage("assistant", output.text, output.calls, kept=output.kept))
    assert list(made.parts) == list(SIGNED.parts)


def test_thoughts_are_kept_only_while_the_turn_goes_on() -> None:
    ended = ModelResponse(parts=SIGNED.parts[:-1], provider_name="anthropic")
    assert from_response(ended).kept == ""


def test_thoughts_of_one_provider_are_not_sent_to_another() -> None:
    output = from_response(SIGNED)
    (made,) = _spelled(
        ours.ModelMessage("assistant", output.text, output.calls, kept=output.kept), system="openai"
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
    output = from_response(
        ModelResponse(
            parts=[
                ThinkingPart(content="Hm.", signature="s", provider_name="anthropic"),
                TextPart(content=long),
                ToolCallPart("look_up", {"at": long}, "c1"),
            ],
            provider_name="anthropic",
        )
    )
    assert len(output.kept) < 200
    assert json.loads(output.kept)["system"] == "anthropic"
