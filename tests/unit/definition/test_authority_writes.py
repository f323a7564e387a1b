"""Automatic outside writes as additions: the same ones are known, and any other is reported."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.limits import Limits
from mainspring.definition.authority import find_additions, read_authority

DIGEST = "{% for page in steps.find.pages %}{{ page.title }}{% endfor %}"


def post(**more: Any) -> dict[str, Any]:
    config = {"channel": "C123", "text": DIGEST, **more.pop("config", {})}
    return {
        "step_id": "post",
        "action": "slack_post",
        "config": config,
        "approval": "automatic",
        **more,
    }


def step(action: str, approval: Any = "automatic", **config: Any) -> dict[str, Any]:
    made = {"step_id": "one", "action": action, "config": config}
    return made if approval is None else {**made, "approval": approval}


def more(before: list[Any] | None, *after: Any, version: str = "1.2") -> list[tuple[str, str]]:
    """What is sent without approval now and was not, with its place."""

    def may(plan: list[Any]) -> Any:
        document = {"schema_version": version, "plan": plan}
        return read_authority(document, (), Limits())

    found = find_additions(None if before is None else may(before), may(list(after)))
    return [(one.pointer, one.says) for one in found if one.kind == "approval"]


def test_an_automatic_write_is_reported_with_its_destination_and_its_template() -> None:
    assert more(None, post()) == [
        (
            "/plan/0/approval",
            (
                "It posts to the Slack channel C123 with its owner's Slack account without "
                f"approval: “{DIGEST}”."
            ),
        )
    ]
    assert more([post(approval="ask")], post())[0][1].startswith("It now posts to")


def test_what_asks_or_says_nothing_is_no_addition() -> None:
    assert more(None, post(approval="ask"), {**post(), "approval": None}) == []


def test_the_same_write_under_another_name_or_goal_is_no_addition() -> None:
    assert more([post()], post(step_id="renamed")) == []
    assert more([post()], post(), step("transform_data", None, output=1)) == []
    assert more([post()], post(when="{{ inputs.go }}")) == []


@pytest.mark.parametrize(
    "changed",
    [
        post(config={"text": "Something else"}),
        post(config={"channel": "C999"}),
        post(config={"account": "other@example.com"}),
        step("for_each", None, items=[1, 2], steps=[post()]),
    ],
)
def test_another_text_destination_account_or_loop_is_an_addition(changed: Any) -> None:
    assert len(more([post()], changed)) == 1


def test_a_second_write_of_the_same_kind_is_one_more() -> None:
    assert len(more([post()], post(), post(step_id="again"))) == 1


def test_a_condition_that_is_gone_is_an_addition() -> None:
    assert len(more([post(when="{{ inputs.go }}")], post())) == 1


def test_how_a_request_is_made_is_no_part_of_what_is_sent() -> None:
    one = step("http_fetch", url="https://a.example/x", method="POST", json={"a": 1})
    slower = step(
        "http_fetch", url="https://a.example/x", method="POST", json={"a": 1}, timeout_seconds=60
    )
    assert more([one], slower) == []
    assert more(None, one) == [
        ("/plan/0/approval", 'It sends POST requests to a.example without approval: “{"a":1}”.')
    ]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (
            step("send_email", to=["a@example.com"], cc=["b@example.com"], subject="Hi", text="x"),
            "It mails a@example.com, b@example.com without approval: “Hi · x”.",
        ),
        (
            step("telegram_push", text="x"),
            "It sends its owner a message on Telegram without approval: “x”.",
        ),
        (
            step("callback_webhook", url="https://a.example/h", body={"a": 1}),
            'It sends POST requests to a.example without approval: “{"a":1}”.',
        ),
        (
            step("github.comment", owner="o", repo="r", number=1, body="x"),
            (
                "It comments on #1 of the GitHub repository o/r with its owner's GitHub account without "  # noqa: E501
                "approval: “x”."
            ),
        ),
        (
            step("crm.note", to=["a@example.com"], body="x"),
            "It calls crm.note with to a@example.com without approval: “x”.",
        ),
        (
            step("slack_post", channel="#ops", text="x", token="{{ secrets.bot }}"),
            "It posts to the Slack channel #ops without approval: “x”.",
        ),
        (
            step("slack_post", text="x"),
            "It posts to any Slack channel with its owner's Slack account without approval: “x”.",
        ),
        (
            step(
                "agent_task",
                {"slack_post": "automatic"},
                prompt="p",
                tools=[{"tool": "slack_post", "params": {"channel": "C1"}}],
            ),
            "The model of the step one posts to the Slack channel C1 without approval.",
        ),
        (step("script", source="return 1"), "The program of the step one sends without approval."),
    ],
)
def test_each_kind_of_write_has_its_words(made: Any, says: str) -> None:
    assert [text for _, text in more(None, made)] == [says]


def test_all_of_a_text_that_is_sent_without_approval_is_shown() -> None:
    text = "x" * 500 + "\nand  y" + "z" * 9_000
    ((_, says),) = more(None, step("telegram_push", text=text))
    assert says.endswith(f"“{text.replace(chr(10), ' ↵ ')}”.")


def test_a_text_can_neither_hide_nor_close_its_quotation() -> None:
    ((_, says),) = more(None, step("telegram_push", text="b”. It sends nothing.\u200b"))
    assert says.endswith('without approval: “b". It sends nothing.\\u200b”.')


def test_no_recipient_of_a_write_without_approval_is_left_out() -> None:
    people = [f"{'x' * 130}{number}@example.com" for number in range(9)]
    ((_, says),) = more(None, step("send_email", to=people, subject="Hi", text="x"))
    assert says == f"It mails {', '.join(people)} without approval: “Hi · x”."


def test_mail_to_the_owner_is_automatic_unless_it_asks() -> None:
    mail = {"subject": "Done", "text": "All is well."}
    assert more(None, step("email.notify_owner", None, **mail)) == [
        ("/plan/0", "It mails its owner without approval: “Done · All is well.”.")
    ]
    assert more(None, step("email.notify_owner", "ask", **mail)) == []


def test_a_tool_that_an_agent_loses_is_no_addition_and_one_it_gets_is() -> None:
    one = {"tool": "slack_post", "params": {"channel": "C1"}}
    two = {"tool": "slack_post", "params": {"channel": "C2"}}
    few, many = (step("agent_task", prompt="p", tools=tools) for tools in ([one], [one, two]))
    assert more([many], few) == []
    assert len(more([few], many)) == 1
    assert len(more([few], step("agent_task", prompt="another", tools=[one]))) == 1


def test_what_was_stored_in_the_older_format_is_known_as_what_it_sends() -> None:
    plan = [step("callback_webhook", None, url="https://a.example/h")]
    before = read_authority({"schema_version": "1.1", "plan": plan}, (), Limits())
    sends = step("callback_webhook", url="https://a.example/h")
    after = read_authority({"schema_version": "1.2", "plan": [sends]}, (), Limits())
    assert find_additions(before, after) == ()
    # Saved by an old client as something new, the same is reported.
    assert len(more(None, plan[0], version="1.1")) == 1


@pytest.mark.parametrize("name", ["timeout_seconds", "allow_error_status", "idempotency"])
def test_no_setting_of_the_manner_of_a_request_leaves_with_it(name: str) -> None:
    one = step("http_fetch", url="https://a.example/x", method="POST")
    other = step("http_fetch", url="https://a.example/x", method="POST", **{name: 5})
    assert more([one], other) == []
    assert more([other], one) == []


def test_what_sends_everything_sends_each_and_not_the_reverse() -> None:
    def agent(approval: Any, *tools: Any) -> dict[str, Any]:
        return step("agent_task", approval, prompt="p", tools=list(tools))

    post = {"tool": "slack_post", "params": {"channel": "C1"}}
    each = agent({"slack_post": "automatic"}, post)
    both = agent({"slack_post": "automatic", "send_email": "automatic"}, post)
    assert more([agent("automatic", post)], each) == []
    assert len(more([each], agent("automatic", post))) == 1
    assert len(more([each], both)) == 1
    assert more([both], each) == []
    assert len(more([agent({"send_email": "automatic"}, post)], each)) == 1
    asks = agent({"slack_post": "ask", "send_email": "automatic"}, post)
    assert [text for _, text in more(None, asks)] == [
        "The model of the step one sends with send_email without approval."
    ]


def test_what_is_bounded_by_tools_is_another_write_than_what_a_plan_says() -> None:
    agent = step("agent_task", prompt="p", tools=[])
    plain = {**step("slack_post", channel="C1", text="x"), "step_id": "one"}
    assert len(more([agent], plain)) == 1
    assert len(more([plain], agent)) == 1


def test_mail_to_the_owner_is_sent_at_once_whatever_is_said_of_other_writes() -> None:
    mail = {"subject": "Done", "text": "x"}
    plain = step("email.notify_owner", None, **mail)
    for approval in ({"slack_post": "ask"}, {"email.notify_owner": "automatic"}, "automatic"):
        made = step("email.notify_owner", approval, **mail)
        assert [at for at, _ in more(None, made)] == ["/plan/0/approval"]
        assert len(more([plain], made)) == (1 if approval == "automatic" else 0)
    assert more(None, step("email.notify_owner", {"email.notify_owner": "ask"}, **mail)) == []
    for other in ("email.notify_owners", "email.notify"):
        assert more(None, step(other, None, **mail)) == []
        assert more(None, step(other, {"slack_post": "ask"}, **mail)) == []


@pytest.mark.parametrize("word", ["auto", "automatically"])
def test_a_word_that_is_no_mode_sends_nothing(word: str) -> None:
    assert more(None, post(approval=word), post(approval={"slack_post": word})) == []
