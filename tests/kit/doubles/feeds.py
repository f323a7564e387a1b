"""A web server on loopback with documents at its paths: JSON, calendars and feeds."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving


@dataclass(slots=True)
class WebDouble(ScriptedDouble):
    """What is at each path, with its kind; everything else is not found."""

    documents: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    seen: list[dict[str, str]] = field(default_factory=list)

    def put(self, path: str, body: bytes, kind: str = "application/xml") -> str:
        """Puts a document at a path; answers its address."""
        self.documents[path] = (body, kind)
        return f"{self.url}{path}"

    def put_json(self, path: str, value: Any) -> str:
        return self.put(path, json.dumps(value).encode(), "application/json")

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        self.seen.append(headers)
        if method != "GET" or body:
            return http_answer(405, b"", "Allow: GET")
        found = self.documents.get(target)
        if found is None:
            return http_answer(404, b"nothing here", "Content-Type: text/plain")
        return http_answer(200, found[0], f"Content-Type: {found[1]}")


KEY = "b54bcf4d-1bca-4e8e-9a24-22ff2c3d462c"


@dataclass(slots=True)
class MarketDouble(ScriptedDouble):
    """CoinMarketCap's API: a key in a header, a listing, and errors in its own words."""

    coins: list[Any] = field(default_factory=list)

    def quote(self, symbol: str, price: float, at: str, **more: Any) -> dict[str, Any]:
        """A coin as the listing tells it, put at its end."""
        shown: dict[str, Any] = {
            "id": len(self.coins) + 1,
            "name": symbol.title(),
            "symbol": symbol,
            "cmc_rank": len(self.coins) + 1,
            "last_updated": at,
            "quote": [
                {
                    "id": 2781,
                    "symbol": "USD",
                    "price": price,
                    "market_cap": price * 1000,
                    "last_updated": at,
                }
            ],
            **more,
        }
        self.coins.append(shown)
        return shown

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        target = head.split(b" ", 2)[1].decode()
        path, _, query = target.partition("?")
        if headers.get("x-cmc_pro_api_key") != KEY:
            return refusal(401, 1001, "This API Key is invalid.")
        if path == "/v1/key/info":
            return _answer(200, {"data": {"plan": {"credit_limit_monthly": 10_000.0}}})
        # Version 1 of the listing is deprecated; a client must not depend on it.
        if path != "/v3/cryptocurrency/listings/latest":
            return refusal(404, 404, "Not found")
        given = dict(pair.split("=") for pair in query.split("&"))
        if given.get("convert") != "USD":
            return refusal(400, 400, "This double converts to USD only.")
        limit = int(given["limit"])
        return _answer(200, {"status": {"error_code": 0}, "data": self.coins[:limit]})


def refusal(status: int, code: int | str, message: str, *headers: str) -> bytes:
    """An error as the market words it."""
    output = {"status": {"error_code": code, "error_message": message}}
    return _answer(status, output, *headers)


def _answer(status: int, value: Any, *headers: str) -> bytes:
    body = json.dumps(value).encode()
    return http_answer(status, body, "Content-Type: application/json", *headers)


@contextlib.asynccontextmanager
async def web_double() -> AsyncIterator[WebDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(WebDouble()) as double:
        yield double


@contextlib.asynccontextmanager
async def market_double() -> AsyncIterator[MarketDouble]:
    async with serving(MarketDouble()) as double:
        yield double
