"""The HTTP protocol of a connection, with limits.

The parser itself waits for headers of any size, without a timeout; here both are limited. Throttled
webhook requests are rejected here, before a request object exists, which keeps floods cheap.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from mainspring.contracts.errors import Invalid, Problem, TooLarge
from mainspring.surfaces.rest.middleware import STATUS, WebhookThrottleMiddleware
from mainspring.surfaces.rest.problems import MEDIA_TYPE
from mainspring.surfaces.rest.request_bodies import as_json

HEADER_BYTES: Final = 32_768
HEADERS: Final = 100
# The timeout of a new idle connection, and of incomplete headers.
HEADER_SECONDS: Final = 9.0
# The timeout of data that arrives after a response, until the next request begins.
REST_SECONDS: Final = 20.0
# How many pipelined requests are rejected directly; the others yield to other connections.
_BATCH: Final = 8

# uri-host [":" port] of RFC 9110, in ASCII; no real host has sub-delims or escapes in its name.
_HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]*)(?::[0-9]*)?")


def _refusal(problem: Problem, status: int) -> tuple[int, bytes]:
    return status, as_json({**problem.as_dict(), "status": status, "instance": ""})


_UNREADABLE: Final = _refusal(
    Invalid("What was sent is not an HTTP request.", code="not_http"), 400
)
_TOO_LARGE: Final = _refusal(
    TooLarge(f"The headers are larger than {HEADER_BYTES:,} bytes.", code="headers"), 431
)
_INVALID_HOST: Final = _refusal(
    Invalid(
        "The request does not have exactly one valid Host header.",
        code="host_header",
        suggestion="Send one Host header with the name and port of this server.",
    ),
    400,
)


class _DiscardedRequest:
    """A request that was answered before it was read: its remaining data is discarded."""

    response_complete = True
    message_event = asyncio.Event()


_ANSWERED: Final[Any] = _DiscardedRequest()


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection."""

    _timer: asyncio.TimerHandle | None = None
    _in_headers = False
    _began = False
    _pending_bytes = 0
    # The response to an invalid request.
    _error_response = _UNREADABLE
    _refusals = 0
    _progressed = False
    _silent_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._began = self._progressed = False
        self._refusals = 0
        super().data_received(data)
        self._limit_trailing_data()
        if not self._in_headers:
            self._limit_silent_data(data)
        elif not self._began and self._error_response is _UNREADABLE:
            self._pending_bytes += len(data)
            if self._pending_bytes > HEADER_BYTES:
                self._error_response = _TOO_LARGE
                self.send_400_response("")

    def _limit_silent_data(self, data: bytes) -> None:
        """Limits data without progress: the parser buffers a chunk-size line until it ends."""
        self._silent_bytes = 0 if self._progressed else self._silent_bytes + len(data)
        if self._silent_bytes > HEADER_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        self._in_headers = self._began = self._progressed = True
        self._pending_bytes = 0
        self._start_timer(HEADER_SECONDS)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_headers:
            super().on_header(name, value)
            return
        # Trailers of a chunked body are ignored.
        self._pending_bytes += len(name) + len(value)
        if self._pending_bytes > HEADER_BYTES:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._progressed = True
        self._stop_timer()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEADER_BYTES or len(self.headers) > HEADERS:
            self._error_response = _TOO_LARGE
            raise _RefusedHeaders  # the parser turns it into a refusal
        if not self._has_host():
            self._error_response = _INVALID_HOST
            raise _RefusedHeaders
        if not self._refused():
            # A pipelined request that was rejected has set the keep-alive timer.
            self._unset_keepalive_if_required()
            super().on_headers_complete()

    def _has_host(self) -> bool:
        """Whether the Host header is valid (RFC 9112): exactly one, or at most one in HTTP/1.0."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if not hosts:
            return bool(self.parser.get_http_version() == "1.0")
        # The parser keeps the optional whitespace after a value.
        return len(hosts) == 1 and _HOST.fullmatch(hosts[0].rstrip(b" \t")) is not None

    def on_body(self, body: bytes) -> None:
        self._progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._progressed = True
        super().on_message_complete()

    def _refused(self) -> bool:
        """Rejects a throttled request directly, without a task or a request object."""
        if not isinstance(self.app, WebhookThrottleMiddleware) or not self._is_plain():
            return False
        call = {"method": "POST", "path": self.url.decode("latin-1"), "headers": self.headers}
        refusal = self.app.refusal(call)
        if refusal is None:
            return False
        headers, body = refusal
        lines = (b"%b: %b\r\n" % one for one in (*self.server_state.default_headers, *headers))
        self.transport.write(b"".join((STATUS_LINE[STATUS], *lines, b"\r\n", body)))
        self._refusals += 1
        self.cycle = _ANSWERED
        self.on_response_complete()
        return True

    def _is_plain(self) -> bool:
        """A request without special cases: no pipelining predecessor, and keep-alive."""
        return (
            self.url.endswith(b"/fire")
            and self._refusals < _BATCH
            and self.parser.get_method() == b"POST"
            and getattr(self.cycle, "response_complete", True)
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and not self.parser.should_upgrade()
            and not self.expect_100_continue
            and not any(name == b"transfer-encoding" for name, _ in self.headers)
            # A client that does not read its responses gets no more of them.
            and not self.flow.write_paused
        )

    def _limit_trailing_data(self) -> None:
        """Limits how long a client may keep sending after its response.

        It may be the rest of a rejected body, or a line break between two requests. A pause has the
        keep-alive timeout; the total has a limit too, which more data does not extend.
        """
        answered = getattr(self.cycle, "response_complete", False)
        if not answered or self._in_headers:
            return
        if not self.timeout_keep_alive_task:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        if self._timer is None:
            self._start_timer(REST_SECONDS)

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def send_400_response(self, msg: str) -> None:
        """Answers unparsable requests with a problem document."""
        del msg
        status, content = self._error_response
        self.transport.write(
            b"%bContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
            % (STATUS_LINE[status], MEDIA_TYPE.encode(), len(content), content)
        )
        self.transport.close()


class _RefusedHeaders(Exception):
    """Raised through the parser, which then rejects the request."""
