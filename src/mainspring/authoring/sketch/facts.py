"""Happenings that are told as facts: a page comes in; every new email is logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainspring.authoring.sketch.happenings import (
    ENDS,
    HappeningNames,
    TriggerEvent,
    classify_event,
)
from mainspring.authoring.sketch.reading import Token, begins
from mainspring.authoring.sketch.verbs import LEADING

_EACH: Final = frozenset({"every", "each", "any", "all"})
_INCOMING: Final = frozenset({"new", "incoming"})
_TOLD: Final = frozenset({"page", "webhook", "board", "event", "automation"})


def find_stated_events(
    tokens: Sequence[Token], known: HappeningNames
) -> tuple[list[TriggerEvent], list[Token]]:
    """Happenings that are told as facts: a page comes in; every new email is logged."""
    rest: list[Token] = []
    part: list[Token] = []
    found: list[TriggerEvent] = []
    for one in (*tokens, None):
        if one is not None and not (one.text in ENDS or one.text == ","):
            part.append(one)
            continue
        told = _told(part, known) if not found else None
        if found and _offers_call(part):
            # How it is noticed was said afterwards.
            found[0] = TriggerEvent("webhook", found[0].tokens, "when", True)
            part = []
        if told is not None:
            found.append(told)
            rest += [] if told.tokens == tuple(part) else part
        else:
            rest += part
        rest += [] if one is None else [one]
        part = []
    return found, rest


_CALLING: Final = frozenset({"call", "post", "hit", "send", "ping", "notify", "request", "invoke"})
_ABLE: Final = frozenset({"can", "could", "will", "would", "may", "able", "supports"})
_ADDRESS_WORDS: Final = frozenset(
    {"url", "address", "endpoint", "link", "webhook", "webhooks", "http"}
)


def _offers_call(part: Sequence[Token]) -> bool:
    """Whether it is told that somebody can call: it can call a URL."""
    words = {one.low for one in part}
    return bool(words & _CALLING and words & _ABLE and words & _ADDRESS_WORDS)


def _told(part: Sequence[Token], known: HappeningNames) -> TriggerEvent | None:
    words = {one.low for one in part}
    if _offers_call(part) or (len(part) == 1 and words & {"webhook", "webhooks"}):
        return TriggerEvent("webhook", tuple(part), "when", True)
    asks = any(begins(part, at) and _is_first(part, at) for at in range(len(part)))
    if not asks:
        sort = classify_event(part, words, known) if len(part) > 1 else None
        return TriggerEvent(sort, tuple(part), "when", True) if sort in _TOLD else None
    for place, one in enumerate(part):
        before = {two.low for two in part[max(0, place - 2) : place]}
        incoming = before & _INCOMING and (before & _EACH or "incoming" in before)
        if incoming and one.low in known.pages:
            said = Token("word", "arrives", "arrives", one.end, one.end)
            return TriggerEvent("page", (*part[max(0, place - 1) : place + 1], said), "when")
        if one.low in {"webhook", "webhooks"} and (before & (_EACH | _INCOMING) or place < 2):
            return TriggerEvent("webhook", (one,), "when")
    return None


def _is_first(part: Sequence[Token], at: int) -> bool:
    """Whether a verb begins what is asked for, and does not belong to somebody who does it."""
    before = part[at - 1].low if at else ""
    return (
        at == 0
        or before in {"and", "please", "then", ",", ":", "-", "you"}
        or all(one.low in LEADING for one in part[:at])
    )
