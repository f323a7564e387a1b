"""Counts the requests that webhooks refused, so that their owners see them.

The counts are of one process since it started: a flood of refused requests writes nothing to the
database. Each webhook has one entry for each reason, with the headers of the last request.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from mainspring.workspace.webhooks import WebhookTrigger

_MOST_WEBHOOKS: Final = 1_000
_MOST_REASONS: Final = 20
_MOST_HEADERS: Final = 40
_LONGEST_VALUE: Final = 200
NO_CREDENTIALS: Final = "no_credentials"
BAD_SIGNATURE: Final = "bad_signature"
STALE: Final = "stale_timestamp"
UNKNOWN: Final = "unknown_webhook"
SLOW: Final = "too_slow"


@dataclass(slots=True)
class Refusal:
    """The requests of one webhook that were refused for one reason."""

    reason: str
    count: int
    last_at: datetime
    # Of the last one, without credentials.
    headers: Mapping[str, str] = field(default_factory=dict)


class WebhookRefusals:
    """The refused requests of one process."""

    def __init__(self) -> None:
        # Least recently refused first.
        self._by_webhook: OrderedDict[UUID, dict[str, Refusal]] = OrderedDict()
        self.totals: Counter[str] = Counter()

    def count(self, webhook: WebhookTrigger, reason: str, headers: Mapping[str, str]) -> None:
        """Count a refused request of a webhook. ``headers`` have no credentials."""
        self.totals[reason] += 1
        found = self._by_webhook.setdefault(webhook.id, {})
        self._by_webhook.move_to_end(webhook.id)
        if reason not in found and len(found) >= _MOST_REASONS:
            return
        earlier = found.get(reason)
        shown = {
            name[:_LONGEST_VALUE]: value[:_LONGEST_VALUE]
            for name, value in list(headers.items())[:_MOST_HEADERS]
        }
        found[reason] = Refusal(
            reason, 1 if earlier is None else earlier.count + 1, webhook.now, shown
        )
        if len(self._by_webhook) > _MOST_WEBHOOKS:
            self._by_webhook.popitem(last=False)

    def count_unknown(self) -> None:
        """Count a request that names no webhook."""
        self.totals[UNKNOWN] += 1

    def read(self, webhook_id: UUID) -> list[Refusal]:
        """The refusals of a webhook, the most recent first."""
        found = self._by_webhook.get(webhook_id, {})
        return sorted(found.values(), key=lambda one: one.last_at, reverse=True)
