"""Grants: written ones name what there is and cover what the plan calls."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.grant import Grant
from tests.kit.definitions import inputs, judged, loop, step, told


def fetch(step_id: str, url: str, **config: Any) -> dict[str, Any]:
    return step(step_id, "http_fetch", config={"url": url, **config})


def hosts(*names: Any, **params: Any) -> dict[str, Any]:
    return {"capability": "http_fetch", "params": {"hosts": list(names), **params}}


def ask(**config: Any) -> dict[str, Any]:
    return step("ask", "llm.complete", config={"prompt": "x", **config})


HOST = inputs(["host", "n"], host={"type": "string"}, n={"type": "integer"})


def test_without_written_grants_the_plan_says_what_it_needs() -> None:
    report = judged(fetch("a", "https://a.example/"), loop("l", fetch("b", "http://b.example:81/")))
    assert report.grants == (Grant("http_fetch", {"hosts": ["a.example", "b.example:81"]}),)


@pytest.mark.parametrize(
    ("plan", "place"),
    [
        (fetch("a", "https://{{ inputs.host }}/"), "/plan/0/config/url"),
        (fetch("a", "https://a.example{{ inputs.host }}"), "/plan/0/config/url"),
        (fetch("a", "{{ inputs.host }}"), "/plan/0/config/url"),
        (
            step("a", "callback_webhook", config={"url": "https://{{ inputs.host }}/"}),
            "/plan/0/config/url",
        ),
        (loop("l", fetch("a", "{{ inputs.host }}")), "/plan/0/config/steps/0/config/url"),
    ],
)
def test_a_host_that_an_expression_decides_needs_a_written_grant(
    plan: dict[str, Any], place: str
) -> None:
    report = judged(plan, inputs=HOST)
    assert told(report.findings) == [(place, "host_unknown")]
    assert '"hosts"' in str(report.findings[0].suggestion)
    assert judged(plan, inputs=HOST, grants=[hosts("a.example")]).ok


IN_HOST = [
    "http://{{ secrets.place }}/x",
    "{{ secrets.place }}",
    "https://{{secrets.place}}.example/",
    "https://a.example{{ secrets.place }}",
    "https://a.example:{{ secrets.place }}/",
    "https://{{ inputs.host }}.{{ secrets.place }}/",
]


def test_a_secret_that_would_decide_the_host_is_refused_by_name_whatever_is_granted() -> None:
    for url in IN_HOST:
        for more in ({}, {"grants": [hosts("a.example")]}):
            report = judged(fetch("a", url), inputs=HOST, **more)
            assert told(report.findings) == [("/plan/0/config/url", "secret_in_host")], url
            (finding,) = report.findings
            assert "'place'" in finding.detail
            assert "https://example.com/{{ secrets.place }}" in str(finding.suggestion)
    for url in ("https://a.example/{{ secrets.place }}", "{{ inputs.host }}/{{ secrets.place }}"):
        assert judged(fetch("a", url), inputs=HOST, grants=[hosts("a.example")]).ok, url


@pytest.mark.parametrize("url", ["ftp://a.example/", "a.example", "https://me@a.example/", "//a"])
def test_a_url_that_leads_nowhere_is_refused_whatever_is_granted(url: str) -> None:
    for grants in (None, [hosts("a.example")]):
        report = judged(fetch("a", url), **({} if grants is None else {"grants": grants}))
        assert told(report.findings) == [("/plan/0/config/url", "bad_url")]


@pytest.mark.parametrize(
    ("plan", "grants"),
    [
        (fetch("a", "https://a.example/"), [hosts("a.example", "b.example")]),
        (fetch("a", "https://a.example/"), [hosts("b.example"), hosts("a.example:443")]),
        (fetch("a", "https://a.example/{{ inputs.n }}"), [hosts("A.example.")]),
        (fetch("a", "https://a.example/", method="GET"), [hosts("a.example", method="GET")]),
        (
            fetch("a", "https://a.example/", method="{{ inputs.host }}"),
            [hosts("a.example", method=["GET", "POST"])],
        ),
        (ask(), [{"capability": "llm.complete"}]),
        (ask(max_tokens=100), [{"capability": "llm.complete", "params": {"max_tokens": 100}}]),
        (
            ask(max_tokens="{{ inputs.n }}"),
            [{"capability": "llm.complete", "params": {"max_tokens": 100}}],
        ),
        (ask(labels=["a"]), [{"capability": "llm.complete", "params": {"labels": ["a", "b"]}}]),
        (
            ask(labels=["{{ inputs.host }}"]),
            [{"capability": "llm.complete", "params": {"labels": ["a", "b"]}}],
        ),
    ],
)
def test_grants_that_cover_the_plan_are_accepted(
    plan: dict[str, Any], grants: list[dict[str, Any]]
) -> None:
    report = judged(plan, inputs=HOST, grants=grants)
    assert report.findings == ()
    assert report.grants


@pytest.mark.parametrize(
    ("plan", "grants"),
    [
        (fetch("a", "https://a.example/"), []),
        (fetch("a", "https://a.example/"), [hosts("b.example")]),
        (fetch("a", "https://a.example/"), [hosts("a.example:8443")]),
        (fetch("a", "https://a.example/"), [hosts()]),
        (fetch("a", "{{ inputs.host }}"), [hosts()]),
        (fetch("a", "https://a.example/"), [hosts("a.example", method="GET")]),
        (fetch("a", "https://a.example/", method="POST"), [hosts("a.example", method="GET")]),
        (ask(), [{"capability": "llm.complete", "params": {"max_tokens": 100}}]),
        (ask(max_tokens=101), [{"capability": "llm.complete", "params": {"max_tokens": 100}}]),
        (ask(labels=["c"]), [{"capability": "llm.complete", "params": {"labels": ["a", "b"]}}]),
        (step("a", "notification", config={"title": "x"}), []),
        (
            step("a", "notification", config={"title": "x"}),
            [{"capability": "inbox.post_notification", "params": {"level": "info"}}],
        ),
        (step("a", "callback_webhook", config={"url": "https://a.example/"}), [hosts("b.example")]),
    ],
)
def test_grants_that_leave_a_step_without_are_refused(
    plan: dict[str, Any], grants: list[dict[str, Any]]
) -> None:
    report = judged(plan, inputs=HOST, grants=grants)
    assert told(report.findings) == [("/plan/0/action", "not_granted")]


@pytest.mark.parametrize(
    ("grant", "place", "code"),
    [
        ({"capability": "admin_reset"}, "capability", "never_granted"),
        ({"capability": "http_fetsch"}, "capability", "unknown_capability"),
        ({"capability": "transform_data"}, "capability", "unknown_capability"),
        ({"capability": "http_fetch"}, "params", "hosts_missing"),
        (hosts("*.example.com"), "params/hosts/0", "bad_host"),
        (hosts("a.example", "http://b.example"), "params/hosts/1", "bad_host"),
        (hosts(5), "params/hosts/0", "bad_host"),
        ({"capability": "http_fetch", "params": {"hosts": "a"}}, "params/hosts", "bad_host"),
        (hosts("a.example", metod="GET"), "params/metod", "unknown_argument"),
        (
            {"capability": "llm.complete", "params": {"max_tokens": "9"}},
            "params/max_tokens",
            "type",
        ),
        (
            {"capability": "llm.complete", "params": {"max_tokens": True}},
            "params/max_tokens",
            "type",
        ),
        ({"capability": 5}, "capability", "type"),
    ],
)
def test_a_grant_that_means_nothing_is_refused(
    grant: dict[str, Any], place: str, code: str
) -> None:
    assert told(judged(grants=[grant]).findings) == [(f"/grants/0/{place}", code)]


def test_a_step_cannot_call_what_is_for_administrators() -> None:
    report = judged(step("a", "admin_reset", config={}))
    assert told(report.findings) == [("/plan/0/action", "never_granted")]


def test_a_grant_that_no_step_uses_is_pointed_out() -> None:
    report = judged(grants=[{"capability": "automation_kv.get"}])
    assert report.ok
    assert told(report.warnings) == [("/grants/0", "unused_grant")]


def test_a_step_whose_config_is_wrong_is_not_asked_for_its_needs() -> None:
    report = judged(step("a", "callback_webhook", config={"url": 5}))
    assert told(report.findings) == [("/plan/0/config/url", "type")]
