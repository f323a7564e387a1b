"""The journey of a request: out, through every redirect, and back within its bounds."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal

import h11
import httpcore2

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import (
    DeadlineExceeded,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    UpstreamError,
)
from mainspring.contracts.limits import Limits
from mainspring.outbound.egress.body import content_encoding, read_body
from mainspring.outbound.egress.dial import (
    GuardedBackend,
    Resolve,
    SystemResolver,
    check_literal_address,
)
from mainspring.outbound.egress.failures import map_exchange_error
from mainspring.outbound.egress.headers import read_headers
from mainspring.outbound.egress.prepared_request import (
    REDIRECTS,
    PreparedRequest,
    build_wire_headers,
    check_request_shape,
    fill_secrets,
    find_secret_names,
    follow_redirect,
)
from mainspring.outbound.egress.url import UrlTarget, parse_host_port
from mainspring.outbound.request_tracking import mark_sent
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace.redaction import Redactor

# One connection, one question at a time, and nothing left over between two questions.

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


Reveal = Callable[[frozenset[str]], Awaitable[Mapping[str, str]]]

CONNECTIONS = 256
IDLE_CONNECTIONS = 64
# Framing may be larger than what it frames, but not by any factor a peer likes.
WIRE_FACTOR = 4
WIRE_SLACK = 1_048_576
_READING = frozenset({"GET", "HEAD"})


@cache
def _load_ca_bundle() -> ssl.SSLContext:
    """Read once for all ways out of a process: that takes longer than most calls."""
    return httpcore2.default_ssl_context()


class Egress:
    """The one function that sends a request outside; it keeps idle connections for reuse."""

    def __init__(
        self,
        limits: Limits,
        allow: Iterable[str] = (),
        *,
        resolve: Resolve | None = None,
        dial: httpcore2.AsyncNetworkBackend | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._limits = limits
        self._allow = frozenset(_exact_pair(entry) for entry in allow)
        self._own_resolver = SystemResolver() if resolve is None else None
        self._backend = GuardedBackend(
            self._allow,
            resolve or self._own_resolver or SystemResolver(),
            dial or httpcore2.AnyIOBackend(),
            limits.http_response_bytes * WIRE_FACTOR + WIRE_SLACK,
        )
        self._pool = EgressConnectionPool(
            self._backend,
            trust or _load_ca_bundle(),
            most=CONNECTIONS,
            most_idle=IDLE_CONNECTIONS,
        )

    async def dial(self, host: str, port: int) -> httpcore2.AsyncNetworkStream:
        """A connection for a talk that is not HTTP; its address is judged like any other."""
        return await self._backend.connect_tcp(host, port)

    async def check_address(self, target: UrlTarget) -> None:
        """Refuses a target that leads to an address which is not public; sends nothing."""
        await self._backend.resolve_allowed_addresses(target.host, target.port)

    def is_allowed(self, target: UrlTarget) -> bool:
        """Whether an operator has named this very host and port."""
        return target.pair in self._allow

    async def send(
        self,
        request: HttpRequest,
        *,
        allowed_hosts: frozenset[str] | None = None,
        reveal: Reveal | None = None,
    ) -> HttpResponse:
        """Sends one request. ``allowed_hosts`` None means any public host, without secrets."""
        return await CallHttp(self, allowed_hosts, reveal).send(request)

    def bound(self, allowed_hosts: frozenset[str] | None, reveal: Reveal | None) -> CallHttp:
        """The way out for one call: its approved hosts, and the secrets it may use."""
        return CallHttp(self, allowed_hosts, reveal)

    async def travel(
        self,
        request: HttpRequest,
        prepared: PreparedRequest,
        allowed_hosts: frozenset[str] | None,
        secrets: Redactor,
    ) -> HttpResponse:
        """Sends an errand and follows where it is led, judging every hop like the first."""
        taken = False
        try:
            for _ in range(self._limits.http_redirects + 1):
                self.judge(prepared.target, allowed_hosts)
                answer = await self._exchange(prepared, request)
                location = answer.headers.get("location")
                led_on = answer.status in REDIRECTS and request.follow_redirects
                if location is None or not led_on:
                    return answer
                taken = request.method.upper() not in _READING
                prepared = follow_redirect(prepared, answer.status, location, secrets)
            raise self._redirect_loop_error()
        except Problem as problem:
            if taken:
                # Whoever led it on may have done what they were asked for.
                problem.unsent = False
            raise

    def _redirect_loop_error(self) -> UpstreamError:
        return UpstreamError(
            f"The answer redirects more than {self._limits.http_redirects} times.",
            code="too_many_redirects",
            retryable=False,
        )

    def outline(self, request: HttpRequest) -> UrlTarget:
        return check_request_shape(request, self._limits.http_request_bytes)

    def judge(self, target: UrlTarget, allowed_hosts: frozenset[str] | None) -> None:
        """Refuses a host that was not approved and an address that is not public."""
        if allowed_hosts is not None and not _is_approved_host(target, allowed_hosts):
            raise PermissionDenied(
                f"{target.bracketed} is not among the hosts that were approved.",
                code="host_not_approved",
            )
        check_literal_address(target, self._allow)

    def seconds(self, request: HttpRequest) -> float:
        return max(0.0, min(request.timeout_seconds, float(self._limits.http_seconds)))

    async def aclose(self) -> None:
        await self._pool.aclose()
        if self._own_resolver is not None:
            self._own_resolver.close()

    async def _exchange(self, prepared: PreparedRequest, request: HttpRequest) -> HttpResponse:
        target = prepared.target
        url = httpcore2.URL(
            scheme=target.scheme, host=target.host, port=target.port, target=target.path
        )
        outgoing = httpcore2.Request(
            prepared.method, url, headers=build_wire_headers(prepared), content=prepared.body
        )
        try:
            response = await self._pool.handle_async_request(outgoing)
            try:
                return await self._read(response, prepared, request)
            finally:
                await response.aclose()
        except Exception as error:
            raise map_exchange_error(error, target.authority) from None

    async def _read(
        self, response: httpcore2.Response, prepared: PreparedRequest, request: HttpRequest
    ) -> HttpResponse:
        headers = read_headers(response.headers)
        body = b""
        leads_on = response.status in REDIRECTS and "location" in headers
        if not (leads_on and request.follow_redirects):
            room = min(request.max_bytes, self._limits.http_response_bytes)
            body = await read_body(response, content_encoding(headers), room)
        return HttpResponse(response.status, headers, body, prepared.shown_url)


# Most calls use no secret, and one such serves them all.
_HIDES_NOTHING: Final = Redactor({})


class CallHttp:
    """The way out for one call of a capability.

    It remembers the secrets it has used, so that whatever the call returns can be masked
    before it is recorded.
    """

    def __init__(
        self, egress: Egress, allowed_hosts: frozenset[str] | None, reveal: Reveal | None
    ) -> None:
        self._egress = egress
        self._allowed_hosts = allowed_hosts
        self._reveal = reveal
        self._used: dict[str, str] = {}
        # Each secret that was put into a request, with the host it went to.
        self.uses: set[tuple[str, str]] = set()
        self._redactor = _HIDES_NOTHING

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Sends one request; whatever goes wrong comes back as a problem."""
        try:
            async with asyncio.timeout(self._egress.seconds(request)):
                return await self._sent(request)
        except TimeoutError:
            raise DeadlineExceeded(
                "The request took longer than it was given.", code="timed_out"
            ) from None
        except Exception as error:
            # What led to a problem may quote the request, so only the problem is kept.
            raise self._mask_problem(log_and_convert_error(error)) from None

    def masked(self, value: Any) -> Any:
        """A JSON value in which no secret used by this call can be read."""
        return self._redactor.tree(value)

    async def _sent(self, request: HttpRequest) -> HttpResponse:
        target = self._egress.outline(request)
        self._egress.judge(target, self._allowed_hosts)
        values = await self._reveal_for_target(find_secret_names(request), target)
        prepared = fill_secrets(request, values)
        answer = await self._egress.travel(request, prepared, self._allowed_hosts, self._redactor)
        return HttpResponse(
            answer.status,
            {name: self._redactor.text(value) for name, value in answer.headers.items()},
            self._redactor.data(answer.body),
            answer.url,
        )

    async def _reveal_for_target(
        self, names: frozenset[str], target: UrlTarget
    ) -> Mapping[str, str]:
        if not names:
            return {}
        if self._allowed_hosts is None or self._reveal is None:
            raise PermissionDenied(
                f"A secret is sent only to approved hosts, and {target.bracketed} is none.",
                code="secret_needs_host",
            )
        values = await self._reveal(names)
        for name in sorted(names - values.keys()):
            raise NotFound(f"There is no secret called {name}.", code="secret_missing")
        self._used.update({name: values[name] for name in names})
        self.uses.update((name, target.bracketed) for name in names)
        self._redactor = Redactor(self._used)
        return values

    def _mask_problem(self, problem: Problem) -> Problem:
        problem.detail = self._redactor.text(problem.detail)
        problem.suggestion = problem.suggestion and self._redactor.text(problem.suggestion)
        problem.args = (problem.detail,)
        return problem


def _exact_pair(entry: str) -> str:
    host, port = parse_host_port(entry)
    if port is None:
        raise Invalid(
            f"{entry!r} is not an exact host:port, as MAINSPRING_EGRESS_ALLOW needs it.",
            code="bad_egress_allow",
        )
    return f"{host}:{port}"


def _is_approved_host(target: UrlTarget, allowed_hosts: frozenset[str]) -> bool:
    """An approved entry is a host, on any port, or one exact host:port."""
    if target.host in allowed_hosts:
        return True
    for entry in allowed_hosts:
        try:
            host, port = parse_host_port(entry)
        except Invalid:
            continue
        if host == target.bracketed and port in {None, target.port}:
            return True
    return False
