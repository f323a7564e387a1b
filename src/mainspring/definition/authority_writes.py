"""Compares outside writes that are sent without asking a person.

A write is unchanged while its capability, account, destination and outgoing template are: a change
to any of these is a new write, and a further copy of the same write is one more.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.capability import (
    find_declared_write,
    list_account_products,
    list_default_writes,
)
from mainspring.contracts.errors import Invalid, Problem
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.write_description import (
    WriteDescription,
    quote_lines,
    quote_name,
    quote_values,
    quote_whole,
    write_value,
)
from mainspring.definition.approval import (
    AGENTS,
    ASK,
    AUTOMATIC,
    SCRIPT,
    StepApproval,
    read_step_approval,
    read_written_grants,
)
from mainspring.definition.authority_text import bounds_words
from mainspring.definition.chat_triggers import (
    CHAT_MESSAGE,
    NO_ANSWER,
    build_chat_filter,
    describe_chat_trigger,
    read_chat_answer,
)
from mainspring.definition.forms import FORM, PUBLIC, is_public_form
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.json_schema.formats import is_timezone
from mainspring.definition.json_schema.keywords import iterate_subschemas
from mainspring.definition.poll_descriptions import describe_poll
from mainspring.definition.polls import POLL_TYPES, USUAL_MOST, read_poll
from mainspring.definition.schedules import (
    TIME_KEYS,
    CronTimes,
    EveryFewDays,
    EveryFewMinutes,
    ExcludedDays,
    Moments,
    Schedule,
    ScheduleTimes,
    describe_moments,
    describe_schedule,
    parse_schedule,
)
from mainspring.definition.script.findings import read_script_grants
from mainspring.definition.secret_use import list_webhook_secrets
from mainspring.definition.strict_json import encode_canonical, is_same_value
from mainspring.definition.templates import has_syntax, parse_predicate, parse_template
from mainspring.definition.tool_patterns import is_pattern, read_agent_grants
from mainspring.definition.traits import FlattenedStep, flatten_steps
from mainspring.definition.webhook_callers import WHEN_DONE, read_answer_policy

# Outside writes in product words: what is done, where it goes, by which account, with which text.
#
# One builder for every place that shows a write before a person agrees to it: the additions of a
# consent, the approval modes at review, the command line and the page.


_AGENTS: Final = frozenset({AGENT_RUN, AGENT_TASK})
_SCRIPT: Final = "script"
# Their hosts are bounds of the grant, which has words for them.
_REQUESTS: Final = frozenset({"http_fetch", "callback_webhook"})
_ACCOUNTS: Final = ("account", "account_id", "connection", "connection_id")
_PLACES: Final = (
    "to",
    "cc",
    "bcc",
    "channel",
    "channel_id",
    "url",
    "owner",
    "repo",
    "number",
    "team",
    "item_id",
    "calendar_id",
    "event_id",
    "attendees",
    "folder_id",
    "thread_id",
)


Config = Mapping[str, Any]
_Builder = Callable[[Config], WriteDescription]


def write_words(action: str, config: Config) -> WriteDescription | None:
    """A write that is described where it is declared; None for any other."""
    builder = _find_builder(action)
    return None if builder is None else builder(config)


def _find_builder(action: str) -> _Builder | None:
    declared = find_declared_write(action)
    own = None if declared is None else declared.describe
    return _BUILDERS.get(action) or own


def any_write_words(action: str, config: Config) -> WriteDescription:
    """The same for every action; one that is not known is named by its id."""
    return write_words(action, config) or _call(action, config)


def granted_write(grant: Grant, steps: Sequence[FlattenedStep], *, drafts: bool) -> str | None:
    """What a grant lets the steps send, and where; None where it is no known write.

    A destination is named only where the steps that send are all there is: what a model or a
    program may call as well is described by the bounds of the grant. ``drafts``: a step that says
    nothing asks each time.
    """
    name = grant.capability
    builder = _find_builder(name)
    if builder is None or name in _REQUESTS:
        return None
    own = [one for one in steps if one.action == name]
    if not own or any(_may_call(one, name) for one in steps):
        # Copies are told as bounds: to somebody is another thing than a copy to them.
        fixed = {key: one for key, one in grant.params.items() if key not in ("cc", "bcc")}
        words = builder(fixed)
        rest = {
            key: one for key, one in grant.params.items() if key not in _PLACES or key not in fixed
        }
        bounds = bounds_words(rest)
        return _phrase(words, grant.params) + (f" with {', '.join(bounds)}" if bounds else "")
    said = dict.fromkeys(_phrase(builder(one.config), one.config) for one in own)
    asks = all(_asks(one, drafts=drafts) for one in own)
    return " and ".join(said) + (", with approval each time" if asks else "")


def _phrase(words: WriteDescription, config: Config) -> str:
    account = find_named_account(config)
    if account is not None:
        return f"{words.infinitive} with the account {account}"
    return f"{words.infinitive} {owner_account(words)}" if words.integration else words.infinitive


def _may_call(step: FlattenedStep, capability: str) -> bool:
    """Whether a model or a program in this step may call it; a pattern may mean anything."""
    if step.action in _AGENTS:
        names = [one.capability for one in read_agent_grants(step.config)]
    elif step.action == _SCRIPT:
        names = [one.capability for one in read_script_grants(step.config)]
    else:
        return False
    return any(name == capability or is_pattern(name) for name in names)


def _list_at_once() -> frozenset[str]:
    return list_default_writes(with_safe=False)


def _asks(step: FlattenedStep, *, drafts: bool) -> bool:
    mode = step.approval
    if isinstance(mode, Mapping):
        mode = mode.get(step.action)
    return mode == "ask" or (mode is None and drafts and step.action not in _list_at_once())


def find_named_account(config: Config) -> str | None:
    """The account that a step names outright."""
    found = next((config[key] for key in _ACCOUNTS if key in config), None)
    return None if found is None else quote_whole(str(found))


def owner_account(words: WriteDescription) -> str:
    """How the account is called that the owner has connected, before it is looked up."""
    return list_owner_accounts()[words.integration]


def list_owner_accounts() -> dict[str, str]:
    """By integration: how a sentence calls the account that the owner has connected there."""
    products = list_account_products()
    return {key: f"with its owner's {name} account" for key, name in products.items()}


def fixed_places(params: Mapping[str, Any]) -> list[str]:
    """The destinations among the bounds of a tool or a grant."""
    return [f"{key} {quote_values(value)}" for key, value in params.items() if key in _PLACES]


def outgoing_text(config: Config, keys: Iterable[str]) -> str:
    """The whole outgoing template in one line: what is sent without approval is agreed to here."""
    texts = [write_value(config[key]) for key in keys if config.get(key) not in (None, "", [], {})]
    return " · ".join(map(quote_lines, texts))


def _request(usual: str) -> _Builder:
    def builder(config: Config) -> WriteDescription:
        url = config.get("url")
        site = parse_template_host(url)
        host = site.host if site is not None else str(url)
        method = quote_name(str(config.get("method", usual)))
        texts = ("json", "form", "text", "body")
        return WriteDescription("send", f"{method} requests to {quote_whole(host)}", texts)

    return builder


def _call(action: str, config: Config) -> WriteDescription:
    where = fixed_places(config)
    rest = tuple(key for key in config if key not in (*_PLACES, *_ACCOUNTS))
    return WriteDescription(
        "call", f"{quote_name(action)}{' with ' if where else ''}{', '.join(where)}", rest
    )


# Requests are steps of the language: no integration declares them.
_BUILDERS: Final[Mapping[str, _Builder]] = {
    "http_fetch": _request("GET"),
    "callback_webhook": _request("POST"),
}


# How often an automation starts, and what starts it.
#
# Schedules are one number, the starts of an average day, because it does not matter which of two
# schedules wakes it. Whatever else starts it has no number: another door is an addition, and so is
# a door that asks for less than it did.


_SCHEDULE: Final = "schedule"
_WEBHOOK: Final = "webhook"
_RESPOND: Final = "respond"
# What becomes of missed moments, the least first; what it is when it is left out; how far back.
_MISSED: Final = ("skip", "fire_once", "fire_all")
_USUALLY: Final = "fire_once"
_WINDOW: Final = 3_600
# Four years hold one of each kind of day.
_FIRST: Final = date(2024, 1, 1)
_DAYS: Final = 1_461


@dataclass(frozen=True, slots=True)
class EnabledTrigger:
    """One trigger that is switched on."""

    type: str
    pointer: str
    config: Mapping[str, Any] = field(default_factory=dict)
    # What the runs that it starts are given.
    inputs: Mapping[str, Any] = field(default_factory=dict)


def read_enabled_triggers(triggers: Iterable[Any]) -> tuple[EnabledTrigger, ...]:
    """The triggers of a definition that can go off."""
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
    """How often the schedules among them go off on an average day."""
    return sum((_rate_config(one.config) for one in starts if one.type == _SCHEDULE), Fraction(0))


def find_added_triggers(
    before: Sequence[EnabledTrigger], after: Sequence[EnabledTrigger], now: str
) -> Iterator[tuple[str, str]]:
    """What starts it more often or anew: the place, and a sentence."""
    was, rate = estimate_firings_per_day(before), estimate_firings_per_day(after)
    if rate > was:
        scheduled = [one for one in after if one.type == _SCHEDULE]
        known = [_times_of(one.config) for one in before]
        at = next((s.pointer for s in scheduled if _times_of(s.config) not in known), "/triggers")
        if was and _rate_whole(before) == _rate_whole(after):
            yield at, f"It{now} also starts on days that were excluded."
        else:
            says = f"It{now} starts {_rhythm(scheduled, rate)}"
            yield at, says + (f" instead of {_often(was)}." if was else ".")
    if rate >= was:
        yield from _compare_moments(before, after, now)
    yield from _compare_catch_up(before, after, rate - was, now)
    yield from _compare_answers(before, after, now)
    others = [one for one in after if one.type != _SCHEDULE]
    for one in others:
        if not any(_opens(known, one) for known in before):
            yield one.pointer, _describe_trigger(one, before, now)


def _compare_moments(
    before: Sequence[EnabledTrigger], after: Sequence[EnabledTrigger], now: str
) -> Iterator[tuple[str, str]]:
    """Single moments that were not agreed to: each one is another start."""
    known = {moment for one in before for part in _list_moments(one) for moment in part.moments}
    for one in after:
        for part in _list_moments(one):
            fresh = tuple(moment for moment in part.moments if moment not in known)
            if fresh:
                zone = str(one.config.get("timezone"))
                says = f"It{now} starts {describe_moments(Moments(fresh), zone)} ({zone})."
                yield f"{one.pointer}/config", says


def _list_moments(start: EnabledTrigger) -> list[Moments]:
    if start.type != _SCHEDULE:
        return []
    try:
        parts = parse_schedule(start.config).parts
    except Invalid:
        return []
    return [part for part in parts if isinstance(part, Moments)]


def _rate_whole(starts: Iterable[EnabledTrigger]) -> Fraction:
    """How often the schedules would fire without excluded days."""
    configs = (one.config for one in starts if one.type == _SCHEDULE)
    rates = (
        _rate_config({key: value for key, value in config.items() if key != "except"})
        for config in configs
    )
    return sum(rates, Fraction(0))


def _times_of(config: Mapping[str, Any]) -> list[Any]:
    """What decides how often a schedule fires."""
    return [config.get(key) for key in (*TIME_KEYS, "except")]


def _compare_answers(
    before: Sequence[EnabledTrigger], after: Sequence[EnabledTrigger], now: str
) -> Iterator[tuple[str, str]]:
    """Webhooks and forms whose callers now get results of the run."""
    known = Counter(_get_answered_callers(one) for one in before)
    for one in after:
        mode = _get_answer_mode(one)
        if mode is None:
            continue
        callers = _get_answered_callers(one)
        if known[callers]:
            known[callers] -= 1
            continue
        shown = "the output of the run" if mode == WHEN_DONE else "what a step answers"
        if one.type == CHAT_MESSAGE:
            yield f"{one.pointer}/config/respond", f"Its chat messages{now} get {shown}."
            return
        callers_of = "People who send its form" if one.type == FORM else "Callers of its webhook"
        yield f"{one.pointer}/config/respond", f"{callers_of}{now} get {shown}."
        return


def _get_answered_callers(one: EnabledTrigger) -> tuple[str | None, bytes]:
    """How callers of a webhook authenticate, or the provider of a chat; and what they get."""
    if one.type == CHAT_MESSAGE:
        # Who writes where is compared with the trigger itself.
        return _get_answer_mode(one), encode_canonical(one.config.get("via"))
    if one.type == FORM:
        return _get_answer_mode(one), encode_canonical([FORM, one.config.get("access", PUBLIC)])
    return _get_answer_mode(one), encode_canonical(one.config.get("auth"))


def _get_answer_mode(one: EnabledTrigger) -> str | None:
    if one.type == CHAT_MESSAGE:
        answer = read_chat_answer(one.config)
        return None if answer == NO_ANSWER else answer
    policy = read_answer_policy(one.config)
    return policy.mode if one.type in (_WEBHOOK, FORM) and policy.waits else None


def list_answering_steps(
    starts: Sequence[EnabledTrigger], steps: Sequence[FlattenedStep]
) -> frozenset[str]:
    """The pointers of the steps whose output callers of a webhook get."""
    if not any(_get_answer_mode(one) for one in starts):
        return frozenset()
    return frozenset(one.pointer for one in steps if one.action == _RESPOND)


def _compare_catch_up(
    before: Sequence[EnabledTrigger], after: Sequence[EnabledTrigger], more: Fraction, now: str
) -> Iterator[tuple[str, str]]:
    """Moments that were missed, and are made up for where they were not."""
    for rank, words in ((2, "each start"), (1, "one start")):
        known, late = _late(before, rank), _late(after, rank)
        rise = estimate_firings_per_day(late) - estimate_firings_per_day(known)
        # A schedule that is new or faster has been told of, and usually makes up for one.
        if rise > max(more, Fraction(0)) or (rise > 0 and not known and rank == len(_MISSED) - 1):
            says = f"After downtime it{now} makes up for {words} that it missed."
            yield f"{late[-1].pointer}/config/misfire", says
            return
    known, late = _late(before, 1), _late(after, 1)
    was = max((_window(one) for one in known), default=_WINDOW)
    longest = max(late, key=_window, default=None)
    if longest is not None and _window(longest) > was:
        says = f"It{now} makes up for missed starts of the last {_window(longest):,} seconds"
        yield f"{longest.pointer}/config/catch_up_seconds", f"{says} instead of {was:,}."


def _late(starts: Iterable[EnabledTrigger], rank: int) -> list[EnabledTrigger]:
    """The schedules that make up for at least so much."""
    ways = ((one, one.config.get("misfire", _USUALLY)) for one in starts if one.type == _SCHEDULE)
    return [one for one, way in ways if way not in _MISSED or _MISSED.index(way) >= rank]


def _window(start: EnabledTrigger) -> int:
    wanted = start.config.get("catch_up_seconds", _WINDOW)
    return wanted if isinstance(wanted, int) else _WINDOW


def _rate_config(config: Mapping[str, Any]) -> Fraction:
    """How often a schedule fires on an average day."""
    zone = config.get("timezone")
    try:
        return _rate(parse_schedule({**config, "timezone": zone if _is_zone(zone) else "UTC"}))
    except Invalid:
        # It was judged by other rules; as often as can be is never too little.
        return Fraction(1_440)


def _is_zone(zone: object) -> bool:
    return isinstance(zone, str) and is_timezone(zone)


@lru_cache(maxsize=1_024)
def _rate(schedule: Schedule) -> Fraction:
    whole = sum((_rate_part(part) for part in schedule.parts), Fraction(0))
    if not schedule.excluded:
        return whole
    lost = sum(
        (
            _rate_on(part, day)
            for day in _list_excluded(schedule.excluded)
            for part in schedule.parts
        ),
        Fraction(0),
    )
    return max(whole - lost / _DAYS, Fraction(0))


def _rate_part(part: ScheduleTimes) -> Fraction:
    if isinstance(part, EveryFewDays):
        return Fraction(1, part.days)
    if isinstance(part, EveryFewMinutes):
        return Fraction(
            timedelta(days=1) // timedelta(minutes=1), part.step // timedelta(minutes=1)
        )
    if isinstance(part, Moments):
        # Compared one by one: a moment that has passed says nothing about another one.
        return Fraction(0)
    assert isinstance(part, CronTimes)
    cron = part.cron
    minutes, hours = cron.hands
    times = len(minutes) * len(hours)
    if cron.fields[2:] == ("*", "*", "*"):
        return Fraction(times)
    days = sum(cron.fires_on(_FIRST + timedelta(days=number)) for number in range(_DAYS))
    # A day that comes once in many years still comes.
    return Fraction(times * max(days, 1), _DAYS)


def _rate_on(part: ScheduleTimes, day: date) -> Fraction:
    """How often a part of a schedule fires on a certain day, or on an average one."""
    if not isinstance(part, CronTimes):
        return _rate_part(part)
    minutes, hours = part.cron.hands
    return Fraction(len(minutes) * len(hours) if part.cron.fires_on(day) else 0)


def _list_excluded(excluded: ExcludedDays) -> set[date]:
    """The dates that are named, wherever they are, and the holidays of four years."""
    last = _FIRST + timedelta(days=_DAYS - 1)
    found = set(ExcludedDays(regions=excluded.regions).list_days(_FIRST, last))
    for first, end in excluded.ranges:
        found |= {
            first + timedelta(days=number) for number in range(min((end - first).days + 1, _DAYS))
        }
    return found


def _rhythm(scheduled: Sequence[EnabledTrigger], rate: Fraction) -> str:
    """The schedule in words where it is one and has some, and how often that is."""
    often = _often(rate)
    if len(scheduled) != 1:
        return often
    try:
        schedule = parse_schedule(scheduled[0].config)
    except Invalid:
        return often
    words = describe_schedule(schedule)
    return f"{words} ({often})" if words.startswith("every") else often


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
    """Whether whatever starts it here could start it there already."""
    if known.type != one.type:
        return False
    if one.type == _WEBHOOK:
        heard, hears = known.config.get("events"), one.config.get("events")
        if heard and not (hears and _hears(heard, hears)):
            return False
        if _list_methods(one) - _list_methods(known) or _list_new_origins([known], one):
            return False
        return is_same_value(_auth(known), _auth(one)) or _auth(known) is None
    if one.type in POLL_TYPES:
        return _opens_poll(known, one)
    if one.type == CHAT_MESSAGE:
        return _opens_chat(known, one)
    if one.type == FORM:
        same_page = one.config.get("redirect") in (None, known.config.get("redirect"))
        was_public = is_public_form(FORM, known.config)
        return same_page and (was_public or not is_public_form(FORM, one.config))
    # Each setting of these only leaves out: what has all of them, as they were, hears no more.
    return all(
        key in one.config and _hears(value, one.config[key]) for key, value in known.config.items()
    )


def _list_methods(one: EnabledTrigger) -> frozenset[str]:
    """The HTTP methods that a webhook accepts."""
    return frozenset(one.config.get("methods") or ("POST",))


def _list_new_origins(known: Iterable[EnabledTrigger], one: EnabledTrigger) -> list[str]:
    """The web pages that may call this webhook, and none of the known ones."""
    allowed = {origin for other in known for origin in _list_origins(other)}
    return [] if "*" in allowed else [one for one in _list_origins(one) if one not in allowed]


def _list_origins(one: EnabledTrigger) -> list[str]:
    return list((one.config.get("cors") or {}).get("origins", ()))


def _describe_callers(known: Sequence[EnabledTrigger], one: EnabledTrigger) -> str:
    """What more a webhook accepts than those with the same authentication."""
    heard = [other.config.get("events") for other in known]
    hears = one.config.get("events")
    if all(other and not (hears and _hears(other, hears)) for other in heard):
        return "It now starts with more events of its webhook."
    methods = _list_methods(one).difference(*map(_list_methods, known))
    if methods:
        return f"It now starts with {quote_values(sorted(methods))} calls of its webhook."
    origins = _list_new_origins(known, one)
    if origins:
        return (
            f"Web pages of {quote_values(origins)} can now call its webhook and read its answers."
        )
    return "It now starts with more calls of its webhook."


def _opens_poll(known: EnabledTrigger, one: EnabledTrigger) -> bool:
    """Whether the known poll starts every run that this one starts, as often and with as much."""
    try:
        was, now = read_poll(known.type, known.config), read_poll(one.type, one.config)
    except Invalid:
        return is_same_value(known.config, one.config)
    sources = [[poll.capability, poll.arguments, poll.items, poll.id] for poll in (was, now)]
    # Without a mark for changes, only new items start runs, as long as something identifies them.
    fewer_changes = now.changed_on is None and now.id is not None
    return (
        is_same_value(*sources)
        and (now.changed_on == was.changed_on or fewer_changes)
        and now.every >= was.every
        and now.max_items <= was.max_items
        and now.fires_first <= was.fires_first
        and now.batches >= was.batches
    )


def _describe_poll_start(one: EnabledTrigger, now: str) -> str:
    said = describe_poll(one.type, one.config, quote_name)
    most = one.config.get("max_items", USUAL_MOST)
    limit = "" if most == USUAL_MOST else f", for up to {quote_name(str(most))} items at a time"
    first = " Items that are there already count as new."
    return (
        f"It{now} starts by a poll. {said[:1].upper()}{said[1:]}{limit}."
        f"{first if one.config.get('first_look') == 'fire' else ''}"
    )


def _opens_chat(known: EnabledTrigger, one: EnabledTrigger) -> bool:
    """Whether every message that starts it here could start it there already."""
    if known.config.get("via") != one.config.get("via"):
        return False
    heard, hears = build_chat_filter(known.config), build_chat_filter(one.config)
    heard["filters"], hears["filters"] = known.config.get("filters"), one.config.get("filters")
    return all(
        value is None or is_same_value(value, hears.get(key)) for key, value in heard.items()
    )


def _auth(one: EnabledTrigger) -> Any:
    """What callers of a webhook must prove; None: the token of the webhook."""
    auth = one.config.get("auth")
    if isinstance(auth, Mapping) and auth.get("type") == "bearer":
        return None
    return one.config.get("signature") if auth is None else auth


def _hears(known: Any, one: Any) -> bool:
    if isinstance(known, list) and isinstance(one, list):
        return all(any(is_same_value(entry, other) for other in known) for entry in one)
    return is_same_value(known, one)


def _describe_trigger(one: EnabledTrigger, before: Sequence[EnabledTrigger], now: str) -> str:
    if one.type == _WEBHOOK:
        signed = any(list_webhook_secrets(one.config))
        known_webhooks = [known for known in before if known.type == _WEBHOOK]
        alike = [known for known in known_webhooks if is_same_value(_auth(known), _auth(one))]
        if alike:
            return _describe_callers(alike, one)
        if known_webhooks:
            return (
                "Its webhook requests are now verified in a different way."
                if signed
                else "Its webhook requests no longer need a signature."
            )
        who = "who can sign requests" if signed else "with the address"
        return f"It{now} starts by a webhook, for everyone {who}."
    if one.type == FORM:
        return _describe_form(one, before, now)
    if one.type == "event":
        return f"It{now} starts with {_which(one)} events of the type {_event(one)}."
    if one.type == "board_change":
        board = quote_name(str(one.config.get("board_id")))
        return f"It{now} starts when the board {board} changes{_only(one, 'board_id')}."
    if one.type == "page_ingested":
        return f"It{now} starts when a page is written{_only(one)}."
    if one.type == CHAT_MESSAGE:
        return f"It{now} starts when {describe_chat_trigger(one.config, quote_name)}."
    if one.type in POLL_TYPES:
        return _describe_poll_start(one, now)
    return f"It{now} starts by a trigger of the type {quote_name(one.type)}."


def _describe_form(one: EnabledTrigger, before: Sequence[EnabledTrigger], now: str) -> str:
    public = is_public_form(FORM, one.config)
    forms = [known for known in before if known.type == FORM]
    if public and not any(is_public_form(FORM, known.config) for known in forms):
        return f"Anyone with the link{now} can start this automation by its form."
    redirect = one.config.get("redirect")
    if forms and redirect is not None:
        return f"Its form{now} sends people to {quote_name(str(redirect))}."
    return f"It{now} starts by a form, for {'anyone with the link' if public else 'members'}."


def _which(one: EnabledTrigger) -> str:
    return "some" if one.config.get("filters") else "all"


def _event(one: EnabledTrigger) -> str:
    return quote_name(str(one.config.get("event_type")))


def _only(one: EnabledTrigger, *known: str) -> str:
    return ", with conditions" if one.config.keys() - set(known) else ""


# What an automation sends, as written: destination and template.

_LOOP: Final = "for_each"
# The actions whose output the definition itself determines.
_COMPUTES: Final = frozenset({"transform_data", _SCRIPT, _LOOP})
# Settings that do not affect what is sent.
_QUIET: Final = frozenset({"timeout_seconds", "max_bytes", "follow_redirects"})
# What a model may call is compared by its bounds.
_TOOLS: Final = dict.fromkeys((AGENT_RUN, AGENT_TASK), frozenset({"tools", "grants"}))
_LIMITS: Final = Limits()
# Of a longer text that changed, a person is shown what differs and some characters around it.
_LONG_TEXT: Final = 400
_CONTEXT: Final = 60

# The constant prefix of the path that a template reads.
Path = tuple[str | int, ...]
# A template that cannot be parsed may refer to anything.
_ANYTHING: Final[frozenset[Path]] = frozenset({("inputs",), ("steps",), ("run",)})


@dataclass(frozen=True, slots=True)
class StepsWithDefaults:
    """The steps of a definition, and the values that their templates read besides run data."""

    steps: Sequence[FlattenedStep] = ()
    # Each default and each reference of the input schema, by its pointer.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    starts: Sequence[EnabledTrigger] = ()
    name: str = ""


def read_input_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """What determines the inputs that a run is not given, by pointer in the input schema."""
    schema = (document.get("inputs") or {}).get("schema") or {}
    return {
        f"{pointer}/{word}": node[word]
        for pointer, node in iterate_subschemas(schema)
        if isinstance(node, Mapping)
        for word in ("default", "$ref", "$dynamicRef")
        if word in node
    }


def hash_outgoing(step: FlattenedStep, written: StepsWithDefaults) -> frozenset[bytes]:
    """A hash of what a step sends and where, as written, for each trigger."""
    quiet = _QUIET | _TOOLS.get(step.action, frozenset())
    said = {key: value for key, value in step.config.items() if key not in quiet}
    if step.action == _SCRIPT:
        said = _of_script(said)
    loops = [config for _, config in _around(step)]
    filled = _fill_settings(_paths_in(said) | _paths_around(step), written)
    return frozenset(encode_canonical([step.action, said, loops, *one]) for one in filled)


def _condition(step: FlattenedStep, written: StepsWithDefaults) -> frozenset[bytes]:
    """The part of a step's condition that the definition itself determines."""
    found = _fill_settings(_paths_of_condition(step.when), written)
    return frozenset(encode_canonical(list(one)) for one in found)


