"""A definition changed by rules: what the words name, and not a sign besides."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.authoring.json_pointers import set_at_pointer, take_out
from mainspring.authoring.models import ProposalSketch
from tests.unit.authoring.sketch.workspace import LEADS, asked, draw, strays

BEFORE: Final = draw(
    "every weekday at 9 Berlin summarise new notes, post five bullets to #standup and email them "
    "to ann@example.com"
).document
# What it is for, without a moment that is no longer right.
TIMELESS: Final = (
    "Summarise new notes, post five bullets to #standup, email them to ann@example.com."
)
SLACK: Final = "/plan/3"
MAIL: Final = "/plan/4"


def changed(text: str, before: Any = BEFORE) -> ProposalSketch:
    made = draw(text, before=before)
    assert strays(made) == []
    return made


def written(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("run it every Monday at 10", {"/triggers/0/config/cron": "0 10 * * 1"}),
        ("run it at 8 instead", {"/triggers/0/config/cron": "0 8 * * 1-5"}),
        ("run it in New York time", {"/triggers/0/config/timezone": "America/New_York"}),
        ("at most $1 a day", {"/execution/cost_cap_daily_usd": "1"}),
        ("limit it to 20 cents a run", {"/execution/budget_cap_usd": "0.2"}),
        ("use model acme/small", {"/execution/model": "acme/small"}),
        ("call it Morning notes", {"/name": "Morning notes"}),
        ('rename it to "Notes {{ x }}"', {"/name": "Notes { { x }}"}),
        ("post to #ops instead of #standup", {f"{SLACK}/config/channel": "#ops"}),
        ("change the channel from #standup to #ops", {f"{SLACK}/config/channel": "#ops"}),
        ("send it to bob@example.com instead", {f"{MAIL}/config/to": ["bob@example.com"]}),
        (
            "call it Mondays and run it every Monday at 7",
            {"/name": "Mondays", "/triggers/0/config/cron": "0 7 * * 1"},
        ),
        ("only run it by hand", {"/triggers": []}),
    ],
)
def test_what_is_named_is_changed_and_all_else_stays(text: str, places: dict[str, Any]) -> None:
    expected: Any = BEFORE
    if any(place.startswith("/triggers") for place in places):
        expected = set_at_pointer(expected, "/goal", TIMELESS)
    elif f"{SLACK}/config/channel" in places:
        expected = set_at_pointer(expected, "/goal", BEFORE["goal"].replace("#standup", "#ops"))
    for place, value in places.items():
        expected = set_at_pointer(expected, place, value)
    assert written(changed(text).document) == written(expected)


def test_the_definition_that_was_handed_in_is_not_touched() -> None:
    stored = written(BEFORE)
    for words in ("run it at 8 instead", "also mail me", "stop mailing", "use #ops instead"):
        changed(words)
    assert written(BEFORE) == stored


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("also mail me", "email.notify_owner"),
        ("then also tell me on Telegram", "telegram_push"),
        ("also post it to #other", "slack_post"),
        ("please also create a linear issue", "linear.create_issue"),
    ],
)
def test_a_step_that_is_added_says_what_the_others_say(text: str, action: str) -> None:
    made = changed(text)
    *there, added = made.document["plan"]
    assert there == BEFORE["plan"]
    assert added["action"] == action
    assert "steps.think.bullets" in written(added)
    assert {**made.document, "plan": there} == BEFORE


def test_a_board_that_is_written_from_now_on_needs_its_key() -> None:
    made = changed("also add a row to the Leads board")
    assert asked(made)["dedupe-key"] == "/plan/5/config/dedupe_key_field"
    assert made.document["writes"] == {"boards": [LEADS]}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("remove the step that posts to Slack", SLACK),
        ("stop mailing", MAIL),
        ("don't email any more", MAIL),
    ],
)
def test_a_step_that_is_not_wanted_is_taken_out(text: str, place: str) -> None:
    assert written(changed(text).document) == written(take_out(BEFORE, place))


def test_a_step_that_others_need_stays_and_that_is_reported() -> None:
    made = changed("remove the think step")
    assert made.document == BEFORE
    assert any("think" in one for one in made.notes)


def test_every_second_week_puts_its_condition_on_the_steps_that_are_there() -> None:
    (question,) = changed("every other Friday at 4pm").questions
    places = [at for at, _ in question.choices[0].also]
    assert places == [f"/plan/{place}/when" for place in range(len(BEFORE["plan"]))]


@pytest.mark.parametrize(
    "text", ["make it friendlier", "", "{{ secrets.x }} {% for %}", "hm", "pause it", "order.paid"]
)
def test_what_is_not_understood_changes_nothing_and_says_so(text: str) -> None:
    made = changed(text)
    assert written(made.document) == written(BEFORE)
    assert "Nothing was changed." in made.notes[0]
    assert [question.id for question in made.questions] == ["not-understood"] * bool(text)


JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
BROKEN: Final = st.dictionaries(
    st.sampled_from(["name", "triggers", "plan", "execution", "writes"]),
    JSON
    | st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.just("schedule"),
                "config": JSON,
                "action": st.just("slack_post"),
                "step_id": JSON,
                "when": JSON,
                "id": JSON,
            },
        ),
        max_size=3,
    ),
)


@given(
    before=BROKEN,
    text=st.sampled_from(
        [
            "run it at 8",
            "every Monday at 9 UTC",
            "use #ops instead of #x",
            "also mail me",
            "stop posting to slack",
            "at most $1 a day",
            "in Berlin time",
            "by hand only",
            "also add a row to the Orders board",
            "when a note comes in",
            "every other Friday at 4",
            "email a@example.com instead",
        ]
    ),
)
@settings(max_examples=12, deadline=None)
def test_a_definition_of_any_shape_can_be_handed_in(before: dict[str, Any], text: str) -> None:
    stored = written(before)
    draw(text, before=before)
    assert written(before) == stored


@pytest.mark.parametrize("text", ["only on Mondays at 10", "run it when a note comes in instead"])
def test_a_goal_that_somebody_wrote_stays_and_one_that_was_sketched_names_no_old_moment(
    text: str,
) -> None:
    assert changed(text).document["goal"] == TIMELESS
    theirs = set_at_pointer(BEFORE, "/goal", "Every weekday at 9 the team is awake.")
    assert changed(text, theirs).document["goal"] == "Every weekday at 9 the team is awake."


def test_only_an_hour_keeps_the_days_also_where_the_zone_is_still_asked_for() -> None:
    made = changed("at 10 instead", draw("every weekday at 9 post 'x' to #a").document)
    assert made.document["triggers"][0]["config"] == {"cron": "0 10 * * 1-5"}
    assert asked(made) == {"time-zone": "/triggers/0/config/timezone"}


def test_another_channel_replaces_where_that_is_said_and_is_added_with_a_word_otherwise() -> None:
    assert changed("now post to #ops").document["plan"][3]["config"]["channel"] == "#ops"
    made = changed("post to #ops")
    assert [one["config"].get("channel") for one in made.document["plan"][3::2]] == [
        "#standup",
        "#ops",
    ]
    assert any("too" in one for one in made.notes)


def test_what_a_change_cannot_do_is_reported_with_what_it_did() -> None:
    made = changed("run it at 10 and make it friendlier, only if something is urgent")
    assert made.document["triggers"][0]["config"]["cron"] == "0 10 * * 1-5"
    assert any("friendlier" in one for one in made.notes)
    assert any("urgent" in one for one in made.notes)


def test_what_a_failure_leads_to_is_no_step_of_the_plan() -> None:
    made = changed("also tell me if it fails")
    assert made.document["plan"] == BEFORE["plan"]
    (alarm,) = made.document["execution"]["on_failure"]
    assert alarm["action"] == "notification"
