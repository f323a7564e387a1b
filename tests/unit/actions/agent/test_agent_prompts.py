"""The prompts an agent is sent, its context, and what its answers must look like."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.actions.agent.loop import build_toolset
from mainspring.actions.agent.prompts import QuoteMarkers, format_problem
from mainspring.actions.agent.sample import build_sample, build_sample_answer
from mainspring.actions.agent.task import parse_output_shape, read_material
from mainspring.actions.agent.transcript import AgentTranscript
from mainspring.contracts.agent import AgentTool, AgentTurn
from mainspring.contracts.errors import Finding, Invalid, Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ToolCall
from mainspring.definition.json_schema import compile_schema
from mainspring.gate.agent_turns import reply_as_dict, reply_from_dict
from mainspring.surfaces.cli.step_output import agent_line

MARK = "untrusted-0123456789abcdef"
_TURN = (
    '{"kind":"turn","turn":2,"input_tokens":1000,"output_tokens":50,"cost_usd":0.01,'
    '"total_usd":0.02}'
)


@given(source=st.text(max_size=60), text=st.text(max_size=300))
def test_whatever_a_text_says_it_is_between_two_marks(source: str, text: str) -> None:
    for output in (text, f"{text}</{MARK}>{text}", f"<{MARK} source=''>{text}"):
        shown = QuoteMarkers(MARK, 10_000).around(source, output)
        assert shown.startswith(f'<{MARK} source="')
        assert shown.endswith(f"</{MARK}>")
        assert shown.count(MARK) == 2


@given(text=st.text(min_size=1, max_size=300), most=st.integers(1, 50))
def test_what_is_cut_is_said_and_never_more_is_shown(text: str, most: int) -> None:
    shown = QuoteMarkers(MARK, most).around("x", text)
    if len(text) > most:
        assert f"({len(text) - most} of {len(text)} characters were omitted." in shown
    else:
        assert shown.endswith(f"</{MARK}>")


def test_a_problem_is_reported_with_all_that_helps() -> None:
    wrong = Invalid(
        "It is wrong.", findings=[Finding("/a", "Too short.", "x")], suggestion="Do it so."
    )
    assert format_problem(wrong) == "It is wrong.\n/a: Too short.\nDo it so."
    assert format_problem(UpstreamError("Busy.")) == "Busy."


def test_a_model_is_offered_flat_schemas_because_providers_refuse_others() -> None:
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string", "x-mainspring-says": "x"}, "id": {"format": "ours"}},
        "oneOf": [{"required": ["q"]}, {"required": ["id"]}],
    }
    [tool, *_] = build_toolset([AgentTool("find", "Find", schema)], {}, None).tools

    assert tool.input_schema == {
        "type": "object",
        "properties": {"q": {"type": "string"}, "id": {}},
    }
    assert tool.description == "Find\n\nGive one of these: q; id."


@given(st.lists(st.text(alphabet="ab._-", min_size=1, max_size=90), unique=True, max_size=20))
def test_every_tool_has_a_name_of_its_own_that_providers_take(ids: list[str]) -> None:
    toolset = build_toolset([AgentTool(one, "", {"type": "object"}) for one in ids], {}, None)
    names = [tool.name for tool in toolset.tools]
    assert len(set(names)) == len(ids) + 2
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert {handle.tool.id for handle in toolset.handles.values()} == set(ids)


def test_a_tool_that_has_the_name_of_another_with_its_mark_is_distinguished() -> None:
    plain, marked = build_toolset(
        [AgentTool("a_b", "", {}), AgentTool("a.b", "", {})], {}, None
    ).handles
    for ids in ([plain, marked, "a.b"], [plain, "a.b", marked]):
        toolset = build_toolset([AgentTool(one, f"What {one} does", {}) for one in ids], {}, None)
        assert len(set(toolset.names)) == len(toolset.names)
        assert [handle.tool.id for handle in toolset.handles.values()] == ids
        assert [tool.description for tool in toolset.tools[:3]] == [
            f"What {one} does" for one in ids
        ]


def test_a_tool_that_wants_a_secret_is_refused_without_one() -> None:
    schema = {"type": "object", "required": ["token"], "properties": {"token": {}, "text": {}}}
    tool = AgentTool("chat.post", "Post", schema, secrets=frozenset({"token"}))
    with pytest.raises(Invalid) as refused:
        build_toolset([tool], {}, None)
    assert refused.value.code == "tool_needs_secret"
    toolset = build_toolset([tool], {"chat.post": {"token": "a marker"}}, None)
    assert set(toolset.tools[0].input_schema["properties"]) == {"text"}


def test_only_what_is_asked_tells_two_tasks_apart() -> None:
    one = read_material({"prompt": "Go."}, "m", Limits())
    same = read_material({"prompt": "Go.", "max_turns": 3, "tools": ["a"]}, "other", Limits())
    assert one.digest == same.digest
    for other in (
        {"prompt": "Go!"},
        {"prompt": "Go.", "system": "x"},
        {"prompt": "Go.", "documents": [{"text": ""}]},
        {"prompt": "Go.", "output_schema": {"type": "object"}},
    ):
        assert read_material(other, "m", Limits()).digest != one.digest


def test_a_shape_that_cannot_be_used_is_refused_at_its_place() -> None:
    with pytest.raises(Problem) as refused:
        parse_output_shape({"type": "object", "properties": {"a": {"type": "nothing"}}}, Limits())
    assert refused.value.findings[0].pointer.startswith("/output_schema/properties/a")
    with pytest.raises(Problem):
        parse_output_shape({"type": "array", "items": {"$ref": "#/$defs/a"}}, Limits())
    # It leads somewhere in a list, and nowhere once that is in an object.
    tree = {"type": "array", "items": {"type": "array", "items": {"$ref": "#/items"}}}
    with pytest.raises(Problem) as moved:
        parse_output_shape(tree, Limits())
    assert "$defs" in (moved.value.suggestion or "")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
            {"a": "…"},
        ),
        ({"type": "array", "minItems": 2, "items": {"type": "integer"}}, [0, 0]),
        ({"type": "array", "items": {"type": "string"}}, ["…"]),
        ({"type": "array", "maxItems": 0}, []),
        ({"enum": ["b", "c"]}, "b"),
        ({"type": ["null", "string"]}, None),
        ({"examples": [{"x": 1}]}, {"x": 1}),
        ({"type": "integer", "minimum": 4}, 4),
        ({"const": 5}, 5),
        (True, None),
    ],
)
def test_a_pretended_answer_has_the_shape_that_was_asked_for(schema: Any, value: Any) -> None:
    assert build_sample(schema) == value
    if isinstance(schema, dict):
        assert compile_schema(schema, Limits()).is_valid(value)


def _lists(levels: int, inner: dict[str, Any]) -> dict[str, Any]:
    for _ in range(levels):
        inner = {"type": "array", "minItems": 20, "items": inner}
    return inner


@pytest.mark.parametrize(
    "schema",
    [
        _lists(4, {"type": "integer"}),
        _lists(4, {"type": "object"}),
        _lists(2, {"const": "x" * 10_000}),
        _lists(2, {"type": "object", "required": ["y" * 10_000]}),
        {"type": "array", "minItems": "x"},
        {"type": "object", "required": 5},
        {"type": "object", "required": ["a"], "properties": 5},
    ],
)
def test_a_shape_without_a_sample_is_pretended_as_nothing(schema: dict[str, Any]) -> None:
    made = build_sample_answer({"output_schema": schema}, Limits())
    assert (made["kind"], made["output"]) == ("nothing", None)
    assert "could be generated" in made["text"]


def test_a_transcript_can_be_written_however_deep_its_arguments_are() -> None:
    deep: Any = "the end"
    for _ in range(400):
        deep = [deep]
    output = AgentTranscript(read_material({"prompt": "Go."}, "m", Limits()))
    reply = ModelReply("", "m", 1, 1, calls=(ToolCall("1", "a", {"q": deep}),))
    output.hear(1, AgentTurn(reply, Decimal(0), 1, datetime(2026, 1, 1, tzinfo=UTC)))
    output.called("a", None, {"q": deep}, "Too deep.", failed=True)
    whole = output.whole("k", "s", "o", [], {"kind": "done"}, Decimal(0), 1_000_000)
    assert b"Too deep." in orjson.dumps(whole)
    assert whole["shortened"] is True


@given(
    text=st.text(alphabet=st.characters(), max_size=50),
    given_=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
)
def test_a_reply_that_was_kept_is_the_same_when_it_is_read_back(
    text: str, given_: dict[str, Any]
) -> None:
    reply = ModelReply(
        text, "m", 1, 2, calls=(ToolCall("1", text, given_), ToolCall("2", "b", text))
    )
    stored = reply_as_dict(reply, 64)
    again = reply_from_dict(stored)
    assert reply_as_dict(again, 64) == stored
    assert "\x00" not in again.text
    assert len(again.calls) == 2


@pytest.mark.parametrize(
    ("piece", "line"),
    [
        ('{"kind":"thought","text":"Hm.\\nSo."}', "thinks: Hm. So."),
        ('{"kind":"call","tool":"a.b","arguments":{"q":1}}', '→ a.b {"q": 1}'),
        ('{"kind":"result","tool":"a","outcome":"held","text":"x"}', "← a waits for a person: x"),
        ('{"kind":"refused","tool":"b","arguments":{},"text":"No."}', "→ b {} was not done: No."),
        ('{"kind":"told","text":"Give your answer."}', "receives: Give your answer."),
        (_TURN, "turn 2: 1,050 tokens, $0.0100 ($0.0200 so far)"),
        ('{"kind":"answer","how":"done","output":{"n":1},"text":""}', 'answers: {"n": 1}'),
        ('{"kind":"answer","how":"nothing","text":"No mail."}', "nothing to do: No mail."),
        ('{"kind":"other"}', None),
        ("not json", None),
        ("[]", None),
    ],
)
def test_watchers_read_what_an_agent_does(piece: str, line: str | None) -> None:
    assert agent_line(piece, plain=False) == line
