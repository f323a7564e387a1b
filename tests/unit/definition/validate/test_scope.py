"""Templates read what is there at their place in the plan, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.definitions import inputs, judged, loop, shape, step, told

FETCH = step("read", "http_fetch", config={"url": "https://a.example/"})


def findings_of(template: str, **more: Any) -> list[tuple[str, str]]:
    """The verdict over a template in the second of three steps."""
    report = judged(FETCH, shape("use", template), step("last", output_as="end"), **more)
    return [(code, suggestion or "") for code, suggestion in _codes(report.findings)]


def _codes(findings: Any) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.suggestion) for finding in findings]


@pytest.mark.parametrize(
    "template",
    [
        "{{ run.id }} {{ run.search_space_id }} {{ run.workspace_id }} {{ run }}",
        "{{ trigger.anything.at.all }}",
        "{{ steps.read.json.a.b }} {{ read.status }} {{ steps['read'].text }} {{ steps }}",
        "{{ inputs.topic }} {{ inputs }}",
        "{% for x in read.json %}{{ loop.index }} {{ x.y }}{% endfor %}",
        "{% set y = read.text %}{{ y }}",
        "{{ read.kind | default('') }}",
        "{{ 'literal' }} {# steps.nothing #}",
    ],
)
def test_what_is_there_can_be_read(template: str) -> None:
    declared = inputs(["topic"], topic={"type": "string"})
    assert findings_of(template, inputs=declared) == []


@pytest.mark.parametrize(
    ("template", "code", "suggestion"),
    [
        ("{{ reed.json }}", "unknown_variable", "Did you mean 'read'?"),
        ("{{ steps.reed }}", "unknown_step_output", "Did you mean 'read'?"),
        ("{{ steps.last }}", "forward_reference", "Move 'last' before this step."),
        ("{{ steps.end }}", "forward_reference", "Move 'last' before this step."),
        ("{{ end }}", "forward_reference", "Move 'last' before this step."),
        ("{{ use }}", "forward_reference", ""),
        ("{{ last }}", "unknown_variable", "Write 'end' or 'steps.last'."),
        ("{{ item }}", "unknown_variable", ""),
        ("{{ topic }}", "unknown_variable", "Did you mean 'inputs.topic'?"),
        ("{{ started_at }}", "unknown_variable", "Did you mean 'run.started_at'?"),
        ("{{ inputs.topik }}", "unknown_input", "Did you mean 'topic'?"),
        ("{{ inputs.zzz }}", "unknown_input", "Declare 'zzz' in inputs.schema.properties."),
        ("{{ run.startedat }}", "unknown_run_value", "Did you mean 'started_at'?"),
        ("{{ run.error }}", "only_on_failure", ""),
        ("{{ run.failed_step_id }}", "only_on_failure", ""),
        ("{{ read.jsn }}", "unknown_field", "Did you mean 'json'?"),
        ("{{ steps.read.headers2 }}", "unknown_field", "Did you mean 'headers'?"),
        ("{{ inputs.place.street }}", "unknown_field", ""),
        # default would hide a slip, so it does not help here.
        ("{{ reed | default('x') }}", "unknown_variable", "Did you mean 'read'?"),
        ("{{ end is defined }}", "forward_reference", "Move 'last' before this step."),
        ("{% for x in nothing %}{{ x }}{% endfor %}", "unknown_variable", ""),
    ],
)
def test_what_is_not_there_is_named_with_what_was_meant(
    template: str, code: str, suggestion: str
) -> None:
    declared = inputs(
        ["topic", "place"],
        topic={"type": "string"},
        place={
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "additionalProperties": False,
        },
    )
    assert findings_of(template, inputs=declared) == [(code, suggestion)]


def test_a_condition_is_held_to_the_same_names() -> None:
    report = judged(FETCH, step("a", when="read.status == 200"), step("b", when="{{ c }}"))
    assert told(report.findings) == [("/plan/2/when", "unknown_variable")]


@pytest.mark.parametrize("when", ["false", "{{ false }}", "none", "0", "1 > 2", "not true", "''"])
def test_a_condition_that_is_never_true_is_reported(when: str) -> None:
    assert told(judged(step("a", when=when)).findings) == [("/plan/0/when", "unreachable_step")]


@pytest.mark.parametrize("when", ["true", "{{ 1 < 2 }}", "run.attempt > 99", "'no'"])
def test_a_condition_that_may_be_true_is_accepted(when: str) -> None:
    assert judged(step("a", when=when)).ok


@pytest.mark.parametrize(
    ("when", "code"),
    [
        ("{{ a", "template_syntax"),
        ("a b", "template_syntax"),
        ("1 / 0", "template_operand"),
        ("x" * 9_000, "template_too_long"),
    ],
)
def test_a_condition_that_cannot_be_read_is_reported(when: str, code: str) -> None:
    findings = judged(step("a", when=when)).findings
    assert [finding.pointer for finding in findings] == ["/plan/0/when"]
    assert findings[0].code.startswith("template"), code


def test_nested_steps_see_the_item_the_index_and_each_other() -> None:
    report = judged(
        FETCH,
        loop(
            "all",
            shape("first", "{{ item }} {{ index }} {{ read.status }}"),
            loop(
                "deep",
                shape("second", "{{ cell }} {{ item }} {{ first }}"),
                items="{{ item }}",
                **{"as": "cell"},
            ),
            shape("third", "{{ steps.deep.items }}"),
            items="{{ read.json }}",
        ),
        shape("after", "{{ steps.all }}"),
    )
    assert report.findings == ()


def test_the_output_of_a_step_with_a_name_of_its_own_is_also_there_under_its_id() -> None:
    named = step("read", "http_fetch", config={"url": "https://a.example"}, output_as="page")
    for template in ("{{ page }}", "{{ steps.page }}", "{{ steps.read.status }}"):
        assert judged(named, shape("use", template)).findings == ()
    (bare,) = judged(named, shape("use", "{{ read }}")).findings
    assert (bare.code, bare.suggestion) == ("unknown_variable", "Write 'page' or 'steps.read'.")
    (early,) = judged(shape("use", "{{ steps.read }}"), named).findings
    assert early.code == "forward_reference"
    maybe = {**named, "when": "{{ inputs.go | default(false) }}"}
    report = judged(maybe, shape("use", "{{ steps.read }}"))
    assert [one.code for one in report.warnings if one.pointer.endswith("/output")] == [
        "maybe_missing"
    ]
    (field,) = judged(
        step(
            "slow",
            "slow_report",
            output_as="made",
            config={
                "output_schema": {
                    "type": "object",
                    "properties": {"a": {}},
                    "additionalProperties": False,
                }
            },
        ),
        shape("use", "{{ steps.slow.b }}"),
    ).findings
    assert field.code == "unknown_field"


def test_an_as_name_replaces_item() -> None:
    report = judged(loop("all", shape("x", "{{ row }} {{ item }}"), **{"as": "row"}))
    assert [finding.code for finding in report.findings] == ["unknown_variable"]


def test_what_happens_in_a_loop_stays_there() -> None:
    report = judged(
        loop("all", shape("x", "{{ y }} {{ all }}"), shape("y", 1)),
        shape("after", "{{ x }} {{ steps.y }} {{ item }} {{ index }}"),
    )
    assert [(finding.pointer, finding.code) for finding in report.findings] == [
        ("/plan/0/config/steps/0/config/output", "forward_reference"),
        ("/plan/0/config/steps/0/config/output", "forward_reference"),
        ("/plan/1/config/output", "nested_output"),
        ("/plan/1/config/output", "nested_output"),
        ("/plan/1/config/output", "unknown_variable"),
        ("/plan/1/config/output", "unknown_variable"),
    ]


def test_failure_steps_see_the_error_and_what_the_plan_may_have_made() -> None:
    alarm = shape("alarm", "{{ run.error.detail }} {{ run.failed_step_id }} {{ read.status }}")
    report = judged(FETCH, execution={"on_failure": [alarm, shape("then", "{{ alarm }}")]})
    assert report.findings == ()
    assert told(report.warnings) == [("/execution/on_failure/0/config/output", "maybe_missing")]


def test_the_plan_does_not_see_what_failure_steps_make() -> None:
    report = judged(shape("a", "{{ alarm }}"), execution={"on_failure": [step("alarm")]})
    assert [finding.code for finding in report.findings] == ["forward_reference"]


def test_a_step_that_may_be_skipped_can_be_read_with_a_warning() -> None:
    maybe = shape("maybe", 1, when="run.attempt > 1")
    assert told(judged(maybe, shape("use", "{{ maybe }}")).warnings) == [
        ("/plan/1/config/output", "maybe_missing")
    ]
    assert judged(maybe, shape("use", "{{ maybe }}")).ok
    for careful in (
        shape("use", "{{ maybe | default(0) }}"),
        shape("use", "{% if maybe is defined %}{{ maybe }}{% endif %}"),
        shape("use", "{{ maybe }}", when="run.attempt > 1"),
    ):
        assert judged(maybe, careful).warnings == ()


def test_an_input_that_may_be_left_out_can_be_read_with_a_warning() -> None:
    declared = inputs([], note={"type": "string"}, count={"type": "integer", "default": 1})
    report = judged(shape("use", "{{ inputs.note }} {{ inputs.count }}"), inputs=declared)
    assert told(report.warnings) == [("/plan/0/config/output", "maybe_missing")]
    report = judged(shape("use", "{{ inputs.note | default('') }}"), inputs=declared)
    assert report.warnings == ()


def test_inputs_that_are_open_can_hold_anything() -> None:
    schema: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string"}}
    assert judged(shape("a", "{{ inputs.any }}"), inputs={"schema": schema}).ok
    schema = {"type": "object"}
    assert judged(shape("a", "{{ inputs.any | default('') }}"), inputs={"schema": schema}).ok
    assert not judged(shape("a", "{{ inputs.any }}"), inputs={"schema": schema}).ok
    schema = {"type": "object", "additionalProperties": False}
    guarded = shape("a", "{{ inputs.any | default('') }}")
    assert not judged(guarded, inputs={"schema": schema}).ok


def test_a_lane_is_known_by_inputs_and_trigger_alone() -> None:
    declared = inputs(["id"], id={"type": "string"})
    for key, ok in [
        ("{{ inputs.id }}", True),
        ("{{ trigger.customer }}", True),
        ("{{ run.id }}", False),
        ("{{ steps.only }}", False),
        ("{{ inputs.x }}", False),
        ("{{ inputs", False),
    ]:
        report = judged(inputs=declared, execution={"concurrency_key": key})
        assert report.ok is ok, key
        assert all(one.pointer == "/execution/concurrency_key" for one in report.findings)


def test_names_are_not_judged_while_a_step_cannot_be_read() -> None:
    report = judged({"action": "transform_data"}, shape("use", "{{ rows }} {{ steps.rows }}"))
    assert told(report.findings) == [
        ("/plan/0/config/output", "required"),
        ("/plan/0/step_id", "required"),
    ]


def test_an_unknown_action_may_give_anything() -> None:
    report = judged(step("agent", "agent_task", config={}), shape("use", "{{ agent.a.b }}"))
    assert told(report.findings) == [("/plan/0/action", "unknown_action")]


def test_a_shape_that_the_step_declares_is_what_later_steps_may_read() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
    slow = step("slow", "slow_report", config={"output_schema": schema})
    assert judged(slow, shape("use", "{{ slow.a }}")).ok
    assert not judged(slow, shape("use", "{{ slow.b }}")).ok


def test_a_shape_that_the_step_declares_must_be_a_schema() -> None:
    slow = step("slow", "slow_report", config={"output_schema": {"$ref": "https://a.example/"}})
    assert told(judged(slow).findings) == [
        ("/plan/0/config/output_schema/$ref", "schema_reference")
    ]


@pytest.mark.parametrize(
    ("place", "ok"),
    [
        ({"url": "https://a.example/{{ secrets.key }}"}, True),
        ({"url": "https://a.example/", "headers": {"X": "{{ secrets.key }}"}}, True),
        ({"url": "https://a.example/", "body": "{{ secrets.key }}"}, False),
        ({"url": "https://a.example/", "body": {"deep": ["{{ secrets.key }}"]}}, False),
        ({"url": "https://{{ secrets.host }}/"}, False),
    ],
)
def test_secrets_are_allowed_only_where_the_gate_fills_them_in(
    place: dict[str, Any], ok: bool
) -> None:
    assert judged(step("a", "http_fetch", config=place)).ok is ok
    assert not judged(step("a", when="{{ secrets.key }}")).ok
