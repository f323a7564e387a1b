"""The plain http port of a public server: answers http-01 challenges and redirects to https."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

PREFIX: Final = "/.well-known/acme-challenge/"


class KeyAuthorizationSource(Protocol):
    """Where key authorizations are found by their token."""

    async def find_key_authorization(self, token: str) -> str | None: ...


class HttpChallengeApp:
    """An ASGI application that serves nothing else."""

    def __init__(self, source: KeyAuthorizationSource, names: Sequence[str], address: str) -> None:
        self._source = source
        self._names = frozenset(names)
        self._address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path.startswith(PREFIX):
            found = await self._source.find_key_authorization(path.removeprefix(PREFIX))
            answer = (
                PlainTextResponse("There is no such challenge.", 404)
                if found is None
                else PlainTextResponse(found, media_type="application/octet-stream")
            )
            await answer(scope, receive, send)
            return
        await RedirectResponse(self._target(scope), 308)(scope, receive, send)

    def _target(self, scope: Scope) -> str:
        """The same address with https; a host that is not ours is never reflected."""
        host = Headers(scope=scope).get("host", "").partition(":")[0].lower()
        base = f"https://{host}" if host in self._names else self._address
        query = scope["query_string"]
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        return f"{base}{path}{'?' + query.decode('latin-1') if query else ''}"
