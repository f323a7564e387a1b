"""Flags about triggers: too frequent, coinciding, public, or self-triggering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from mainspring.authoring.models import ReviewFlag
from mainspring.authoring.review.definition_reader import StepView, TriggerView
from mainspring.authoring.review.quoting import quote_text
from mainspring.authoring.review.trigger_descriptions import read_times
from mainspring.authoring.review.view import ReviewView
from mainspring.definition.forms import is_public_form
from mainspring.definition.schedules import TIME_KEYS, CronTimes, Schedule
from mainspring.definition.secret_use import list_webhook_secrets
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.templates.parser import has_syntax
from mainspring.definition.validate.envelope import OFTEN_SECONDS

_MOST_COMPARED: Final = 6
_MOMENTS: Final = 24
# Covers every weekday and date; hourly schedules meet the others much earlier.
_DAYS: Final = 32
_MOMENTS_OF_DAYS: Final = 200
# More close pairs per day than two deliberate fire times.
_MANY_GAPS: Final = 4
_SELDOM: Final = 10**9
_WAITING: Final = frozenset({"event", "board_change", "page_ingested", "chat_message"})
_SOME_DAY: Final = datetime(2024, 1, 1, tzinfo=UTC)
_BOARD_WRITERS: Final = frozenset(
    {
        "append_board_rows",
        "update_board_rows",
        "delete_board_rows",
        "restore_board_rows",
        "update_board",
        "set_board_skill",
        "set_board_form",
        "set_board_dashboard",
    }
)
_PAGE_WRITERS: Final = frozenset({"create_page", "update_page", "restore_page"})


@dataclass(frozen=True, slots=True)
class _ScheduleInterval:
    """An enabled, readable schedule with its shortest interval in seconds."""

    trigger: TriggerView
    schedule: Schedule
    closest: int

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for schedules with the same fire times, however their cron is written."""
        times = (
            part.cron.fields if isinstance(part, CronTimes) else part
            for part in self.schedule.parts
        )
        return (self.schedule.zone, self.schedule.excluded, *times)

    def moments(self, most: int = _MOMENTS, days: int = 0) -> frozenset[datetime]:
        """Return the next fire times, or those within a number of days."""
        some = self.schedule.next_fire_times(_SOME_DAY, most)
        end = _SOME_DAY + timedelta(days)
        return frozenset(moment for moment in some if not days or moment <= end)


def flags_of_triggers(view: ReviewView) -> Iterator[ReviewFlag]:
    timed = [
        _ScheduleInterval(trigger, schedule, _count_seconds(schedule.closest))
        for trigger in view.armed
        if trigger.type == "schedule" and (schedule := read_times(trigger.config)) is not None
    ]
    yield from _often(timed)
    if len(timed) > 1:
        yield from _between_them(timed)
        yield from _together(timed[:_MOST_COMPARED])
    yield from _alike(view)
    yield from _unsigned(view)
    yield from _public_forms(view)
    yield from _own_doing(view)


def _count_seconds(interval: timedelta | None) -> int:
    """The seconds of an interval; a schedule with a single moment is never too frequent."""
    return _SELDOM if interval is None else int(interval.total_seconds())


def _often(timed: Iterable[_ScheduleInterval]) -> Iterator[ReviewFlag]:
    for one in timed:
        if one.closest < OFTEN_SECONDS:
            minutes = "minute" if one.closest < 120 else f"{one.closest // 60} minutes"
            yield ReviewFlag(
                _times_pointer(one.trigger),
                "fires_often",
                f"Its shortest interval is {minutes}, which is less than a quarter of an hour.",
                suggestion=(
                    "Run it less often. If it waits for something to happen, use an event "
                    "trigger: it reacts sooner and costs less."
                ),
            )


def _between_them(timed: Iterable[_ScheduleInterval]) -> Iterator[ReviewFlag]:
    """Schedules that are too frequent only in combination."""
    timestamps: dict[datetime, TriggerView] = {}
    seldom = [one for one in timed if one.closest >= OFTEN_SECONDS]
    # Identical fire times add nothing.
    different = {one.identity: one for one in reversed(seldom)}
    for one in [*different.values()][:_MOST_COMPARED] if len(different) > 1 else ():
        timestamps |= dict.fromkeys(one.moments(_MOMENTS_OF_DAYS, _DAYS), one.trigger)
    yield from _close(timestamps)


