"""The wire: bytes of a connection become requests, within bounds.

The parser itself waits for headers of any size, for ever; here both have an end. A call of a flood
is refused here, before there is a request: that is what most calls of a flood cost.
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
# A new connection may be silent for so long, and headers that have begun may take as long again.
HEADER_SECONDS: Final = 9.0
# What still comes after an answer, until the next request begins, ends within this time.
REST_SECONDS: Final = 20.0
# Calls of one breath that are refused at once; the others wait until somebody else had a turn.
_AT_ONCE: Final = 8

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
_WITHOUT_HOST: Final = _refusal(
    Invalid(
        "The request does not have exactly one valid Host header.",
        code="host_header",
        suggestion="Send one Host header with the name and port of this server.",
    ),
    400,
)


class _DiscardedRequest:
    """A request that was answered before it was read: what is still to come is passed over."""

    response_complete = True
    message_event = asyncio.Event()


_ANSWERED: Final[Any] = _DiscardedRequest()


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection."""

    _timer: asyncio.TimerHandle | None = None
    _heading = False
    _fresh = False
    _waiting = 0
    # What is answered to a request that does not become one.
    _wrong = _UNREADABLE
    _refusals = 0
    _heard = False
    _silent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._fresh = self._heard = False
        self._refusals = 0
        super().data_received(data)
        self._mind_the_rest()
        if not self._heading:
            self._mind_what_says_nothing(data)
        elif not self._fresh and self._wrong is _UNREADABLE:
            self._waiting += len(data)
            if self._waiting > HEADER_BYTES:
                self._wrong = _TOO_LARGE
                self.send_400_response("")

    def _mind_what_says_nothing(self, data: bytes) -> None:
        """A line between the pieces of a body is kept by the parser until it ends."""
        self._silent = 0 if self._heard else self._silent + len(data)
        if self._silent > HEADER_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        self._heading = self._fresh = self._heard = True
        self._waiting = 0
        self._start_timer(HEADER_SECONDS)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._heading:
            super().on_header(name, value)
            return
        # What comes after a body in pieces is of no use to anybody here.
        self._waiting += len(name) + len(value)
        if self._waiting > HEADER_BYTES:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._heading = False
        self._heard = True
        self._stop_timer()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEADER_BYTES or len(self.headers) > HEADERS:
            self._wrong = _TOO_LARGE
            raise _RefusedHeaders  # the parser turns it into a refusal
        if not self._has_host():
            self._wrong = _WITHOUT_HOST
            raise _RefusedHeaders
        if not self._refused():
            # One that was refused in the same breath has set the time for an idle connection.
            self._unset_keepalive_if_required()
            super().on_headers_complete()

    def _has_host(self) -> bool:
        """Whether the host is named as RFC 9112 has it: once, and before HTTP/1.1 at most once."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if not hosts:
            return bool(self.parser.get_http_version() == "1.0")
        # The parser keeps the optional white space after a value.
        return len(hosts) == 1 and _HOST.fullmatch(hosts[0].rstrip(b" \t")) is not None

    def on_body(self, body: bytes) -> None:
        self._heard = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._heard = True
        super().on_message_complete()

    def _refused(self) -> bool:
        """Answers a call of a flood here and now, without a task or a request of its own."""
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
        """A call that leaves nothing to decide: nobody is before it, and the connection stays."""
        return (
            self.url.endswith(b"/fire")
            and self._refusals < _AT_ONCE
            and self.parser.get_method() == b"POST"
            and getattr(self.cycle, "response_complete", True)
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and not self.parser.should_upgrade()
            and not self.expect_100_continue
            and not any(name == b"transfer-encoding" for name, _ in self.headers)
            # Whoever does not read what they are told is not told more.
            and not self.flow.write_paused
        )

    def _mind_the_rest(self) -> None:
        """A client that was answered and goes on sending may pause as long as an idle one.

        It may be the rest of a body that was refused, or a line break between two requests. All
        of it together has a time limit too, which more data does not extend.
        """
        answered = getattr(self.cycle, "response_complete", False)
        if not answered or self._heading:
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
        """What cannot even be parsed is answered here, in the form of all other problems."""
        del msg
        status, content = self._wrong
        self.transport.write(
            b"%bContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
            % (STATUS_LINE[status], MEDIA_TYPE.encode(), len(content), content)
        )
        self.transport.close()


class _RefusedHeaders(Exception):
    """Raised through the parser, which then refuses the request."""
