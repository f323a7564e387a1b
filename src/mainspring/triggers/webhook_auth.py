"""Who may come in: the caller of a webhook, its signature, and how often it may call.

Who calls is looked up before the body is read, and the limits of a webhook are spent by its
own callers alone. Whoever may not come in gets one answer, whatever the reason is.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.gate.rate_limit import RateLimiter
from mainspring.store.database import Database
from mainspring.triggers.signing_keys import SigningKeyCache
from mainspring.triggers.webhook_limits import (
    RECEIPT_SECONDS,
    FairRateLimiter,
    receipt_timeout_error,
    retry_lost_connection,
    too_many_requests_error,
)
from mainspring.triggers.webhook_request import (
    Source,
    WebhookCache,
    WebhookRequest,
    unknown_webhook,
)
from mainspring.triggers.webhook_signature import is_genuine
from mainspring.workspace.vault import SecretScope, Vault
from mainspring.workspace.webhooks import WebhookTrigger

_TOO_OFTEN: Final = "This webhook was called more often than it may be."


class WebhookAuthenticator:
    """Finds the webhook of a call, or refuses whoever calls."""

    def __init__(self, database: Database, vault: Vault, limits: Limits) -> None:
        self._rate = RateLimiter(limits.webhook_burst, limits.webhook_per_second)
        self._neighbours = FairRateLimiter(
            min(limits.webhook_beside_per_second, limits.webhook_per_second),
            max(limits.webhook_waiting // 2, 1),
        )
        # Buckets of their own: nobody spends the limit of a webhook who may not call it.
        self._strangers = RateLimiter(limits.webhook_burst, limits.webhook_per_second)
        self._callers = WebhookCache(database)
        self._signing = SigningKeyCache(vault)

    @property
    def waiting(self) -> int:
        """Calls whose webhook nobody has begun to look up."""
        return self._callers.waiting

    async def find(self, knock: WebhookRequest, *, fresh: bool = False) -> WebhookTrigger:
        """The webhook that is called, as it is now or, unless it must be fresh, was just now."""
        try:
            async with asyncio.timeout(RECEIPT_SECONDS):
                webhook = None if fresh else await self._callers.find(knock.source)
                if webhook is None or not knock.may_be_for(webhook):
                    # What was remembered lets in, and never keeps out.
                    webhook = await self._callers.look(knock.source)
        except TimeoutError:
            raise receipt_timeout_error() from None
        if webhook is None or not knock.may_be_for(webhook):
            raise self._refused(knock)
        return webhook

    async def again(self, knock: WebhookRequest) -> WebhookRequest:
        """The same call for the webhook as it is now."""
        webhook = await self.find(knock, fresh=True)
        await self.check_signature(knock, webhook)
        return replace(knock, webhook=webhook)

    async def check_signature(self, knock: WebhookRequest, webhook: WebhookTrigger) -> None:
        """Refuses a call that is not signed as its webhook asks; the body is there now."""
        if await self._is_signed(knock, webhook):
            return
        # What was remembered lets in, and never keeps out: the secret and the time are others now.
        if not await self._is_signed(knock, await self.find(knock, fresh=True)):
            raise self._refused(knock)

    async def _is_signed(self, knock: WebhookRequest, webhook: WebhookTrigger) -> bool:
        secret = webhook.signing_secret
        if secret is None:
            return True
        name = (SecretScope(webhook.workspace_id, webhook.owner_id), secret)
        key = await retry_lost_connection(
            lambda: self._signing.read(name, of_leaver=webhook.suspended)
        )
        if key is None or knock.seal is None:
            return False
        return is_genuine(knock.seal, knock.raw, key, webhook.now)

    async def charge(self, webhook: WebhookTrigger) -> None:
        """Counts a call against the limits of its webhook; it may have to wait for its turn."""
        seconds = self._rate.closed_for(webhook.id)
        seconds = seconds or await self._neighbours.let_in(webhook.workspace_id, webhook.id)
        seconds = seconds or self._rate.take(webhook.id)
        if seconds:
            raise too_often(seconds)

    def closed_for(self, webhook: WebhookTrigger) -> float:
        """Seconds until this webhook may be called again; mostly none."""
        return max(self._neighbours.closed_for(webhook.id), self._rate.closed_for(webhook.id))

    def is_flooded(self, webhook: WebhookTrigger) -> bool:
        """Whether this webhook is called as often as it may be."""
        return self._neighbours.is_behind(webhook.id) or self._rate.closed_for(webhook.id) > 0

    def forget(self, source: Source) -> None:
        """Has the webhook of a source read anew by its next call."""
        self._callers.keep(source, None)

    async def aclose(self) -> None:
        await self._callers.aclose()

    def _refused(self, knock: WebhookRequest) -> Problem:
        """The answer to whoever may not come in, and to a flood of them."""
        seconds = self._strangers.take(knock.source)
        return too_often(seconds) if seconds else unknown_webhook()


def too_often(seconds: float) -> Problem:
    """The answer to whoever calls more often than the limits of a webhook allow."""
    return too_many_requests_error(_TOO_OFTEN, seconds)


def is_too_often(problem: Problem) -> bool:
    """Whether a rate is used up: until it is over, no other call of the same caller comes in."""
    return problem.detail == _TOO_OFTEN
