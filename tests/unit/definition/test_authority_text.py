"""What an automation may do is reported as text, what reaches furthest first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.authority import find_additions, read_authority

BOARD = "01900000-0000-7000-8000-00000000000b"
DOCUMENT = {
    "triggers": [{"type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}],
    "plan": [],
}
GRANTS = (
    Grant("automation_kv.get"),
    Grant("automation_kv.set"),
    Grant("automation_recent_failures"),
    Grant("automation_kv.delete", {"key": "k"}),
    Grant("get_board", {"board_id": BOARD}),
    Grant("append_board_rows", {"board_id": ["a", "b"], "max_rows": 5}),
    Grant("update_board_rows"),
    Grant("inbox.post_notification"),
    Grant("create_page"),
    Grant("update_page", {"slug": "log"}),
    Grant("gmail.send"),
    Grant("ingest_from_endpoint", {"hosts": ["b.example"]}),
    Grant("http_fetch", {"hosts": ["a.example"], "method": "GET"}),
)


def test_hosts_come_first_and_its_own_memory_is_one_sentence_at_the_end() -> None:
    whole = read_authority(DOCUMENT, GRANTS, Limits())
    assert [one.says for one in find_additions(None, whole)] == [
        "It may call ingest_from_endpoint to b.example.",
        "It may send requests to a.example (GET).",
        "It may call gmail.send.",
        "It may add rows to the boards a, b with max_rows up to 5.",
        "It may change rows of any board.",
        "It may post messages to the inbox.",
        "It may write new pages.",
        "It may change the page log.",
        "It may spend up to $1.00 a day if its steps cost anything.",
        "It starts once a day.",
        f"It may read the board {BOARD}.",
        "It may call automation_kv.delete with key k.",
        "It may store values between runs.",
    ]
    assert find_additions(whole, whole) == ()


def test_a_capability_without_a_sentence_of_its_own_is_shown_with_its_label() -> None:
    grants = (
        Grant("ingest_from_endpoint", {"hosts": ["b.example"]}),
        Grant("list_calendar_events", {"days": 7}),
        Grant("inbox.post_notification"),
    )
    labels = {
        "ingest_from_endpoint": "Read an endpoint",
        "list_calendar_events": "List \u202ecalendar “events”",
        "inbox.post_notification": "Post",
    }
    whole = read_authority(DOCUMENT, grants, Limits(), labels=labels)
    says = [one.says for one in find_additions(None, whole) if one.kind == "grant"]
    assert says == [
        "It may call ingest_from_endpoint (Read an endpoint) to b.example.",
        "It may post messages to the inbox.",
        'It may call list_calendar_events (List \\u202ecalendar "events") with days 7.',
    ]
    assert find_additions(whole, replace(whole, labels={})) == ()


def test_no_two_permissions_share_a_sentence() -> None:
    names = (
        "append_board_rows",
        "update_board_rows",
        "delete_board_rows",
        "get_board",
        "list_boards",
        "create_page",
        "update_page",
        "get_page",
        "inbox.post_notification",
        "http_fetch",
        "board.read",
        "page.read",
    )
    bounds: tuple[dict[str, Any], ...] = (
        {},
        {"board_id": "a"},
        {"slug": "a"},
        {"board_id": ["a"]},
        {"name": "a"},
        {"hosts": ["a.example"]},
        {"hosts": ["a.example"], "method": "GET"},
        {"method": "GET"},
    )
    grants = [Grant(name, params) for name in names for params in bounds]
    nothing = read_authority({}, (), Limits())
    output = {
        one.says
        for grant in grants
        for one in find_additions(nothing, read_authority({}, [grant], Limits()))
    }
    assert len(output) == len(grants)


def granted(*plan: dict[str, Any], policy: str = "always_draft", **params: Any) -> str:
    """The sentence for one grant of ``slack_post`` that these steps need."""
    document = {"schema_version": "1.2", "plan": plan, "execution": {"write_policy": policy}}
    whole = read_authority(document, [Grant("slack_post", params)], Limits())
    (found,) = (one for one in find_additions(None, whole) if one.kind == "grant")
    assert found.capability == found.as_dict()["capability"] == "slack_post"
    return found.says


def post(channel: str = "#ops", **more: Any) -> dict[str, Any]:
    config = {"channel": channel, "text": "x", **more.pop("config", {})}
    return {"step_id": "post", "action": "slack_post", "config": config, **more}


def agent(*tools: Any) -> dict[str, Any]:
    return {
        "step_id": "think",
        "action": "agent_task",
        "config": {"prompt": "p", "tools": list(tools)},
    }


OPS = "It may post to the Slack channel #ops with its owner's Slack account"


def test_a_write_is_reported_with_its_destination_account_and_whether_it_asks() -> None:
    assert granted(post()) == f"{OPS}, with approval each time."
    assert granted(post(approval="automatic")) == f"{OPS}."
    assert (
        granted(post(approval="ask"), policy="auto_confirm_safe")
        == f"{OPS}, with approval each time."
    )
    assert granted(post(), policy="auto_confirm_safe") == f"{OPS}."
    named = post(config={"account": "bot"})
    assert "with the account bot, with approval" in granted(named)
    both = granted(post(), post("#dev"))
    assert "#ops" in both
    assert "#dev" in both


def test_no_destination_is_named_where_a_model_or_a_program_may_call_it_too() -> None:
    any_channel = "It may post to any Slack channel with its owner's Slack account."
    script = {
        "step_id": "s",
        "action": "script",
        "config": {"source": "", "grants": [{"tool": "slack_post"}]},
    }
    for other in (agent({"tool": "slack_post"}), agent({"tool": "slack.*"}), script):
        assert granted(post(), other) == any_channel
    assert granted(post(), agent({"tool": "get_board"})) == f"{OPS}, with approval each time."
    assert granted(agent({"tool": "slack_post"}), channel="C1", thread_ts="1.2") == (
        "It may post to a thread of the Slack channel C1 with its owner's Slack account "
        "with thread_ts 1.2."
    )
