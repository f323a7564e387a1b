"""A definition is changed by words: the whole comes back, and what is not the model's stays."""

from __future__ import annotations

from typing import Any

from mainspring.authoring.generate.context import GenerationResult
from mainspring.authoring.generate.conversation import generate
from tests.kit.author_model import ScriptedModel, desk_for, hands_in, judged, plain, wish_for

BEFORE = plain(
    intent="The first words.",
    schema_version="1.1",
    metadata={"tags": ["mine"], "created_from_nl": False},
    execution={"write_policy": "auto_confirm_safe", "budget_cap_usd": "0.2"},
    retention={"runs_days": 7},
)
FETCH = {"step_id": "get", "action": "http_fetch", "config": {"url": "https://a.example/x"}}


async def changed(text: str, after: dict[str, Any], before: dict[str, Any]) -> GenerationResult:
    return await generate(desk_for(ScriptedModel(hands_in(after))), wish_for(text, before=before))


async def test_the_model_is_shown_what_is_to_be_changed_and_asked_to_keep_the_rest() -> None:
    model = ScriptedModel(hands_in(plain()))
    await generate(desk_for(model), wish_for("say good evening", before=BEFORE))
    opening = model.asked[0].messages[0].content
    assert '"title": "Good morning"' in opening
    assert "keep the ids of triggers" in opening


async def test_what_a_person_decided_stays_as_it_was() -> None:
    after = plain(
        plan=[{"step_id": "tell", "action": "notification", "config": {"title": "Good evening"}}],
        metadata={"tags": ["yours"]},
        execution={"budget_cap_usd": "0.2"},
        intent="Something else.",
    )
    made = await changed("say good evening", after, BEFORE)
    assert made.sketch is not None
    document = made.sketch.document
    assert document["plan"][0]["config"]["title"] == "Good evening"
    for name in ("intent", "metadata", "retention"):
        assert document[name] == BEFORE[name]
    assert document["execution"]["write_policy"] == "auto_confirm_safe"
    assert made.sketch.notes == ()


async def test_a_model_changes_no_write_policy_in_either_direction() -> None:
    for was, expected in (
        ("always_draft", "auto_confirm_safe"),
        ("auto_confirm_safe", "always_draft"),
    ):
        made = await changed(
            "say good evening",
            plain(execution={"write_policy": expected}),
            plain(execution={"write_policy": was}),
        )
        assert made.sketch is not None
        policy = made.sketch.document["execution"].get("write_policy", "always_draft")
        assert policy == was
        assert any("set back" in note for note in made.sketch.notes)


async def test_a_trigger_that_lost_its_id_gets_it_back() -> None:
    after = plain()
    del after["triggers"][0]["id"]
    made = await changed("say good evening", after, plain())
    assert made.sketch is not None
    assert made.sketch.document["triggers"][0]["id"] == "mornings"


async def test_written_grants_stay_as_long_as_they_carry_the_plan() -> None:
    narrow = [{"capability": "http_fetch", "params": {"hosts": ["a.example"], "method": "GET"}}]
    fetch = {**FETCH, "config": {"url": "https://a.example/y", "method": "GET"}}
    before = plain(plan=[FETCH], grants=narrow)
    made = await changed("read y instead", plain(plan=[fetch]), before)
    assert made.sketch is not None
    assert made.sketch.document["grants"] == narrow
    both = [fetch, *plain()["plan"]]
    made = await changed("and tell me", plain(plan=both), before)
    assert made.sketch is not None
    assert "grants" not in made.sketch.document
    assert any("follow from the plan" in note for note in made.sketch.notes)
    assert (await judged(made.sketch.document)).ok


async def test_a_definition_of_any_shape_may_be_the_one_before() -> None:
    odd: dict[str, Any] = {"triggers": "x", "execution": [], "plan": None, "grants": 7, "intent": 3}
    made = await changed("every day at 9 leave me a word", plain(), odd)
    assert made.sketch is not None
    assert (await judged(made.sketch.document)).ok


async def test_what_a_person_was_asked_for_already_may_still_be_missing() -> None:
    """A proposal is changed while a question about it is open."""
    post = {"step_id": "post", "action": "slack_post", "config": {"channel": "#a", "text": "Hi"}}
    louder = {**post, "config": {"channel": "#a", "text": "HI"}}
    made = await changed("say it louder", plain(plan=[louder]), plain(plan=[post]))
    assert made.sketch is not None
    assert made.sketch.document["plan"] == [louder]
    other = {**post, "step_id": "another", "config": {"channel": "#a"}}
    made = await changed("say it louder", plain(plan=[other]), plain(plan=[post]))
    assert made.sketch is None
