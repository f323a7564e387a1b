"""The way to a collector of OpenTelemetry: traces and metrics leave here, in the background.

Nothing of OpenTelemetry is imported before an operator has named a collector and something
has to be told. What is told waits in a queue of bounded size and is sent by threads of its
own, so a collector that is slow or away costs a line in the log and what it missed. Only ids,
names, numbers and codes are ever handed to this: no input, output, prompt or secret.

The collector is the operator's setting, like the mail server. No definition can name it, which
is why its address is not held against the rules for what automations may reach.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from mainspring import __version__
from mainspring.contracts.errors import Invalid
from mainspring.contracts.optional_extras import format_install_hint

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import SpanContext, Tracer

    from mainspring.settings import Settings

log = logging.getLogger(__name__)

_NEEDED: Final = "opentelemetry.exporter.otlp.proto.http"
# What one request to the collector may take, with all its tries.
_SEND_SECONDS: Final = 5.0
# What is left may be sent when the process ends, for this long.
_GOODBYE_SECONDS: Final = 2.0
_SPANS_EVERY: Final = 2.0
_METRICS_EVERY: Final = 15.0
# A collector that stays away is mentioned again after this time.
_SAID_AGAIN_SECONDS: Final = 3600.0
_MOST_SPANS, _BATCH = 8_192, 512
_SPAN_IDS: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Where spans and numbers are handed in."""

    tracer: Tracer
    meter: Meter
    # The next root span gets this trace id and this span id.
    preset: Callable[[int, int], None]
    shut: Callable[[], None]


class TelemetryExporter:
    """Opened by the first who has something to tell; closed with the house."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._opened: Telemetry | None = None

    def opened(self) -> Telemetry | None:
        """The line to the collector; None where no collector is set."""
        if self._url is not None and self._opened is None:
            self._opened = _open(self._url)
        return self._opened

    async def aclose(self) -> None:
        """Sends what is left, as far as that goes within a moment."""
        if self._opened is None:
            return
        opened, self._opened = self._opened, None
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut() -> None:
            opened.shut()
            # The loop may be gone by then, and nobody waits any more.
            if not loop.is_closed():
                loop.call_soon_threadsafe(done.set)

        # Not a thread of the loop's: those are waited for, however long they take.
        threading.Thread(target=shut, name="telemetry-goodbye", daemon=True).start()
        try:
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await done.wait()
        except TimeoutError:
            log.warning("The collector did not take the last traces and metrics in time.")


def check_telemetry(settings: Settings) -> None:
    """Refuses a collector that could never be told anything."""
    if settings.otlp_url is None:
        return
    try:
        shown = urlsplit(settings.otlp_url)
    except ValueError:
        # Such as a bracket that is never closed.
        shown = urlsplit("")
    if shown.scheme not in ("http", "https") or not shown.hostname:
        raise Invalid(
            "MAINSPRING_OTLP_URL is not the address of a collector.",
            code="bad_otlp_url",
            suggestion="Write it like http://localhost:4318; the paths are added.",
        )
    if find_spec("opentelemetry") is None or find_spec(_NEEDED) is None:
        raise Invalid(
            "MAINSPRING_OTLP_URL is set, but the OpenTelemetry packages are not installed.",
            code="no_telemetry",
            suggestion=format_install_hint("telemetry"),
        )


def run_context(run_id: UUID) -> SpanContext:
    """Where the trace of a run begins: whoever knows the run's id can point there."""
    from opentelemetry.trace import SpanContext, TraceFlags

    sampled = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(run_id.int, first_span(run_id), is_remote=True, trace_flags=sampled)


def first_span(run_id: UUID) -> int:
    """The id of the first span of a run; the last bits of its id are chance."""
    return (run_id.int & _SPAN_IDS) or 1


def _open(url: str) -> Telemetry:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    _listen(urlsplit(url).hostname or "")
    place = url.rstrip("/")
    about = Resource.create(
        {
            "service.name": "mainspring",
            "service.version": __version__,
            "service.instance.id": f"{platform.node()}/{os.getpid()}",
        }
    )
    ids = _ids()
    traces = TracerProvider(resource=about, id_generator=ids, shutdown_on_exit=False)
    sender = OTLPSpanExporter(f"{place}/v1/traces", timeout=_SEND_SECONDS)
    traces.add_span_processor(
        BatchSpanProcessor(
            sender,
            max_queue_size=_MOST_SPANS,
            schedule_delay_millis=_SPANS_EVERY * 1000,
            max_export_batch_size=_BATCH,
        )
    )
    reader = PeriodicExportingMetricReader(
        OTLPMetricExporter(f"{place}/v1/metrics", timeout=_SEND_SECONDS),
        export_interval_millis=_METRICS_EVERY * 1000,
    )
    numbers = MeterProvider([reader], resource=about, shutdown_on_exit=False)

    def shut() -> None:
        traces.shutdown()
        numbers.shutdown(timeout_millis=_GOODBYE_SECONDS * 1000)

    return Telemetry(
        traces.get_tracer("mainspring", __version__),
        numbers.get_meter("mainspring", __version__),
        ids.preset,
        shut,
    )


def _ids() -> Any:
    from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator

    class Ids(IdGenerator):
        """Ids by chance, unless the next ones were said; all spans begin in one thread."""

        def __init__(self) -> None:
            self._chance = RandomIdGenerator()
            self._trace: int | None = None
            self._span: int | None = None

        def preset(self, trace: int, span: int) -> None:
            self._trace, self._span = trace, span

        def generate_trace_id(self) -> int:
            said, self._trace = self._trace, None
            return said or self._chance.generate_trace_id()

        def generate_span_id(self) -> int:
            said, self._span = self._span, None
            return said or self._chance.generate_span_id()

    return Ids()


def _listen(host: str) -> None:
    """Whatever the library has to say becomes one line of ours, and not one for each try."""
    theirs = logging.getLogger("opentelemetry")
    theirs.propagate = False
    theirs.handlers[:] = [_ThrottledLogHandler(host)]


class _ThrottledLogHandler(logging.Handler):
    def __init__(self, host: str) -> None:
        super().__init__(logging.WARNING)
        self._host = host
        self._said: float | None = None

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if self._said is None or now - self._said > _SAID_AGAIN_SECONDS:
            self._said = now
            log.warning("The collector at %s does not take traces or metrics.", self._host)
