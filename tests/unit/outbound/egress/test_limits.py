"""What a call may reach, how long and how much, and the problem when it may not."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

import pytest

from mainspring.contracts.context import HttpRequest
from mainspring.contracts.errors import (
    InternalError,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    UpstreamError,
)
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.outbound.egress import Egress
from mainspring.outbound.egress.url import parse_url
from tests.kit.loopback_doubles import OK, RecordingDial, ResolverDouble, answer

NAMES = {"one.example": ["93.184.216.34"], "in.example": ["10.0.0.1"]}
TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
VALUES = {"key": "s3cret-value", "pin": "another-value"}
KEY = SecretText((SecretRef("key"),))


def egress(*scripts: Any, allow: tuple[str, ...] = (), **limits: int) -> tuple[Egress, Any]:
    dial = RecordingDial(*scripts)
    made = Egress(Limits(**limits), allow, resolve=ResolverDouble(NAMES), dial=dial, trust=TRUST)
    return made, dial


def get(url: str = "http://one.example/", **value: Any) -> HttpRequest:
    return HttpRequest("GET", url, **{"headers": {}, "query": {}, **value})


async def _reveal(names: frozenset[str]) -> Mapping[str, str]:
    return {name: VALUES[name] for name in names & VALUES.keys()}


@pytest.mark.parametrize(
    ("approved", "url", "allowed"),
    [
        ("one.example", "http://one.example/", True),
        ("one.example", "http://one.example:8080/", True),
        ("one.example:80", "http://one.example/", True),
        ("one.example:80", "https://one.example/", False),
        ("one.example:443", "https://one.example/", True),
        ("one.example", "http://one.example.evil.example/", False),
        ("one.example:80", "http://one.exam/", False),
        ("one.exam:80", "http://one.example/", False),
        ("two.example", "http://one.example/", False),
        ("[2606:4700::1]", "http://[2606:4700::1]/", True),
        ("[2606:4700::1]:80", "http://[2606:4700::1]:81/", False),
        ("no host at all", "http://one.example/", False),
    ],
)
def test_a_host_is_approved_on_any_port_or_on_exactly_one(
    approved: str, url: str, allowed: bool
) -> None:
    made, _ = egress()
    target = parse_url(url)
    # An entry that cannot be read approves nothing, and hides no other.
    for hosts in (frozenset({approved}), frozenset({approved, "not a host", "b c"})):
        if allowed:
            made.judge(target, hosts)
        else:
            with pytest.raises(PermissionDenied) as refused:
                made.judge(target, hosts)
            assert refused.value.code == "host_not_approved"


def test_an_address_is_judged_even_where_every_host_may_be_called() -> None:
    made, _ = egress(allow=("127.0.0.1:81",))
    made.judge(parse_url("http://one.example/"), None)
    made.judge(parse_url("http://127.0.0.1:81/"), None)
    for hosts in (None, frozenset({"127.0.0.1"})):
        with pytest.raises(PermissionDenied) as refused:
            made.judge(parse_url("http://127.0.0.1/"), hosts)
        assert refused.value.code == "address_not_public"


@pytest.mark.parametrize("entry", ["in.example", "10.0.0.1", "[::1]"])
def test_an_operator_allows_exact_hosts_and_ports_only(entry: str) -> None:
    with pytest.raises(Invalid) as refused:
        egress(allow=(entry,))
    assert refused.value.code == "bad_egress_allow"


async def test_what_an_operator_allows_is_called() -> None:
    made, dial = egress(allow=("IN.example:80",))
    await made.send(get("http://in.example/"))
    assert dial.dialled == [("10.0.0.1", 80)]
    with pytest.raises(PermissionDenied):
        await made.send(get("http://in.example:81/"))


@pytest.mark.parametrize(
    ("asked", "most", "given"), [(5.0, 9, 5.0), (50.0, 9, 9.0), (-1.0, 9, 0.0), (0.5, 9, 0.5)]
)
def test_a_call_gets_the_time_it_asks_for_within_the_limit(
    asked: float, most: int, given: float
) -> None:
    made, _ = egress(http_seconds=most)
    assert made.seconds(get(timeout_seconds=asked)) == given


@pytest.mark.parametrize(("asked", "most", "fits"), [(5, 9, True), (4, 9, False), (9, 4, False)])
async def test_an_answer_is_read_within_both_limits(asked: int, most: int, fits: bool) -> None:
    made, _ = egress([answer(200, b"12345")], http_response_bytes=most)
    if fits:
        assert (await made.send(get(max_bytes=asked))).body == b"12345"
    else:
        with pytest.raises(UpstreamError) as refused:
            await made.send(get(max_bytes=asked))
        assert refused.value.code == "response_too_large"


@pytest.mark.parametrize(
    ("status", "headers", "follow", "kept"),
    [
        (302, {"Location": "/next"}, False, b"body"),
        (302, {}, True, b"body"),
        (201, {"Location": "/next"}, True, b"body"),
        (302, {"Location": "/next"}, True, b"followed"),
    ],
)
async def test_only_an_answer_that_leads_on_is_followed(
    status: int, headers: dict[str, str], follow: bool, kept: bytes
) -> None:
    made, _ = egress(
        [answer(status, b"body", **headers), answer(200, b"followed")], [answer(200, b"followed")]
    )
    found = await made.send(get(follow_redirects=follow))
    assert found.body == kept
    assert found.status == (200 if kept == b"followed" else status)


@pytest.mark.parametrize(("hops", "allowed"), [(2, True), (3, False)])
async def test_redirects_are_followed_up_to_the_limit(hops: int, allowed: bool) -> None:
    scripts = [[answer(302, Location="/next", Connection="close")]] * hops
    made, dial = egress(*scripts, [OK], http_redirects=2)
    if allowed:
        assert (await made.send(get())).status == 200
    else:
        with pytest.raises(UpstreamError) as refused:
            await made.send(get())
        assert (refused.value.code, refused.value.retryable) == ("too_many_redirects", False)
        assert len(dial.streams) == 3


async def test_a_redirect_to_a_host_that_was_not_approved_is_not_followed() -> None:
    made, dial = egress([answer(302, Location="http://two.example/", Connection="close")])
    with pytest.raises(PermissionDenied) as refused:
        await made.send(get(), allowed_hosts=frozenset({"one.example"}))
    assert (refused.value.code, len(dial.streams)) == ("host_not_approved", 1)


@pytest.mark.parametrize(
    ("method", "hops", "unsent"),
    [("POST", 1, False), ("PUT", 1, False), ("GET", 1, None), ("HEAD", 1, None), ("POST", 0, None)],
)
async def test_a_write_that_was_led_on_may_have_been_done(
    method: str, hops: int, unsent: bool | None
) -> None:
    made, _ = egress([answer(307, Location="http://in.example/", Connection="close")])
    url = "http://one.example/" if hops else "http://in.example/"
    with pytest.raises(Problem) as refused:
        await made.send(HttpRequest(method, url, {}, {}))
    assert refused.value.code == "address_not_public"
    assert refused.value.unsent is unsent


@pytest.mark.parametrize(
    ("hosts", "reveals"), [(None, True), (frozenset({"one.example"}), False), (None, False)]
)
async def test_a_secret_is_read_only_for_approved_hosts(
    hosts: frozenset[str] | None, reveals: bool
) -> None:
    made, dial = egress()
    http = made.bound(hosts, _reveal if reveals else None)
    with pytest.raises(PermissionDenied) as refused:
        await http.send(get(headers={"X": KEY}))
    assert refused.value.code == "secret_needs_host"
    assert (dial.dialled, http.uses) == ([], set())
    # Without a secret the same call is made.
    assert (await http.send(get())).status == 200


async def test_no_secret_is_read_for_a_host_that_was_not_approved() -> None:
    asked: list[frozenset[str]] = []

    async def reveal(names: frozenset[str]) -> Mapping[str, str]:
        asked.append(names)
        return VALUES

    made, _ = egress()
    with pytest.raises(PermissionDenied) as refused:
        await made.bound(frozenset({"two.example"}), reveal).send(get(headers={"X": KEY}))
    assert (refused.value.code, asked) == ("host_not_approved", [])


async def test_a_secret_that_is_missing_is_named_and_nothing_is_sent() -> None:
    made, dial = egress()
    http = made.bound(frozenset({"one.example"}), _reveal)
    with pytest.raises(NotFound) as refused:
        await http.send(get(headers={"X": KEY, "Y": SecretText((SecretRef("gone"),))}))
    assert "called gone" in refused.value.detail
    assert dial.dialled == []


async def test_what_comes_back_is_masked_also_for_later_requests() -> None:
    leaking = answer(200, b"s3cret-value and another-value", X_Echo="s3cret-value")
    made, _ = egress([leaking, leaking, leaking])
    http = made.bound(frozenset({"one.example"}), _reveal)
    first = await http.send(get(headers={"X": KEY}))
    assert first.body == b"[secret key] and another-value"
    assert first.headers["x-echo"] == "[secret key]"
    second = await http.send(get(query={"q": SecretText((SecretRef("pin"),))}))
    assert second.body == b"[secret key] and [secret pin]"
    assert (await http.send(get())).body == second.body
    assert http.uses == {("key", "one.example"), ("pin", "one.example")}
    assert http.masked({"a": ["s3cret-value"]}) == {"a": ["[secret key]"]}


async def test_a_problem_is_masked_with_its_suggestion() -> None:
    made, _ = egress()
    http = made.bound(frozenset({"one.example"}), _reveal)
    await http.send(get(headers={"X": KEY}))
    problem = http._mask_problem(
        InternalError("It was s3cret-value.", code="x", suggestion="Do not use s3cret-value.")
    )
    assert (problem.detail, problem.suggestion) == (
        "It was [secret key].",
        "Do not use [secret key].",
    )
    assert problem.args == ("It was [secret key].",)
    assert http._mask_problem(InternalError("x", code="x")).suggestion is None
