"""A redirect is judged like the first request and carries nothing across an origin."""

from __future__ import annotations

import ssl

import pytest

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import PermissionDenied, Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.outbound.egress import Egress
from tests.kit.loopback_doubles import OK, RecordingDial, ResolverDouble, answer

NAMES = {"one.example": ["93.184.216.34"], "two.example": ["93.184.216.35"]}
TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CARRYING = {
    "Authorization": "Bearer abc",
    "Cookie": "a=1",
    "X-Api-Key": "k",
    "X-Plain": "p",
    "Content-Type": "text/plain",
}


async def _send(
    dial: RecordingDial,
    *,
    method: str = "GET",
    url: str = "https://one.example/a/b?q=1",
    body: bytes | None = None,
    allowed: frozenset[str] | None = None,
    follow: bool = True,
) -> HttpResponse:
    egress = Egress(Limits(), resolve=ResolverDouble(NAMES), dial=dial, trust=TRUST)
    request = HttpRequest(method, url, CARRYING, {}, body, follow_redirects=follow)
    return await egress.send(request, allowed_hosts=allowed)


def _to(location: str, status: int = 302) -> bytes:
    return answer(status, Location=location)


def _heads(dial: RecordingDial) -> list[list[str]]:
    return [
        stream.written.decode().partition("\r\n\r\n")[0].split("\r\n") for stream in dial.streams
    ]


@pytest.mark.parametrize(
    ("status", "method", "then", "keeps_body"),
    [
        (301, "GET", "GET", True),
        (301, "POST", "GET", False),
        (302, "POST", "GET", False),
        (303, "POST", "GET", False),
        (303, "PUT", "GET", False),
        (303, "DELETE", "GET", False),
        (303, "HEAD", "HEAD", True),
        (301, "PUT", "PUT", True),
        (302, "DELETE", "DELETE", True),
        (307, "POST", "POST", True),
        (308, "PATCH", "PATCH", True),
    ],
)
async def test_the_method_changes_as_browsers_change_it(
    status: int, method: str, then: str, keeps_body: bool
) -> None:
    dial = RecordingDial([_to("/next", status)], [answer(200)])
    body = b"hello" if method in {"POST", "PUT", "PATCH"} else None

    await _send(dial, method=method, body=body)

    first, second = dial.streams
    assert first.written.startswith(f"{method} /a/b?q=1 HTTP/1.1\r\n".encode())
    assert second.written.startswith(f"{then} /next HTTP/1.1\r\n".encode())
    assert second.written.endswith(b"hello") is (keeps_body and body is not None)
    assert (b"Content-Type" in second.written) is keeps_body


async def test_within_an_origin_everything_is_carried_on() -> None:
    dial = RecordingDial([_to("https://one.example:443/next")], [OK])

    response = await _send(dial)

    assert {"Authorization: Bearer abc", "Cookie: a=1", "X-Api-Key: k"} <= set(_heads(dial)[1])
    assert response.url == "https://one.example/next"


@pytest.mark.parametrize(
    "location", ["https://two.example/", "https://one.example:8443/", "//two.example/"]
)
async def test_nothing_sensitive_crosses_to_another_origin(location: str) -> None:
    dial = RecordingDial([_to(location, 307)], [OK])

    await _send(dial)

    second = "\n".join(_heads(dial)[1])
    assert "X-Plain: p" in second
    for name in ("Authorization", "Cookie", "X-Api-Key"):
        assert name not in second


async def test_what_was_dropped_does_not_come_back_with_the_first_origin() -> None:
    dial = RecordingDial([_to("https://two.example/")], [_to("https://one.example/")], [OK])

    await _send(dial)

    assert "Authorization" not in "\n".join(_heads(dial)[2])


async def test_https_never_becomes_http() -> None:
    dial = RecordingDial([_to("http://one.example/")], [OK])

    with pytest.raises(PermissionDenied) as caught:
        await _send(dial)

    assert caught.value.code == "redirect_downgrade"
    assert len(dial.dialled) == 1


@pytest.mark.parametrize(("method", "unsent"), [("GET", None), ("POST", False)])
async def test_a_write_that_was_led_on_may_have_been_done(method: str, unsent: bool | None) -> None:
    """Nobody may call it unsent, though the host that it was led to was never dialled."""
    cases = (["https://two.example/"], ["http://one.example/"], ["https://one.example/"] * 9)
    for places in cases:
        dial = RecordingDial(*([_to(place)] for place in places))
        with pytest.raises(Problem) as caught:
            await _send(dial, method=method, allowed=frozenset({"one.example"}))
        assert caught.value.unsent is unsent
    with pytest.raises(PermissionDenied) as early:
        await _send(RecordingDial(), method=method, allowed=frozenset({"two.example"}))
    assert early.value.unsent is None


async def test_http_may_become_https() -> None:
    dial = RecordingDial([_to("https://one.example/")], [OK])

    assert (await _send(dial, url="http://one.example/")).status == 200


async def test_a_redirect_off_the_approved_hosts_is_refused_before_it_is_dialled() -> None:
    dial = RecordingDial([_to("https://two.example/")], [OK])

    with pytest.raises(PermissionDenied) as caught:
        await _send(dial, allowed=frozenset({"one.example"}))

    assert caught.value.code == "host_not_approved"
    assert dial.dialled == [("93.184.216.34", 443)]


@pytest.mark.parametrize("hops", [5, 6, 11])
async def test_redirects_are_counted(hops: int) -> None:
    dial = RecordingDial(*[[_to(f"/{number}")] for number in range(hops)], [OK])

    if hops <= Limits().http_redirects:
        assert (await _send(dial)).status == 200
    else:
        with pytest.raises(UpstreamError) as caught:
            await _send(dial)
        assert caught.value.code == "too_many_redirects"
        assert not caught.value.retryable
        assert len(dial.dialled) == Limits().http_redirects + 1


@pytest.mark.parametrize("location", ["/a/b?q=1", "", "https://one.example/a/b?q=1#x"])
async def test_a_loop_ends(location: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        await _send(RecordingDial([_to(location)]))

    assert caught.value.code == "too_many_redirects"


async def test_a_redirect_that_leads_nowhere_is_the_upstreams_fault() -> None:
    with pytest.raises(UpstreamError) as caught:
        await _send(RecordingDial([_to("https://user@two.example/")]))

    assert caught.value.code == "bad_redirect"


@pytest.mark.parametrize(
    "script",
    [answer(302), answer(304, ETag="x"), answer(300, Location="/x"), answer(201, Location="/")],
)
async def test_only_a_redirect_with_an_address_is_followed(script: bytes) -> None:
    dial = RecordingDial([script])

    await _send(dial)

    assert len(dial.dialled) == 1


async def test_a_caller_may_look_at_a_redirect_instead() -> None:
    dial = RecordingDial([_to("https://two.example/x")])

    response = await _send(dial, follow=False)

    assert (response.status, response.headers["location"]) == (302, "https://two.example/x")


async def test_an_approved_host_may_be_given_with_a_port_or_in_another_spelling() -> None:
    for entry in ("one.example", "ONE.example", "one.example:443"):
        assert (await _send(RecordingDial(), allowed=frozenset({entry}))).status == 200


@pytest.mark.parametrize(
    "entry", ["one.example:80", "example", "ne.example", "one.example.evil", "*.example", "*", ""]
)
async def test_an_entry_that_is_another_host_approves_nothing(entry: str) -> None:
    dial = RecordingDial()

    with pytest.raises(Problem):
        await _send(dial, allowed=frozenset({entry}))

    assert dial.dialled == []
