"""What a model is shown is made from the registries, is right, and is short."""

from __future__ import annotations

import pytest

from mainspring.authoring.generate import outline
from mainspring.authoring.generate.conversation import generate
from mainspring.authoring.generate.prompts import SHOTS, FewShotExample, system_text
from mainspring.definition.templates import FILTERS
from tests.kit.author_model import (
    LIMITS,
    RESOURCES,
    WORDS,
    ScriptedModel,
    desk_for,
    hands_in,
    judged,
    wish_for,
)

MOST_BYTES = 36_000
SYSTEM = system_text(WORDS, "data-0")


def test_the_whole_is_short_enough_to_be_read_at_every_ask() -> None:
    assert len(SYSTEM.encode()) < MOST_BYTES
    assert LIMITS.model_request_bytes > 10 * MOST_BYTES


def test_it_names_every_trigger_action_filter_and_capability_that_a_plan_may_use() -> None:
    for name in (*WORDS.triggers, *WORDS.actions):
        assert f"\n{name} {{" in SYSTEM
    for name in FILTERS:
        assert name in outline.filters()
    for one in WORDS.capabilities.values():
        assert (f"\n{one.id}  [" in SYSTEM) is one.grantable


def test_it_asks_for_the_composed_shape() -> None:
    assert "one agent_task thinks once" in SYSTEM
    assert "Where nothing has to be understood or written, use no agent_task" in SYSTEM


@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.handed_in["definition"]["name"])
async def test_what_it_is_shown_as_good_is_taken_as_it_is(shot: FewShotExample) -> None:
    arguments = shot.handed_in
    reply = hands_in(arguments["definition"], *arguments["questions"], notes=arguments["notes"])
    made = await generate(desk_for(ScriptedModel(reply)), wish_for(shot.request, timezone=None))
    assert made.refused == ()
    assert made.sketch is not None
    assert [one.pointer for one in made.sketch.questions] == [
        one["pointer"] for one in arguments["questions"]
    ]
    assert not any("other moments" in note for note in made.sketch.notes)
    answered = made.sketch.document
    for question in made.sketch.questions:
        assert question.pointer == "/plan/2/config/token"
        answered["plan"][2]["config"]["token"] = question.choices[0].value
    report = await judged(answered)
    assert report.findings == ()
    assert report.warnings == ()
    assert RESOURCES.secrets[0] not in SYSTEM


def test_agents_in_what_it_is_shown_think_once_and_act_never() -> None:
    for shot in SHOTS:
        agents = [
            one for one in shot.handed_in["definition"]["plan"] if one["action"] == "agent_task"
        ]
        assert len(agents) <= 1
        for agent in agents:
            assert "output_schema" in agent["config"]
            assert "max_usd" in agent["config"]
            for tool in agent["config"].get("tools", ()):
                assert outline.reach(WORDS.capabilities[tool]) == "reads"


def test_a_schema_of_any_shape_can_be_described() -> None:
    circle = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}},
    }
    assert outline.SchemaOutline(circle).render_type(circle).endswith("[]")
    for odd in (
        True,
        None,
        {},
        {"type": 7},
        {"enum": "x"},
        {"properties": 3},
        {"anyOf": "a"},
        {"type": ["string", 4]},
        {"required": 3, "properties": {"a": 1}},
        {"$ref": 5},
    ):
        assert isinstance(outline.SchemaOutline({}).render_type(odd), str)
    told = outline.SchemaOutline({}).render_type(
        {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"type": ["string", "null"]}, "b": {"enum": [1, "x"]}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        }
    )
    assert told == '{ a: string | null; b?: 1 | "x" } with a or b'
