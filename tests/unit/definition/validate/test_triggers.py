"""Triggers: schedules that fire, mappings that lead somewhere, inputs that are there."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.registry import Registry
from mainspring.definition.validate import validate
from tests.kit.definitions import LIMITS, WORDS, document, inputs, judged, told

DECLARED = inputs(
    ["topic"],
    topic={"type": "string", "minLength": 2, "default": "news"},
    limit={"type": "integer"},
)


def schedule(cron: Any = "0 9 * * *", **more: Any) -> dict[str, Any]:
    config = {"cron": cron, "timezone": "UTC", **more.pop("config", {})}
    return {"type": "schedule", "config": config, **more}


def webhook(**mapping: Any) -> dict[str, Any]:
    return {"type": "webhook", "config": {"input_mapping": mapping}}


def called(**auth: Any) -> dict[str, Any]:
    return {"type": "webhook", "config": {"auth": auth}}


def event(kind: Any, **filters: Any) -> dict[str, Any]:
    return {"type": "event", "config": {"event_type": kind, "filters": filters}}


def verdict(trigger: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    return told(judged(triggers=[trigger], **more).findings)


@pytest.mark.parametrize(
    "trigger",
    [
        schedule(),
        schedule("@daily"),
        schedule(config={"misfire": "fire_all", "catch_up_seconds": 43_200}),
        schedule(inputs={"topic": "sport", "limit": 3}),
        schedule(enabled=False),
        {"type": "webhook"},
        webhook(topic="$.a.b", limit="$.items[0].n"),
        event("drive.file_added"),
        event("drive.file_added", name={"ends_with": ".pdf"}),
    ],
)
def test_a_sound_trigger_is_accepted(trigger: dict[str, Any]) -> None:
    report = judged(triggers=[trigger], inputs=DECLARED)
    assert report.findings == ()
    assert report.warnings == ()


@pytest.mark.parametrize(
    ("trigger", "place", "code"),
    [
        (schedule("0 9 * *"), "cron", "cron_fields"),
        (schedule("0 0 9 * * *"), "cron", "cron_fields"),
        (schedule("0 0 31 2 *"), "cron", "cron_never"),
        (schedule("@reboot"), "cron", "cron_unsupported"),
        (schedule(5), "cron", "type"),
        (schedule(config={"timezone": "Europe/Berlinn"}), "timezone", "format"),
        (schedule(config={"timezone": 5}), "timezone", "type"),
        (schedule(config={"misfire": "twice"}), "misfire", "enum"),
        (schedule(config={"catch_up_seconds": -1}), "catch_up_seconds", "minimum"),
        (schedule(config={"tz": "UTC"}), "tz", "additional_properties"),
        (webhook(topic="$.a["), "input_mapping/topic", "path_syntax"),
        (webhook(topic=5), "input_mapping/topic", "type"),
        (webhook(topik="$.a"), "input_mapping/topik", "unknown_input"),
        (called(type="signature", provider="githb", secret="key"), "auth/provider", "enum"),
        (called(type="signature", secret="key"), "auth", "required"),
        (called(type="signature", provider="github"), "auth", "required"),
        (called(type="signature", provider="custom", secret="key"), "auth", "required"),
        (called(type="basic", secret="key"), "auth", "required"),
        (called(type="header", secret="key"), "auth", "required"),
        (called(type="secret_url", secret="key"), "auth/secret", "webhook_auth"),
        (
            called(type="signature", provider="custom", secret="k", header="X", signed="{id}"),
            "auth/signed",
            "pattern",
        ),
        (
            {
                "type": "webhook",
                "config": {"auth": {"type": "bearer"}, "signature": {"secret": "key"}},
            },
            "signature",
            "webhook_auth",
        ),
        (event("files.*"), "event_type", "pattern"),
        (event(5), "event_type", "type"),
        (event("a.b", name={"like": 5}), "filters/name/like", "filter_operator"),
        (event("a.b", name={"regex": "("}), "filters/name/regex", "filter_pattern"),
    ],
)
def test_a_trigger_that_cannot_work_is_refused_at_its_place(
    trigger: dict[str, Any], place: str, code: str
) -> None:
    assert verdict(trigger, inputs=DECLARED) == [(f"/triggers/0/config/{place}", code)]


def test_missing_settings_are_named() -> None:
    assert verdict({"type": "schedule", "config": {}}) == [
        ("/triggers/0/config/cron", "required"),
        ("/triggers/0/config/timezone", "required"),
    ]
    assert verdict({"type": "event"}) == [("/triggers/0/config/event_type", "required")]


@pytest.mark.parametrize(
    ("cron", "warned"),
    [("*/14 * * * *", True), ("* * * * *", True), ("*/15 * * * *", False), ("0 * * * *", False)],
)
def test_a_schedule_below_fifteen_minutes_is_accepted_with_a_warning(
    cron: str, warned: bool
) -> None:
    report = judged(triggers=[schedule(cron)])
    assert report.ok
    assert told(report.warnings) == [("/triggers/0/config/cron", "fires_often")] * warned


def test_an_event_that_nobody_publishes_is_accepted_with_the_nearest_name() -> None:
    report = judged(triggers=[event("drive.file_add")])
    assert report.ok
    (warning,) = report.warnings
    assert warning.code == "unknown_event_type"
    assert warning.suggestion == "Did you mean 'drive.file_added'?"


def test_a_pattern_that_cannot_read_ordinary_texts_is_accepted_with_a_warning() -> None:
    mails, light = {"regex": r"\p{L}+ \p{L}+"}, {"regex": "(?i)invoice.*overdue"}
    nested = {"$or": [{"$not": {"a/b": mails}}, {"text": light}]}
    report = judged(
        triggers=[
            {
                **event("drive.file_added"),
                "config": {"event_type": "drive.file_added", "filters": nested},
            }
        ]
    )
    assert report.ok
    (warning,) = report.warnings
    assert warning.pointer == "/triggers/0/config/filters/$or/0/$not/a~1b/regex"
    assert warning.code == "filter_pattern_short"
    assert "at most 1,659 bytes" in warning.detail
    assert warning.suggestion


@pytest.mark.parametrize(
    ("fixed", "found"),
    [
        ({"topic": "x"}, [("topic", "min_length")]),
        ({"topic": 5, "limit": "ten"}, [("limit", "type"), ("topic", "type")]),
        ({"topc": "news"}, [("topc", "unknown_input")]),
    ],
)
def test_fixed_inputs_are_judged_by_the_schema(
    fixed: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    assert verdict(schedule(inputs=fixed), inputs=DECLARED) == [
        (f"/triggers/0/inputs/{name}", code) for name, code in found
    ]


def test_a_schedule_must_give_what_is_required() -> None:
    declared = inputs(["a", "b", "c"], a={}, b={"default": 1}, c={"type": "string"})
    report = judged(triggers=[schedule(inputs={"c": "x"})], inputs=declared)
    assert told(report.findings) == [("/triggers/0/inputs", "missing_input")]
    assert "'a'" in report.findings[0].detail
    assert judged(triggers=[{"type": "webhook"}], inputs=declared).ok
    filled = {"type": "object", "properties": {"deep": {"default": 1}}}
    assert judged(triggers=[schedule()], inputs=inputs(["a"], a=filled)).ok


def test_a_type_that_is_not_installed_is_reported() -> None:
    report = validate(document(triggers=[{"type": "webhook"}]), Registry(), LIMITS)
    assert ("/triggers/0/type", "unknown_trigger") in told(report.findings)


OWN = "0190a000-0000-7000-8000-000000000001"
OTHER = "0190a000-0000-7000-8000-000000000002"


@pytest.mark.parametrize(
    ("filters", "loops"),
    [
        (None, True),
        ({}, True),
        ({"status": "failed"}, True),
        ({"automation_name": "Test"}, True),
        ({"automation_name": {"in": ["Other", "Test"]}}, True),
        ({"automation_name": {"starts_with": "T"}}, True),
        ({"automation_name": {"exists": True}}, True),
        ({"$or": [{"automation_name": "Other"}, {"status": "failed"}]}, True),
        ({"$not": {"automation_name": "Other"}}, True),
        ({"automation_id": {"exists": True}}, True),
        ({"automation_id": {"not_equals": OTHER}}, True),
        ({"automation_id": {"starts_with": "0190"}}, True),
        ({"automation_name": "Other"}, False),
        ({"automation_name": {"not_equals": "Test"}}, False),
        ({"automation_name": {"regex": "^O"}}, False),
        ({"automation_name.first": "x"}, False),
        ({"$not": {"automation_name": "Test"}}, False),
        ({"$and": [{"status": "failed"}, {"automation_name": "Other"}]}, False),
        ({"$or": [{"automation_name": "A"}, {"automation_name": "B"}]}, False),
        ({"automation_id": OTHER}, False),
        ({"automation_id": {"in": [OTHER]}}, False),
    ],
)
def test_a_trigger_that_could_follow_its_own_runs_is_refused(
    filters: dict[str, Any] | None, loops: bool
) -> None:
    trigger = event("automation.run.failed")
    trigger["config"]["filters"] = filters
    if filters is None:
        del trigger["config"]["filters"]
    found = [("/triggers/0/config/filters", "self_subscription")] * loops
    assert verdict(trigger) == found


def test_an_automation_that_has_an_id_is_recognised_by_it() -> None:
    trigger = event("automation.run.succeeded", automation_id={"equals": OWN})
    made = document(triggers=[trigger])
    assert validate(made, WORDS, LIMITS).ok
    assert validate(made, WORDS, LIMITS, automation_id=OTHER).ok
    assert not validate(made, WORDS, LIMITS, automation_id=OWN).ok


@pytest.mark.parametrize(
    "config",
    [
        {"at": "2190-01-01T09:00"},
        {"at": ["2190-01-01T09:00", "2190-01-02T09:00:00Z"]},
        {"every": "2d", "anchor": "2026-01-01T09:00"},
        {"times": [{"cron": "0 9 * * 1-5"}, {"every": "3w"}, {"at": "2190-01-01T09:00"}]},
        {"cron": "0 9 * * *", "except": {"holidays": "DE-BY", "dates": ["2026-12-24"]}},
        {"cron": "0 9 * * *", "jitter": "5m"},
    ],
)
def test_a_schedule_can_be_moments_intervals_and_several_times(config: dict[str, Any]) -> None:
    report = judged(
        triggers=[{"type": "schedule", "config": {**config, "timezone": "Europe/Berlin"}}]
    )
    assert (report.findings, report.warnings) == ((), ())


@pytest.mark.parametrize(
    ("config", "pointer", "code"),
    [
        ({"every": "30s"}, "/every", "schedule_interval"),
        ({"every": "0m"}, "/every", "schedule_interval"),
        ({"at": "soon"}, "/at", "schedule_moment"),
        ({"cron": "@daily", "every": "2d"}, "/every", "schedule_times"),
        ({"times": [{"cron": "61 * * * *"}]}, "/times/0/cron", None),
        ({"times": [{"corn": "@daily", "cron": "@daily"}]}, "/times/0/corn", None),
        ({"cron": "@daily", "except": {"holidays": "DE-XX"}}, "/except/holidays", None),
        ({"cron": "@daily", "except": {"days": []}}, "/except/days", None),
        ({"cron": "0 9 25 12 *", "except": {"holidays": "DE"}}, "/except", "schedule_never"),
        ({"cron": "*/15 * * * *", "jitter": "20m"}, "/jitter", "schedule_jitter"),
    ],
)
def test_times_that_cannot_work_are_refused_at_their_place_with_a_remedy(
    config: dict[str, Any], pointer: str, code: str | None
) -> None:
    report = judged(
        triggers=[{"type": "schedule", "config": {**config, "timezone": "Europe/Berlin"}}]
    )
    (finding,) = report.findings
    assert finding.pointer == f"/triggers/0/config{pointer}"
    assert code in (None, finding.code)
    assert finding.suggestion or code is None


def test_a_moment_that_has_passed_is_accepted_with_a_warning() -> None:
    config = {"at": ["2026-01-01T09:00", "2190-01-01T09:00"], "timezone": "UTC"}
    report = judged(triggers=[{"type": "schedule", "config": config}])
    assert not report.findings
    (warning,) = report.warnings
    assert (warning.pointer, warning.code) == ("/triggers/0/config/at/0", "schedule_past")
    assert warning.suggestion


def test_an_interval_below_fifteen_minutes_is_accepted_with_a_warning() -> None:
    report = judged(triggers=[{"type": "schedule", "config": {"every": "5m", "timezone": "UTC"}}])
    (warning,) = report.warnings
    assert (warning.pointer, warning.code) == ("/triggers/0/config/every", "fires_often")


@pytest.mark.parametrize("negated", [False, True])
def test_a_name_that_is_too_long_for_a_pattern_does_not_rule_out_own_runs(negated: bool) -> None:
    condition = {"automation_name": {"regex": r"\p{L}" * 5}}
    filters = {"$not": condition} if negated else condition
    trigger = event("automation.run.succeeded", **filters)
    report = judged(triggers=[trigger], name="𐐀" * 200)
    assert told(report.findings) == [("/triggers/0/config/filters", "self_subscription")]