def _of_script(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: config[key] for key in ("source", "input") if key in config}


def _fill_settings(read: frozenset[Path], written: StepsWithDefaults) -> list[tuple[Any, ...]]:
    """The values that the definition provides for these paths, followed across steps."""
    steps, waiting = dict[str, Any](), [read]
    while waiting:
        paths = waiting.pop()
        for one in written.steps:
            if one.action in _COMPUTES and one.pointer not in steps and _gives(one, paths, written):
                config = _of_script(one.config) if one.action == _SCRIPT else one.config
                steps[one.pointer] = [one.id, one.output, config, one.when, [*_around(one)]]
                more = _paths_in(config) | _paths_of_condition(one.when) | _paths_around(one)
                read |= more
                waiting.append(more)
    computed = sorted(steps.values(), key=encode_canonical)
    names = {path[1] if len(path) > 1 else None for path in read if path[0] == "inputs"}
    usual = {at: value for at, value in written.defaults.items() if _decides(at, names)}
    name = written.name if {("run",), ("run", "automation_name")} & read else None
    given = [_read_trigger_inputs(one, names) for one in written.starts]
    return [(computed, usual, name, one) for one in ({}, *(one for one in given if one))]


def _gives(step: FlattenedStep, paths: Iterable[Path], written: StepsWithDefaults) -> bool:
    """Whether one of these paths reads the output of a step, or of its enclosing loop."""
    names = {step.output, step.id}
    for one in written.steps:
        if one.action == _LOOP and step.pointer.startswith(f"{one.pointer}/"):
            names |= {one.output, one.id}
    return any(
        (len(path) == 1 or path[1] in names) if path[0] == "steps" else path[0] in names
        for path in paths
    )


