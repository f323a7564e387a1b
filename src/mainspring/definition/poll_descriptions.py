"""Describing poll triggers in one sentence, the same for reviews, consent and lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mainspring.definition.polls import POLL, describe_interval, expand_poll


def describe_poll(trigger_type: str, config: Mapping[str, Any], quote: Callable[[str], str]) -> str:
    """``every 10 minutes: read …; one run for each new item``."""
    given = expand_poll(trigger_type, config)
    changed = "new or changed" if given.get("changed_on") else "new"
    if "items" not in given:
        changed = "changed"
    items = "all" if given.get("per") == "batch" else "each"
    runs = f"one run for {items} {changed} item{'s' if items == 'all' else ''}"
    every = describe_interval(given.get("every"))
    said = f"every {every}: read {_describe_source(trigger_type, config, quote)}; {runs}"
    if config.get("push") is not True:
        return said
    return f"{said}; {_PUSHED.get(trigger_type, 'have it report changes to this server')}"


# What is registered at the provider, which the person agrees to.
_PUSHED = {
    "github": "register a webhook in the repository, which reports changes to this server",
    "calendar_event": "watch your primary Google calendar, so that Google reports changes to this "
    "server",
    "file_added": "watch your Google Drive, so that Google reports changes to this server",
}


def _describe_source(
    trigger_type: str, config: Mapping[str, Any], quote: Callable[[str], str]
) -> str:
    def named(name: str, missing: str) -> str:
        value = config.get(name)
        return quote(value) if isinstance(value, str) else missing

    match trigger_type:
        case "rss_item":
            return f"the feed {named('url', 'that is not chosen yet')}"
        case "url_changed":
            return f"the address {named('url', 'that is not chosen yet')}"
        case "github":
            event = str(config.get("event", "")).partition("_")[0]
            what = {"pull": "pull requests", "": "items"}.get(event, f"{event}s")
            return f"the {what} of {named('repository', 'a repository')} at GitHub"
        case "calendar_event":
            where = named("url", "your Google calendars")
            minutes = config.get("starts_in_minutes")
            soon = "" if minutes is None else f" for events that start within {minutes} minutes"
            return f"the calendar {where}{soon}" if "url" in config else f"{where}{soon}"
        case "email_received":
            box = "your Gmail account" if config.get("mailbox") == "gmail" else "your mailbox"
            return f"{box}, searching {named('query', '')}" if "query" in config else box
        case "file_added":
            return f"your Google Drive, searching {named('query', 'for nothing yet')}"
    return _describe_call(config, quote) if trigger_type == POLL else quote(trigger_type)


def _describe_call(config: Mapping[str, Any], quote: Callable[[str], str]) -> str:
    capability, arguments = config.get("capability"), config.get("arguments")
    if not isinstance(capability, str):
        return "a source that is not chosen yet"
    given = arguments if isinstance(arguments, Mapping) else {}
    ref = given.get("ref")
    url = given.get("url", ref.get("url") if isinstance(ref, Mapping) else None)
    at = f" at {quote(url)}" if isinstance(url, str) else ""
    return f"with {quote(capability)}{at}"
