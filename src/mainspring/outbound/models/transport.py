"""The line to a provider for one ask: it carries the request and remembers the answer.

A provider's library wraps whatever goes wrong in errors of its own, and adds headers that tell of
this machine or that came from its environment. So the line lets a few headers through and keeps
what really happened: the problem, or the status, the headers and the body of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import httpx2

from mainspring.contracts.errors import InternalError, Problem
from mainspring.outbound.egress.transport import EgressTransport
from mainspring.outbound.models.reply_metadata import WireName

# One model at one connection, as the wire needs to know it.

Kind = Literal["anthropic", "openai", "groq", "compatible"]


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Where a model is, and which language is spoken there."""

    kind: Kind
    # Such as https://api.anthropic.com or https://api.openai.com/v1.
    base_url: str
    # The connection's name, for the ledger and for problems.
    name: str
    # As the provider names it.
    model: str
    has_key: bool
    # Where the installation's own connections lead is for administrators to know.
    hidden: bool = False

    @property
    def wire(self) -> WireName:
        return "anthropic" if self.kind == "anthropic" else "openai"


_LET_THROUGH: Final = frozenset({"accept", "content-type", "anthropic-version", "anthropic-beta"})


class ProviderTransport(httpx2.AsyncBaseTransport):
    """Carries one ask."""

    def __init__(self, carried: EgressTransport) -> None:
        self._carried = carried
        # Why there is no answer.
        self.problem: Problem | None = None
        # None: there is no answer.
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.body = b""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.status is not None and self.status < 400:
            # An ask that was answered is paid for; nothing may ask a second time.
            raise InternalError("One ask was about to be sent twice.")
        for name in request.headers.keys() - _LET_THROUGH:
            del request.headers[name]
        try:
            answer = await self._carried.handle_async_request(request)
        except Problem as problem:
            self.problem = problem
            raise
        self.status = answer.status_code
        self.headers = dict(answer.headers.items())
        self.body = answer.content
        return answer
