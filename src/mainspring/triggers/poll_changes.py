"""What a look has found, compared with what was seen before: pure functions of plain values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from mainspring.contracts.errors import Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.definition.jsonpath import MOST_STEPS, PathMeter, parse_path
from mainspring.definition.polls import PollSettings
from mainspring.definition.strict_json import encode_canonical
from mainspring.workspace.polls import RememberedItem, SeenItem

# Each item has its share of the steps that one path may take.
_STEPS_PER_ITEM: Final = 1_000
# The backoff of a failing source: doubled after each failure.
FIRST_RETRY: Final = timedelta(minutes=1)
LONGEST_RETRY: Final = timedelta(hours=1)
# A failure that may pass by itself is reported when it has lasted this many looks.
REPORTED_FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item of a look."""

    id_hash: bytes
    value_hash: bytes
    item: Any


@dataclass(frozen=True, slots=True)
class FoundItems:
    """The items of a look, and how many had nothing that identifies them."""

    items: tuple[FoundItem, ...] = ()
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class LookPlan:
    """What a look starts and stores."""

    # The items that start a run now, in order.
    fire: tuple[RememberedItem, ...]
    # Items to store: those that fire and those that wait.
    remember: tuple[RememberedItem, ...]
    arrivals: int
    counts: Mapping[str, int] = field(default_factory=dict)


def find_items(settings: PollSettings, result: Any, limits: Limits) -> FoundItems:
    """The items in the result of a look; each identifier counts once."""
    values = _select_items(settings, result, limits)
    if len(values) > limits.poll_items:
        raise UpstreamError(
            f"The look found {len(values):,} items; the maximum is {limits.poll_items:,}.",
            code="poll_too_many_items",
            retryable=False,
            suggestion="Narrow down the arguments, for example with a limit.",
        )
    meter = PathMeter(MOST_STEPS + _STEPS_PER_ITEM * len(values))
    found: dict[bytes, FoundItem] = {}
    skipped = 0
    for value in values:
        own = _values_of(settings.id, value, limits, meter) if settings.id else [""]
        if not own or own == [None]:
            skipped += 1
            continue
        changed = _values_of(settings.changed_on, value, limits, meter)
        one = FoundItem(_hash(own), b"" if settings.changed_on is None else _hash(changed), value)
        found.setdefault(one.id_hash, one)
    if skipped and not found:
        raise UpstreamError(
            f"None of the {skipped:,} items has anything at {settings.id}.",
            code="poll_id_missing",
            retryable=False,
            suggestion="Correct id in the trigger's config; it is a path inside of an item.",
        )
    return FoundItems(tuple(found.values()), skipped)


def _select_items(settings: PollSettings, result: Any, limits: Limits) -> list[Any]:
    if settings.items is None:
        return [result]
    path = parse_path(settings.items, limits)
    values = path.find(result)
    if not path.singular:
        return values
    if not values:
        raise UpstreamError(
            f"The result has nothing at {settings.items}.",
            code="poll_items_missing",
            retryable=False,
            suggestion="Correct items in the trigger's config, or check what the source returns.",
        )
    # The list itself means its entries.
    return values[0] if isinstance(values[0], list) else values


def _values_of(text: str | None, item: Any, limits: Limits, meter: PathMeter) -> list[Any]:
    return [] if text is None else parse_path(text, limits).find(item, meter)


def _hash(values: Sequence[Any]) -> bytes:
    return hashlib.sha256(encode_canonical(list(values))).digest()


def plan_look(
    settings: PollSettings,
    found: Iterable[FoundItem],
    seen: Mapping[bytes, SeenItem],
    waiting: Sequence[RememberedItem],
    *,
    first: bool,
    arrivals: int,
) -> LookPlan:
    """Decide which items start runs now, which wait, and what is stored.

    Items that wait come first. Beyond the limit, new ones are stored with their content, so that
    they are not lost when the source no longer lists them.
    """
    silent = first and not settings.fires_first
    quiet: list[RememberedItem] = []
    loud: list[RememberedItem] = []
    counts = {"new": 0, "changed": 0}
    latest = {one.id_hash: one for one in waiting}
    for one in found:
        known = seen.get(one.id_hash)
        if known is None:
            counts["new"] += 1
            made = RememberedItem(one.id_hash, one.value_hash, 1, None, "new", one.item)
            (quiet if silent else loud).append(made)
        elif known.value_hash != one.value_hash:
            # An item that waits as new is still new, with its latest content.
            change = known.change or "changed"
            made = RememberedItem(
                one.id_hash, one.value_hash, known.revision + 1, None, change, one.item
            )
            counts["changed"] += 1
            if one.id_hash in latest:
                latest[one.id_hash] = made
            else:
                loud.append(made)
    queue = [*latest.values(), *loud]
    fire, rest = queue[: settings.max_items], queue[settings.max_items :]
    left = [
        RememberedItem(
            one.id_hash, one.value_hash, one.revision, arrivals + place, one.change, one.item
        )
        for place, one in enumerate(rest, 1)
    ]
    stored = [RememberedItem(one.id_hash, one.value_hash, one.revision) for one in [*quiet, *fire]]
    return LookPlan(
        tuple(fire),
        (*stored, *left),
        arrivals + len(left),
        counts,
    )


def compute_retry_delay(failures: int, every: timedelta, problem: Problem) -> timedelta:
    """How long a source rests after so many failures in a row."""
    longest = max(every, LONGEST_RETRY)
    delay = min(FIRST_RETRY * (1 << min(failures - 1, 20)), longest)
    wanted = timedelta(seconds=problem.retry_after or 0)
    return max(delay, min(wanted, longest))


def is_reportable(failures: int, problem: Problem) -> bool:
    """Whether a failure is reported: at once when it cannot pass by itself."""
    return failures >= REPORTED_FAILURES or not problem.retryable
