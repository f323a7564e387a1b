"""CoinMarketCap's API: the only place that knows its addresses and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from mainspring.contracts.context import HttpRequest
from mainspring.contracts.errors import Problem
from mainspring.contracts.manifest import base_of
from mainspring.contracts.provider_answers import malformed, one_line, read_object, refused
from mainspring.contracts.secret import SecretText, connection_secret

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

MOST_COINS: Final = 10
_NAME: Final = "CoinMarketCap"
_HEADER: Final = "X-CMC_PRO_API_KEY"
_KEY: Final = SecretText((connection_secret("api_key"),))


class CoinMarketCap:
    """The API at one address."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._base, host = base_of(addresses, "coinmarketcap", "https://pro-api.coinmarketcap.com")
        self.hosts = frozenset({host})

    async def latest(self, ctx: CallContext, limit: int) -> list[Any]:
        """The largest coins as they stand now, each as the API tells it."""
        answer = await self._ask(ctx, "/v1/cryptocurrency/listings/latest", {"limit": str(limit)})
        data = answer.get("data")
        if not isinstance(data, list):
            raise malformed(_NAME)
        return data[:limit]

    async def account(self, ctx: CallContext) -> str:
        """Whether the key is let in; the API tells nobody's name, so the plan stands for it."""
        answer = await self._ask(ctx, "/v1/key/info", {})
        data = answer.get("data")
        plan = data.get("plan") if isinstance(data, dict) else None
        limit = plan.get("credit_limit_monthly") if isinstance(plan, dict) else None
        return f"{limit} credits a month" if isinstance(limit, int) else ""

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
        problem = refused(response, _NAME)
        if problem is not None:
            raise _told(problem, response.body)
        return read_object(response, _NAME)


def _told(problem: Problem, body: bytes) -> Problem:
    """The problem with the API's own sentence about it, which stands where no other API has it."""
    try:
        said = _said(orjson.loads(body))
    except orjson.JSONDecodeError:
        said = ""
    if not said:
        return problem
    return type(problem)(
        f"{problem.detail} It says: {said}", code=problem.code, retryable=problem.retryable,
        retry_after=problem.retry_after, unsent=problem.unsent,
    )  # fmt: skip


def _said(answer: Any) -> str:
    status = answer.get("status") if isinstance(answer, Mapping) else None
    said = status.get("error_message") if isinstance(status, Mapping) else None
    return one_line(said) if isinstance(said, str) else ""
