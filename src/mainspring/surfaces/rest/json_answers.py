"""How values become JSON answers.

A route returns an ``Answer`` around plain rows: moments are written as RFC 3339 in UTC with
a Z, decimals as the digits they are, ids as text. Its shape is declared beside the route
for the published document, and checked by tests instead of once more for each answer.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson
from pydantic import BaseModel
from starlette.responses import JSONResponse


class JsonAnswer(JSONResponse):
    """JSON, written once and as it is."""

    def render(self, content: Any) -> bytes:
        return as_json(content)


def as_json(value: Any) -> bytes:
    """The bytes of an answer."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC)


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        # The driver's ids are of a class of its own.
        return str(value)
    if isinstance(value, Decimal):
        # A number in JSON has no room for more than its digits, and needs no less.
        return orjson.Fragment(format(value, "f").encode())
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True)
    if hasattr(value, "keys"):
        return dict(value.items())
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
