"""The application in this process, sent the same requests as a server that is up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mainspring.contracts.errors import InternalError
from mainspring.gate.callers import CapabilityCaller
from mainspring.surfaces.cli.caller import local_caller
from mainspring.surfaces.cli.http_client import (
    ApiClient,
    encode_body,
    read_problem,
    request_target,
)
from mainspring.surfaces.cli.local import local_owner
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.auth import LOCAL_CALLER

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Message

    from mainspring.surfaces.services import ApplicationServices


class InProcessClient(ApiClient):
    """Requests as the owner of the data folder, or as the holder of the token that is set."""

    def __init__(self, services: ApplicationServices, *, by_token: bool) -> None:
        self._services = services
        self._by_token = by_token
        self._api = _get_api(services)

    @property
    def address(self) -> str:
        return self._services.settings.address

    @property
    def by_token(self) -> bool:
        return self._by_token and self._services.settings.token is not None

    @property
    def by_program(self) -> bool:
        return self._services.by_program

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
        """Answers in this process; the owner of the data folder needs no confirmation."""
        del confirmed
        target, _, given = request_target(path, query).partition("?")
        content = encode_body(body)
        scope = {
            "type": "http",
            "http_version": "1.1",
            "asgi": {"version": "3.0"},
            "method": method,
            "scheme": "http",
            "path": unquote(target),
            "raw_path": target.encode(),
            "root_path": "",
            "query_string": given.encode(),
            "headers": [
                (b"host", b"127.0.0.1"),
                (b"content-type", b"application/json"),
                (b"content-length", str(len(content)).encode()),
            ],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 80),
            LOCAL_CALLER: await self._caller(as_program=as_program),
        }
        answer = bytearray()
        status = 500
        arriving: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

        async def receive() -> Message:
            return arriving.pop() if arriving else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            answer.extend(message.get("body", b""))

        await self._api(scope, receive, send)
        if status < 300:
            return json.loads(answer) if answer else None
        raise read_problem(bytes(answer)) or InternalError("The application gave no answer.")

    async def _caller(self, *, as_program: bool) -> CapabilityCaller:
        if self._by_token:
            return await local_caller(self._services, by_program=as_program, approves=True)
        owner = local_owner(self._services)
        return CapabilityCaller(replace(owner, by_program=as_program or owner.by_program))


# The API of the application that was opened last. Building its routes takes about a second.
_built: list[tuple[ApplicationServices, FastAPI]] = []


def _get_api(services: ApplicationServices) -> FastAPI:
    if not _built or _built[0][0] is not services:
        _built[:] = [(services, build_api(services))]
    return _built[0][1]