def _close(timestamps: Mapping[datetime, TriggerView]) -> Iterator[ReviewFlag]:
    """Yield every trigger that fires too soon after another one, once."""
    order = sorted(timestamps)
    gaps: dict[str, list[tuple[int, date]]] = {}
    by_pointer = {trigger.pointer: trigger for trigger in timestamps.values()}
    for one, other in pairwise(order):
        seconds, mine = int((other - one).total_seconds()), timestamps[other]
        if seconds < OFTEN_SECONDS and timestamps[one] is not mine:
            later = max(timestamps[one].pointer, mine.pointer, key=_place)
            gaps.setdefault(later, []).append((seconds, other.date()))
    for pointer, found in gaps.items():
        closest = min(found)[0]
        minutes = "1 minute" if closest < 120 else f"{closest // 60} minutes"
        most = max(Counter(day for _, day in found).values())
        yield ReviewFlag(
            _times_pointer(by_pointer[pointer]),
            "fires_often",
            (
                f"Together with another trigger, its shortest interval is {minutes}, which is "
                "less than a quarter of an hour."
            ),
            "warning" if most >= _MANY_GAPS else "note",
            suggestion="Remove one of the two, or schedule them further apart.",
        )


def _times_pointer(trigger: TriggerView) -> str:
    """The place of a schedule's times."""
    key = next((key for key in TIME_KEYS if key in trigger.config), "cron")
    return join_pointer(trigger.pointer, "config", key)


def _place(pointer: str) -> int:
    return int(pointer.rpartition("/")[2])


def _together(timed: Iterable[_ScheduleInterval]) -> Iterator[ReviewFlag]:
    """Schedules that fire in the same minute, each with a run of its own."""
    seen: list[tuple[TriggerView, frozenset[datetime]]] = []
    for one in timed:
        timestamps = one.moments()
        for other, theirs in seen:
            if timestamps & theirs:
                yield ReviewFlag(
                    one.trigger.pointer,
                    "fires_together",
                    (
                        f"It fires in the same minute as trigger {_place(other.pointer) + 1}, "
                        "which starts two runs."
                    ),
                    suggestion="Remove one of the two, or move it to another time.",
                )
                break
        seen.append((one.trigger, timestamps))


def _alike(view: ReviewView) -> Iterator[ReviewFlag]:
    """Two triggers that wait for the same thing."""
    seen: list[TriggerView] = []
    for trigger in view.armed:
        if trigger.type not in _WAITING:
            continue
        if any(one.type == trigger.type and one.config == trigger.config for one in seen):
            yield ReviewFlag(
                trigger.pointer,
                "fires_together",
                "It waits for the same thing as another trigger, which starts two runs.",
                suggestion="Remove one of the two.",
            )
        seen.append(trigger)


def _unsigned(view: ReviewView) -> Iterator[ReviewFlag]:
    for trigger in view.armed:
        if trigger.type == "webhook" and not any(list_webhook_secrets(trigger.config)):
            yield ReviewFlag(
                trigger.pointer,
                "unsigned_webhook",
                (
                    "Anyone with the webhook's address and token can start it and choose its "
                    "inputs; calls are not signed."
                ),
                "note",
                suggestion=(
                    "If the sender can sign its requests, set the secret with its signing key."
                ),
            )


def _public_forms(view: ReviewView) -> Iterator[ReviewFlag]:
    for trigger in view.armed:
        if is_public_form(trigger.type, trigger.config):
            yield ReviewFlag(
                trigger.pointer,
                "public_form",
                "Anyone with the link can start this automation and choose its inputs.",
                "note",
                suggestion='Set access to "members" if only members should fill in the form.',
            )


def _own_doing(view: ReviewView) -> Iterator[ReviewFlag]:
    for trigger in view.armed:
        for step in view.steps:
            if _wakes(trigger, step):
                yield ReviewFlag(
                    trigger.pointer,
                    "wakes_itself",
                    (
                        f"Step {quote_text(step.name, 64)} changes what this trigger watches, so "
                        "a run may start the next one."
                    ),
                    suggestion="Add a filter that excludes its own changes, or write elsewhere.",
                )
                break


def _wakes(trigger: TriggerView, step: StepView) -> bool:
    """Report whether a step's write can start an unfiltered trigger."""
    if trigger.config.get("filters"):
        return False
    match trigger.type:
        case "board_change":
            mine = _same_or_open(step.config.get("board_id"), trigger.config.get("board_id"))
            dataset = trigger.config.get("dataset")
            there = dataset is None or _same_or_open(step.config.get("dataset", dataset), dataset)
            return step.action in _BOARD_WRITERS and mine and there
        case "page_ingested":
            kind = trigger.config.get("page_type")
            fits = kind is None or _same_or_open(step.config.get("type"), kind)
            new = trigger.config.get("created") is True and step.action != "create_page"
            return step.action in _PAGE_WRITERS and fits and not new
        case "event":
            kind = trigger.config.get("event_type")
            told = step.config.get("type")
            return step.action == "publish_event" and isinstance(kind, str) and told == kind
    return False


def _same_or_open(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, str):
        return False
    from_trigger = isinstance(value, str) and has_syntax(value[:500]) and "trigger" in value
    return value == wanted or from_trigger
