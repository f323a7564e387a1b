"""Which steps wait while a write is held, and where saying so is a mistake."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.definition.model import hold_seconds
from mainspring.definition.program import compile_program
from mainspring.definition.validate import read_holds, validate
from tests.kit.bench import document, step

WORDS = build_registry(Limits())
POST = {"channel": "C0123", "text": "Hi"}
HOLD_FORM = (
    'Write text with a whole number and s, m, h or d, from "1m" to "30d", such as "90m", "72h" or '
    '"3d".'
)


def _tell(**more: Any) -> dict[str, Any]:
    return step("tell", "slack_post", POST, **more)


def _note(text: str, **more: Any) -> dict[str, Any]:
    return step("note", "notification", {"title": text}, **more)


def _loop(*steps: dict[str, Any]) -> dict[str, Any]:
    return step("each", "for_each", {"items": [1], "steps": list(steps)})


@pytest.mark.parametrize(
    ("plan", "more", "waits"),
    [
        ([_tell()], {}, False),
        ([_tell(), _note("Done")], {}, False),
        ([_tell(), _note("{{ steps.tell.ts }}")], {}, True),
        ([_tell(), _note("{{ tell.ts }}")], {}, True),
        ([_tell(output_as="post"), _note("{{ steps.post.ts }}")], {}, True),
        ([_tell(output_as="post"), _note("{{ steps.tell.ts }}")], {}, True),
        ([_tell(), _note("{{ steps.tell.ts | default('-') }}")], {}, True),
        ([_tell(), _note("x", when="{{ steps.tell.ts > '1' }}")], {}, True),
        ([_tell(), _note("{{ steps | tojson }}")], {}, True),
        (
            [_tell()],
            {"execution": {"on_failure": [_note("{{ steps.tell.ts | default('') }}")]}},
            True,
        ),
        ([_tell(), _note("{{ steps.tell.draft_id }}")], {}, False),
        ([_tell(), _note("{{ steps.tell.preview }} {{ steps.tell.ts }}")], {}, False),
        ([_tell(on_hold="wait")], {}, True),
        ([_tell(on_hold="continue"), _note("{{ steps.tell.ts }}")], {}, False),
        ([_loop(_tell())], {}, False),
        ([_loop(_tell(), _note("{{ steps.tell.ts }}"))], {}, True),
        ([_loop(_tell()), _note("{{ steps.each.results | length }}")], {}, True),
        ([_loop(_tell()), _note("{{ steps.each.count }}")], {}, False),
        ([_loop(_tell(on_hold="wait"))], {}, True),
    ],
)
def test_a_step_waits_when_its_result_is_read(
    plan: list[dict[str, Any]], more: dict[str, Any], waits: bool
) -> None:
    made = document(*plan, **more)
    report = validate(made, WORDS, Limits())
    assert report.findings == ()
    assert read_holds(made, WORDS, Limits())["tell"].waits is waits
    program = compile_program(report.accepted(), WORDS, Limits())
    compiled = program.steps[0].nested[0] if program.steps[0].nested else program.steps[0]
    assert compiled.hold.waits is waits


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (_note("x"), "no outside write"),
        (step("ask", "approval", {"title": "Go on?"}), "no outside write"),
        (step("think", "agent_task", {"prompt": "x", "tools": ["slack_post"]}), "an agent"),
        (step("run", "script", {"code": "export default async () => 1"}), "a script"),
        (_loop(_tell()), "inside the loop"),
    ],
)
def test_an_option_where_nothing_is_held_is_refused_at_its_place(
    wrong: dict[str, Any], text: str
) -> None:
    for option in ({"on_hold": "wait"}, {"on_hold": "continue"}, {"hold_expires_after": "2h"}):
        report = validate(document({**wrong, **option}), WORDS, Limits())
        (name,) = option
        found = [one for one in report.findings if one.pointer == f"/plan/0/{name}"]
        assert [one.code for one in found] == ["not_held"], report.findings
        assert text in found[0].detail
        assert found[0].suggestion == f"Remove {name}."


def test_an_option_inside_a_loop_is_judged_at_its_own_place() -> None:
    report = validate(document(_loop(_note("x", on_hold="wait"))), WORDS, Limits())
    assert [(one.pointer, one.code) for one in report.findings] == [
        ("/plan/0/config/steps/0/on_hold", "not_held")
    ]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("5", "pattern"),
        ("59s", "hold_time"),
        ("31d", "hold_time"),
        ("0h", "pattern"),
        ("1.5h", "pattern"),
        ("72 hours", "pattern"),
        (72, "type"),
    ],
)
def test_a_time_that_no_write_is_held_for_is_refused(value: Any, code: str) -> None:
    report = validate(document(_tell(hold_expires_after=value)), WORDS, Limits())
    assert [(one.pointer, one.code) for one in report.findings] == [
        ("/plan/0/hold_expires_after", code)
    ]


def test_a_wrong_duration_is_reported_as_one() -> None:
    report = validate(document(_tell(hold_expires_after="72 hours")), WORDS, Limits())
    (found,) = report.findings
    assert found.detail == "hold_expires_after does not have the form of a duration."
    assert found.suggestion == HOLD_FORM


@pytest.mark.parametrize("value", [60, 1.5, ["1h"], "59s", "31d", "10000000s"])
def test_every_wrong_duration_is_answered_with_the_form_that_is_accepted(value: Any) -> None:
    report = validate(document(_tell(hold_expires_after=value)), WORDS, Limits())
    (found,) = report.findings
    assert found.suggestion == HOLD_FORM


def test_times_are_written_with_their_unit() -> None:
    assert [hold_seconds(text) for text in ("60s", "90m", "72h", "30d")] == [
        60,
        5_400,
        259_200,
        2_592_000,
    ]


def test_an_option_that_contradicts_what_is_read_is_doubted() -> None:
    for plan in (
        [_tell(on_hold="continue"), _note("{{ steps.tell.ts }}")],
        [_tell(on_hold="wait"), _note("{{ steps.tell.draft_id }}")],
    ):
        report = validate(document(*plan), WORDS, Limits())
        assert [(one.pointer, one.code) for one in report.warnings] == [
            ("/plan/0/on_hold", "held_result")
        ]
        assert report.findings == ()
