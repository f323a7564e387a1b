"""A server that is reached over HTTP: what the CLI asks it, with a session or without one.

Redirects are not followed: a session goes to the server that gave it, and nowhere else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import orjson

from mainspring.contracts.errors import (
    Conflict,
    Expired,
    Finding,
    Invalid,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    Problem,
    Unauthenticated,
    UpstreamError,
)
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.logins import SavedLogin, find_login
from mainspring.workspace.people.device_login import CONFIRMED_HEADER, compute_call_digest

PREFIX: Final = "/api/v1"
_SECONDS: Final = 60.0
_BY_STATUS: Final[Mapping[int, type[Problem]]] = {
    one.status: one
    for one in (
        Invalid,
        Unauthenticated,
        PermissionDenied,
        NotFound,
        Conflict,
        Expired,
        LimitExceeded,
    )
}


@dataclass(frozen=True, slots=True)
class ServerClient:
    """One server, and who asks it."""

    http: httpx2.AsyncClient
    address: str
    session: str | None = None

    async def ask(
        self, method: str, path: str, body: Any = None, *, confirmed: bool = False
    ) -> Any:
        """One request; ``confirmed`` says that a person was asked about just this one."""
        content = b"" if body is None else orjson.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        if self.session is not None:
            headers["Authorization"] = f"Bearer {self.session}"
            if confirmed:
                headers[CONFIRMED_HEADER] = compute_call_digest(method, PREFIX + path, content)
        try:
            answer = await self.http.request(
                method, self.address + PREFIX + path, content=content, headers=headers
            )
        except httpx2.HTTPError as error:
            raise UpstreamError(
                f"The server at {self.address} cannot be reached: {error}.", code="no_server"
            ) from error
        if answer.status_code >= httpx2.codes.MULTIPLE_CHOICES:
            raise self._problem(answer)
        return answer.json() if answer.content else None

    async def call(
        self, capability: str, arguments: Mapping[str, Any], *, confirmed: bool = False
    ) -> dict[str, Any]:
        """Calls a capability as the person who is signed in, or as a program of theirs."""
        answer: dict[str, Any] = await self.ask(
            "POST", f"/capabilities/{capability}", dict(arguments), confirmed=confirmed
        )
        return answer

    def _problem(self, answer: httpx2.Response) -> Problem:
        try:
            told = answer.json()
            detail, kind = told["detail"], _BY_STATUS.get(answer.status_code, UpstreamError)
        except (ValueError, KeyError, TypeError):
            return UpstreamError(
                f"{self.address} answered {answer.status_code}, and not as Mainspring does.",
                code="no_server",
            )
        if kind is Unauthenticated and self.session is not None:
            way = f"{hint('login', self.address)} signs you in again."
            return Unauthenticated("Your session there has ended.", code="no_login", suggestion=way)
        findings = [
            Finding(one["pointer"], one["detail"], one["code"], one.get("suggestion"))
            for one in told.get("errors", ())
        ]
        return kind(
            detail, code=told.get("code"), findings=findings, suggestion=told.get("suggestion")
        )


@asynccontextmanager
async def reaching(address: str, login: SavedLogin | None = None) -> AsyncIterator[ServerClient]:
    """A server, until the block ends; a proxy sees nothing of what goes to this machine."""
    own = urlsplit(address).scheme == "http"
    async with httpx2.AsyncClient(
        timeout=_SECONDS, follow_redirects=False, trust_env=not own
    ) as http:
        yield ServerClient(http, address, None if login is None else login.session)


@asynccontextmanager
async def open_signed_in_server(address: str) -> AsyncIterator[ServerClient]:
    """A server where somebody has signed in at this terminal."""
    async with reaching(address, find_login(address)) as remote:
        yield remote
