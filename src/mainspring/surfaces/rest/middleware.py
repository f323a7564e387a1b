"""The middleware around every request: request ids, security headers, errors, metrics, mounts.

It is plain ASGI, so that streams pass through unbuffered. The error boundary is the outermost layer
of the application; only the webhook throttle comes before it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from starlette.datastructures import Headers, MutableHeaders

from mainspring.contracts.ids import generate_id
from mainspring.contracts.log_context import HERE, LogContext
from mainspring.surfaces.rest.problems import MEDIA_TYPE, send_problem, unexpected_problem
from mainspring.surfaces.rest.request_bodies import as_json
from mainspring.surfaces.rest.web_pages import document
from mainspring.triggers.webhook_auth import rate_limit_error

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mainspring.surfaces.web.files import WebPage


# Metrics: the number of responses of this process, by route and status, and their latency.

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BOUNDS: Final = (0.005, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0)
NO_ROUTE: Final = "none"


class RequestMetrics:
    """Counts since this process started."""

    def __init__(self) -> None:
        self._answered: Counter[tuple[str, str, int]] = Counter()
        # By route: the count in each bucket, the total, and the sum in seconds.
        self._within: dict[str, list[float]] = {}

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = route_of(scope)
        self._answered[method, route, status] += 1
        within = self._within.setdefault(route, [0.0] * (len(_BOUNDS) + 2))
        for place, bound in enumerate(_BOUNDS):
            if seconds <= bound:
                within[place] += 1
        within[-2] += 1
        within[-1] += seconds

    def families(self) -> Iterator[Metric]:
        # Imported with the first scrape: it takes 0.1 CPU seconds that a start need not spend.
        from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily

        answered = CounterMetricFamily(
            "mainspring_http_requests_total",
            "Requests that this process has answered.",
            labels=["method", "route", "status"],
        )
        for (method, route, status), count in sorted(self._answered.items()):
            answered.add_metric([method, route, str(status)], count)
        yield answered
        seconds = HistogramMetricFamily(
            "mainspring_http_request_seconds", "How long answering took.", labels=["route"]
        )
        bounds = [*(str(bound) for bound in _BOUNDS), "+Inf"]
        for route, within in sorted(self._within.items()):
            buckets = list(zip(bounds, within, strict=False))
            seconds.add_metric([route], buckets, sum_value=within[-1])
        yield seconds


def route_of(scope: Scope) -> str:
    """The template of the matched route."""
    return str(getattr(scope.get("route"), "path", NO_ROUTE))


# The format of an accepted client request id.
_SANE: Final = re.compile(rb"[A-Za-z0-9][A-Za-z0-9.-]{7,127}")
# A route with its own value (a cacheable file) overrides these.
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class ErrorBoundaryMiddleware:
    """Outermost: whatever happens inside, the caller gets a complete response."""

    def __init__(self, app: ASGIApp, tally: RequestMetrics | None = None) -> None:
        self._app = app
        self._tally = tally or RequestMetrics()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        made = id_of(scope)
        scope.setdefault("state", {})["request_id"] = made
        status = 0
        began = time.perf_counter()
        before = HERE.set(LogContext(made))

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, made)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            problem = unexpected_problem(error, scope)
            if status:
                raise  # the response has begun; a broken connection signals the error
            await send_problem(problem, scope, receive, send_with_headers)
        finally:
            HERE.reset(before)
            self._tally.count(scope, status, time.perf_counter() - began)


def id_of(scope: Scope) -> str:
    """The id of a request: its sender's, or a new one."""
    return _read_request_id(scope) or generate_id().hex


def _read_request_id(scope: Scope) -> str | None:
    """The request id of the sender, so that two logs can be correlated.

    It goes into our log and back to the sender, so only harmless characters are accepted.
    """
    found = [value for name, value in scope["headers"] if name == b"x-request-id"]
    if len(found) != 1 or _SANE.fullmatch(found[0]) is None:
        return None
    return str(found[0], "ascii")


def _add_headers(message: dict[str, Any] | Message, made: str) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers["X-Request-Id"] = made


# The throttle: a route reports for how long no other request of its caller could be accepted, a few
# hundredths of a second at most, and a request within that time is rejected at once. Most requests
# of a flood do not even become a request object: the HTTP protocol calls ``refusal`` first.

