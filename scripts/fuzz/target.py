"""What a target is, what it may say, and how bytes become what most of them eat."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import PydanticCustomError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.patterns import InvalidPattern
from mainspring.definition.strict_json import read_json
from mainspring.settings import BadSetting
from mainspring.workspace.oauth.errors import OAuthError

# What a parser may say instead of a value.
SAYS: Final = (Problem, OAuthError, InvalidPattern, BadSetting, HTTPException, PydanticCustomError)
LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Target:
    """A parser, what it usually eats, and pieces of it."""

    name: str
    run: Callable[[bytes], Any]
    seeds: Sequence[bytes]
    tokens: Sequence[bytes] = field(default=())


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def as_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def as_value(data: bytes) -> Any:
    return read_json(data, LIMITS)


def as_request(data: bytes) -> Request:
    """Head and body of a request, as a server hands them over; first comes the query."""
    head, _, body = data.partition(b"\n\n")
    lines = head.split(b"\n")
    headers = [
        (name.strip().lower(), value.strip())
        for name, found, value in (line.partition(b":") for line in lines[1:])
        if found
    ]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "headers": headers,
        "query_string": lines[0],
        "server": ("127.0.0.1", 8080),
    }
    return Request(scope, receive)
