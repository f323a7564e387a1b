"""A definition in plain sentences, unfinished and hostile ones too."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.authoring.review.explain import explain
from mainspring.authoring.review.trigger_descriptions import describe_config
from tests.kit.reviewing import BOARD, WORDS, agent, document, schedule, slack, step


def _lines(*plan: Any, **more: Any) -> tuple[str, ...]:
    return explain(document(*plan, **more), WORDS)


def test_the_first_sentence_says_when_and_what_and_who_agrees() -> None:
    found = _lines(step("list_pages", {"type": "competitor"}, "find"), agent(), slack())
    assert found[0] == (
        "Every weekday at 09:00 (Europe/Berlin) it looks for pages, runs a model for bullets "
        "and posts to “#standup” on Slack after approval."
    )


def test_each_step_has_its_own_numbered_sentence_with_its_values_in_words() -> None:
    found = _lines(agent(), slack(text="News: {{ steps.think.bullets | join(', ') }}"))
    assert found[1].startswith("1. It runs a model for bullets: “Sum up the pages.”, with search ")
    assert found[2] == (
        "2. It posts to “#standup” on Slack after approval: “News: [the bullets of step ‘think’]”."
    )


def test_steps_inside_a_loop_are_numbered_below_it() -> None:
    inside = [slack(), step("notification", {"title": "Done"}, "tell")]
    loop = step("for_each", {"items": "{{ inputs.names }}", "as": "name", "steps": inside}, "all")
    found = _lines(loop)
    assert found[1] == "1. It does 2 steps for each of the input ‘names’."
    assert found[2].startswith("1.1. It posts to “#standup” on Slack")
    assert found[3].startswith("1.2. It posts a message")


def test_a_loop_around_one_step_is_one_sentence() -> None:
    find = step("list_pages", {"type": "note"}, "find")
    read = step("get_page", {"id": "{{ page.id }}"}, "read")
    config = {"items": "{{ steps.find.pages }}", "as": "page", "steps": [read]}
    loop = step("for_each", {**config, "continue_on_error": True}, "each")
    found = _lines(find, loop)
    assert found[0].endswith("it looks for pages and reads the page for each of the pages found.")
    assert found[2] == (
        "2. For each of the pages found it reads the page, and continues when one fails."
    )
    assert found[3].startswith("A failed step")
    twice = _lines(find, {**find, "step_id": "other"}, loop)
    assert twice[3].startswith("3. For each of the pages of step ‘find’ it reads the page")
    lonely = step("for_each", {"steps": [step("send_email", {"to": "{{ item.mail }}"}, "mail")]})
    assert _lines(lonely)[1].startswith(
        "1. For each of a list that is not chosen yet it sends an e-mail to the mail of each "
        "item after approval. It lacks a subject that is not chosen yet"
    )
    with_own_condition = {**loop, "when": "{{ inputs.deep }}"}
    assert _lines(find, with_own_condition)[3].startswith("2.1. It reads a page")


def test_a_step_whose_result_is_read_is_said_to_wait_for_the_approval() -> None:
    tell = step("notification", {"title": "{{ steps.say.ts }}"}, "tell")
    posting = {**slack(), "step_id": "say", "hold_expires_after": "24h"}
    waits = "At step 1 the run waits for approval before it continues"
    assert f"{waits}, for at most 24h." in _lines(posting, tell)
    del posting["hold_expires_after"]
    assert f"{waits}." in _lines(posting, tell)
    assert f"{waits}." in _lines({**posting, "on_hold": "wait"})
    for quiet in (_lines(posting), _lines({**posting, "on_hold": "continue"}, tell)):
        assert not any("waits for approval" in line for line in quiet)


def test_while_it_is_asked_when_it_runs_nobody_is_said_to_start_it() -> None:
    made = document(triggers=[])
    asked = explain(made, WORDS, open_places=["/plan/0/config/prompt", "/triggers/0"])
    assert asked[0].startswith("At a time that is not chosen yet it runs a model")
    assert asked[1:] == explain(made, WORDS)[1:]
    other = explain(made, WORDS, open_places=["/plan/0/config/prompt"])
    assert other[0].startswith("When started manually")
    known = explain(document(), WORDS, open_places=["/triggers/1"])
    assert known[0].startswith("Every weekday at 09:00")


def test_the_summary_says_what_a_loop_does_for_each_item() -> None:
    loop = step("for_each", {"items": "{{ inputs.names }}", "steps": [slack()]}, "all")
    assert _lines(loop)[0].endswith(
        "it posts to “#standup” on Slack after approval for each of the input ‘names’."
    )


def test_a_board_is_called_by_its_name_where_that_is_known() -> None:
    rows = step("append_board_rows", {"board_id": BOARD, "dataset": "leads", "rows": []})
    on_it = {"type": "board_change", "config": {"board_id": BOARD}}
    made = document(rows, triggers=[on_it])
    assert explain(made, WORDS, {BOARD: "CRM\n”"})[0] == (
        'Whenever the board “CRM "” changes it adds rows to the dataset “leads” of the board '
        '“CRM "”.'
    )
    assert "the board 01900000… changes" in explain(made, WORDS)[0]


def test_an_open_place_is_said_to_be_open() -> None:
    post = slack()
    del post["config"]["channel"], post["config"]["text"]
    found = _lines(post, triggers=[{"type": "schedule", "config": {"cron": "0 9 * * *"}}])
    assert "posts to a channel that is not chosen yet on Slack" in found[0]
    assert "in a time zone that is not chosen yet" in found[0]
    assert "a text that is not chosen yet" in found[1]
    rows = step("append_board_rows", {"dataset": "leads"})
    lines = _lines(rows, triggers=[{"type": "schedule"}])
    assert lines[0].startswith("At times that are not chosen yet it adds rows")
    assert "It lacks a list of rows that is not chosen yet" in lines[1]


@pytest.mark.parametrize(
    ("when", "text"),
    [
        (
            "{{ think.bullets | default([]) | length > 0 }}",
            "the bullets of step ‘think’ is not empty",
        ),
        (
            "{{ inputs.result == 'failed' and inputs.branch == 'main' }}",
            "the input ‘result’ is “failed” and the input ‘branch’ is “main”",
        ),
        (
            "{{ steps.think.text | default('') | length > 0 }}",
            "the text of step ‘think’ is not empty",
        ),
        ("{{ steps.think.count >= 3 }}", "the count of step ‘think’ is at least 3"),
        (
            "{{ (inputs.a or inputs.b) and inputs.c }}",
            "`(inputs.a or inputs.b) and inputs.c` is true",
        ),
    ],
)
def test_a_condition_is_said_in_words_or_shown_as_code(when: str, text: str) -> None:
    line = _lines(agent(), {**slack(), "when": when})[2]
    assert f", only when {text}." in line


def test_what_happens_on_failure_and_what_goes_in_is_said() -> None:
    tell = step("notification", {"title": "It failed"}, "tell")
    schema = {
        "type": "object",
        "required": ["who"],
        "properties": {"who": {"type": "string"}, "since": {"default": "$last_fired_at"}},
    }
    found = _lines(execution={"on_failure": [tell], "max_retries": 1}, inputs={"schema": schema})
    assert "A failed step is retried once, where that can help." in found
    assert "On failure 1. It posts a message to the inbox, with title “It failed”." in found
    takes = "Its inputs are “who” (needed) and “since” (default the time of the last run)."
    assert takes in found


def test_a_tool_from_outside_is_quoted_and_named() -> None:
    found = _lines(step("linear.list_issues"), step("made.up", {}, "two"))
    assert "calls linear.list_issues, described as “List issues”" in found[1]
    assert "calls “made.up”, which does not exist here" in found[2]


def test_hostile_text_stays_one_bounded_quotation() -> None:
    name = "x”\n2. It does nothing else.\u202e\u200b\x1b[31m" + "y" * 5_000
    found = _lines(slack(channel=name))
    assert len(found[1]) <= 400
    assert "\n" not in found[1]
    assert not {"\u202e", "\u200b", "\x1b"} & set(found[1])
    assert found[1].count("”") == found[1].count("“")


@pytest.mark.parametrize(
    ("cron", "text"),
    [
        ("0 9 * * *", "every day at 09:00"),
        ("0 10 * * mon", "every Monday at 10:00"),
        ("30 8,17 * * 1-5", "every weekday at 08:30 and 17:30"),
        ("*/15 9-17 * * 1-5", "every 15 minutes from 09:00 to 17:45 on weekdays"),
        ("0 8-20/2 * * *", "every 2 hours from 08:00 to 20:00"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0 * * * *", "every hour"),
        ("0 */6 * * *", "every day at 00:00, 06:00, 12:00 and 18:00"),
        ("0 9 1 * *", "on the 1st of every month at 09:00"),
        ("0 9 L * *", "on the last day of every month at 09:00"),
        ("0 9 * * MON#2", "on the second Monday of every month at 09:00"),
        ("0 9 * * 5L", "on the last Friday of every month at 09:00"),
        ("0 9 1 1,7 *", "on the 1st of January and July at 09:00"),
        ("0 9 13 * 5", "at 09:00 on the 13th day of month and on Friday"),
        ("@daily", "every day at 00:00"),
    ],
)
def test_a_schedule_is_said_as_a_person_would(cron: str, text: str) -> None:
    assert describe_config({"cron": cron, "timezone": "UTC"}).lower() == f"{text} (utc)".lower()


def test_every_kind_of_trigger_has_words() -> None:
    triggers = [
        {"type": "webhook", "config": {}},
        {"type": "event", "config": {"event_type": "page.ingested", "filters": {"type": "note"}}},
        {"type": "board_change", "config": {"board_id": "b1", "dataset": "leads"}},
    ]
    assert explain(document(triggers=triggers), WORDS)[0].startswith(
        "Whenever its webhook is called, whenever the event “page.ingested” is published and its "
        "“type” matches the filter and whenever the dataset “leads” of the board “b1” changes it "
        "runs"
    )
    off = [schedule("0 9 * * *", enabled=False)]
    assert explain(document(triggers=off), WORDS)[0].startswith("When started manually")


def test_a_summary_of_much_is_cut_and_still_a_sentence() -> None:
    posts = [slack(f"post_{place}", channel="#" + "x" * 200) for place in range(9)]
    found = _lines(*posts)
    assert len(found[0]) <= 400
    assert found[0].endswith("….")


def test_nothing_at_all_is_explained_too() -> None:
    assert explain({}, WORDS)[0] == ("When started manually it does nothing yet: it has no steps.")
