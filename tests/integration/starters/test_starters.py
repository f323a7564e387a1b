"""Each starter is installed, goes off against doubles, and writes what it says, once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import pytest

from tests.integration.starters import inboxes, reports, watching
from tests.kit.starters import Shop

pytestmark = pytest.mark.asyncio(loop_scope="module")

STORIES: Final[Mapping[str, Callable[[Shop], Awaitable[None]]]] = {
    "calendar-prep": reports.calendar_prep,
    "ci-failure-digest": reports.ci_failure_digest,
    "coinmarketcap-top10": watching.coinmarketcap_top10,
    "competitor-digest": watching.competitor_digest,
    "deadline-nudger": reports.deadline_nudger,
    "inbox-triage": inboxes.inbox_triage,
    "invoice-logging": inboxes.invoice_logging,
    "kpi-scorer": reports.kpi_scorer,
    "meeting-notes-to-tasks": inboxes.meeting_notes_to_tasks,
    "on-call-summary": reports.on_call_summary,
    "price-watch": watching.price_watch,
    "release-notes": reports.release_notes,
    "rss-to-board": watching.rss_to_board,
    "uptime-check": watching.uptime_check,
    "weekly-revenue-report": reports.weekly_revenue_report,
}


@pytest.mark.parametrize("slug", STORIES)
async def test_a_starter_does_what_it_says_and_nothing_twice(shop: Shop, slug: str) -> None:
    await STORIES[slug](shop)
