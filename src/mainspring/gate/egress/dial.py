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
from typing import Any

import httpcore2

from mainspring.contracts.errors import PermissionDenied, UpstreamError
from mainspring.gate.egress.addresses import Address, is_public, read_address
from mainspring.gate.egress.url import UrlTarget, canonical_host

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
