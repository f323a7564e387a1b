"""Words become a definition by rules: what is understood, what is asked, what is reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mainspring.authoring.models import ProposalSketch
from mainspring.authoring.proposals.refining import AnswerContext, apply_answers
from mainspring.authoring.resources import WorkspaceResources
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from tests.unit.authoring.sketch.workspace import (
    HERE,
    IMPORT,
    LEADS,
    NOW,
    ORDERS,
    WORDS,
    actions,
    asked,
    draw,
    strays,
)

DIGEST = "every weekday at 9 Berlin summarise yesterday's support emails and post five bullets to "


def trigger(made: ProposalSketch) -> dict[str, Any]:
    found: dict[str, Any] = made.document["triggers"][0]
    return found


def config(made: ProposalSketch, action: str) -> dict[str, Any]:
    step = next(one for one in made.document["plan"] if one.get("action") == action)
    found: dict[str, Any] = step["config"]
    return found


def test_a_digest_reads_thinks_once_and_posts_and_asks_nothing() -> None:
    made = draw(f"{DIGEST}#standup")
    assert not made.questions
    assert validate(made.document, WORDS, Limits()).ok
    assert actions(made) == ["list_pages", "for_each", "agent_task", "slack_post"]
    assert trigger(made)["config"] == {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}
    thinking = config(made, "agent_task")
    assert thinking["output_schema"]["properties"]["bullets"]["maxItems"] == 5
    assert "tools" not in thinking
    assert config(made, "slack_post")["channel"] == "#standup"
    assert config(made, "list_pages")["ingested_after"] == "{{ inputs.since }}"
    assert made.document["execution"]["write_policy"] == "always_draft"
    assert made.document["metadata"] == {"created_from_nl": False}


def test_a_command_to_the_bot_is_answered_in_the_chat() -> None:
    made = draw("when I write /standup to the bot, summarise the open rows of the board Leads")
    assert not made.questions
    assert validate(made.document, WORDS, Limits()).ok
    assert trigger(made)["type"] == "chat_message"
    assert trigger(made)["config"] == {
        "via": "telegram",
        "match": {"command": "/standup"},
        "respond": "by_step",
    }
    assert actions(made) == ["get_board", "agent_task", "respond"]
    assert config(made, "respond") == {"body": "{{ steps.think.text }}"}


def test_a_fixed_text_needs_no_model() -> None:
    reminder = draw("remind me every Friday at 4pm Berlin to submit timesheets")
    assert actions(reminder) == ["notification"]
    assert config(reminder, "notification") == {"title": "Submit timesheets"}
    quoted = draw("post 'Standup in 5 minutes!' to #standup every weekday at 9:25 Berlin")
    assert actions(quoted) == ["slack_post"]
    assert config(quoted, "slack_post")["text"] == "Standup in 5 minutes!"
    assert trigger(quoted)["config"]["cron"] == "25 9 * * 1-5"


def test_the_time_zone_is_asked_for_once_for_all_schedules() -> None:
    made = draw("on Mondays at 8 and on Fridays at 17:30 post 'hello' to #a")
    assert len(made.document["triggers"]) == 2
    (question,) = made.questions
    assert question.kind == "time_zone"
    assert (question.pointer, *question.others) == (
        "/triggers/0/config/timezone",
        "/triggers/1/config/timezone",
    )
    assert not strays(made)


def test_every_second_week_puts_its_condition_on_each_step() -> None:
    made = draw("every other Friday at 4pm Berlin time summarise new notes and post them to #a")
    (question,) = made.questions
    assert (question.id, question.kind, question.pointer) == ("when", "schedule", "/triggers/0")
    steps = len(made.document["plan"])
    for choice in question.choices:
        assert [at for at, _ in choice.also] == [f"/plan/{place}/when" for place in range(steps)]
    first = question.choices[0]
    answered = apply_answers(
        made.document, made.questions, {"when": first.label}, AnswerContext(NOW, None, Limits())
    )
    assert validate(answered.document, WORDS, Limits()).ok


def test_a_missing_schedule_is_a_question_that_may_be_answered_with_manual() -> None:
    made = draw("post 'hello' to #a")
    assert asked(made) == {"when": "/triggers/0"}
    assert [one.value for one in made.questions[0].choices] == ["by hand"]
    assert draw("on demand, post 'hello' to #a").questions == ()


@pytest.mark.parametrize(
    ("text", "type_", "expected"),
    [
        (
            "when a row is added to the Orders board, tell me",
            "board_change",
            {"board_id": ORDERS, "change": ["rows_appended"]},
        ),
        (
            "Tell me when an order changes on the Orders board",
            "board_change",
            {"board_id": ORDERS, "change": ["rows_updated"]},
        ),
        (
            "when an invoice comes in, summarise it for me",
            "page_ingested",
            {"page_type": "invoice", "created": True},
        ),
        (
            "whenever somebody uploads a document post it to #docs",
            "page_ingested",
            {"created": True},
        ),
        ("when our CI calls, post it to #builds", "webhook", {}),
        ("on a webhook from Stripe add a row to the Orders board", "webhook", {}),
        ("when the event order.paid happens, tell me", "event", {"event_type": "order.paid"}),
        ("as soon as an order is paid, tell me", "event", {"event_type": "order.paid"}),
        (
            "if the Nightly import fails, mail me",
            "event",
            {
                "event_type": "automation.run.failed",
                "filters": {"automation_name": {"equals": "Nightly import"}},
            },
        ),
    ],
)
def test_what_happens_becomes_a_trigger(text: str, type_: str, expected: dict[str, Any]) -> None:
    made = draw(text)
    assert (trigger(made)["type"], trigger(made)["config"]) == (type_, expected)
    assert not strays(made)


def test_any_automation_that_fails_is_followed_without_following_itself() -> None:
    made = draw("when any automation fails, tell me")
    assert trigger(made)["config"]["filters"] == {
        "automation_name": {"not_equals": made.document["name"]}
    }
    assert validate(made.document, WORDS, Limits()).ok


def test_a_board_that_is_not_there_or_there_twice_is_asked_for() -> None:
    missing = draw("when a row is added to the Payroll board, tell me")
    assert asked(missing) == {"board": "/triggers/0/config/board_id"}
    assert "Payroll" in missing.questions[0].question
    twice = draw("log 'x' on the Twin board by hand")
    question = next(one for one in twice.questions if one.id == "board")
    assert [one.label for one in question.choices] == ["Twin", "Twin"]
    assert question.others == ("/writes/boards/0",)
    assert not strays(missing) + strays(twice)


def test_rows_are_never_appended_without_a_key_that_tells_doubles() -> None:
    known = draw("when our CI calls, add a row to the Orders board")
    assert config(known, "append_board_rows")["dedupe_key_field"] == "id"
    assert known.document["writes"] == {"boards": [ORDERS], "dedupe_key_field": "id"}
    made = draw("when our CI calls, add a row to the Leads board")
    (question,) = made.questions
    assert question.id == "dedupe-key"
    assert question.pointer == "/plan/0/config/dedupe_key_field"
    assert question.others == ("/writes/dedupe_key_field",)
    assert [one.value for one in question.choices] == ["email", "name"]
    assert made.document["writes"] == {"boards": [LEADS]}


def test_what_is_missing_is_asked_for_at_its_place_and_left_out() -> None:
    made = draw("post to slack and email the team by hand", resources=WorkspaceResources())
    assert asked(made) == {
        "slack-channel": "/plan/0/config/channel",
        "text": "/plan/0/config/text",
        "slack-token": "/plan/0/config/token",
        "recipient": "/plan/1/config/to",
        "text-2": "/plan/1/config/text",
    }
    assert "channel" not in config(made, "slack_post")
    channel = made.questions[0]
    assert channel.schema["maxLength"] == 255
    assert not strays(made)


def test_two_secrets_that_fit_are_a_choice() -> None:
    two = replace(HERE, secrets=("slack_a", "slack_b", "other"))
    made = draw("post 'x' to #a by hand", resources=two)
    (question,) = made.questions
    assert [one.value for one in question.choices] == [
        "{{ secrets.slack_a }}",
        "{{ secrets.slack_b }}",
    ]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("mail me 'x'", "email.notify_owner"),
        ("message me on Telegram: 'x'", "telegram_push"),
        ("let me know 'x'", "notification"),
        ("publish the event order.checked", "publish_event"),
        ("call https://api.example.com/go", "http_fetch"),
        ("run the Nightly import automation", "run_automation_once"),
        ("email ann@example.com 'x'", "send_email"),
        ("save the Orders board as rows.csv", "artifacts.save"),
        ("update the Orders board", "update_board_rows"),
        ("write a page about our new notes", "create_page"),
    ],
)
def test_each_act_has_its_own_tight_action(text: str, action: str) -> None:
    made = draw(f"by hand, {text}")
    assert actions(made)[-1] == action
    assert not strays(made)


def test_an_address_that_is_down_needs_no_model_to_be_noticed() -> None:
    made = draw("check https://status.example.com every 5 minutes UTC and tell me if it is down")
    assert actions(made) == ["http_fetch", "notification"]
    assert made.document["plan"][1]["when"] == "{{ not steps.fetch.ok }}"
    changed = draw("watch https://a.example/x daily at 8 UTC and tell me when it changes")
    assert actions(changed) == [
        "http_fetch",
        "automation_kv.get",
        "notification",
        "automation_kv.set",
    ]


def test_any_other_condition_is_judged_by_the_one_step_that_thinks() -> None:
    made = draw("read the Orders board every day at 9 UTC and mail me if anything looks odd")
    assert actions(made) == ["get_board", "agent_task", "email.notify_owner"]
    assert made.document["plan"][2]["when"] == "{{ steps.think.needed | default(false) }}"
    assert "anything looks odd" in config(made, "agent_task")["prompt"]


def test_tools_of_connections_are_found_by_their_words() -> None:
    made = draw("every day at 9 UTC open a Linear ticket for the team ENG called 'Clean up'")
    assert actions(made) == ["linear.create_issue"]
    assert asked(made) == {"team": "/plan/0/config/team"}
    assert [one.value for one in made.questions[0].choices] == ["ENG", "OPS"]
    reads = draw("every day at 9 UTC search GitHub for 'mainspring' and mail me the list")
    assert actions(reads)[0] == "github.search"
    assert config(reads, "github.search") == {"query": "mainspring"}
    assert not strays(made) + strays(reads)


def test_where_two_tools_fit_nearly_as_well_the_person_chooses() -> None:
    made = draw("by hand archive crm contacts")
    question = next(one for one in made.questions if one.id == "tool")
    assert question.pointer == "/plan/0/action"
    assert {one.value for one in question.choices} == {
        "crm.archive_contact",
        "crm.archive_contacts_all",
    }
    assert not strays(made)


def test_bounds_that_were_said_are_kept_and_are_no_schedule() -> None:
    made = draw(
        "post 'x' to #a by hand, at most $2 a day and no more than 50 cents a run, within 5 "
        "minutes, using model acme/small-1"
    )
    assert made.document["execution"] == {
        "timeout_seconds": 300,
        "budget_cap_usd": "0.5",
        "cost_cap_daily_usd": "2",
        "write_policy": "always_draft",
        "model": "acme/small-1",
    }
    assert made.document["triggers"] == []


def test_a_failure_of_its_own_is_reported_after_the_plan() -> None:
    made = draw("post 'x' to #a every day at 9 UTC; if it fails, tell me")
    assert [one["action"] for one in made.document["execution"]["on_failure"]] == ["notification"]
    assert validate(made.document, WORDS, Limits()).ok


def test_a_name_that_is_taken_gets_a_number() -> None:
    made = draw("post a digest")
    assert made.document["name"] == "Post a digest 2"


def test_what_found_no_place_is_reported() -> None:
    made = draw("every day at 9 UTC post 'x' to #a and paint the fence")
    assert actions(made) == ["slack_post"]
    assert any("paint the fence" in one for one in made.notes)


def test_where_nothing_was_understood_more_words_are_asked_for_and_read_together() -> None:
    made = draw("make my life easier every day at 9 UTC")
    assert "plan" not in made.document
    question = next(one for one in made.questions if one.kind == "words")
    assert question.pointer == "/plan"
    again = draw("make my life easier every day at 9 UTC\npost 'hello' to #a")
    assert actions(again) == ["slack_post"]
    assert [one.id for one in again.questions] == ["not-understood"]


def test_without_a_model_the_sketch_says_that_one_is_needed() -> None:
    made = draw(f"{DIGEST}#standup", resources=replace(HERE, has_model=False))
    assert any("none is connected" in one for one in made.notes)


def test_who_wants_no_model_gets_none() -> None:
    made = draw("every day at 9 UTC post the Orders board to #a, no AI needed")
    assert actions(made) == ["get_board", "slack_post"]


def test_a_run_is_named_by_its_automation_not_by_its_time_words() -> None:
    made = draw("every hour UTC run the Nightly import automation")
    assert config(made, "run_automation_once")["automation_id"] == IMPORT
    assert [one["config"]["cron"] for one in made.document["triggers"]] == ["0 * * * *"]


@pytest.mark.parametrize("of", ["of the", "of each", "of every", "in each", "in every", "in the"])
def test_the_words_for_a_quarter_do_not_end_up_in_what_is_to_be_done(of: str) -> None:
    made = draw(f"on the last Friday {of} quarter at 10 Berlin time remind me to do the books")

    assert trigger(made)["config"]["cron"] == "0 10 * 3,6,9,12 5L"
    assert actions(made) == ["notification"]
    assert config(made, "notification")["title"] == "Do the books"
    assert not made.questions


@pytest.mark.parametrize("verb", ["call", "ping"])
@pytest.mark.parametrize("more", ["", " and tell me when it fails"])
def test_an_address_that_is_called_with_nothing_to_send_is_only_read(verb: str, more: str) -> None:
    made = draw(f"every 10 minutes {verb} http://example.com/health{more}")

    called = config(made, "http_fetch")
    assert called["url"] == "http://example.com/health"
    assert called.get("method", "GET") == "GET"
    assert "agent_task" not in actions(made)
    assert ("on_failure" in made.document["execution"]) == bool(more)


@pytest.mark.parametrize(
    "text",
    [
        'every hour call https://api.example.com/go with {"a": 1}',
        "when a row is added to Orders call https://api.example.com/go",
        "every hour post to https://api.example.com/go",
    ],
)
def test_an_address_that_is_given_something_is_posted_to(text: str) -> None:
    made = draw(text)
    (step,) = [one for one in made.document["plan"] if "url" in one["config"]]
    assert step["action"] == "callback_webhook" or step["config"]["method"] == "POST"


def test_a_call_is_made_and_a_person_is_notified_only_if_it_fails() -> None:
    made = draw("every day at 9 UTC call https://api.example.com/go and if it fails tell me")

    assert actions(made) == ["http_fetch"]
    (result,) = made.document["execution"]["on_failure"]
    assert result["action"] == "notification"


def test_a_form_is_hosted_with_the_fields_that_were_named() -> None:
    made = draw("a form where people ask a question with their name and email, tell me on Slack")
    assert trigger(made) == {"id": "form", "type": "form", "config": {"access": "public"}}
    properties = made.document["inputs"]["schema"]["properties"]
    assert set(properties) == {"question", "name", "email"}
    assert "{{ inputs.question }}" in str(made.document["plan"])


def test_a_form_of_another_system_is_no_hosted_form() -> None:
    made = draw("when someone fills in the form, notify me")
    assert trigger(made)["type"] == "webhook"
