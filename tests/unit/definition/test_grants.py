"""Grants: what they allow, what they refuse, and what a plan needs."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Capability
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Registry
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.definition.grants import (
    build_host_grant,
    decide_call,
    derive,
    find_missing_grants,
    is_covered_by,
    list_lent_capabilities,
    list_needed_grants,
    list_requested_grants,
    match,
    merge_grants,
    resolve_effective_grants,
)
from mainspring.definition.model import Definition
from tests.kit.vocabulary import vocabulary

FETCH = "http_fetch"


def grant(**params: Any) -> Grant:
    return Grant("board.append", params)


def allows(bounds: dict[str, Any], arguments: dict[str, Any]) -> bool:
    return bool(match(Grant("board.append", bounds), "board.append", arguments))


def fetches(hosts: list[Any], url: Any) -> bool:
    return bool(match(Grant(FETCH, {"hosts": hosts}), FETCH, {"url": url}))


@pytest.mark.parametrize(
    ("bounds", "arguments"),
    [
        ({}, {"anything": 1}),
        ({"board_id": "b1"}, {"board_id": "b1", "row": {}}),
        ({"count": 1}, {"count": 1.0}),
        ({"flag": True}, {"flag": True}),
        ({"parent": None}, {"parent": None}),
        ({"board_id": ["b1", "b2"]}, {"board_id": "b2"}),
        ({"labels": ["a", "b"]}, {"labels": ["b", "a", "b"]}),
        ({"labels": ["a"]}, {"labels": []}),
        ({"pairs": [["a", 1]]}, {"pairs": ["a", 1]}),
        ({"max_tokens": 500}, {"max_tokens": 500}),
        ({"max_tokens": 500}, {"max_tokens": 0.5}),
        ({"to": {"kind": "user", "ids": [1]}}, {"to": {"ids": [1], "kind": "user"}}),
    ],
)
def test_a_call_inside_its_grant_is_allowed(
    bounds: dict[str, Any], arguments: dict[str, Any]
) -> None:
    assert allows(bounds, arguments)


@pytest.mark.parametrize(
    ("bounds", "arguments"),
    [
        ({"board_id": "b1"}, {}),
        ({"board_id": "b1"}, {"board_id": "b2"}),
        ({"board_id": "b1"}, {"board_id": "B1"}),
        ({"board_id": "b1"}, {"board_id": "b1 "}),
        ({"board_id": "b1"}, {"board_id": ["b1"]}),
        ({"board_id": "b1"}, {"board_id": {"b1": True}}),
        ({"board_id": "b1"}, {"board_id": None}),
        # A Cyrillic letter that looks like the Latin one.
        ({"board_id": "abc"}, {"board_id": "\u0430bc"}),
        ({"board_id": "b1"}, {"board_id": SecretText(("b1",))}),
        ({"count": 1}, {"count": True}),
        ({"count": 0}, {"count": False}),
        ({"flag": True}, {"flag": 1}),
        ({"count": 1}, {"count": "1"}),
        ({"parent": None}, {}),
        ({"parent": None}, {"parent": False}),
        ({"board_id": ["b1", "b2"]}, {"board_id": "b3"}),
        ({"board_id": ["b1", "b2"]}, {}),
        ({"board_id": []}, {"board_id": "b1"}),
        ({"labels": ["a", "b"]}, {"labels": ["a", "c"]}),
        ({"labels": ["a", "b"]}, {"labels": [["a"]]}),
        ({"count": [1]}, {"count": True}),
        ({"max_tokens": 500}, {}),
        ({"max_tokens": 500}, {"max_tokens": 501}),
        ({"max_tokens": 500}, {"max_tokens": "5"}),
        ({"max_tokens": 500}, {"max_tokens": True}),
        ({"max_tokens": 500}, {"max_tokens": float("nan")}),
        ({"max_tokens": 500}, {"max_tokens": None}),
        ({"max_tokens": 500}, {"tokens": 5}),
        ({"max_tokens": "many"}, {"max_tokens": 5}),
        ({"max_tokens": True}, {"max_tokens": 0}),
        ({"to": {"kind": "user"}}, {"to": {"kind": "user", "extra": 1}}),
        ({"to": {"kind": "user"}}, {"to": {}}),
        ({"hosts": ["a.example"]}, {"hosts": ["a.example"]}),
    ],
)
def test_a_call_outside_its_grant_is_refused_with_a_reason(
    bounds: dict[str, Any], arguments: dict[str, Any]
) -> None:
    verdict = match(grant(**bounds), "board.append", arguments)
    assert not verdict
    assert verdict.reason is not None
    assert verdict.reason.endswith(".")


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        (["api.example.com"], "https://api.example.com/v1?x=1"),
        (["api.example.com"], "https://API.Example.COM"),
        (["API.example.com"], "http://api.example.com/"),
        (["api.example.com"], "https://api.example.com./v1"),
        (["api.example.com."], "https://api.example.com/v1"),
        (["api.example.com"], "https://api.example.com:8443/v1"),
        (["api.example.com:8443"], "https://api.example.com:8443/v1"),
        (["api.example.com:443"], "https://api.example.com/v1"),
        (["api.example.com:80"], "http://api.example.com/v1"),
        (["api.example.com"], "https://api.example.com:/v1"),
        (["api.example.com"], "https://api.example.com:65535/"),
        (["b\u00fccher.example"], "https://xn--bcher-kva.example/"),
        (["xn--bcher-kva.example"], "https://B\u00dcCHER.example/"),
        (["127.0.0.1:8080"], "http://127.0.0.1:8080/"),
        (["[::1]"], "http://[0:0:0:0:0:0:0:1]/"),
        (["api.example.com"], SecretText(("https://api.example.com/", SecretRef("key")))),
        (["api.example.com"], "https://api.example.com/@elsewhere.example"),
        (["api.example.com"], "https://api.example.com?@elsewhere.example"),
    ],
)
def test_a_url_on_a_granted_host_is_allowed(hosts: list[Any], url: Any) -> None:
    assert fetches(hosts, url)


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        (["api.example.com"], "https://evil.example/"),
        (["api.example.com"], "https://api.example.com.evil.example/"),
        (["example.com"], "https://api.example.com/"),
        (["api.example.com"], "https://user@api.example.com/"),
        (["api.example.com"], "https://api.example.com@evil.example/"),
        (["api.example.com"], "https://api.example.com:pw@evil.example/"),
        (["api.example.com"], "https://evil.example\\@api.example.com/"),
        (["api.example.com"], "https://api.example.com\\.evil.example/"),
        (["api.example.com"], "https:/api.example.com/"),
        (["api.example.com"], "https:api.example.com"),
        (["api.example.com"], "//api.example.com/"),
        (["api.example.com"], "ftp://api.example.com/"),
        (["api.example.com"], " https://api.example.com/"),
        (["api.example.com"], "https://api.exam\tple.com/"),
        (["api.example.com"], "https://api.example.com\n/"),
        (["api.example.com"], "https://%61pi.example.com/"),
        (["api.example.com"], "https://api.example.com:99999/"),
        (["api.example.com"], "https://api.example.com:65536/"),
        (["api.example.com"], "https://api.example.com:8a/"),
        (["api.example.com"], "https:///api.example.com"),
        (["api.example.com"], "https://"),
        (["api.example.com"], ""),
        (["api.example.com"], None),
        (["api.example.com"], ["https://api.example.com/"]),
        (["api.example.com:8443"], "https://api.example.com/"),
        (["api.example.com:443"], "http://api.example.com/"),
        (["*.example.com"], "https://api.example.com/"),
        (["*"], "https://api.example.com/"),
        (["https://api.example.com"], "https://api.example.com/"),
        (["api.example.com"], "https://\u0430pi.example.com/"),
        (["api.example.com"], "http://[::1%25eth0]/"),
        (["[::1]"], "http://[::1/"),
        (["api.example.com"], SecretText(("https://", SecretRef("host"), "/"))),
        (["api.example.com"], SecretText(("https://api.example.com", SecretRef("rest")))),
        ([], "https://api.example.com/"),
        ([None, 5], "https://api.example.com/"),
    ],
)
def test_a_url_on_any_other_host_is_refused(hosts: list[Any], url: Any) -> None:
    assert not fetches(hosts, url)


def test_a_fetch_without_granted_hosts_goes_nowhere() -> None:
    assert not match(Grant(FETCH), FETCH, {"url": "https://api.example.com/"})
    assert not match(
        Grant(FETCH, {"hosts": "api.example.com"}), FETCH, {"url": "https://a.example"}
    )


def test_admin_capabilities_are_never_allowed() -> None:
    verdict = match(Grant("admin_reset"), "admin_reset", {})
    assert verdict.reason == "admin_reset can never be granted."
    assert not is_covered_by(Grant("admin_reset"), Grant("admin_reset"))


@pytest.mark.parametrize(
    "other", ["board.app", "board.append_rows", "board", "board.append.", "append", "Board.append"]
)
def test_a_grant_is_for_one_exact_name(other: str) -> None:
    given = Grant("board.append")
    assert decide_call([given], other, {}).reason == f"{other} is not granted."
    assert match(given, other, {}).reason == f"{other} is not granted."
    assert not decide_call([Grant(other)], "board.append", {})
    assert not is_covered_by(given, Grant(other))
    assert not is_covered_by(Grant(other), given)
    assert find_missing_grants([Grant(other)], [given]) == (Grant(other),)


def test_one_of_several_grants_is_enough_and_none_is_too_few() -> None:
    grants = [grant(board_id="b1"), grant(board_id="b2")]
    assert decide_call(grants, "board.append", {"board_id": "b2"})
    assert decide_call(grants, "board.append", {"board_id": "b3"}).reason == (
        "board_id is not the granted value."
    )
    assert decide_call(grants, "board.delete", {}).reason == "board.delete is not granted."
    assert not decide_call([], "board.append", {})


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ({}, {"board_id": "b1"}),
        ({"board_id": ["b1", "b2"]}, {"board_id": "b1"}),
        ({"board_id": ["b1", "b2"]}, {"board_id": ["b2"]}),
        ({"max_rows": 5}, {"max_rows": 4, "board_id": "b1"}),
        ({"hosts": ["a.example"]}, {"hosts": ["a.example:443"]}),
        ({"hosts": ["a.example", "b.example"]}, {"hosts": []}),
    ],
)
def test_a_wider_grant_covers_a_narrower_one(outer: dict[str, Any], inner: dict[str, Any]) -> None:
    assert is_covered_by(grant(**outer), grant(**inner))


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ({"board_id": "b1"}, {}),
        ({"board_id": "b1"}, {"board_id": ["b1"]}),
        ({"board_id": ["b1"]}, {"board_id": ["b1", "b2"]}),
        ({"max_rows": 5}, {"max_rows": 6}),
        ({"max_rows": 5}, {"max_rows": None}),
        ({"hosts": ["a.example:443"]}, {"hosts": ["a.example"]}),
        ({"hosts": ["a.example"]}, {"hosts": ["b.example"]}),
        ({"hosts": ["a.example"]}, {"hosts": ["a.example.org"]}),
        ({"hosts": ["a.example.org"]}, {"hosts": ["a.example"]}),
        ({"hosts": ["a.example"]}, {}),
        ({"count": 1}, {"count": True}),
    ],
)
def test_a_grant_does_not_cover_more_than_it_allows(
    outer: dict[str, Any], inner: dict[str, Any]
) -> None:
    assert not is_covered_by(grant(**outer), grant(**inner))


def test_needs_that_two_grants_meet_together_are_met() -> None:
    given = [Grant(FETCH, {"hosts": ["a.example"]}), Grant(FETCH, {"hosts": ["b.example"]})]
    assert find_missing_grants([Grant(FETCH, {"hosts": ["a.example", "b.example"]})], given) == ()
    assert find_missing_grants([Grant(FETCH, {"hosts": ["a.example", "c.example"]})], given) == (
        Grant(FETCH, {"hosts": ["c.example"]}),
    )


def test_merging_joins_hosts_and_keeps_other_bounds_apart() -> None:
    assert merge_grants(
        [
            Grant(FETCH, {"hosts": ["b.example"]}),
            Grant("kv"),
            Grant(FETCH, {"hosts": ["a.example"]}),
            Grant("kv"),
            Grant("board", {"board_id": "b2"}),
            Grant("board", {"board_id": "b1"}),
        ]
    ) == (
        Grant("board", {"board_id": "b1"}),
        Grant("board", {"board_id": "b2"}),
        Grant(FETCH, {"hosts": ["a.example", "b.example"]}),
        Grant("kv"),
    )


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("https://api.example.com/{{ inputs.id }}", ["api.example.com"]),
        ("https://API.example.com?q={{ inputs.q }}", ["api.example.com"]),
        ("http://127.0.0.1:8080/x", ["127.0.0.1:8080"]),
        ("https://api.example.com:443/x", ["api.example.com"]),
        ("https://api.example.com", ["api.example.com"]),
        ("https://{{ inputs.host }}/", []),
        ("https://api.example.com{{ inputs.path }}", []),
        ("https://api.example.com:{{ inputs.port }}/", []),
        ("{{ inputs.url }}", []),
        ("{% if true %}https://a.example/{% endif %}", []),
        ("https://user@api.example.com/", []),
        (None, []),
    ],
)
def test_the_host_of_a_url_is_granted_only_when_no_expression_can_change_it(
    url: Any, hosts: list[str]
) -> None:
    assert build_host_grant(FETCH, url) == Grant(FETCH, {"hosts": hosts})


def plan_of(*steps: dict[str, Any], **more: Any) -> Definition:
    return Definition.from_json(
        {"schema_version": "1.2", "name": "n", "goal": "g", "plan": list(steps), **more}
    )


def fetch(step_id: str, url: str) -> dict[str, Any]:
    return {"step_id": step_id, "action": FETCH, "config": {"url": url}}


def test_needs_are_gathered_over_plan_nested_and_failure_steps() -> None:
    loop = {
        "step_id": "loop",
        "action": "for_each",
        "config": {"items": [1], "steps": [fetch("inner", "https://b.example/")]},
    }
    alarm = {
        "step_id": "alarm",
        "action": "callback_webhook",
        "config": {"url": "https://c.example/hook"},
    }
    definition = plan_of(
        fetch("one", "https://a.example/"),
        loop,
        {"step_id": "keep", "action": "automation_kv.set", "config": {"key": "k", "value": 1}},
        {"step_id": "shape", "action": "transform_data", "config": {"output": {}}},
        execution={"on_failure": [alarm]},
    )
    assert derive(definition, vocabulary()) == (
        Grant("automation_kv.set"),
        Grant(FETCH, {"hosts": ["a.example", "b.example", "c.example"]}),
    )


def test_written_grants_replace_the_derived_ones() -> None:
    wide = {"capability": FETCH, "params": {"hosts": ["a.example", "z.example"]}}
    definition = plan_of(fetch("one", "https://a.example/"), grants=[wide])
    assert resolve_effective_grants(definition, vocabulary()) == (
        Grant(FETCH, {"hosts": ["a.example", "z.example"]}),
    )
    assert resolve_effective_grants(plan_of(fetch("one", "https://a.example/")), vocabulary()) == (
        Grant(FETCH, {"hosts": ["a.example"]}),
    )


def capability(name: str, **value: Any) -> Capability:
    async def handler(ctx: Any, arguments: Any) -> None:
        del ctx, arguments

    return Capability(name, name, {}, {}, handler, **value)


@pytest.mark.parametrize(
    ("bounds", "arguments"),
    [
        # A text is not the list of its letters.
        ({"to": {"ids": ["a", "b"]}}, {"to": {"ids": "ab"}}),
        ({"to": {"ids": "ab"}}, {"to": {"ids": ["a", "b"]}}),
        ({"to": {"ids": ["a"]}}, {"to": {"ids": ["a", "b"]}}),
        ({"to": {"ids": ["a", "b"]}}, {"to": {"ids": ["a", "c"]}}),
    ],
)
def test_lists_inside_an_argument_are_compared_entry_by_entry(
    bounds: dict[str, Any], arguments: dict[str, Any]
) -> None:
    assert not allows(bounds, arguments)


def test_a_grant_covers_an_equal_one() -> None:
    assert is_covered_by(grant(board_id="b1"), grant(board_id="b1"))


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ({}, {"hosts": ["a.example"]}),
        ({"hosts": ["a"]}, {"hosts": "a"}),
        ({"hosts": "a"}, {"hosts": ["a"]}),
    ],
)
def test_hosts_that_are_no_list_cover_nothing_and_are_not_covered(
    outer: dict[str, Any], inner: dict[str, Any]
) -> None:
    assert not is_covered_by(Grant(FETCH, outer), Grant(FETCH, inner))


def test_an_unreadable_host_neither_widens_nor_breaks_a_grant() -> None:
    assert is_covered_by(Grant(FETCH, {"hosts": [None, "a"]}), Grant(FETCH, {"hosts": ["a"]}))
    assert is_covered_by(Grant(FETCH, {"hosts": ["a"]}), Grant(FETCH, {"hosts": ["a", None]}))
    assert is_covered_by(Grant(FETCH, {"hosts": ["a", "b"]}), Grant(FETCH, {"hosts": ["a"]}))
    assert not is_covered_by(Grant(FETCH, {"hosts": [None]}), Grant(FETCH, {"hosts": ["a"]}))


def test_a_need_without_hosts_is_missing_until_it_is_granted() -> None:
    nowhere = Grant(FETCH, {"hosts": []})
    assert find_missing_grants([nowhere], []) == (nowhere,)
    assert find_missing_grants([nowhere], [Grant(FETCH, {"hosts": ["a.example"]})]) == ()


@pytest.mark.parametrize(
    "apart",
    [
        (Grant(FETCH, {"hosts": ["a"]}), Grant("http_fetch_all", {"hosts": ["b"]})),
        (Grant(FETCH, {"hosts": ["a"]}), Grant("ingest_from_endpoint", {"hosts": ["b"]})),
        (Grant(FETCH, {"hosts": ["a"]}), Grant(FETCH, {"hosts": ["b"], "method": "GET"})),
        (Grant(FETCH, {"hosts": ["c"]}), Grant(FETCH, {"hosts": "ab"})),
        (
            Grant(FETCH, {"hosts": ["a"], "method": "GET"}),
            Grant(FETCH, {"hosts": ["b"], "method": "POST"}),
        ),
    ],
)
def test_merging_never_allows_more_than_the_grants_did(apart: tuple[Grant, Grant]) -> None:
    for order in (apart, apart[::-1]):
        assert set(map(str, merge_grants(order))) == set(map(str, apart))


def test_merging_joins_the_hosts_of_grants_that_bound_the_rest_alike() -> None:
    one, other = (Grant(FETCH, {"hosts": [host], "method": "GET"}) for host in "ab")
    assert merge_grants([one, other]) == (Grant(FETCH, {"hosts": ["a", "b"], "method": "GET"}),)


def test_merging_drops_what_another_grant_allows_already() -> None:
    narrow, wide = Grant("kv", {"key": "a"}), Grant("kv")
    assert merge_grants([narrow, wide]) == merge_grants([wide, narrow]) == (wide,)


def test_an_agent_needs_itself_and_its_tools() -> None:
    names = ("agent.run", "agent.runs", "agent", "kv.get", "kv.set", "admin_reset")
    known_vocabulary = Registry(capabilities=[capability(name) for name in names])
    config = {"tools": ["kv.*"]}
    assert list_requested_grants("agent.run", config, known_vocabulary) == (
        Grant("agent.run"),
        Grant("kv.*"),
    )
    assert list_needed_grants("agent.run", config, known_vocabulary) == (
        Grant("agent.run"),
        Grant("kv.get"),
        Grant("kv.set"),
    )
    # Only the exact name is an agent.
    assert list_requested_grants("agent.runs", config, known_vocabulary) == (Grant("agent.runs"),)
    assert list_requested_grants("agent", config, known_vocabulary) == (Grant("agent"),)


def test_an_unknown_action_needs_nothing_and_an_empty_loop_neither() -> None:
    assert list_requested_grants("unheard_of", {}, vocabulary()) == ()
    loop: dict[str, Any] = {"step_id": "loop", "action": "for_each", "config": {"items": [1]}}
    assert derive(plan_of(loop), vocabulary()) == ()
    bare = {"step_id": "bare", "action": FETCH}
    loop["config"] = {"items": [1], "steps": [bare]}
    assert derive(plan_of(loop), vocabulary()) == (Grant(FETCH, {"hosts": []}),)


def test_a_grant_says_whether_it_reaches_the_accounts_of_the_maker() -> None:
    reaching = capability("mail.send", annotations=Annotations(opens=True))
    known_vocabulary = Registry(capabilities=[reaching, capability("kv.get")])
    assert reaching.uses_accounts
    given = [Grant("mail.send"), Grant("kv.get"), Grant("unheard_of")]
    assert list_lent_capabilities(given, known_vocabulary) == {"mail.send"}
    entries = [{"capability": one.capability, "params": {}} for one in given]
    definition = plan_of(fetch("one", "https://a.example/"), grants=entries)
    result = {
        one.capability: one.lent for one in resolve_effective_grants(definition, known_vocabulary)
    }
    assert result == {"mail.send": True, "kv.get": False, "unheard_of": False}
