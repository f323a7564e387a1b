"""Each starter is installed, goes off against doubles, and writes what it says, once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import pytest

from tests.integration.starters import (
    briefings,
    guarding,
    inboxes,
    intake,
    packs,
    reports,
    watching,
)
from tests.kit.starters import StarterBench

pytestmark = pytest.mark.asyncio(loop_scope="module")

STORIES: Final[Mapping[str, Callable[[StarterBench], Awaitable[None]]]] = {
    "calendar-prep": reports.calendar_prep,
    "changelog-watch": guarding.changelog_watch,
    "ci-failure-digest": reports.ci_failure_digest,
    "coinmarketcap-top10": watching.coinmarketcap_top10,
    "competitor-digest": watching.competitor_digest,
    "crm-enrichment": intake.crm_enrichment,
    "customer-feedback-summary": intake.customer_feedback_summary,
    "data-backup-check": guarding.data_backup_check,
    "deadline-nudger": reports.deadline_nudger,
    "expense-tracker": intake.expense_tracker,
    "github-issue-triage": intake.github_issue_triage,
    "hiring-pipeline": packs.hiring_pipeline,
    "inbox-triage": inboxes.inbox_triage,
    "invoice-logging": inboxes.invoice_logging,
    "kpi-scorer": reports.kpi_scorer,
    "lead-intake": intake.lead_intake,
    "mail-digest": briefings.mail_digest,
    "meeting-notes-to-tasks": inboxes.meeting_notes_to_tasks,
    "on-call-summary": reports.on_call_summary,
    "operations-pack": packs.operations_pack,
    "price-watch": watching.price_watch,
    "product-launch": packs.product_launch,
    "release-notes": reports.release_notes,
    "research-pack": packs.research_pack,
    "rss-to-board": watching.rss_to_board,
    "standup-collector": briefings.standup_collector,
    "subscription-renewals": guarding.subscription_renewals,
    "uptime-check": watching.uptime_check,
    "weather-briefing": briefings.weather_briefing,
    "website-change-watch": guarding.website_change_watch,
    "weekly-revenue-report": reports.weekly_revenue_report,
    "weekly-review": briefings.weekly_review,
}


@pytest.mark.parametrize("slug", STORIES)
async def test_a_starter_does_what_it_says_and_nothing_twice(shop: StarterBench, slug: str) -> None:
    await STORIES[slug](shop)
