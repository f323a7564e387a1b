"""Which addresses are dialled, and how much is read from a connection."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence

import httpcore2
import pytest

from mainspring.contracts.errors import PermissionDenied, UpstreamError
from mainspring.outbound.egress.dial import (
    GuardedBackend,
    LimitedNetworkStream,
    check_literal_address,
)
from mainspring.outbound.egress.url import parse_url
from tests.kit.loopback_doubles import RecordedStream, RecordingDial, ResolverDouble

PUBLIC = [f"93.184.216.{number}" for number in range(1, 7)]
INSIDE = "10.0.0.1"


def _backend(
    table: dict[str, Sequence[str]], *allow: str, most: int = 9
) -> tuple[GuardedBackend, RecordingDial]:
    dial = RecordingDial([b"12345"])
    return GuardedBackend(frozenset(allow), ResolverDouble(table), dial, most), dial


async def test_four_addresses_of_a_name_are_tried_and_no_more() -> None:
    backend, dial = _backend({"many.example": PUBLIC})
    dial.deaf = set(PUBLIC[:3])
    await backend.connect_tcp("many.example", 443)
    assert dial.dialled == [(address, 443) for address in PUBLIC[:4]]
    dial.deaf = set(PUBLIC)
    with pytest.raises(httpcore2.ConnectError):
        await backend.connect_tcp("many.example", 443)
    assert dial.dialled[4:] == [(address, 443) for address in PUBLIC[:4]]


async def test_an_address_that_is_named_twice_is_dialled_once() -> None:
    backend, _ = _backend({"twice.example": [PUBLIC[0], PUBLIC[1], PUBLIC[0]]})
    found = await backend.resolve_allowed_addresses("twice.example", 80)
    assert [str(address) for address in found] == PUBLIC[:2]


async def test_an_inside_address_is_dialled_only_where_host_and_port_are_allowed() -> None:
    backend, dial = _backend({"in.example": [INSIDE]}, "in.example:80", "[::1]:80", f"{INSIDE}:81")
    await backend.connect_tcp("in.example", 80)
    await backend.connect_tcp("::1", 80)
    await backend.connect_tcp(INSIDE, 81)
    assert dial.dialled == [(INSIDE, 80), ("::1", 80), (INSIDE, 81)]
    for host, port in (("in.example", 8080), ("::1", 8080), (INSIDE, 80), ("fd00::1", 80)):
        with pytest.raises(PermissionDenied) as refused:
            await backend.connect_tcp(host, port)
        assert refused.value.code == "address_not_public"
        written = f"[{host}]" if ":" in host else host
        assert refused.value.suggestion is not None
        assert f"add {written}:{port} to" in refused.value.suggestion
    assert len(dial.dialled) == 3


async def test_what_is_no_address_is_not_dialled_even_where_the_host_is_allowed() -> None:
    backend, dial = _backend({"bad.example": ["not-an-address"]}, "bad.example:80")
    with pytest.raises(PermissionDenied):
        await backend.connect_tcp("bad.example", 80)
    assert dial.dialled == []


async def test_an_address_is_not_looked_up() -> None:
    names = ResolverDouble({})
    backend = GuardedBackend(frozenset(), names, RecordingDial(), 9)
    (found,) = await backend.resolve_allowed_addresses(PUBLIC[0], 80)
    assert (str(found), names.asked) == (PUBLIC[0], [])


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "later"), True),
        (socket.gaierror(socket.EAI_NONAME, "never"), False),
        (socket.gaierror(int(f"{int(socket.EAI_AGAIN)}0"), "another"), False),
        (OSError("no network"), True),
        (UnicodeError("no name"), True),
        (None, False),
    ],
)
async def test_a_name_without_an_address_is_a_problem(
    error: Exception | None, retryable: bool
) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        if error is not None:
            raise error
        return []

    backend = GuardedBackend(frozenset(), resolve, RecordingDial(), 9)
    with pytest.raises(UpstreamError) as failed:
        await backend.connect_tcp("gone.example", 80)
    assert (failed.value.code, failed.value.retryable) == ("name_not_found", retryable)


async def test_a_local_socket_is_never_opened() -> None:
    backend, _ = _backend({})
    with pytest.raises(PermissionDenied):
        await backend.connect_unix_socket("/run/docker.sock")


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]/", "http://10.0.0.1:8080/"])
def test_a_forbidden_address_in_a_url_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(PermissionDenied) as refused:
        check_literal_address(
            parse_url(url), frozenset({"127.0.0.1:81", "[::1]:81", "10.0.0.1:80"})
        )
    assert refused.value.code == "address_not_public"


@pytest.mark.parametrize("url", [f"http://{PUBLIC[0]}/", "http://name.example/", "http://10.0.0.1"])
def test_a_public_or_allowed_address_and_a_name_pass(url: str) -> None:
    check_literal_address(parse_url(url), frozenset({"10.0.0.1:80"}))


async def test_a_connection_is_read_up_to_its_limit_for_each_request() -> None:
    backend, _ = _backend({"a.example": PUBLIC}, most=9)
    assert isinstance(await backend.connect_tcp("a.example", 80), LimitedNetworkStream)
    for most, pieces, refused in (
        (10, [b"12345", b"67890"], False),
        (9, [b"12345", b"67890"], True),
    ):
        wire = LimitedNetworkStream(RecordedStream(pieces), most)
        await wire.read(5)
        if refused:
            with pytest.raises(UpstreamError) as failed:
                await wire.read(5)
            assert (failed.value.code, failed.value.retryable) == ("response_too_large", False)
        else:
            assert await wire.read(5) == b"67890"
    # A new request begins a new count, exactly.
    stream = RecordedStream([b"12345", b"67890", b"12345"])
    again = LimitedNetworkStream(stream, 10)
    await again.read(5)
    await again.write(b"GET")
    assert stream.written == b"GET"
    await again.read(5)
    assert await again.read(5) == b"12345"


async def test_a_connection_that_is_secured_keeps_its_limit() -> None:
    stream = RecordedStream([b"12345", b"67890"])
    secured = await LimitedNetworkStream(stream, 9).start_tls(
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )
    await secured.read(5)
    with pytest.raises(UpstreamError):
        await secured.read(5)
