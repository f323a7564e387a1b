"""The settings of polls: intervals, presets, relative times, grants and findings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.poll_descriptions import describe_poll
from mainspring.definition.polls import (
    GITHUB_EVENTS,
    PRESETS,
    build_poll_grant,
    describe_interval,
    read_interval,
    read_poll,
)
from mainspring.definition.validate import ValidationReport, validate
from mainspring.registry import build_registry
from mainspring.triggers.poll import TRIGGERS
from tests.kit.bench import document, step

WORDS = build_registry(Limits())
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
URL = "https://api.example.com/orders"
ROWS = {
    "capability": "adapter_query",
    "arguments": {"kind": "http_json", "op": "http_json.get", "ref": {"url": URL}},
    "every": "10m",
    "items": "$.rows",
    "id": "$.id",
}


def check(config: Mapping[str, Any], kind: str = "poll", **more: Any) -> ValidationReport:
    plan = step("a", "notification", {"title": "Done"})
    trigger = {"id": "t", "type": kind, "config": dict(config)}
    return validate(document(plan, triggers=[trigger], **more), WORDS, Limits())


@pytest.mark.parametrize(
    ("text", "seconds", "words"),
    [("10m", 600, "10 minutes"), ("1h", 3_600, "hour"), ("2d", 172_800, "2 days")],
)
def test_an_interval_is_a_number_and_a_unit(text: str, seconds: int, words: str) -> None:
    assert read_interval(text) == timedelta(seconds=seconds)
    assert describe_interval(text) == words


@pytest.mark.parametrize("text", ["", "10", "0m", "m", "10s", "10 m", "99999m"])
def test_anything_else_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_interval(text)
    assert caught.value.suggestion


def test_relative_times_in_arguments_are_replaced_at_each_look() -> None:
    settings = read_poll(
        "poll",
        {
            "capability": "x",
            "every": "1h",
            "arguments": {
                "a": {"$now": "-1h"},
                "b": [{"since": {"$today": "+2d"}}],
                "c": {"$now": "later"},
            },
        },
    )
    assert settings.resolve_arguments(NOW) == {
        "a": "2026-03-01T11:00:00+00:00",
        "b": [{"since": "2026-03-03"}],
        "c": {"$now": "later"},
    }


@pytest.mark.parametrize("kind", TRIGGERS, ids=lambda one: one.type)
def test_every_example_of_every_kind_is_valid_and_described(kind: Any) -> None:
    for example in kind.config_schema["examples"]:
        report = check(example, kind.type)
        assert report.findings == (), (example, report.findings)
        said = describe_poll(kind.type, example, repr)
        assert said.startswith("every ")
        assert "run for" in said


def test_every_preset_has_a_kind_and_every_github_event_is_valid() -> None:
    assert {one.type for one in TRIGGERS} == {"poll", *PRESETS}
    for event in GITHUB_EVENTS:
        report = check({"repository": "octo/hello", "event": event}, "github")
        assert report.findings == (), event


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"capability": "adapter_qery"}, "/triggers/0/config/capability", "unknown_capability"),
        ({"capability": "send_email"}, "/triggers/0/config/capability", "poll_capability"),
        ({"capability": "agent.run"}, "/triggers/0/config/capability", "poll_capability"),
        ({"capability": "automation_kv.get"}, "/triggers/0/config/capability", "poll_capability"),
        ({"capability": "admin_list_users"}, "/triggers/0/config/capability", "never_granted"),
        ({"items": "rows"}, "/triggers/0/config/items", "path_syntax"),
        ({"id": "$["}, "/triggers/0/config/id", "path_syntax"),
        ({"changed_on": "$.a["}, "/triggers/0/config/changed_on", "path_syntax"),
        ({"id": None}, "/triggers/0/config", "required"),
        ({"items": None, "id": None}, "/triggers/0/config", "required"),
        ({"every": "40d"}, "/triggers/0/config/every", "poll_every"),
        ({"every": "soon"}, "/triggers/0/config/every", "pattern"),
        ({"arguments": {"kind": "rss"}}, "/triggers/0/config/arguments/op", "required"),
        (
            {"arguments": {"kind": "nothing", "op": "x"}},
            "/triggers/0/config/arguments/kind",
            "unknown_kind",
        ),
    ],
)
def test_a_wrong_setting_is_found_at_its_place(
    change: dict[str, Any], pointer: str, code: str
) -> None:
    config = {name: value for name, value in {**ROWS, **change}.items() if value is not None}
    found = [(one.pointer, one.code) for one in check(config).findings]
    assert (pointer, code) in found, found


def test_the_shortest_interval_is_a_limit() -> None:
    plan = step("a", "notification", {"title": "Done"})
    trigger = {"id": "t", "type": "poll", "config": {**ROWS, "every": "5m"}}
    found = validate(document(plan, triggers=[trigger]), WORDS, Limits(poll_seconds=600))
    assert [one.code for one in found.findings] == ["poll_every"]


def test_an_event_that_starts_between_two_looks_is_found_when_saving() -> None:
    config = {"url": "https://example.com/a.ics", "starts_in_minutes": 5, "every": "10m"}
    [finding] = check(config, "calendar_event").findings
    assert (finding.code, finding.pointer) == (
        "poll_window",
        "/triggers/0/config/starts_in_minutes",
    )


def test_the_derived_grant_binds_the_arguments_except_relative_times() -> None:
    report = check(ROWS)
    [grant] = [one for one in report.grants if one.capability == "adapter_query"]
    assert grant.params == ROWS["arguments"]
    grant = build_poll_grant("calendar_event", {"url": "https://example.com/a.ics"}) or grant
    assert "params" not in grant.params
    assert grant.params["ref"] == {"url": "https://example.com/a.ics"}
    fetch = build_poll_grant("url_changed", {"url": "https://example.com/terms"})
    assert fetch is not None
    assert fetch.params == {"url": "https://example.com/terms", "hosts": ["example.com"]}


def test_written_grants_must_cover_the_poll_and_count_as_used() -> None:
    notify = {"capability": "inbox.post_notification"}
    lacking = check(ROWS, grants=[notify])
    assert [(one.pointer, one.code) for one in lacking.findings] == [
        ("/triggers/0/config/capability", "not_granted")
    ]
    other = {"capability": "adapter_query", "params": {"kind": "rss"}}
    assert check(ROWS, grants=[notify, other]).findings != ()
    whole = check(ROWS, grants=[notify, {"capability": "adapter_query"}])
    assert whole.findings == ()
    assert "unused_grant" not in [one.code for one in whole.warnings]


def test_the_description_names_interval_source_and_runs() -> None:
    feed = {"url": "https://example.com/news.xml"}
    assert describe_poll("rss_item", feed, repr) == (
        "every 10 minutes: read the feed 'https://example.com/news.xml'; one run for each new item"
    )
    assert describe_poll("poll", {**ROWS, "changed_on": "$", "per": "batch"}, repr) == (
        f"every 10 minutes: read with 'adapter_query' at {URL!r}; "
        "one run for all new or changed items"
    )
    assert "each changed item" in describe_poll("url_changed", feed, repr)
