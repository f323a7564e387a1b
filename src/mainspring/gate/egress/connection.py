"""One connection, one question at a time, and nothing left over between two questions.

The library's own connection keeps bytes that a peer sent beyond its answer and takes
them for the answer to the next question, which may be somebody else's. Here a connection
is used again only when it is silent: whoever says more than was asked is hung up on.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any, Literal

import h11
import httpcore2

from mainspring.gate.departure import mark_sent

IDLE_SECONDS = 15.0
# "Wait", "processing", "early hints": a few are polite, more are a flood.
INTERIM_ANSWERS = 8
READ_BYTES = 65_536
HEAD_BYTES = 98_304
VERSIONS = frozenset({b"1.0", b"1.1"})


class EgressConnectionPool(httpcore2.AsyncConnectionPool):
    """The library's pool over connections of our own."""

    def __init__(
        self,
        backend: httpcore2.AsyncNetworkBackend,
        trust: ssl.SSLContext,
        *,
        most: int,
        most_idle: int,
    ) -> None:
        super().__init__(max_connections=most, max_keepalive_connections=most_idle)
        trust.set_alpn_protocols(["http/1.1"])
        self._backend = backend
        self._trust = trust

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return EgressConnection(origin, self._backend, self._trust)


class EgressConnection(httpcore2.AsyncConnectionInterface):
    """HTTP/1.1 with one origin. It inherits because the pool accepts nothing else."""

    def __init__(
        self,
        origin: httpcore2.Origin,
        backend: httpcore2.AsyncNetworkBackend,
        trust: ssl.SSLContext,
    ) -> None:
        self._origin = origin
        self._backend = backend
        self._trust = trust
        self._stream: httpcore2.AsyncNetworkStream | None = None
        self._talk = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self._state: Literal["new", "active", "idle", "closed"] = "new"
        self._idle_until = 0.0

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """Asks, and answers as soon as the head of the answer is there."""
        if self._state not in {"new", "idle"} or (self._state == "idle" and self._noisy()):
            raise httpcore2.ConnectionNotAvailable
        self._state = "active"
        try:
            if self._stream is None:
                self._stream = await self._connected()
            await self._ask(request)
            head = await self._head()
        except BaseException:
            await self.aclose()
            raise
        return httpcore2.Response(
            head.status_code, headers=head.headers.raw_items(), content=StreamedBody(self)
        )

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The body, as it comes; the caller releases the connection afterwards."""
        while isinstance(event := await self._next_event(), h11.Data):
            yield bytes(event.data)

    async def release(self) -> None:
        """Back to the pool if both sides have said all and nothing more; closed otherwise."""
        if self._state != "active":
            return
        talk = self._talk
        if {talk.our_state, talk.their_state} == {h11.DONE} and not self._noisy():
            talk.start_next_cycle()
            self._state = "idle"
            self._idle_until = time.monotonic() + IDLE_SECONDS
        else:
            await self.aclose()

    async def aclose(self) -> None:
        self._state = "closed"
        if self._stream is not None:
            await _close_stream(self._stream)

    async def _connected(self) -> httpcore2.AsyncNetworkStream:
        host = self._origin.host.decode("ascii")
        stream = await self._backend.connect_tcp(host, self._origin.port)
        if self._origin.scheme != b"https":
            return stream
        try:
            # The name, not the address: this is where the certificate proves it.
            return await stream.start_tls(self._trust, server_hostname=host)
        except BaseException:
            # A handshake that was interrupted leaves its connection to us.
            await _close_stream(stream)
            raise

    async def _ask(self, request: httpcore2.Request) -> None:
        assert self._stream is not None
        asked = h11.Request(
            method=request.method, target=request.url.target, headers=request.headers
        )
        mark_sent()
        # A server may refuse a body before it has read it all; its answer counts.
        with contextlib.suppress(httpcore2.WriteError):
            await self._say(asked)
            assert isinstance(request.stream, AsyncIterable)
            async for piece in request.stream:
                await self._say(h11.Data(data=piece))
            await self._say(h11.EndOfMessage())

    async def _say(self, event: h11.Event) -> None:
        assert self._stream is not None
        data = self._talk.send(event)
        if data:
            await self._stream.write(data)

    async def _head(self) -> h11.Response:
        for _ in range(INTERIM_ANSWERS + 1):
            event = await self._next_event()
            if isinstance(event, h11.Response) and event.http_version in VERSIONS:
                return event
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                break
        raise httpcore2.RemoteProtocolError("no answer")

    async def _next_event(self) -> h11.Event | type[h11.NEED_DATA | h11.PAUSED]:
        assert self._stream is not None
        while (event := self._talk.next_event()) is h11.NEED_DATA:
            data = await self._stream.read(READ_BYTES)
            if not data and self._talk.their_state is h11.SEND_RESPONSE:
                raise httpcore2.RemoteProtocolError("no answer")
            self._talk.receive_data(data)
        return event

    def _noisy(self) -> bool:
        """Whether there is anything to read that nobody asked for, in any buffer."""
        if self._stream is None:
            return False
        if self._talk.trailing_data[0] or self._stream.get_extra_info("is_readable"):
            return True
        return _has_more(self._stream.get_extra_info("ssl_object"))

    def info(self) -> str:
        return f"{self._origin}, {self._state}"

    def can_handle_request(self, origin: httpcore2.Origin) -> bool:
        return origin == self._origin

    def is_connected(self) -> bool:
        return self._stream is not None and self._state != "closed"

    def is_available(self) -> bool:
        return self._state == "idle"

    def has_expired(self) -> bool:
        if self._state != "idle":
            return False
        return time.monotonic() > self._idle_until or self._noisy()

    def is_idle(self) -> bool:
        return self._state == "idle"

    def is_closed(self) -> bool:
        return self._state == "closed"

    def can_multiplex(self) -> bool:
        return False


class StreamedBody:
    """The body of an answer that is still on the wire."""

    def __init__(self, connection: EgressConnection) -> None:
        self._connection = connection

    def __aiter__(self) -> AsyncGenerator[bytes]:
        return self._connection.pieces()

    async def aclose(self) -> None:
        await self._connection.release()


async def _close_stream(stream: httpcore2.AsyncNetworkStream) -> None:
    # The other side may be gone already; there is nobody left to tell.
    with contextlib.suppress(Exception):
        await stream.aclose()


def _has_more(secured: Any) -> bool:
    """Whether a TLS connection holds a record that was received and not yet read."""
    if secured is None:
        return False
    try:
        secured.read(1)
    except ssl.SSLWantReadError:
        return False
    except ssl.SSLError:
        return True
    # Data, or the end of it: either way the connection is not used again.
    return True
