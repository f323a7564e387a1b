"""A collector of OpenTelemetry on loopback: it decodes what it is sent, as a real one does."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(slots=True)
class Collector:
    """What has been received so far."""

    address: str = ""
    spans: list[Any] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    # Everything as it came, to look for what should not be in it.
    raw: list[bytes] = field(default_factory=list)

    def take(self, path: str, body: bytes) -> bytes:
        self.raw.append(body)
        if path == "/v1/traces":
            traces = ExportTraceServiceRequest.FromString(body)
            self.spans += [
                span
                for resource in traces.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            ]
            return bytes(ExportTraceServiceResponse().SerializeToString())
        assert path == "/v1/metrics"
        numbers = ExportMetricsServiceRequest.FromString(body)
        for resource in numbers.resource_metrics:
            for scope in resource.scope_metrics:
                self.metrics |= {metric.name: metric for metric in scope.metrics}
        return bytes(ExportMetricsServiceResponse().SerializeToString())


def attributes(found: Any) -> dict[str, Any]:
    """The attributes of a span or a link as a mapping."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in found.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens until the block ends."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            answer = collector.take(self.path, body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
