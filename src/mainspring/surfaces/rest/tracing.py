"""OpenTelemetry spans for requests. This layer exists only while a collector is configured.

A request with a trace context continues it. The run that a request starts has its own trace,
derived from the run id, so no trace context is stored with a run: the span of the request links to
that trace.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.outbound.telemetry import run_context
from mainspring.surfaces.rest.middleware import METHODS, route_of

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mainspring.outbound.telemetry import Telemetry

# The response header with the id of the started run.
_RUN: Final = re.compile(rb".*/runs/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_ERRORS: Final = 500
# The limit of a trace header. The library logs a line for each longer one.
_LONGEST: Final = 512


class TracingMiddleware:
    """One span for each request."""

    def __init__(self, app: ASGIApp, *, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry
        self._lasted = telemetry.meter.create_histogram(
            "http.server.request.duration",
            "s",
            "How long requests took.",
            explicit_bucket_boundaries_advisory=(0.005, 0.025, 0.1, 0.25, 1, 5, 30),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        from opentelemetry.trace import SpanKind

        method = scope["method"] if scope["method"] in METHODS else "other"
        span = self._telemetry.tracer.start_span(
            method, _read_trace_context(scope), SpanKind.SERVER, {"http.request.method": method}
        )
        status, began = 0, time.perf_counter()

        async def send_and_look(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _point_to_run(span, message.get("headers", ()))
            await send(message)

        try:
            await self._app(scope, receive, send_and_look)
        finally:
            _finish(span, scope, status)
            route: dict[str, str | int] = {"http.route": route_of(scope)}
            measured = route | {"http.response.status_code": status}
            self._lasted.record(time.perf_counter() - began, measured)


def _read_trace_context(scope: Scope) -> Context:
    """The trace context of the request; an unparsable one is ignored."""
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    found = [value for name, value in scope["headers"] if name == b"traceparent"]
    read = len(found) == 1 and len(found[0]) <= _LONGEST
    carried = {"traceparent": found[0].decode("latin-1")} if read else {}
    return TraceContextTextMapPropagator().extract(carried, Context())


def _point_to_run(span: Span, headers: Iterable[tuple[bytes, bytes]]) -> None:
    for name, value in headers:
        found = _RUN.fullmatch(value) if name.lower() == b"location" else None
        if found is not None:
            run_id = UUID(found[1].decode("ascii"))
            span.set_attribute("mainspring.run_id", str(run_id))
            span.add_link(run_context(run_id))


def _finish(span: Span, scope: Scope, status: int) -> None:
    from opentelemetry.trace import Status, StatusCode

    route = route_of(scope)
    method = scope["method"] if scope["method"] in METHODS else "other"
    span.update_name(f"{method} {route}")
    span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    state = scope.get("state", {})
    if "request_id" in state:
        span.set_attribute("mainspring.request_id", state["request_id"])
    if status == 0 or status >= _ERRORS:
        span.set_status(Status(StatusCode.ERROR))
    span.end()
