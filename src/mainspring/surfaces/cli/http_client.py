"""The HTTP client of the command line: one server, one credential, JSON requests and answers.

Commands import it before anything else, so it uses the standard library alone. Redirects are not
followed: a credential goes to the server that it was given for, and nowhere else.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final, Self
from urllib.parse import quote, urlencode, urlsplit

from mainspring.contracts.errors import (
    ConsentRequired,
    PersonRequired,
    Problem,
    Unauthenticated,
    UpstreamError,
    problem_from_dict,
)
from mainspring.contracts.terminal_session import (
    CONFIRMED_HEADER,
    MOST_CONFIRMED_BYTES,
    compute_call_digest,
    is_terminal_session,
)
from mainspring.surfaces.cli.formatting import hint

PREFIX: Final = "/api/v1"
_SECONDS: Final = 60.0
_TOO_MANY_CALLS: Final = "too_many_calls"


class ApiClient(ABC):
    """Where a command sends its requests, and as whom."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Where the pages of the server are."""

    @property
    @abstractmethod
    def by_token(self) -> bool:
        """Whether the holder of a token acts."""

    @property
    @abstractmethod
    def by_program(self) -> bool:
        """Whether a program acts, even at a terminal."""

    @abstractmethod
    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        confirmed: bool = False,
        as_program: bool = False,
    ) -> Any:
        """Sends one request.

        ``confirmed``: a person was asked about just this one. ``as_program``: whatever it asks
        for, it is not a person's, even at a terminal.
        """

    async def call(
        self,
        capability: str,
        arguments: Mapping[str, Any],
        *,
        confirmed: bool = False,
        as_program: bool = False,
    ) -> dict[str, Any]:
        """Call a capability by its name."""
        answer: dict[str, Any] = await self.request(
            "POST",
            capability_path(capability),
            arguments,
            confirmed=confirmed,
            as_program=as_program,
        )
        return answer


class ServerUnreachable(UpstreamError):
    """Nothing answers at the address; the request was not sent."""


class TooLargeToConfirm(Exception):
    """The body is larger than a confirmed request can be; the request was not sent."""


class ServerClient(ApiClient):
    """A server that is reached over HTTP.

    With ``is_person``, a person at this terminal asks for every request. The session of the
    terminal then confirms each of them.
    """

    def __init__(
        self,
        address: str,
        credential: str | None = None,
        *,
        is_person: bool = False,
        seconds: float | None = _SECONDS,
        public_address: str | None = None,
    ) -> None:
        self._address = public_address or address
        self._reached = address
        self._credential = credential
        self.has_session = credential is not None and is_terminal_session(credential)
        self._is_person = is_person
        self._seconds = seconds
        self._connection: HTTPConnection | None = None

    @property
    def address(self) -> str:
        return self._address

    @property
    def by_token(self) -> bool:
        return not self.has_session

    @property
    def by_program(self) -> bool:
        return not self.has_session

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        confirmed: bool = False,
        as_program: bool = False,
    ) -> Any:
        """Blocks until the answer is here: a command has nothing else to do meanwhile."""
        return self.send(method, path, body, query, confirmed=confirmed, as_program=as_program)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = False,
        as_program: bool = False,
    ) -> Any:
        """The same without a coroutine."""
        target, content = request_target(path, query), encode_body(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        if self._credential is not None:
            headers["Authorization"] = f"Bearer {self._credential}"
            if self.has_session and not as_program and (confirmed or self._is_person):
                if len(content) > MOST_CONFIRMED_BYTES:
                    raise TooLargeToConfirm
                headers[CONFIRMED_HEADER] = compute_call_digest(method, target, content)
        while True:
            status, answer = self._exchange(method, target, content, headers)
            if status < 300:
                return json.loads(answer) if answer else None
            problem = self._read_problem(status, answer)
            if problem.code != _TOO_MANY_CALLS:
                raise problem
            # It was refused before anything was done.
            time.sleep(problem.retry_after or 1.0)

    def _exchange(
        self, method: str, target: str, content: bytes, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = self._connect()
        try:
            self._connection.request(method, target, content or None, dict(headers))
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException) as error:
            self.close()
            said = str(error) or type(error).__name__
            raise UpstreamError(
                f"The server at {self._reached} cannot be reached: {said}.", code="no_server"
            ) from error

    def _connect(self) -> HTTPConnection:
        split = urlsplit(self._reached)
        secure = split.scheme == "https"
        kind = HTTPSConnection if secure else HTTPConnection
        host = split.hostname or ""
        proxy = _find_proxy(host) if secure else None
        if proxy is None:
            connection = kind(host, split.port, timeout=self._seconds)
        else:
            connection = kind(*proxy, timeout=self._seconds)
            connection.set_tunnel(host, split.port)
        try:
            connection.connect()
        except OSError as error:
            said = error.strerror or str(error) or type(error).__name__
            raise ServerUnreachable(
                f"The server at {self._reached} cannot be reached: {said}.", code="no_server"
            ) from error
        return connection

    def _read_problem(self, status: int, answer: bytes) -> Problem:
        problem = read_problem(answer)
        if problem is None:
            return UpstreamError(
                f"{self._reached} answered {status}, and not as Mainspring does.", code="no_server"
            )
        if isinstance(problem, Unauthenticated) and self.has_session:
            return Unauthenticated(
                "Your session there has ended.",
                code="no_login",
                suggestion=f"{hint('login', self._reached)} signs you in again.",
            )
        return problem


def capability_path(capability: str) -> str:
    return f"/capabilities/{quote(capability, safe='')}"


def request_target(path: str, query: Mapping[str, Any] | None) -> str:
    """The path under the API and its query; what is None is left out."""
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return PREFIX + path + (f"?{urlencode(given, doseq=True)}" if given else "")


def encode_body(body: Any) -> bytes:
    if body is None:
        return b""
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # A word that is no UTF-8 is sent as its escape, and refused by the server.
        return json.dumps(body).encode()


def read_problem(answer: bytes) -> Problem | None:
    """The problem of an answer as the server raised it; None if it is no problem document."""
    try:
        shown = json.loads(answer)
        problem = problem_from_dict(shown)
    except (ValueError, TypeError, AttributeError):
        return None
    if not shown.get("detail"):
        return None
    if isinstance(problem, ConsentRequired):
        problem.consent = dict(shown.get("consent") or {})
    if isinstance(problem, PersonRequired):
        problem.url = str(shown.get("url") or "")
    return problem


def _find_proxy(host: str) -> tuple[str, int | None] | None:
    """The proxy that the environment names for a server elsewhere."""
    from urllib.request import getproxies, proxy_bypass

    named = getproxies().get("https")
    if not named or proxy_bypass(host):
        return None
    split = urlsplit(named if "://" in named else f"http://{named}")
    return (split.hostname or "", split.port) if split.hostname else None
