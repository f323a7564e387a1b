"""Flags that ask whether it is needed: so often, so far, so dear, and with a model."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.kit.reviewing import agent, document, flags, schedule, slack, step, told

_MAIL = step("send_email", {"to": ["ann@example.com"], "subject": "x", "text": "y"}, "send")
_HOOK = step("callback_webhook", {"url": "https://hooks.example.com/a"}, "send")
_POST = step("http_fetch", {"url": "https://a.example/x", "method": "POST"}, "send")
_ISSUE = step("linear.create_issue", {"title": "x"}, "send")
_PUSH = step("telegram_push", {"text": "x"}, "send")


def _codes(made: dict[str, Any], **facts: Any) -> list[str]:
    return [code for code, _ in told(made, **facts)]


@pytest.mark.parametrize(
    ("crons", "level"),
    [
        (("0 * * * *", "5 * * * *"), "warning"),
        (("*/15 * * * *", "7 9-17 * * *"), "warning"),
        (("0 9 * * *", "10 9 * * *"), "note"),
        (("0 9 1 * *", "5 9 1 * *"), "note"),
        (("0 * * * *", "30 * * * *"), None),
        (("0 9 * * *", "15 9 * * *"), None),
        (("0 9 * * 1-5", "10 9 * * 6"), None),
        (("0 9 * * *", "0 9 * * *"), None),
    ],
)
def test_schedules_that_are_close_only_together_are_reported_at_the_later_one(
    crons: tuple[str, str], level: str | None
) -> None:
    found = flags(document(triggers=[schedule(cron) for cron in crons]))
    often = [(flag.pointer, flag.level) for flag in found if flag.code == "fires_often"]
    assert often == ([] if level is None else [("/triggers/1/config/cron", level)])


def test_schedules_are_compared_in_their_own_zones_and_only_while_they_are_on() -> None:
    berlin, utc = schedule("0 9 * * *"), schedule("5 8 * * *", "UTC")
    assert "fires_often" in _codes(document(triggers=[berlin, utc]))
    assert "fires_often" not in _codes(document(triggers=[berlin, schedule("5 9 * * *", "UTC")]))
    assert "fires_often" not in _codes(document(triggers=[berlin, {**utc, "enabled": False}]))


# What was asked for, what leaves, and whether somebody should look.
NEEDS: list[tuple[str, dict[str, Any], bool]] = [
    ("summarise the papers", slack(), True),
    ("count the orders", slack(), True),
    ("write a daily report", slack(), True),
    ("create a page about it", slack(), True),
    ("update the board and file the answer", slack(), True),
    ("summarise the alerts and the messages of today", slack(), True),
    ("mail it to ann@", slack(), True),
    ("post five bullets to #standup", slack(), False),
    ("put a note in the team channel", slack(), False),
    ("let the team know", slack(), False),
    ("summarise new e-mails", _MAIL, True),
    ("open the file and book the answer", _MAIL, True),
    ("e-mail the report to ann", _MAIL, False),
    ("send it on Fridays", _MAIL, False),
    ("a weekly email with the numbers", _MAIL, False),
    ("summarise the papers", _HOOK, True),
    ("count the orders", _POST, True),
    ("tell our webhook about each order", _HOOK, False),
    ("call the api for each row", _POST, False),
    ("summarise the papers", _ISSUE, True),
    ("file a ticket when the build fails", _ISSUE, False),
    ("put it into Linear", _ISSUE, False),
    ("count the orders", _PUSH, True),
    ("push it to my phone", _PUSH, False),
    ("新しい論文をまとめて", slack(), False),
]


def test_what_leaves_is_measured_by_what_was_asked_for() -> None:
    everything = "Post, mail and send everything to everybody."
    wrong = [
        (request, write["action"])
        for request, write, told_about in NEEDS
        if told_about
        is not (
            "write_without_need"
            in _codes(document(write, goal=everything, triggers=[]), request=request)
        )
    ]
    assert wrong == []


def test_a_goal_speaks_only_where_nobody_asked() -> None:
    made = document(agent(), slack(), name="Papers", goal="Post the papers to #science.")
    assert "write_without_need" not in _codes(made)
    asked = flags(made, request="read the new papers")
    assert [flag.text for flag in asked if flag.code == "write_without_need"] == [
        "It uses slack_post, which sends something outside, and the request does not mention that."
    ]


@pytest.mark.parametrize(
    ("plan", "run", "month", "found"),
    [
        ((agent(), slack()), "1.5", "9", "/plan"),
        ((agent(), slack()), "0.9", "9", None),
        ((agent(), slack()), "0.4", "12", "/triggers"),
        ((agent(),), "2", "2", "/plan"),
        ((agent(), step("create_page", {"title": "x"}, "page")), "2", "20", None),
        ((agent(), step("create_page", {"title": "x"}, "page")), "6", "20", "/plan"),
        ((agent(), step("create_page", {"title": "x"}, "page")), "1", "60", "/triggers"),
        ((agent(),), "NaN", "NaN", None),
    ],
)
def test_a_price_is_measured_by_what_it_is_for(
    plan: tuple[Any, ...], run: str, month: str, found: str | None
) -> None:
    made = document(*plan)
    costs = told(made, forecast_usd=Decimal(run), monthly_usd=Decimal(month))
    assert [at for code, at in costs if code == "costs_much"] == ([] if found is None else [found])


def test_a_price_says_what_it_is_for() -> None:
    found = flags(document(), forecast_usd=Decimal(5), monthly_usd=Decimal(20))
    assert [flag.text.partition(", and all it does is ")[::2] for flag in found] == [
        ("It is expected to cost about $20.00 a month and $5.00 a run", "to leave a message.")
    ]


# What an agent is given, and whether a step could do it.
AGENTS: list[tuple[dict[str, Any], bool]] = [
    ({"prompt": "Post hello to #general", "tools": ["slack_post"]}, True),
    ({"prompt": "Post the best of the news", "tools": ["slack_post", "search"]}, False),
    ({"prompt": "Post hello to #general", "tools": []}, True),
    ({"prompt": "Say 'Good morning' to the team.", "tools": None}, True),
    ({"prompt": "Return {{ steps.read.body }} unchanged.", "tools": None}, True),
    ({"prompt": "Send a birthday wish to Ann", "tools": None}, False),
    ({"prompt": "Return the three biggest orders", "tools": None}, False),
    ({"prompt": "Say something kind about '{{ inputs.name }}' in a line", "tools": None}, False),
    ({"prompt": "Send 'x' if the list is long", "tools": None}, False),
    ({"prompt": "{{ inputs.task }}", "tools": None}, False),
    # To fill a shape from what was read is work.
    ({"prompt": "Get the price from the page", "tools": ["http_fetch"]}, False),
    ({"prompt": "Fetch the newest page", "tools": ["get_page"]}, False),
]


def test_an_agent_that_has_nothing_to_think_about_is_reported_whatever_its_shape() -> None:
    flag = ("agent_without_need", "/plan/0/action")
    wrong = [
        config
        for config, needless in AGENTS
        if needless is not (flag in told(document(agent(**config), triggers=[])))
    ]
    assert wrong == []


def test_a_first_use_is_reported_as_what_others_may_call() -> None:
    found = flags(document(), used=frozenset({"agent.run", "search"}))
    assert [flag.text for flag in found] == ["No other automation here may call slack_post yet."]


def test_an_address_of_this_machine_is_reported_once() -> None:
    for url in ("http://127.0.0.1:8080/a", "http://[::1]/a", "http://localhost/a"):
        made = document(step("http_fetch", {"url": url}, "fetch"))
        assert told(made, known_hosts=frozenset()) == [("new_host", "/plan/0/config/url")]


def test_a_host_that_it_could_reach_before_is_not_new_to_a_change() -> None:
    header = {"Authorization": "Bearer {{ secrets.key }}"}
    ask = {"url": "https://api.example.com/a", "headers": header}
    before = document(step("http_fetch", ask, "fetch"))
    after = {**before, "name": "Other"}
    assert told(after, known_hosts=frozenset(), before=before) == []
