"""CoinMarketCap API client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import PermissionDenied, Problem, ReconnectRequired, UpstreamError
from mainspring.contracts.manifest import resolve_base_address
from mainspring.contracts.provider_responses import (
    format_one_line,
    malformed_response_error,
    parse_refusal,
    read_object,
    retry_after,
)
from mainspring.contracts.secret import SecretText, build_connection_secret

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

MOST_COINS: Final = 10
_NAME: Final = "CoinMarketCap"
_HEADER: Final = "X-CMC_PRO_API_KEY"
_KEY: Final = SecretText((build_connection_secret("api_key"),))
_PLAN: Final = "See the plan of the key at pro.coinmarketcap.com."
# The key is missing or disabled.
_NO_KEY: Final = frozenset({1005, 1007})
_MINUTE: Final = 1008
# By error code: whether the limit resets within a minute, its description, and the remedy.
_LIMITS: Final[Mapping[int, tuple[bool, str, str | None]]] = {
    _MINUTE: (
        True,
        "CoinMarketCap asks for a pause: the limit of requests a minute is used up.",
        None,
    ),
    1009: (
        False,
        "The CoinMarketCap key has used up its requests of the day.",
        f"Wait until tomorrow, or choose a larger plan. {_PLAN}",
    ),
    1010: (
        False,
        "The CoinMarketCap key has used up its credits of the month.",
        f"Wait until they are renewed, or choose a larger plan. {_PLAN}",
    ),
    1011: (
        False,
        "CoinMarketCap gets too many requests from the address of this installation.",
        "Wait a while; other programs at the same address count too.",
    ),
}


class CoinMarketCap:
    """The API client for one base URL."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._base, host = resolve_base_address(
            addresses, "coinmarketcap", "https://pro-api.coinmarketcap.com"
        )
        self.hosts = frozenset({host})

    async def latest(self, ctx: CallContext, limit: int) -> list[Any]:
        """List the largest coins as the API returns them."""
        query = {"limit": str(limit), "convert": "USD"}
        answer = await self._ask(ctx, "/v3/cryptocurrency/listings/latest", query)
        data = answer.get("data")
        if not isinstance(data, list):
            raise malformed_response_error(_NAME)
        return data[:limit]

    async def account(self, ctx: CallContext) -> str:
        """Check the key; the API returns no account name, so the plan is used."""
        answer = await self._ask(ctx, "/v1/key/info", {})
        data = answer.get("data")
        plan = data.get("plan") if isinstance(data, dict) else None
        limit = plan.get("credit_limit_monthly") if isinstance(plan, dict) else None
        return f"{limit:.0f} credits a month" if isinstance(limit, int | float) else ""

    async def _ask(self, ctx: CallContext, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        response = await ctx.http.send(
            HttpRequest(
                method="GET",
                url=f"{self._base}{path}",
                headers={"Accept": "application/json", _HEADER: _KEY},
                query=dict(query),
                follow_redirects=False,
            )
        )
        problem = _limit_reached(response) or parse_refusal(response, _NAME)
        if problem is not None:
            raise _add_provider_message(problem, response.body)
        return read_object(response, _NAME)


def _limit_reached(response: HttpResponse) -> Problem | None:
    """Map a rate limit or plan error by CoinMarketCap's code; None for anything else.

    Status 429 means one of four limits, and only the per-minute one resets soon.
    """
    if response.status == 429:
        passes, detail, suggestion = _LIMITS.get(_code(response.body), _LIMITS[_MINUTE])
        return UpstreamError(
            detail,
            code="provider_busy" if passes else "coinmarketcap_limit",
            retryable=passes,
            retry_after=(retry_after(response.headers) or 60.0) if passes else None,
            suggestion=suggestion,
            unsent=True,
        )
    if response.status == 403 and _code(response.body) in _NO_KEY:
        return ReconnectRequired(
            "CoinMarketCap does not accept this key any more.", code="coinmarketcap_key"
        )
    if response.status in {402, 403}:
        return PermissionDenied(
            "CoinMarketCap does not allow this with the plan of this key.",
            code="coinmarketcap_plan",
            suggestion=_PLAN,
            unsent=True,
        )
    return None


def _add_provider_message(problem: Problem, body: bytes) -> Problem:
    """Add the API's own error message to the problem."""
    said = _status(body).get("error_message")
    if not isinstance(said, str) or not said.strip():
        return problem
    return type(problem)(
        f"{problem.detail} It says: {format_one_line(said)}",
        code=problem.code,
        retryable=problem.retryable,
        retry_after=problem.retry_after,
        suggestion=problem.suggestion,
        unsent=problem.unsent,
    )


def _code(body: bytes) -> int:
    """Return CoinMarketCap's error code; some versions send it as text."""
    found = str(_status(body).get("error_code", ""))
    return int(found) if found.isascii() and found.isdigit() and len(found) < 10 else 0


def _status(body: bytes) -> Mapping[str, Any]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    status = answer.get("status") if isinstance(answer, Mapping) else None
    return status if isinstance(status, Mapping) else {}
