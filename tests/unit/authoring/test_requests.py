"""Requests in people's words: how many become what was meant, and that the judge is strict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mainspring.authoring.models import ProposalQuestion
from scripts.authoring_score import by_rules, table
from tests.kit.request_score import ASPECTS, score
from tests.kit.requests import SETS, Made, Request, read_requests, read_worlds

# What is reached, less a little: a regression fails.
LEAST_RIGHT = {"requests": 0.95, "held back": 0.72}
DEV = read_worlds()["dev"]
REQUEST = Request(
    id="check",
    text="every day at 9 see whether https://a.example answers and post to #ops",
    world="dev",
    triggers=(("schedule 0 9 * * * @ UTC",),),
    actions=(("http_fetch",), ("slack_post",)),
    thinks=False,
    complete=True,
    mentions=("#ops",),
    execution={"budget_cap_usd": 0.5},
)
RIGHT: dict[str, Any] = {
    "schema_version": "1.2",
    "name": "Look",
    "goal": "See whether it answers.",
    "triggers": [
        {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
    ],
    "plan": [
        {"step_id": "look", "action": "http_fetch", "config": {"url": "https://a.example/"}},
        {
            "step_id": "tell",
            "action": "slack_post",
            "config": {
                "channel": "#ops",
                "text": "It answers.",
                "token": "{{ secrets.slack_bot_token }}",
            },
        },
    ],
    "execution": {"budget_cap_usd": 0.5},
}


def _changed(**parts: Any) -> dict[str, Any]:
    return {**RIGHT, **parts}


def _step(action: str, **config: Any) -> dict[str, Any]:
    return {"step_id": f"more_{action.replace('.', '_')}", "action": action, "config": config}


@pytest.mark.parametrize("name", SETS)
def test_requests_are_many_and_well_formed(name: str) -> None:
    requests, worlds = read_requests(SETS[name]), read_worlds()

    assert len(requests) >= {"requests": 60, "held back": 30}[name]
    assert len({one.id for one in requests}) == len(requests)
    for one in requests:
        words = worlds[one.world].vocabulary
        named = {name for either in one.actions for name in either}
        assert named <= words.actions.keys() | words.capabilities.keys(), one.id
        boards = {board.name for board in worlds[one.world].resources.boards}
        meant = {text[6:] for text in one.mentions if text.startswith("board:")}
        assert meant <= boards, one.id


def test_no_request_is_in_both_sets() -> None:
    seen, held_back = (
        {one.text.casefold() for one in read_requests(file)} for file in SETS.values()
    )

    assert not seen & held_back


@pytest.mark.parametrize("name", SETS)
def test_the_share_of_requests_that_become_what_was_meant_does_not_fall(name: str) -> None:
    scores = by_rules(read_requests(SETS[name]))
    right = sum(one.right for one in scores) / len(scores)

    result = table({name: scores}, "rules alone")
    assert right >= LEAST_RIGHT[name], result
    # Whatever is made is a definition, except where something is still asked.
    assert all("valid" not in one.wrong for one in scores), result
    assert f"{name} ({len(scores)})" in result


def test_a_right_answer_is_right() -> None:
    assert score(REQUEST, Made(RIGHT), DEV).wrong == {}


@pytest.mark.parametrize(
    ("aspect", "document"),
    [
        ("trigger", _changed(triggers=[])),
        ("trigger", _changed(triggers=[*RIGHT["triggers"], {"id": "more", "type": "webhook"}])),
        (
            "trigger",
            _changed(
                triggers=[
                    {
                        "id": "d",
                        "type": "schedule",
                        "config": {"cron": "5 9 * * *", "timezone": "UTC"},
                    }
                ]
            ),
        ),
        (
            "trigger",
            _changed(
                triggers=[
                    {
                        "id": "d",
                        "type": "schedule",
                        "config": {"cron": "0 9 * * *", "timezone": "Europe/Berlin"},
                    }
                ]
            ),
        ),
        ("actions", _changed(plan=RIGHT["plan"][:1])),
        ("actions", _changed(plan=[RIGHT["plan"][0], _step("slack_post", channel="#other")])),
        ("grants", _changed(plan=[*RIGHT["plan"], _step("send_email", to=["a@example.com"])])),
        ("grants", _changed(grants=[{"capability": "http_fetch"}])),
        ("grants", _changed(execution={"budget_cap_usd": 5})),
        ("thinking", _changed(plan=[*RIGHT["plan"], _step("agent_task", prompt="Think.")])),
        ("valid", _changed(goal="")),
    ],
)
def test_what_is_wrong_is_seen(aspect: str, document: dict[str, Any]) -> None:
    assert aspect in score(REQUEST, Made(document), DEV).wrong


def test_a_schedule_counts_by_its_moments_and_not_by_its_spelling() -> None:
    config = {"cron": "00 9-9 */1 jan-dec *", "timezone": "UTC"}
    document = _changed(triggers=[{"id": "d", "type": "schedule", "config": config}])

    assert score(REQUEST, Made(document), DEV).wrong == {}


def test_a_question_excuses_what_is_missing_there_and_nothing_else() -> None:
    steps = [RIGHT["plan"][0], {**RIGHT["plan"][1], "config": {}}]
    asked = [ProposalQuestion("channel", "value", "/plan/1/config/channel", "Which channel?")]
    request = replace(REQUEST, complete=False, mentions=(), asks=(("config/channel",),))

    verdict = score(request, Made(_changed(plan=steps), asked), DEV)

    assert verdict.wrong.keys() == {"valid"}
    assert "/plan/1/config/text" in verdict.wrong["valid"]
    assert "/plan/1/config/channel" not in verdict.wrong["valid"]
    assert "questions" in score(REQUEST, Made(RIGHT, asked), DEV).wrong
    assert "questions" in score(request, Made(RIGHT), DEV).wrong


def test_a_secret_in_quoted_or_raw_text_is_not_live_and_one_in_an_expression_is() -> None:
    request = replace(REQUEST, lacks=("secrets.aws",))

    def wrong(text: str) -> bool:
        config = {**RIGHT["plan"][1]["config"], "text": text}
        steps = [RIGHT["plan"][0], {**RIGHT["plan"][1], "config": config}]
        return "must not be there" in score(request, Made(_changed(plan=steps)), DEV).wrong.get(
            "grants", ""
        )

    assert wrong("{{ secrets.aws }}")
    assert not wrong("{% raw %}{{ secrets.aws }}{% endraw %}")
    assert not wrong("{{ '{{ secrets.aws }}' }}")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"plan": 3, "triggers": "x", "grants": 4, "execution": []},
        {"plan": [None, {"config": 1}]},
    ],
)
def test_no_document_is_too_broken_to_be_judged(document: dict[str, Any]) -> None:
    assert set(score(REQUEST, Made(document), DEV).wrong) <= set(ASPECTS)
