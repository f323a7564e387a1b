"""Schedules in words: when a cron expression fires, as a person would say it."""

from __future__ import annotations

from mainspring.authoring.phrases.echo import format_zone, say_crons
from mainspring.authoring.review.wording import plain, quote_text
from mainspring.contracts.errors import Invalid
from mainspring.definition.cron import Cron, parse_cron


def read_cron(text: object) -> Cron | None:
    """The expression, or nothing where there is none or it cannot be read."""
    if not isinstance(text, str):
        return None
    try:
        return parse_cron(text)
    except Invalid:
        return None


def describe_schedule(cron: object, timezone: object) -> str:
    """``every weekday at 09:00 (Europe/Berlin)``, and what is missing where something is."""
    if not isinstance(cron, str):
        return "at times that are still to be chosen"
    if read_cron(cron) is None:
        return f"at times that cannot be read ({quote_text(cron, 40)})"
    zone = (
        format_zone(plain(timezone, 40))
        if isinstance(timezone, str)
        else "in a time zone still to be chosen"
    )
    return f"{plain(say_crons([cron]), 300)} ({zone})"
