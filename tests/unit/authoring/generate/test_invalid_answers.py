"""Whatever a model hands in, there is a verdict, and what is taken is whole or asked for."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.authoring.generate.name_checks import KnownNames
from mainspring.authoring.generate.prompts import SHOTS
from mainspring.authoring.generate.schedule_reconciliation import read_schedule
from mainspring.authoring.generate.submission import SubmissionReviewer, _set_approvals
from tests.kit.author_model import RESOURCES, WORDS, ScriptedModel, desk_for, judged, says, wish_for

ODD: list[Any] = [
    None,
    True,
    -1,
    1e300,
    "",
    [],
    {},
    "{{",
    "{{ secrets.x }}",
    "/plan/0/config/token",
    "\u202e",
    "a" * 3_000,
    ["x", None],
    {"a": {"b": [1, {"c": 2}]}},
    {"type": "schedule"},
    "sometimes",
    {"step_id": "x", "action": "slack_post"},
    "0 9 * * *",
    {"cron": 7, "timezone": []},
]
REQUESTS = ("every other Friday at 5pm", "run it at 10", "every 7 minutes", "tomorrow at 9")


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [at, *(place for key, one in inside for place in places(one, (*at, key)))]


@st.composite
def spoilt(draw: st.DrawFn, whole: dict[str, Any]) -> dict[str, Any]:
    """A good one with something odd at a few of its places."""
    made = deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places(made)[1:] or [("notes",)]))
        holder: Any = made
        for key in place[:-1]:
            holder = holder[key]
        if isinstance(holder, dict) and draw(st.booleans()):
            holder.pop(place[-1], None)
        else:
            holder[place[-1]] = deepcopy(draw(st.sampled_from(ODD)))
    return made


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_odd_definition_is_taken_or_refused_and_never_breaks_anything(
    data: st.DataObject,
) -> None:
    shot = data.draw(st.sampled_from(SHOTS))
    handed_in = data.draw(spoilt(shot.handed_in))
    before = data.draw(st.none() | spoilt(shot.handed_in["definition"]))
    request = data.draw(st.sampled_from((shot.request, *REQUESTS)))
    zone = data.draw(st.sampled_from((None, "Europe/Berlin")))
    automation_request = wish_for(request, timezone=zone, before=before)
    context = desk_for(ScriptedModel(says()))
    hands = SubmissionReviewer(
        context,
        automation_request,
        read_schedule(automation_request),
        KnownNames.of(automation_request, (), RESOURCES, WORDS),
    )
    verdict = asyncio.run(hands.review(handed_in))
    if verdict.sketch is None:
        assert verdict.summary
        assert verdict.feedback
        return
    asked = [
        pointer
        for question in verdict.sketch.questions
        for pointer in (question.pointer, *question.others)
    ]
    for finding in asyncio.run(judged(verdict.sketch.document)).findings:
        known = [one for one in asked if f"{finding.pointer}/".startswith(f"{one}/")]
        above = [one for one in asked if one.rpartition("/")[0] == finding.pointer]
        assert known or above or (before is not None and finding.code == "required")


def test_a_step_without_a_name_that_is_a_text_keeps_no_approval() -> None:
    before = {"plan": [{"step_id": ["a"], "action": "slack_post", "approval": "automatic"}]}
    document: dict[str, Any] = {"plan": [{"step_id": "a", "action": "slack_post"}]}

    assert _set_approvals(document, before) == []
    assert "approval" not in document["plan"][0]
