"""Poll triggers: what is read, how often, and what identifies an item.

A poll calls a read capability at an interval and compares the items with those that it has seen.
Presets, such as ``rss_item``, are declarations that expand to the settings of a poll. Everything
after the expansion is the same for all of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Audience, Capability, Effect
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.hosts import grant_entry
from mainspring.definition.jsonpath import parse_path
from mainspring.definition.strict_json import encode_canonical, join_pointer
from mainspring.definition.tool_patterns import HOSTED

POLL: Final = "poll"
EVERY_PATTERN: Final = r"^[1-9][0-9]{0,3}[mhdw]$"
USUAL_EVERY: Final = "10m"
USUAL_MOST: Final = 20
MOST_ITEMS: Final = 200
LONGEST: Final = timedelta(days=31)

_UNITS: Final = {
    "m": (timedelta(minutes=1), "minute"),
    "h": (timedelta(hours=1), "hour"),
    "d": (timedelta(days=1), "day"),
    "w": (timedelta(weeks=1), "week"),
}
# Times in arguments, relative to the look: {"$now": "-1h"} and {"$today": "+7d"}.
_OFFSET: Final = re.compile(r"^([+-])([0-9]{1,4})([mhdw])$")
_TOKENS: Final = ("$now", "$today")

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PollSettings:
    """The settings of a poll, read from its config."""

    capability: str
    arguments: Mapping[str, Any]
    every: timedelta
    # JSONPaths: the items in the result, and in each item what identifies it and what makes it
    # changed. Without ``items`` the result is the only item.
    items: str | None = None
    id: str | None = None
    changed_on: str | None = None
    fires_first: bool = False
    batches: bool = False
    max_items: int = USUAL_MOST

    @property
    def source_hash(self) -> bytes:
        """Identifies what is read: with another hash, the items that were seen say nothing."""
        parts = [self.capability, self.arguments, self.items, self.id, self.changed_on]
        return hashlib.sha256(encode_canonical(parts)).digest()

    def resolve_arguments(self, now: datetime) -> dict[str, Any]:
        """The arguments of a look, with relative times replaced."""
        return {name: _resolve(value, now) for name, value in self.arguments.items()}


def read_interval(text: str) -> timedelta:
    """Parse an interval such as 10m, 2h, 1d or 1w."""
    if re.match(EVERY_PATTERN, text) is None:
        raise Invalid(
            f"{text[:20]!r} is not an interval.",
            code="poll_every",
            suggestion="Write a number and m, h, d or w, such as 10m or 1d.",
        )
    return int(text[:-1]) * _UNITS[text[-1]][0]


def describe_interval(text: object) -> str:
    """``10 minutes``, or ``hour`` for a single one: the words after "every"."""
    if not isinstance(text, str) or re.match(EVERY_PATTERN, text) is None:
        return "interval that is not chosen yet"
    number, word = int(text[:-1]), _UNITS[text[-1]][1]
    return word if number == 1 else f"{number} {word}s"


# Presets.


def _adapter(kind: str, operation: str, ref: Config, params: Config | None = None) -> Config:
    given = {"kind": kind, "op": f"{kind}.{operation}", "ref": dict(ref)}
    if params:
        given["params"] = dict(params)
    return {"capability": "adapter_query", "arguments": given, "items": "$.rows", "id": "$.id"}


def _source(name: str, given: Config) -> Config:
    return {
        "capability": "read_from_integration",
        "arguments": {"source": name, "input": dict(given)},
        "items": "$.items",
        "id": "$.id",
    }


def _rss_item(config: Config) -> Config:
    made = _adapter("rss", "list_entries", {"url": config.get("url")})
    return {**made, "changed_on": "$.updated"} if config.get("changes") else made


def _url_changed(config: Config) -> Config:
    # One item, which is the answer of the address.
    return {
        "capability": "http_fetch",
        "arguments": {"url": config.get("url")},
        "changed_on": config.get("part", "$.text"),
    }


_GITHUB_NEWEST: Final = {"sort": "created", "direction": "desc", "limit": 100}
_GITHUB_LATEST: Final = {"sort": "updated", "direction": "desc", "limit": 100}
# For each event: the operation, its arguments, where the items are, and what makes one changed.
GITHUB_EVENTS: Final[Mapping[str, tuple[str, Config, str, str | None]]] = MappingProxyType(
    {
        "issue_opened": ("list_issues", _GITHUB_NEWEST, "$.rows", None),
        "issue_updated": ("list_issues", _GITHUB_LATEST, "$.rows", "$.updated_at"),
        "pull_request_opened": ("list_prs", _GITHUB_NEWEST, "$.rows", None),
        "pull_request_updated": ("list_prs", _GITHUB_LATEST, "$.rows", "$.updated_at"),
        "release_published": (
            "list_releases",
            {"limit": 50},
            "$.rows[?@.draft == false]",
            None,
        ),
        "commit_pushed": ("list_commits", {"limit": 100}, "$.rows", None),
    }
)


def _github(config: Config) -> Config:
    owner, _, name = str(config.get("repository", "")).partition("/")
    found = GITHUB_EVENTS.get(str(config.get("event")))
    operation, params, items, changed = found or GITHUB_EVENTS["issue_opened"]
    if operation == "list_commits" and "branch" in config:
        params = {**params, "sha": config["branch"]}
    made = {**_adapter("github", operation, {"owner": owner, "repo": name}, params), "items": items}
    return made if changed is None else {**made, "changed_on": changed}


# Of a published calendar. The next occurrence of a recurring event has another start, so the times
# are not compared.
_ICS_CHANGES: Final = "$['title','location','description','status','organizer','all_day']"


def _calendar_event(config: Config) -> Config:
    minutes = config.get("starts_in_minutes")
    published = "url" in config
    days = "+365d" if published else "+30d"
    window = {
        "start": {"$now": "+0m"},
        "end": {"$now": days if minutes is None else f"+{minutes}m"},
    }
    made = (
        _adapter("ics", "list_events", {"url": config["url"]}, window)
        if published
        else _source("calendar", window)
    )
    if minutes is not None:
        # Each occurrence starts once. One that is about to start when the automation is activated
        # counts too.
        return {"first_look": "fire", **made}
    # A recurring event is one item, however many occurrences the window has.
    one = {"id": "$.uid"} if published else {"items": "$.items[?!@.fields.recurring_event_id]"}
    if not config.get("changes"):
        return {**made, **one}
    return {**made, **one, "changed_on": _ICS_CHANGES if published else "$.fields.updated"}


def _email_received(config: Config) -> Config:
    if config.get("mailbox") == "gmail":
        query = config.get("query", "in:inbox")
        made = _source("gmail", {"query": f"{query} newer_than:2d", "limit": 50})
        # A thread is one item: each message that arrives changes it.
        return {**made, "changed_on": "$.fields.message_id"}
    given: dict[str, Any] = {"since": {"$today": "-2d"}, "limit": 50}
    if "query" in config:
        given["query"] = config["query"]
    return _source("email", given)


def _file_added(config: Config) -> Config:
    made = _source("drive", {"query": config.get("query"), "limit": 100})
    return {**made, "changed_on": "$.fields.modified"} if config.get("changes") else made


PRESETS: Final[Mapping[str, Callable[[Config], Config]]] = MappingProxyType(
    {
        "rss_item": _rss_item,
        "url_changed": _url_changed,
        "github": _github,
        "calendar_event": _calendar_event,
        "email_received": _email_received,
        "file_added": _file_added,
    }
)
# Every trigger type that the poller handles.
POLL_TYPES: Final = (POLL, *PRESETS)
# The settings that presets have in common with a poll.
COMMON: Final = ("every", "first_look", "per", "max_items")


def expand_poll(trigger_type: str, config: Config) -> Config:
    """The config of a trigger as that of a poll."""
    made = PRESETS.get(trigger_type)
    if made is None:
        return config
    own = {name: config[name] for name in COMMON if name in config}
    return {"every": USUAL_EVERY, **made(config), **own}


def read_poll(trigger_type: str, config: Any) -> PollSettings:
    """Parse a stored config; ``Invalid`` when it was saved under other rules."""
    if not isinstance(config, Mapping):
        raise _damaged_config_error("is not an object")
    given = expand_poll(trigger_type, config)
    capability, arguments = given.get("capability"), given.get("arguments", {})
    every, most = given.get("every"), given.get("max_items", USUAL_MOST)
    paths = [given.get(name) for name in ("items", "id", "changed_on")]
    if not isinstance(capability, str) or not isinstance(arguments, Mapping):
        raise _damaged_config_error("has no capability or no arguments")
    if not isinstance(every, str) or type(most) is not int or not 1 <= most <= MOST_ITEMS:
        raise _damaged_config_error("has no valid interval or limit")
    if not all(one is None or isinstance(one, str) for one in paths):
        raise _damaged_config_error("has a path that is not text")
    return PollSettings(
        capability,
        arguments,
        read_interval(every),
        items=paths[0],
        id=paths[1],
        changed_on=paths[2],
        fires_first=given.get("first_look") == "fire",
        batches=given.get("per") == "batch",
        max_items=most,
    )


def _damaged_config_error(what: str) -> Invalid:
    return Invalid(
        f"The stored poll {what}.", code="unreadable", suggestion="Save the automation again."
    )


# Grants.


def list_poll_grants(triggers: Sequence[Any]) -> tuple[Grant, ...]:
    """What the poll triggers of a definition call; disabled ones can be turned on later."""
    found = []
    for trigger in triggers:
        if trigger.type in POLL_TYPES:
            grant = build_poll_grant(trigger.type, trigger.config)
            if grant is not None:
                found.append(grant)
    return tuple(found)


def build_poll_grant(trigger_type: str, config: Config) -> Grant | None:
    """The grant of one poll: its capability with exactly its arguments."""
    given = expand_poll(trigger_type, config)
    capability, arguments = given.get("capability"), given.get("arguments", {})
    if not isinstance(capability, str) or not isinstance(arguments, Mapping):
        return None
    # A relative time differs in each look, so its argument cannot be bound.
    params = {name: value for name, value in arguments.items() if not _has_token(value)}
    if capability in HOSTED:
        entry = grant_entry(arguments.get("url"))
        params["hosts"] = [] if entry is None else [entry]
    return Grant(capability, params)


# Validation.


def check_poll(
    trigger_type: str,
    config: Config,
    capabilities: Mapping[str, Capability],
    limits: Limits,
    at: str,
) -> Iterator[Finding]:
    """What is wrong with a poll that its schema cannot say; the config matches the schema."""
    yield from _check_every(trigger_type, config, limits, at)
    own = trigger_type == POLL
    given = expand_poll(trigger_type, config)
    for name in ("items", "id", "changed_on"):
        yield from _check_path(given.get(name), join_pointer(at, name if own else "part"), limits)
    if own and "items" in given and "id" not in given:
        yield Finding(
            at,
            "A poll with items needs id.",
            "required",
            "Add the path of what identifies an item, such as $.id.",
        )
    if own and "items" not in given and "changed_on" not in given:
        yield Finding(
            at,
            "Without items the result is one item, so only a change of it can fire.",
            "required",
            "Add items, or changed_on with the path of what to compare.",
        )
    name = str(given.get("capability"))
    place = join_pointer(at, "capability") if own else at
    capability = capabilities.get(name)
    if capability is None:
        if not own:
            yield Finding(place, f"This installation has no {name}.", "unknown_capability")
        # Otherwise reported with the grants, with suggestions.
        return
    if capability.grantable:
        yield from _check_capability(capability, given.get("arguments", {}), place)


def _check_every(trigger_type: str, config: Config, limits: Limits, at: str) -> Iterator[Finding]:
    every = config.get("every", USUAL_EVERY if trigger_type in PRESETS else None)
    if not isinstance(every, str) or re.match(EVERY_PATTERN, every) is None:
        return
    place = join_pointer(at, "every")
    interval, least = read_interval(every), timedelta(seconds=limits.poll_seconds)
    if interval < least:
        seconds = f"{limits.poll_seconds:,} seconds"
        yield Finding(place, f"A poll runs at most every {seconds}.", "poll_every")
    elif interval > LONGEST:
        yield Finding(place, f"A poll runs at least every {LONGEST.days} days.", "poll_every")
    minutes = config.get("starts_in_minutes")
    if isinstance(minutes, int) and timedelta(minutes=minutes) < interval:
        yield Finding(
            join_pointer(at, "starts_in_minutes"),
            "An event may start between two looks without being noticed.",
            "poll_window",
            f"Use at least {int(interval.total_seconds() // 60)} minutes, or look more often.",
        )


def _check_path(text: Any, at: str, limits: Limits) -> Iterator[Finding]:
    if not isinstance(text, str):
        return
    try:
        parse_path(text, limits)
    except Invalid as error:
        yield Finding(at, error.detail, error.code, error.suggestion)


def _check_capability(capability: Capability, arguments: Any, at: str) -> Iterator[Finding]:
    notes = capability.annotations
    if notes.asks_models or capability.id == AGENT_RUN:
        yield Finding(
            at,
            f"{capability.id} calls a model, which costs money at every look.",
            "poll_capability",
            "Poll a capability that reads data, and call the model in the plan.",
        )
    elif notes.audience is Audience.RUNS and capability.id not in HOSTED:
        yield Finding(
            at,
            f"{capability.id} works only inside of a run.",
            "poll_capability",
            "Poll another read capability.",
        )
    elif not is_poll_read(capability, arguments):
        yield Finding(
            at,
            f"{capability.id} can change something; a poll only reads.",
            "poll_capability",
            "Poll a read capability, and call this one in the plan.",
        )


def is_poll_read(capability: Capability, arguments: Any) -> bool:
    """Whether a call with these arguments only reads."""
    reach = capability.annotations.reach
    if reach is None:
        return capability.annotations.effect is Effect.READ
    return isinstance(arguments, Mapping) and reach(arguments) is Effect.READ


# Relative times.


def _has_token(value: Any) -> bool:
    if isinstance(value, Mapping):
        return _read_token(value) is not None or any(map(_has_token, value.values()))
    return isinstance(value, list) and any(map(_has_token, value))


def _read_token(value: Mapping[str, Any]) -> tuple[str, timedelta] | None:
    if len(value) != 1:
        return None
    ((name, text),) = value.items()
    found = _OFFSET.match(text) if name in _TOKENS and isinstance(text, str) else None
    if found is None:
        return None
    offset = int(found[2]) * _UNITS[found[3]][0]
    return name, -offset if found[1] == "-" else offset


def _resolve(value: Any, now: datetime) -> Any:
    if isinstance(value, Mapping):
        token = _read_token(value)
        if token is None:
            return {name: _resolve(entry, now) for name, entry in value.items()}
        moment = (now + token[1]).replace(microsecond=0)
        return moment.isoformat() if token[0] == "$now" else moment.date().isoformat()
    return [_resolve(entry, now) for entry in value] if isinstance(value, list) else value
