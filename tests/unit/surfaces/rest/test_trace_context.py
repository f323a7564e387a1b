"""The trace that a request comes with is read, and what is none leaves no trace in the log."""

from __future__ import annotations

from typing import Any, cast

import pytest
from opentelemetry.metrics import NoOpMeter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mainspring.outbound.telemetry import Telemetry
from mainspring.surfaces.rest.tracing import TracingMiddleware

TRACE = b"0af7651916cd43dd8448eb211c80319c"
HEADER = b"00-" + TRACE + b"-b7ad6b7169203331-01"


async def _trace_of(*headers: bytes) -> bytes:
    """The trace in which a request goes on."""
    provider, result = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(result))
    tracer = provider.get_tracer("test")
    line = Telemetry(tracer, NoOpMeter("test"), lambda *_: None, lambda: None)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": [(b"traceparent", one) for one in headers],
    }
    await TracingMiddleware(cast("Any", _nothing), telemetry=line)(
        scope, cast("Any", _nothing), _nothing
    )
    (span,) = result.get_finished_spans()
    assert span.context is not None
    return f"{span.context.trace_id:032x}".encode()


async def _nothing(*_: Any) -> None:
    """Answers nothing."""


async def test_a_request_goes_on_in_the_one_trace_that_it_names() -> None:
    assert await _trace_of(HEADER) == TRACE
    assert await _trace_of(HEADER, HEADER) != TRACE
    assert await _trace_of() != TRACE


async def test_a_header_that_is_too_long_is_none_and_fills_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await _trace_of(HEADER + b"-" + b"x" * 2_000) != TRACE
    assert caplog.records == []
