"""The journey of a request: out, through every redirect, and back within its bounds."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

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
from mainspring.gate.egress.body import content_encoding, read_body
from mainspring.gate.egress.connection import EgressConnectionPool
from mainspring.gate.egress.dial import (
    GuardedBackend,
    Resolve,
    SystemResolver,
    check_literal_address,
)
from mainspring.gate.egress.errand import (
    REDIRECTS,
    PreparedRequest,
    build_wire_headers,
    check_request_shape,
    fill_secrets,
    find_secret_names,
    follow_redirect,
)
from mainspring.gate.egress.failures import map_exchange_error
from mainspring.gate.egress.headers import read_headers
from mainspring.gate.egress.url import UrlTarget, parse_host_port
from mainspring.gate.redact import Redactor
from mainspring.store.outage import log_and_convert_error

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
        errand: PreparedRequest,
        allowed_hosts: frozenset[str] | None,
        secrets: Redactor,
    ) -> HttpResponse:
        """Sends an errand and follows where it is led, judging every hop like the first."""
        taken = False
        try:
            for _ in range(self._limits.http_redirects + 1):
                self.judge(errand.target, allowed_hosts)
                answer = await self._exchange(errand, request)
                location = answer.headers.get("location")
                led_on = answer.status in REDIRECTS and request.follow_redirects
                if location is None or not led_on:
                    return answer
                taken = request.method.upper() not in _READING
                errand = follow_redirect(errand, answer.status, location, secrets)
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

    async def _exchange(self, errand: PreparedRequest, request: HttpRequest) -> HttpResponse:
        target = errand.target
        url = httpcore2.URL(
            scheme=target.scheme, host=target.host, port=target.port, target=target.path
        )
        outgoing = httpcore2.Request(
            errand.method, url, headers=build_wire_headers(errand), content=errand.body
        )
        try:
            response = await self._pool.handle_async_request(outgoing)
            try:
                return await self._read(response, errand, request)
            finally:
                await response.aclose()
        except Exception as error:
            raise map_exchange_error(error, target.authority) from None

    async def _read(
        self, response: httpcore2.Response, errand: PreparedRequest, request: HttpRequest
    ) -> HttpResponse:
        headers = read_headers(response.headers)
        body = b""
        leads_on = response.status in REDIRECTS and "location" in headers
        if not (leads_on and request.follow_redirects):
            room = min(request.max_bytes, self._limits.http_response_bytes)
            body = await read_body(response, content_encoding(headers), room)
        return HttpResponse(response.status, headers, body, errand.shown_url)


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
        errand = fill_secrets(request, values)
        answer = await self._egress.travel(request, errand, self._allowed_hosts, self._redactor)
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
