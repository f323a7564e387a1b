"""Compares how often two versions of an automation start, and what starts them.

Schedules are reduced to one number, the firings on an average day, because it does not matter which
of two schedules starts a run. Other triggers are compared one by one: a new trigger is an addition,
and so is a trigger whose authentication or filter became weaker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from mainspring.contracts.errors import Invalid
from mainspring.contracts.write_description import quote_name
from mainspring.definition.cron import describe, parse_cron
from mainspring.definition.strict_json import is_same_value

_SCHEDULE: Final = "schedule"
_WEBHOOK: Final = "webhook"
# Catch-up policies from least to most, the default policy, and the default catch-up window.
_MISSED: Final = ("skip", "fire_once", "fire_all")
_USUALLY: Final = "fire_once"
_WINDOW: Final = 3_600
# Four years contain every kind of calendar day.
_FIRST: Final = date(2024, 1, 1)
_DAYS: Final = 1_461


@dataclass(frozen=True, slots=True)
class EnabledTrigger:
    """A trigger that is enabled."""

    type: str
    pointer: str
    config: Mapping[str, Any] = field(default_factory=dict)
    # The static inputs of the runs that it starts.
    inputs: Mapping[str, Any] = field(default_factory=dict)


def read_enabled_triggers(triggers: Iterable[Any]) -> tuple[EnabledTrigger, ...]:
    """The enabled triggers of a definition."""
    return tuple(
        EnabledTrigger(
            str(entry.get("type")),
            f"/triggers/{place}",
            entry.get("config") or {},
            entry.get("inputs") or {},
        )
        for place, entry in enumerate(triggers)
        if isinstance(entry, Mapping) and entry.get("enabled", True)
    )


def estimate_firings_per_day(starts: Iterable[EnabledTrigger]) -> Fraction:
    """How often the schedules fire on an average day."""
    rates = (_rate(str(one.config.get("cron"))) for one in starts if one.type == _SCHEDULE)
    return sum(rates, Fraction(0))


def find_added_triggers(
    before: Sequence[EnabledTrigger], after: Sequence[EnabledTrigger], now: str
) -> Iterator[tuple[str, str]]:
    """Triggers that start the automation more often or in a new way: pointer and sentence."""
    was, rate = estimate_firings_per_day(before), estimate_firings_per_day(after)
    if rate > was:
        scheduled = [one for one in after if one.type == _SCHEDULE]
        known = [one.config.get("cron") for one in before]
        at = next((s.pointer for s in scheduled if s.config.get("cron") not in known), "/triggers")
        says = f"It{now} starts {_rhythm(scheduled, rate)}"
        yield at, says + (f" instead of {_often(was)}." if was else ".")
    yield from _compare_catch_up(before, after, rate - was, now)
    others = [one for one in after if one.type != _SCHEDULE]
    for one in others:
        if not any(_opens(known, one) for known in before):
            yield one.pointer, _describe_trigger(one, before, now)


def _compare_catch_up(
    before: Sequence[EnabledTrigger], after: Sequence[EnabledTrigger], more: Fraction, now: str
) -> Iterator[tuple[str, str]]:
    """Missed fire times that are now caught up and were not before."""
    for rank, words in ((2, "each start"), (1, "one start")):
        known, late = _late(before, rank), _late(after, rank)
        rise = estimate_firings_per_day(late) - estimate_firings_per_day(known)
        # A new or faster schedule is already reported, and catch-up is its usual setting.
        if rise > max(more, Fraction(0)) or (rise > 0 and not known and rank == len(_MISSED) - 1):
            says = f"After a standstill it{now} makes up for {words} that it missed."
            yield f"{late[-1].pointer}/config/misfire", says
            return
    known, late = _late(before, 1), _late(after, 1)
    was = max((_window(one) for one in known), default=_WINDOW)
    longest = max(late, key=_window, default=None)
    if longest is not None and _window(longest) > was:
        says = f"It{now} makes up for starts of the last {_window(longest):,} seconds"
        yield f"{longest.pointer}/config/catch_up_seconds", f"{says} instead of {was:,}."


def _late(starts: Iterable[EnabledTrigger], rank: int) -> list[EnabledTrigger]:
    """The schedules whose catch-up policy is at least this rank."""
    ways = ((one, one.config.get("misfire", _USUALLY)) for one in starts if one.type == _SCHEDULE)
    return [one for one, way in ways if way not in _MISSED or _MISSED.index(way) >= rank]


def _window(start: EnabledTrigger) -> int:
    wanted = start.config.get("catch_up_seconds", _WINDOW)
    return wanted if isinstance(wanted, int) else _WINDOW


@lru_cache(maxsize=1_024)
def _rate(text: str) -> Fraction:
    try:
        cron = parse_cron(text)
    except Invalid:
        # It was validated under other rules; assume the maximum frequency.
        return Fraction(1_440)
    minutes, hours = cron.hands
    times = len(minutes) * len(hours)
    if cron.fields[2:] == ("*", "*", "*"):
        return Fraction(times)
    days = sum(cron.fires_on(_FIRST + timedelta(days=number)) for number in range(_DAYS))
    # Count a day that occurs once in many years as well.
    return Fraction(times * max(days, 1), _DAYS)


def _rhythm(scheduled: Sequence[EnabledTrigger], rate: Fraction) -> str:
    """The schedule as a sentence, where one exists, with its frequency."""
    often = _often(rate)
    crons = {str(one.config.get("cron")) for one in scheduled}
    if len(crons) != 1 or len(scheduled) != 1:
        return often
    try:
        words = describe(parse_cron(crons.pop()))
    except Invalid:
        return often
    return f"{words[:1].lower()}{words[1:]} ({often})" if words.startswith("Every") else often


def _often(rate: Fraction) -> str:
    if rate == 1:
        return "once a day"
    if rate > 1:
        return f"{_about(rate)} times a day"
    for days, word in ((7, "week"), (Fraction(_DAYS, 48), "month"), (Fraction(_DAYS, 4), "year")):
        times = rate * days
        if times >= Fraction(95, 100):
            return f"once a {word}" if round(times) == 1 else f"{_about(times)} times a {word}"
    return "less than once a year"


def _about(times: Fraction) -> str:
    whole = round(times)
    return f"{whole:,}" if abs(times - whole) < Fraction(1, 20) else f"{float(times):.1f}"


def _opens(known: EnabledTrigger, one: EnabledTrigger) -> bool:
    """Whether what fires this trigger could already fire the other one."""
    if known.type != one.type:
        return False
    if one.type == _WEBHOOK:
        return is_same_value(known.config.get("signature"), one.config.get("signature")) or (
            known.config.get("signature") is None
        )
    # These settings only narrow a trigger: one that keeps all of them unchanged fires no more
    # often.
    return all(
        key in one.config and _hears(value, one.config[key]) for key, value in known.config.items()
    )


def _hears(known: Any, one: Any) -> bool:
    if isinstance(known, list) and isinstance(one, list):
        return all(any(is_same_value(entry, other) for other in known) for entry in one)
    return is_same_value(known, one)


def _describe_trigger(one: EnabledTrigger, before: Sequence[EnabledTrigger], now: str) -> str:
    if one.type == _WEBHOOK:
        signed = one.config.get("signature") is not None
        if any(known.type == _WEBHOOK for known in before):
            return (
                "Calls of its webhook are checked in another way now."
                if signed
                else "Calls of its webhook need no signature any more."
            )
        who = "who can sign its calls" if signed else "who knows the address"
        return f"It{now} starts by a webhook, for everybody {who}."
    if one.type == "event":
        return f"It{now} starts with {_which(one)} events of the type {_event(one)}."
    if one.type == "board_change":
        board = quote_name(str(one.config.get("board_id")))
        return f"It{now} starts when the board {board} changes{_only(one, 'board_id')}."
    if one.type == "page_ingested":
        return f"It{now} starts when a page is written{_only(one)}."
    return f"It{now} starts by a trigger of the type {quote_name(one.type)}."


def _which(one: EnabledTrigger) -> str:
    return "some" if one.config.get("filters") else "all"


def _event(one: EnabledTrigger) -> str:
    return quote_name(str(one.config.get("event_type")))


def _only(one: EnabledTrigger, *known: str) -> str:
    return ", with conditions" if one.config.keys() - set(known) else ""