def _decides(pointer: str, names: set[Any]) -> bool:
    """Whether a part of the input schema may determine one of these inputs."""
    root, _, rest = pointer.removeprefix("/").partition("/")
    if not names or root != "properties" or None in names:
        return bool(names)
    return rest.partition("/")[0].replace("~1", "/").replace("~0", "~") in names


def _read_trigger_inputs(start: EnabledTrigger, names: set[Any]) -> dict[str, Any]:
    """The inputs that a trigger sets, and those that it maps from its payload."""
    mapping = start.config.get("input_mapping")
    taken = mapping if isinstance(mapping, Mapping) else {}
    return {
        name: [start.inputs.get(name), taken.get(name)]
        for name in sorted({*start.inputs, *taken})
        if name in names or None in names
    }


def _paths_in(value: Any) -> frozenset[Path]:
    """All paths that the templates in a value read."""
    found, waiting = set[Path](), [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        elif isinstance(one, str) and has_syntax(one):
            try:
                read = parse_template(one, _LIMITS, secrets=True).references
            except Problem:
                return _ANYTHING
            found |= {reference.path for reference in read}
    return frozenset(found)


def _paths_of_condition(when: Any) -> frozenset[Path]:
    if not isinstance(when, str):
        return frozenset()
    try:
        return frozenset(one.path for one in parse_predicate(when, _LIMITS).references)
    except Problem:
        return _ANYTHING


def _paths_around(step: FlattenedStep) -> frozenset[Path]:
    """The paths that determine the items of the loops around a step."""
    found = frozenset[Path]()
    for when, config in _around(step):
        found |= _paths_in(config) | _paths_of_condition(when)
    return found


def _around(step: FlattenedStep) -> Iterator[list[Any]]:
    """The condition and the settings of each loop around a step."""
    return (json.loads(frame)[1:] for frame in step.around)


def find_added_sends(
    before: StepsWithDefaults, after: StepsWithDefaults, sends: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """What is sent and was not before: pointer and sentence. ``sends`` are the sending steps."""
    known = {(one.id, one.action): one for one in before.steps}
    for one in after.steps:
        if one.pointer not in sends or _was_sent(one, before, after):
            continue
        name = f"the step {quote_name(one.id)} ({quote_name(one.action)})"
        old = known.get((one.id, one.action))
        values = _list_outgoing_values(one, after)
        changes = _describe_changes(
            {} if old is None else _list_outgoing_values(old, before), values
        )
        if one.action == _SCRIPT:
            lead = f"The script at {name}, which may write outside, is another one now"
        elif old is not None:
            lead = f"It now sends something else at {name}"
        else:
            lead = f"It now also sends something at {name}"
        yield one.pointer, f"{lead}: {changes}."


def _list_outgoing_values(step: FlattenedStep, written: StepsWithDefaults) -> dict[str, Any]:
    """The single values that ``hash_outgoing`` compares, each under a name for a person."""
    quiet = _QUIET | _TOOLS.get(step.action, frozenset())
    said = {key: value for key, value in step.config.items() if key not in quiet}
    if step.action == _SCRIPT:
        said = _of_script(said)
    found = dict(_leaves("", said))
    if step.when is not None:
        found["its condition"] = step.when
    for number, (when, config) in enumerate(_around(step), 1):
        found |= _leaves(f"loop {number} around it", {"when": when, **config})
    read = _paths_in(said) | _paths_around(step) | _paths_of_condition(step.when)
    starts = _fill_settings(read, written)
    computed, usual, name, _ = starts[0]
    for one, _, config, when, around in computed:
        whole = {**config, "when": when, "loops": around}
        found |= _leaves(f"what it reads from the step {quote_name(one)}", whole)
    for pointer, value in usual.items():
        found[f"the input schema at {quote_name(pointer)}"] = value
    if name is not None:
        found["the automation's name"] = name
    for number, (*_, given) in enumerate(starts[1:], 1):
        found |= _leaves(f"the inputs of trigger {number}", given)
    return found


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every single value in a setting with the keys that lead to it."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{name} {quote_name(str(key))}".strip(), inner)
    elif isinstance(value, list | tuple) and value:
        for place, inner in enumerate(value, 1):
            yield from _leaves(f"{name} {place}".strip(), inner)
    elif value is not None:
        yield name, value


def _describe_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Every value that differs, as it was and as it is now."""
    changes = []
    for name in dict.fromkeys((*after, *before)):
        old, new = before.get(name), after.get(name)
        if is_same_value(old, new):
            continue
        was, now = _quote_change(old, new)
        if not before:
            changes.append(f"{name} is {now}")
        elif old is None:
            changes.append(f"{name} is new: {now}")
        elif new is None:
            changes.append(f"{name} is gone: it was {was}")
        else:
            changes.append(f"{name} was {was} and is now {now}")
    return "; ".join(changes) or "what determines its text or its destination"


def _quote_change(old: Any, new: Any) -> tuple[str, str]:
    """Both values; of two long texts, only what differs with a little around it."""
    was, now = ("" if one is None else write_value(one) for one in (old, new))
    start = end = 0
    if max(len(was), len(now)) > _LONG_TEXT:
        shortest = min(len(was), len(now))
        while start < shortest and was[start] == now[start]:
            start += 1
        while end < shortest - start and was[-1 - end] == now[-1 - end]:
            end += 1
        start, end = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    return _quote_part(was, start, end), _quote_part(now, start, end)


def _quote_part(text: str, start: int, end: int) -> str:
    shown = quote_lines(text[start : len(text) - end])
    return f"“{'… ' if start else ''}{shown}{' …' if end else ''}”"


def _was_sent(step: FlattenedStep, before: StepsWithDefaults, after: StepsWithDefaults) -> bool:
    """Whether the previous steps sent all of this, under the same condition or none."""
    left = hash_outgoing(step, after)
    for one in before.steps:
        if one.action != step.action:
            continue
        # A changed condition is compared where it matters: for writes sent without asking.
        same = one.when == step.when and one.when is not None
        if not same or _condition(step, after) <= _condition(one, before):
            left -= hash_outgoing(one, before)
    return not left


def list_outgoing_by(document: Mapping[str, Any], capability: str) -> frozenset[bytes]:
    """Everything that a definition sends with one capability, as written."""
    written = read_writes(document)
    found = (hash_outgoing(one, written) for one in written.steps if _calls(one, capability))
    return frozenset[bytes]().union(*found)


def read_writes(document: Mapping[str, Any]) -> StepsWithDefaults:
    """What a definition sends and fills in."""
    return StepsWithDefaults(
        flatten_steps(document),
        read_input_defaults(document),
        read_enabled_triggers(document.get("triggers") or ()),
        str(document.get("name") or ""),
    )


def _calls(step: FlattenedStep, capability: str) -> bool:
    if step.action == capability:
        return True
    granted = step.config.get("grants") if step.action == _SCRIPT else None
    return isinstance(granted, list) and any(
        isinstance(one, Mapping) and one.get("tool") == capability for one in granted
    )


# How a request is made; these settings are not sent.
_MANNER: Final = frozenset({"timeout_seconds", "allow_error_status", "idempotency"})


@dataclass(frozen=True, slots=True)
class AutomaticWrite:
    """What one step sends automatically with one capability, or with all of its capabilities."""

    # The step, with what is sent and what determines how often.
    step: FlattenedStep
    # Empty means everything that the step sends.
    capability: str
    # The bounds of what a model or a script sends; None when the step's own config is the bound.
    bounds: tuple[Grant, ...] | None = None

    @property
    def pointer(self) -> str:
        return f"{self.step.pointer}/approval" if self.step.approval else self.step.pointer

    def is_within(self, other: AutomaticWrite) -> bool:
        """Whether consent to the other write covers this one."""
        if other.capability not in ("", self.capability):
            return False
        if self.bounds is None or other.bounds is None:
            return self.bounds is other.bounds and self.step.does_as(other.step)
        if find_missing_grants(self.bounds, other.bounds):
            return False
        return _without_tools(self.step).does_as(_without_tools(other.step))


def list_automatic_writes(document: Mapping[str, Any]) -> tuple[AutomaticWrite, ...]:
    """The automatic writes of a definition in the current format, in step order."""
    granted = read_written_grants(document)
    policy = (document.get("execution") or {}).get("write_policy")
    # Under auto_confirm_safe, safe writes are also sent at once unless their step says otherwise.
    unsaid = list_default_writes(with_safe=policy == "auto_confirm_safe")
    return tuple(
        write
        for step in flatten_steps(document)
        for write in _iterate_step_writes(step, read_step_approval(step, granted), unsaid)
    )


def find_added_writes(
    before: Sequence[AutomaticWrite], after: Sequence[AutomaticWrite], now: str
) -> Iterator[tuple[str, str]]:
    """What is now sent without asking and was not before: pointer and sentence."""
    known = list(before)
    for write in after:
        found = next((one for one in known if write.is_within(one)), None)
        if found is None:
            yield write.pointer, _describe_write(write, now)
        else:
            known.remove(found)


def _iterate_step_writes(
    step: FlattenedStep, said: StepApproval | None, unsaid: frozenset[str]
) -> Iterator[AutomaticWrite]:
    config = {key: value for key, value in step.config.items() if key not in _MANNER}
    sent = replace(step, config=config)
    if said is None:
        if step.action in unsaid:
            yield AutomaticWrite(sent, step.action)
        return
    if said.modes == AUTOMATIC:
        yield AutomaticWrite(sent, "", said.bounds)
    elif isinstance(said.modes, Mapping):
        for name, mode in sorted(said.modes.items()):
            if mode == AUTOMATIC:
                yield AutomaticWrite(sent, name, said.bounds)
    if step.action in unsaid and said.mode(step.action) not in (ASK, AUTOMATIC):
        yield AutomaticWrite(sent, step.action)


def _without_tools(step: FlattenedStep) -> FlattenedStep:
    """The step without the settings that its bounds already describe."""
    config = {key: one for key, one in step.config.items() if key not in ("tools", "grants")}
    return replace(step, config=config)


def _describe_write(write: AutomaticWrite, now: str) -> str:
    step = write.step
    if step.action in AGENTS or step.action == SCRIPT:
        return _describe_generated_write(write, now)
    words = any_write_words(step.action, step.config)
    named = find_named_account(step.config)
    account = f" with the account {named}" if named is not None else ""
    if not account and words.integration:
        account = f" {owner_account(words)}"
    text = outgoing_text(step.config, words.texts)
    said = f": “{text}”" if text else ""
    return f"It{now} {words.third_person}{account} without approval{said}."


def _describe_generated_write(write: AutomaticWrite, now: str) -> str:
    """What a model or a script sends: its text is created in the run, within fixed bounds."""
    who = "program" if write.step.action == SCRIPT else "model"
    begin = f"The {who} of the step {quote_name(write.step.id)}{now}"
    params = fixed_params_of(write.step, write.capability)
    words = None if len(params) != 1 else write_words(write.capability, params[0])
    if words is not None:
        return f"{begin} {words.third_person} without approval."
    what = f" with {quote_name(write.capability)}" if write.capability else ""
    found = [place for one in params for place in fixed_places(one)]
    where = f" ({', '.join(found)})" if found else ""
    return f"{begin} sends{what}{where} without approval."


def fixed_params_of(step: FlattenedStep, capability: str) -> list[Mapping[str, Any]]:
    """The arguments that the tools or grants of a step fix for a capability, or for all of them."""
    tools = step.config.get("tools") or step.config.get("grants")
    return [
        one.get("params") or {}
        for one in (tools if isinstance(tools, list) else ())
        if isinstance(one, Mapping) and one.get("tool") == (capability or one.get("tool"))
    ]
