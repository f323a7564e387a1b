"""Describing triggers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.authoring.phrases.schedule_sentences import format_zone, say_crons
from mainspring.authoring.review.definition_reader import TriggerView, listing
from mainspring.authoring.review.quoting import join_list, plain, quote_text
from mainspring.authoring.review.values import Names, describe_board
from mainspring.contracts.errors import Invalid
from mainspring.definition.chat_triggers import describe_chat_trigger
from mainspring.definition.forms import FORM, is_public_form
from mainspring.definition.poll_descriptions import describe_poll
from mainspring.definition.polls import POLL_TYPES
from mainspring.definition.schedules import (
    TIME_KEYS,
    Schedule,
    describe_schedule,
    parse_schedule,
)

# Describing schedules.


def read_times(config: Mapping[str, Any]) -> Schedule | None:
    """Parse a schedule; None when it is missing or invalid. Without a time zone, UTC is used."""
    zone = config.get("timezone")
    try:
        return parse_schedule({**config, "timezone": zone if isinstance(zone, str) else "UTC"})
    except Invalid:
        return None


def describe_config(config: Mapping[str, Any]) -> str:
    """``every weekday at 09:00 (Europe/Berlin)``, and what is missing, if anything."""
    given = [config[key] for key in TIME_KEYS if key in config]
    if not any(isinstance(one, str | list) for one in given):
        return "at times that are not chosen yet"
    schedule = read_times(config)
    if schedule is None:
        shown = given[0] if isinstance(given[0], str) else json.dumps(given[0])
        return f"at an invalid schedule ({quote_text(shown, 40)})"
    timezone = config.get("timezone")
    zone = (
        format_zone(plain(timezone, 40))
        if isinstance(timezone, str)
        else "in a time zone that is not chosen yet"
    )
    told = describe_schedule(schedule, lambda crons: say_crons([cron.text for cron in crons]))
    return f"{plain(told, 300)} ({zone})"


BY_HAND = "when started manually"
STILL_OPEN = "at a time that is not chosen yet"


def describe_triggers(triggers: Sequence[TriggerView], names: Names) -> str:
    """Describe all triggers as the start of a sentence."""
    armed = [trigger for trigger in triggers if trigger.enabled]
    return (
        join_list([describe_trigger(one, names) for one in armed], 3, "and") if armed else BY_HAND
    )


def describe_trigger(trigger: TriggerView, names: Names) -> str:
    """Describe when a trigger fires."""
    config = trigger.config
    match trigger.type:
        case "schedule":
            return describe_config(config)
        case "webhook":
            return (
                "whenever its webhook is called"
                + _describe_signature(config)
                + _ANSWER_WORDS.get(str(config.get("respond")), "")
            )
        case "form":
            return _describe_form(config)
        case "event":
            return f"whenever {_event(config)} is published{_describe_filter(config)}"
        case "board_change":
            return f"whenever {_board(config, names)} changes{_describe_filter(config)}"
        case "chat_message":
            return f"whenever {describe_chat_trigger(config, lambda text: quote_text(text, 100))}"
        case "page_ingested":
            return f"whenever {_page(config)} is added{_describe_filter(config)}"
        case kind if kind in POLL_TYPES:
            return describe_poll(kind, config, lambda text: quote_text(text, 100))
    return (
        f"on a trigger of the kind {quote_text(trigger.type, 40)}" if trigger.type else STILL_OPEN
    )


_AUTH_WORDS: Final = {
    "secret_url": " at its secret address",
    "basic": " with a user name and password",
    "header": " with a secret header",
    "standard_webhooks": " with a signature",
}


_ANSWER_WORDS: Final = {
    "when_done": ", which answers with the output of the run",
    "by_step": ", which answers with the result of a step",
}


def _describe_form(config: Mapping[str, Any]) -> str:
    who = "anyone with the link" if is_public_form(FORM, config) else "a member"
    title = config.get("title")
    form = f"the form {quote_text(title)}" if isinstance(title, str) else "its form"
    said = f"whenever {who} sends {form}"
    redirect = config.get("redirect")
    if isinstance(redirect, str):
        said += f", and then opens {quote_text(redirect, 200)}"
    return said + _ANSWER_WORDS.get(str(config.get("respond")), "")


def _describe_signature(config: Mapping[str, Any]) -> str:
    if isinstance(config.get("signature"), Mapping):
        return " with a signature"
    auth = config.get("auth")
    if not isinstance(auth, Mapping):
        return ""
    if auth.get("type") == "signature":
        return f" with a signature of {quote_text(str(auth.get('provider')), 40)}"
    return _AUTH_WORDS.get(str(auth.get("type")), "")


def _event(config: Mapping[str, Any]) -> str:
    kind = config.get("event_type")
    return (
        f"the event {quote_text(kind)}"
        if isinstance(kind, str)
        else ("an event that is not chosen yet")
    )


def _board(config: Mapping[str, Any], names: Names) -> str:
    board, dataset = config.get("board_id"), config.get("dataset")
    shown = (
        f"the board {describe_board(board, names)}"
        if isinstance(board, str)
        else ("a board that is not chosen yet")
    )
    return f"the dataset {quote_text(dataset)} of {shown}" if isinstance(dataset, str) else shown


def _page(config: Mapping[str, Any]) -> str:
    kind, source = config.get("page_type"), config.get("source")
    new = "a new page" if config.get("created") is True else "a page"
    of = f" of the type {quote_text(kind, 40)}" if isinstance(kind, str) else ""
    return new + of + (f" from {quote_text(source, 40)}" if isinstance(source, str) else "")


def _describe_filter(config: Mapping[str, Any]) -> str:
    """Name the fields that a filter tests; its full text would be code."""
    filters = config.get("filters")
    if not isinstance(filters, Mapping) or not filters:
        return ""
    fields = sorted({name for name in _fields(filters) if not name.startswith("$")})
    shown = join_list([quote_text(name, 30) for name in fields], 4)
    match = "matches" if len(fields) == 1 else "match"
    return f" and its {shown} {match} the filter" if shown else ""


def _fields(filters: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    waiting: list[Any] = [filters]
    while waiting and len(found) < 20:
        one = waiting.pop()
        if not isinstance(one, Mapping):
            continue
        for name, below in list(one.items())[:50]:
            found.append(str(name))
            if str(name).startswith("$"):
                waiting += [below] if isinstance(below, Mapping) else listing(below)[:50]
    return found