# The scope key under which a route finds the throttle.
_CLOSE: Final = "close"
_LONGEST: Final = 0.05
_MOST: Final = 1_000
_CALLED: Final = "/fire"
STATUS: Final = 429
_HEADERS: Final = [
    *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
    (b"content-type", MEDIA_TYPE.encode()),
    (b"retry-after", b"1"),
]

Caller = tuple[str, bytes]
Refusal = tuple[list[tuple[bytes, bytes]], bytes]


class WebhookThrottleMiddleware:
    """Caches throttled callers for a short time."""

    def __init__(
        self, app: ASGIApp, tally: RequestMetrics, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._tally = tally
        self._clock = clock
        # Until when a caller is rejected, and the route that throttled it.
        self._closed: dict[Caller, tuple[float, Any]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = _caller(scope) if scope["type"] == "http" else None
        if caller is None:
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(caller, scope)
        if refusal is None:
            scope.setdefault("state", {})[_CLOSE] = partial(self._close, caller)
            await self._app(scope, receive, send)
            return
        headers, body = refusal
        await send({"type": "http.response.start", "status": STATUS, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def refusal(self, scope: Scope) -> Refusal | None:
        """Headers and body for a throttled request; it is counted in the metrics."""
        caller = _caller(scope) if self._closed else None
        return None if caller is None else self._refusal(caller, scope)

    def _refusal(self, caller: Caller, scope: Scope) -> Refusal | None:
        now = self._clock()
        until, route = self._closed.get(caller, (0.0, None))
        if until <= now:
            return None
        body = as_json({**rate_limit_error(until - now).as_dict(), "instance": scope["path"]})
        headers = [
            *_HEADERS,
            (b"content-length", b"%d" % len(body)),
            (b"x-request-id", id_of(scope).encode()),
        ]
        scope["route"] = route
        self._tally.count(scope, STATUS, self._clock() - now)
        return headers, body

    def _close(self, caller: Caller, route: Any, seconds: float) -> None:
        if len(self._closed) >= _MOST:
            # A flooding caller is added again with the next rejection.
            self._closed.clear()
        self._closed[caller] = (self._clock() + min(seconds, _LONGEST), route)


def close(scope: Scope, seconds: float) -> None:
    """Throttles the caller of a request for this many seconds."""
    throttle = scope["state"].get(_CLOSE) if seconds > 0 else None
    if throttle is not None:
        throttle(scope.get("route"), seconds)


def _caller(scope: Scope) -> Caller | None:
    """The bearer token of a webhook request, if there is exactly one."""
    if scope["method"] != "POST" or not scope["path"].endswith(_CALLED):
        return None
    shown = [value for name, value in scope["headers"] if name == b"authorization"]
    return (scope["path"], shown[0]) if len(shown) == 1 else None


# Other interfaces in the same process, each at one path, inside the same middleware.


@dataclass(frozen=True, slots=True)
class SurfaceRoute:
    """The route label of requests that another interface answers."""

    path: str


class MountMiddleware:
    """Dispatches a request to the interface at its path, and all others to the application."""

    def __init__(self, app: ASGIApp, *, surfaces: Mapping[str, ASGIApp]) -> None:
        self._app = app
        self._surfaces = surfaces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        there = self._surfaces.get(scope["path"]) if scope["type"] == "http" else None
        if there is not None:
            # Requests are counted and traced by their route.
            scope["route"] = SurfaceRoute(scope["path"])
        await (there or self._app)(scope, receive, send)


# A browser at an unknown path gets the page, which shows a not-found screen.

# Paths that have their own answer, whatever the Accept header says.
_PROGRAMS: Final = ("/api/", "/mcp", "/oauth/", "/sdks/", "/assets/", "/.well-known/", "/docs/")
_NOTHING_HERE: Final = frozenset({401, 404})


class NotFoundPageMiddleware:
    """Serves the page instead of a 404 to browsers."""

    def __init__(self, app: ASGIApp, page: WebPage) -> None:
        self._app = app
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_page_request(scope):
            await self._app(scope, receive, send)
            return
        nothing = False

        async def send_or_hold(message: Message) -> None:
            nonlocal nothing
            if message["type"] == "http.response.start":
                nothing = message["status"] in _NOTHING_HERE
            if not nothing:
                await send(message)

        await self._app(scope, receive, send_or_hold)
        if nothing:
            await document(self._page, 404)(scope, receive, send)


def _is_page_request(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    accept = Headers(scope=scope).get("accept", "")
    return "text/html" in accept and not scope["path"].startswith(_PROGRAMS)
