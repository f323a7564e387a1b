"""Where a new version asks a person less often than the one before."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.definition.authority import open_gates
from mainspring.definition.traits import flatten_steps

GONE = "It no longer asks a person at the step ask."
NONE_PURE: frozenset[str] = frozenset()


def ask(*, when: str | None = None, **config: Any) -> dict[str, Any]:
    return {
        "step_id": "ask",
        "action": "approval",
        "output_as": "answer",
        "when": when,
        "config": config,
    }


def do(name: str, action: str = "http_fetch", when: str | None = None) -> dict[str, Any]:
    return {"step_id": name, "action": action, "when": when, "config": {"of": name}}


def found(
    before: list[dict[str, Any]],
    after: list[dict[str, Any]],
    pure: frozenset[str] | None = None,
    failed: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], []),
) -> list[tuple[str, str]]:
    was, now = (
        flatten_steps({"plan": plan, "execution": {"on_failure": last}})
        for plan, last in zip((before, after), failed, strict=True)
    )
    return list(open_gates(was, now, pure))


def without(name: str, action: str = "http_fetch") -> str:
    return f"It now does {name} ({action}) without waiting for the answer at the step ask."


@pytest.mark.parametrize("action", ["http_fetch", "approval_log", "app"])
def test_another_action_in_place_of_the_question_does_not_ask(action: str) -> None:
    other = {**ask(), "action": action}
    assert found([ask(), do("send")], [other, do("send")]) == [("/plan/0", GONE)]
    # And was no question before.
    assert found([other, do("send")], [do("send")]) == []


@pytest.mark.parametrize("action", ["approval", "for_each", "transform_data", "delay"])
def test_what_changes_nothing_needs_no_question(action: str) -> None:
    assert found([ask(), do("x", action)], [do("x", action)]) == []


def test_a_vocabulary_knows_which_steps_change_nothing() -> None:
    steps = [do("first"), do("second")]
    assert found([ask(), *steps], steps, frozenset({"/plan/0", "/plan/1"})) == []
    assert found([ask(), *steps], steps, frozenset({"/plan/0"})) == [("/plan/1", GONE)]
    # Which it knows better than the names of actions.
    assert found([ask(), do("x", "delay")], [do("x", "delay")], NONE_PURE) == [("/plan/0", GONE)]


@pytest.mark.parametrize(
    ("was", "now"),
    [(None, "inputs.a"), ("inputs.a", "inputs.ab"), ("inputs.ab", "inputs.a")],
)
def test_a_question_under_another_condition_is_said(was: str | None, now: str) -> None:
    steps = found([ask(when=was), do("send")], [ask(when=now), do("send")])
    says = "It now asks a person at the step ask only under a different condition."
    assert ("/plan/0/when", says) in steps


@pytest.mark.parametrize(("was", "now"), [("inputs.a", "inputs.a"), ("inputs.a", None)])
def test_a_question_under_the_same_condition_or_none_is_not(was: str, now: str | None) -> None:
    assert found([ask(when=was), do("send")], [ask(when=now), do("send")]) == []


def _goes_on(seconds: int) -> list[tuple[str, str]]:
    return [
        (
            "/plan/0/config/default",
            (
                "Without an answer at the step ask it now continues automatically after "
                f"{seconds} seconds."
            ),
        )
    ]


@pytest.mark.parametrize(
    ("was", "now", "seconds"),
    [
        ({}, {"default": "yes"}, 86_400),
        ({"default": "no"}, {"default": "yes"}, 86_400),
        ({"default": "no"}, {"default": None}, 86_400),
        ({"default": 1, "timeout_seconds": 90}, {"default": 1, "timeout_seconds": 89}, 89),
        ({"default": 1}, {"default": 1, "timeout_seconds": 86_399}, 86_399),
        ({"default": 1}, {"default": 1, "timeout_seconds": "{{ inputs.a }}"}, 60),
    ],
)
def test_a_question_that_answers_itself_is_said(
    was: dict[str, Any], now: dict[str, Any], seconds: int
) -> None:
    assert found([ask(**was), do("send")], [ask(**now), do("send")]) == _goes_on(seconds)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ({"default": "no"}, {"default": "no"}),
        ({"default": "no"}, {}),
        ({"timeout_seconds": 90}, {"timeout_seconds": 60}),
        ({"default": 1}, {"default": 1, "timeout_seconds": 86_400}),
        ({"default": 1, "timeout_seconds": 86_400}, {"default": 1}),
        ({"default": 1, "timeout_seconds": 60}, {"default": 1, "timeout_seconds": "{{ x }}"}),
        ({"default": 1, "timeout_seconds": "{{ x }}"}, {"default": 1, "timeout_seconds": 60}),
        ({"default": 1, "timeout_seconds": 60}, {"default": 1, "timeout_seconds": 61}),
    ],
)
def test_a_question_that_waits_as_long_as_before_is_not(
    was: dict[str, Any], now: dict[str, Any]
) -> None:
    assert found([ask(**was), do("send")], [ask(**now), do("send")]) == []


@pytest.mark.parametrize("when", ["answer.ok", "steps.ask.ok"])
def test_a_step_that_needs_the_answer_is_free_when_it_comes_before_it(when: str) -> None:
    going_on, send = ask(on_decline="continue"), do("send", when=when)
    assert found([going_on, send], [send, going_on]) == [("/plan/0", without("send"))]


def test_a_step_that_does_not_need_the_answer_may_come_before_it() -> None:
    going_on, send = ask(on_decline="continue"), do("send", when="inputs.a")
    assert found([going_on, send], [send, going_on]) == []
    assert found([ask(), send], [send, ask()]) == [("/plan/0", without("send"))]


@pytest.mark.parametrize("key", ["title", "message", "form"])
def test_a_changed_question_needs_consent_and_frees_no_step(key: str) -> None:
    was, now = (ask(on_decline="continue", **{key: text}) for text in ("Send?", "Really send?"))
    send = do("send", when="answer.ok")
    (one,) = found([was, send], [now, send], NONE_PURE)
    assert one[1].startswith("It now asks a person a different question at the step")


def test_a_question_after_a_failure_guards_what_follows_it_there() -> None:
    plan, mail = [do("send")], do("mail")
    moved = ([ask(), mail], [mail, ask()])
    (one,) = found(plan, plan, failed=moved)
    assert one == ("/execution/on_failure/0", without("mail"))
    assert found(plan, plan, failed=([ask(), mail], [ask(), mail])) == []


def test_a_step_that_is_moved_after_failure_is_done_without_the_answer() -> None:
    mail = do("mail")
    assert found([ask(), mail], [ask()], failed=([], [mail])) == [
        ("/execution/on_failure/0", without("mail"))
    ]


def held(**more: Any) -> dict[str, Any]:
    """A write that a person confirms."""
    return {**do("tell", "slack_post"), **more}


def unheld(name: str) -> str:
    return f"It now does {name} (http_fetch) without waiting for the approval of tell."


@pytest.mark.parametrize("approval", [None, "ask", "auto", "automatically", {"x": "automatic"}])
def test_a_held_write_that_the_run_does_not_wait_for_any_more_frees_other_steps(
    approval: Any,
) -> None:
    # A step is not reported for its own answer, and one with a similar id is another step.
    others = [do("tell2"), do("te")]
    before = [held(approval=approval, on_hold="wait"), *others]
    after = [held(approval=approval, on_hold="continue"), *others]
    assert found(before, after) == [("/plan/1", unheld("tell2")), ("/plan/2", unheld("te"))]
    assert found(after, before) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"on_hold": "wait", "approval": "automatic"},
        {"on_hold": "continue"},
        {"on_hold": "wai"},
        {"on_hold": "waiting"},
        {},
    ],
)
def test_a_write_that_the_run_never_waited_for_frees_nothing(settings: dict[str, Any]) -> None:
    assert found([held(**settings), do("send")], [do("send")]) == []


@pytest.mark.parametrize("approval", [None, "automatic", "as", "asking"])
def test_only_a_step_that_asks_itself_needs_no_answer_to_the_write_before_it(
    approval: str | None,
) -> None:
    def after_write(mode: str | None) -> list[tuple[str, str]]:
        send = {**do("send"), "approval": mode}
        return found([held(on_hold="wait"), send], [send])

    assert after_write(approval) == [("/plan/0", unheld("send"))]
    assert after_write("ask") == []
