"""Which addresses of the internet may be called: public ones, and no others.

The table is written out instead of asked from the standard library, whose answer
changed between Python versions. For IPv6 it is an allow list (global unicast) with
holes; for IPv4 everything is public except what is named here.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

_BLOCKED_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host and this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; also one cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # one cloud's platform address, reachable from inside only
        "169.254.0.0/16",  # link-local, home of most metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; also one cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved and broadcast
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_BLOCKED_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)
# DNS64 answers every name with these on a network that speaks only IPv6, so the address
# inside is judged instead of refusing such networks altogether.
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})


def is_public(address: Address) -> bool:
    """Whether an address may be dialled without an operator's word."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _BLOCKED_4)
    if address.scope_id is not None:
        return False
    inside = address.ipv4_mapped or _last_four(address, address in _NAT64)
    if inside is not None:
        return is_public(inside)
    if address not in _GLOBAL_6 or any(address in network for network in _BLOCKED_6):
        return False
    tunnelled = _last_four(address, (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP)
    return tunnelled is None or is_public(tunnelled)


def read_address(text: str) -> Address | None:
    """A resolver's answer as an address; None when it is none."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def _last_four(address: IPv6Address, embeds: bool) -> IPv4Address | None:
    return IPv4Address(int(address) & 0xFFFF_FFFF) if embeds else None
