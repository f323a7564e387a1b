"""Only public addresses are called; the edges of every forbidden range are known."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest

from mainspring.outbound.egress.dial import is_public, read_address

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450:4001::200e",
    "2400::1",
    "3ffe::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2606:4700::5efe:8.8.8.8",
]
BLOCKED = [
    "0.0.0.0",
    "0.255.255.255",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.0",
    "192.168.255.255",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "3fff::1",
    "2606:4700::5efe:127.0.0.1",
    "2606:4700::200:5efe:10.0.0.1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1111%eth0",
    "fec0::1",
    "ff02::1",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_a_public_address_may_be_called(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", BLOCKED)
def test_a_private_address_may_not_be_called(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "1.2.3.4.5", "::g", "[::1]"])
def test_an_answer_that_is_no_address_is_none(text: str) -> None:
    assert read_address(text) is None


def test_everything_python_calls_private_is_blocked_here_too() -> None:
    """Python's own table is a second opinion: we may be stricter, never laxer."""
    step = IPv4Network("0.0.0.0/16").num_addresses
    samples: list[IPv4Address | IPv6Address] = [
        *(IPv4Address(value + 1) for value in range(0, 2**32, step * 4)),
        *(IPv6Address((value << 112) + 1) for value in range(0, 2**16, 4)),
    ]

    laxer = [str(each) for each in samples if is_public(each) and not each.is_global]

    assert laxer == []


def test_an_address_is_read_as_it_is() -> None:
    assert read_address("8.8.8.8") == IPv4Address("8.8.8.8")
    assert read_address("::1") == IPv6Address("::1")
