"""Dialling: a name is resolved, every answer is judged, and a judged address is called.

Checking a name first and letting a library resolve it again later leaves room for a
second, different answer. Here the resolver's answer is judged and the connection goes
to that very address; the name stays for TLS, which proves it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import httpcore2

from mainspring.contracts.errors import PermissionDenied, UpstreamError
from mainspring.outbound.egress.url import UrlTarget, canonical_host

# Which addresses of the internet may be called: public ones, and no others.

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


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# A name may have many addresses; one that does not answer must not eat the whole time.
ADDRESSES_TRIED = 4
DIAL_SECONDS = 5.0
RESOLVER_THREADS = 16


class SystemResolver:
    """The machine's own name lookup, in threads of its own.

    A lookup cannot be interrupted, so a name server that never answers would otherwise
    take the threads that the rest of the process shares.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(RESOLVER_THREADS, thread_name_prefix="resolve")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return [str(entry[4][0]) for entry in found]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections to judged addresses only; the pool knows no other way out.

    It inherits because the pool accepts nothing else.
    """

    def __init__(
        self,
        allow: frozenset[str],
        resolve: Resolve,
        dial: httpcore2.AsyncNetworkBackend,
        wire_bytes: int,
    ) -> None:
        self._allow = allow
        self._resolve = resolve
        self._dial = dial
        self._wire_bytes = wire_bytes

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        del timeout, local_address, socket_options
        addresses = await self.resolve_allowed_addresses(host, port)
        last: Exception | None = None
        for address in addresses[:ADDRESSES_TRIED]:
            try:
                stream = await self._dial.connect_tcp(str(address), port, timeout=DIAL_SECONDS)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
            else:
                return LimitedNetworkStream(stream, self._wire_bytes)
        assert last is not None
        raise last

    async def resolve_allowed_addresses(self, host: str, port: int) -> list[Address]:
        """Every address of a host; one that may not be called refuses the whole name."""
        written = f"[{host}]" if ":" in host else host
        literal = canonical_host(written)[1]
        answers = [str(literal)] if literal is not None else await self._lookup(host, port)
        pair = f"{written}:{port}"
        addresses: list[Address] = []
        for answer in answers:
            address = read_address(answer)
            if address is None or not (pair in self._allow or is_public(address)):
                raise not_public_error(written, pair)
            if address not in addresses:
                addresses.append(address)
        return addresses

    async def _lookup(self, host: str, port: int) -> Sequence[str]:
        try:
            answers = await self._resolve(host, port)
        except socket.gaierror as error:
            passing = error.errno == socket.EAI_AGAIN
            raise _no_address(host, retryable=passing) from error
        except (OSError, UnicodeError) as error:
            raise _no_address(host, retryable=True) from error
        if not answers:
            raise _no_address(host, retryable=False)
        return answers

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        del path, timeout, socket_options
        raise PermissionDenied("Local sockets cannot be called.", code="address_not_public")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class LimitedNetworkStream(httpcore2.AsyncNetworkStream):
    """A connection that stops a peer who sends far more than any answer may hold.

    Chunk extensions, trailers and interim answers are no part of a body, so the cap on
    the body does not see them. The count starts anew with each request written.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream, most: int) -> None:
        self._stream = stream
        self._most = most
        self._seen = 0

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> bytes:
        data = await self._stream.read(max_bytes, timeout)
        self._seen += len(data)
        if self._seen > self._most:
            raise UpstreamError(
                "The answer carried more bytes than are read from one request.",
                code="response_too_large",
                retryable=False,
            )
        return data

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> None:
        self._seen = 0
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        secured = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return LimitedNetworkStream(secured, self._most)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def check_literal_address(target: UrlTarget, allow: frozenset[str]) -> None:
    """Refuses a URL that spells out a forbidden address, before anything else is done."""
    if target.address is None or target.pair in allow or is_public(target.address):
        return
    raise not_public_error(target.bracketed, target.pair)


def not_public_error(host: str, pair: str) -> PermissionDenied:
    # The address itself is not named: a refusal must not map an internal network.
    return PermissionDenied(
        f"{host} leads to an address that is not public, so it is not called.",
        code="address_not_public",
        suggestion=f"If it is meant, an operator can add {pair} to MAINSPRING_EGRESS_ALLOW.",
    )


def _no_address(host: str, *, retryable: bool) -> UpstreamError:
    return UpstreamError(
        f"No address was found for {host}.", code="name_not_found", retryable=retryable
    )
