"""Laws of the way out that hold for every input, not only for those in a table."""

from __future__ import annotations

import base64
import contextlib
import gzip
import zlib
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import pairwise

import h11
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mainspring.contracts.errors import Invalid, PermissionDenied, UpstreamError
from mainspring.definition.hosts import parse_url_host
from mainspring.outbound.egress.body import BodyDecoder
from mainspring.outbound.egress.dial import check_literal_address, is_public
from mainspring.outbound.egress.headers import validate_header_value
from mainspring.outbound.egress.url import UrlTarget, parse_url, resolve_location
from mainspring.workspace.redaction import Redactor

BLOCKED_4 = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
]
BLOCKED_6 = [
    "::/96",
    "::1/128",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
WIDE_DIGITS = str.maketrans("0123456789.", "０１２３４５６７８９．")
CIRCLED = str.maketrans("0123456789", "⓪①②③④⑤⑥⑦⑧⑨")


def _within4(network: str) -> st.SearchStrategy[IPv4Address]:
    block = IPv4Network(network)
    first, last = int(block.network_address), int(block.broadcast_address)
    return st.integers(first, last).map(IPv4Address)


def _within6(network: str) -> st.SearchStrategy[IPv6Address]:
    block = IPv6Network(network)
    first, last = int(block.network_address), int(block.broadcast_address)
    return st.integers(first, last).map(IPv6Address)


blocked4 = st.sampled_from(BLOCKED_4).flatmap(_within4)
blocked6 = st.sampled_from(BLOCKED_6).flatmap(_within6)


def _number(draw: st.DrawFn, value: int) -> str:
    zeros = "0" * draw(st.integers(0, 3))
    return draw(
        st.sampled_from([str(value), f"0x{zeros}{value:x}", f"0X{value:X}", f"0{zeros}{value:o}"])
    )


def _parts(address: IPv4Address, count: int) -> list[int]:
    """The address in one to four numbers, the last of which takes all that is left."""
    ends = [*range(count), 4]
    return [int.from_bytes(address.packed[left:right], "big") for left, right in pairwise(ends)]


@st.composite
def spelled4(draw: st.DrawFn) -> str:
    address = draw(blocked4)
    numbers = [_number(draw, part) for part in _parts(address, draw(st.integers(1, 4)))]
    mapped = IPv6Address(0xFFFF << 32 | int(address))
    nat64 = IPv6Address((0x64FF9B << 96) | int(address))
    return draw(
        st.sampled_from(
            [
                str(address),
                f"{address}.",
                ".".join(numbers),
                ".".join(numbers) + ".",
                str(address).translate(WIDE_DIGITS),
                str(address).translate(CIRCLED),
                "".join(f"%{ord(sign):02x}" for sign in str(address)),
                f"user@{address}",
                f"[::ffff:{address}]",
                f"[{mapped.compressed}]",
                f"[{mapped.exploded.upper()}]",
                f"[::{address}]",
                f"[64:ff9b::{address}]",
                f"[{nat64.exploded}]",
                f"[2002:{int(address) >> 16:x}:{int(address) & 0xFFFF:x}::1]",
                f"[::ffff:{address}%25lo]",
            ]
        )
    )


@st.composite
def spelled6(draw: st.DrawFn) -> str:
    address = draw(blocked6)
    groups = [f"{int(group, 16):x}" for group in address.exploded.split(":")]
    return draw(
        st.sampled_from(
            [
                f"[{address.compressed}]",
                f"[{address.exploded}]",
                f"[{address.exploded.upper()}]",
                f"[{':'.join(groups)}]",
                f"[{address.compressed}%25eth0]",
                address.compressed,
            ]
        )
    )


@settings(max_examples=500)
@given(st.one_of(spelled4(), spelled6()), st.sampled_from(["", ":80", ":8443"]))
def test_an_address_in_a_blocked_range_is_refused_in_any_spelling(host: str, port: str) -> None:
    with pytest.raises((Invalid, PermissionDenied)):
        check_literal_address(parse_url(f"http://{host}{port}/"), frozenset())


@given(st.one_of(blocked4, blocked6))
def test_a_resolved_address_in_a_blocked_range_is_not_public(
    address: IPv4Address | IPv6Address,
) -> None:
    assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_however_ipv6_wraps_it(address: IPv4Address) -> None:
    for wrapped in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert is_public(IPv6Address(wrapped)) == is_public(address)


@given(st.ip_addresses())
def test_we_are_never_laxer_than_pythons_own_table(address: IPv4Address | IPv6Address) -> None:
    wraps = isinstance(address, IPv6Address) and (
        address.ipv4_mapped is not None or address in IPv6Network("64:ff9b::/96")
    )
    assert wraps or not is_public(address) or address.is_global


url_signs = st.text(
    st.sampled_from("htps:/?#@[]%\\.-_ \t\r\n\0aZ019x&=ü。ａ①\u200b\u212aß:") | st.characters(),
    max_size=40,
)
urls = st.builds("{}{}".format, st.sampled_from(["", "http://", "https://", "HTTP://a"]), url_signs)


def _read(text: str) -> UrlTarget | None:
    try:
        return parse_url(text)
    except Invalid:
        return None


@given(urls)
@example("http://[::1]/")
def test_a_url_has_one_spelling_and_reading_it_again_changes_nothing(text: str) -> None:
    target = _read(text)
    if target is not None:
        assert parse_url(target.url) == target
        assert target.url.isascii()
        assert not set(target.url) & set(" \t\r\n\0\\")


@given(urls)
def test_the_grants_and_the_guard_never_read_two_hosts_in_one_url(text: str) -> None:
    target, site = _read(text), parse_url_host(text)
    if target is not None and site is not None:
        assert (target.bracketed, target.port) == (site.host, site.port)


@given(url_signs)
def test_a_redirect_to_a_path_stays_with_its_host(location: str) -> None:
    base = parse_url("https://one.example:8443/a/b?c")
    with contextlib.suppress(Invalid):
        target = resolve_location(base, location)
        assert target.origin == base.origin or location.startswith(("//", "http", "HTTP", "h", "H"))
        assert parse_url(target.url) == target


@given(st.text(max_size=60))
def test_a_header_value_that_passes_cannot_end_its_line(value: str) -> None:
    with contextlib.suppress(Invalid):
        sent = validate_header_value("X-Any", value)
        # The library that writes it has its own, independent check.
        h11.Request(method="GET", target="/", headers=[("Host", "a"), ("X-Any", sent)])
        assert "\r" not in sent
        assert "\n" not in sent


def _packed(encoding: str, data: bytes) -> bytes:
    if encoding == "gzip":
        return gzip.compress(data)
    return zlib.compress(data) if encoding == "deflate" else data


@given(
    st.sampled_from(["identity", "gzip", "deflate"]),
    st.binary(max_size=2_000),
    st.integers(1, 300),
    st.integers(0, 2_000),
)
def test_a_body_comes_out_whole_or_is_too_large(
    encoding: str, data: bytes, size: int, room: int
) -> None:
    packed = _packed(encoding, data)
    decoder = BodyDecoder(encoding, room)
    outcome: bytes | str
    try:
        for at in range(0, len(packed), size):
            decoder.feed(packed[at : at + size])
        outcome = decoder.finish()
    except UpstreamError as problem:
        outcome = problem.code

    assert outcome == (data if len(data) <= room else "response_too_large")


@given(st.sampled_from(["gzip", "deflate"]), st.binary(max_size=500), st.integers(1, 50))
def test_any_bytes_at_all_are_decoded_or_refused(encoding: str, data: bytes, size: int) -> None:
    decoder = BodyDecoder(encoding, 1_000)
    with contextlib.suppress(UpstreamError):
        for at in range(0, len(data), size):
            decoder.feed(data[at : at + size])
        assert len(decoder.finish()) <= 1_000


@given(st.text(min_size=4, max_size=60), st.binary(max_size=5), st.binary(max_size=5))
def test_no_secret_survives_in_plain_or_in_base64(value: str, before: bytes, after: bytes) -> None:
    with contextlib.suppress(UnicodeEncodeError):
        raw = value.encode()
        redactor = Redactor({"n": value})
        masked = redactor.data(before + b"|" + raw + b"|" + after)
        assert raw not in masked or raw in b"[secret n]"
        encoded = base64.b64encode(before + raw + after)
        assert redactor.found_in(encoded.decode())
        assert redactor.data(encoded) != encoded
