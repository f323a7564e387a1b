"""The way out for client libraries: they speak HTTP, and egress carries it.

A library that brings its own connections would bring its own idea of what may be called. It is
given this transport instead, so that every request of it is judged, bounded and masked like any
other. What lets us in stands in its headers by name and is put in at the very end, so the
library never holds it. A long answer that a server keeps open is read to its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import httpx2

from mainspring.contracts.context import HttpRequest
from mainspring.contracts.secret import SecretText
from mainspring.outbound.egress.headers import CARRIED
from mainspring.outbound.egress.http_client import CallHttp

# The body was decoded on its way in, and its length with it.
_OF_THE_WIRE: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class EgressTransport(httpx2.AsyncBaseTransport):
    """Carries the requests of one client."""

    def __init__(
        self,
        http: CallHttp,
        *,
        seconds: float,
        most_bytes: int,
        headers: Mapping[str, str | SecretText] | None = None,
        never: frozenset[str] = frozenset(),
    ) -> None:
        self._http = http
        self._seconds = seconds
        self._most_bytes = most_bytes
        # Take the place of what the library says under these names.
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}
        # Methods that are answered here with "not allowed".
        self._never = never

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request and its whole answer; a problem of ours stays one."""
        if request.method in self._never:
            return httpx2.Response(405, request=request)
        body = await request.aread()
        answer = await self._http.send(
            HttpRequest(
                request.method,
                str(request.url),
                self._carried(request.headers),
                {},
                body or None,
                timeout_seconds=self._seconds,
                max_bytes=self._most_bytes,
                follow_redirects=False,
            )
        )
        headers = [
            (name, value) for name, value in answer.headers.items() if name not in _OF_THE_WIRE
        ]
        return httpx2.Response(answer.status, headers=headers, content=answer.body, request=request)

    def _carried(self, given: httpx2.Headers) -> dict[str, str | SecretText]:
        kept: dict[str, str | SecretText] = {
            name: value
            for name, value in given.items()
            if name not in CARRIED and name not in self._headers
        }
        return kept | self._headers
