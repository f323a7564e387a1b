"""Fairness of claims: where a claim starts to scan, and which workspaces are throttled.

Runs are claimed by their due times, oldest first. Three cases would make that unfair or slow.

One workspace may have thousands of due runs, and all later ones would wait for them. A workspace
that holds half of a worker's slots, or had half of the recent claims, is therefore busy: all
others are claimed before it. While others are active it leaves half of the slots to them, and is
claimed in small batches, because others wait for whatever a worker has begun to execute. When
others had to wait anyway, the interval between batches grows, and it shrinks again when they did
not.

Queues are claimed in priority order. One that is never empty would starve the later ones, so while
there is more than can be claimed, each of them occasionally comes first, for a few runs.

While another session keeps a long transaction open, Postgres cannot remove dead index entries of
the queue, and a claim would scan past all of them. A worker therefore remembers how far it has
claimed, and starts there. Runs that appeared behind that position, such as those of a slow
transaction, are found by a full scan, which runs as often as it is cheap.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A new run becomes visible after its due time: when its transaction ends.
_SLACK: Final = timedelta(seconds=1)
# A full scan takes at most this share of the time, and has a minimum frequency.
_SHARE: Final = 0.01
_SECONDS_BETWEEN: Final = 3.0
# How long others count as active after their last claim, and how long claims count as recent.
_COMPANY_SECONDS: Final = 2.0
# The minimum and maximum interval between batches of a busy workspace, and the acceptable wait of
# others.
_SOONEST, _LATEST = 0.01, 0.08
_WAIT: Final = timedelta(milliseconds=5)
# One in this many incomplete claims begins with a lower-priority queue, as long as those queues
# hold less than a quarter of the slots, and for an eighth of them.
_BEHIND_FIRST, _BEHIND_MOST, _BEHIND_PART = 4, 4, 8


class ClaimedRunInfo(Protocol):
    """A claimed run, as far as fairness needs it."""

    @property
    def workspace_id(self) -> UUID: ...
    @property
    def queue(self) -> str: ...
    @property
    def due_at(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class ClaimQuery:
    """One claim: how many runs of whom, and from which due time in each queue, in order."""

    queues: tuple[str, ...]
    most: int
    floors: tuple[datetime, ...]
    busy_workspaces: tuple[UUID, ...] = ()
    busy_most: int = 0
    busy_floors: tuple[datetime, ...] = ()
    whole: bool = True


def everything(queues: Sequence[str], most: int) -> ClaimQuery:
    """A full scan without remembered positions."""
    longest = (LONG_AGO,) * len(queues)
    return ClaimQuery(tuple(queues), most, longest, (), 0, longest)


class ClaimFairness:
    """What one worker remembers from claim to claim."""

    def __init__(self, queues: Sequence[str], slots: int) -> None:
        self._queues = tuple(queues)
        self._slots = slots
        # The claimed positions of all workspaces, and those of workspaces that were busy.
        self._rest = dict.fromkeys(self._queues, LONG_AGO)
        self._apart: dict[UUID, dict[str, datetime]] = {}
        self._busy_workspaces: frozenset[UUID] = frozenset()
        self._held = 0
        # The workspaces of the last claimed runs, as many as there are slots.
        self._lately: deque[UUID] = deque(maxlen=slots)
        self._lately_at = 0.0
        # Whether a busy workspace had more runs than it was given.
        self._has_throttled = False
        self._company_until = 0.0
        # When a busy workspace may have its next batch, and the interval between batches.
        self._portion_at = 0.0
        self._between = _SOONEST
        self._whole_at = 0.0
        # The number of claims that left, or may have left, runs behind.
        self._full = 0
        # Runs of this worker, by queue.
        self._in_hand: Counter[str] = Counter()

    def begun(self, queue: str) -> None:
        self._in_hand[queue] += 1

    def ended(self, queue: str) -> None:
        self._in_hand[queue] -= 1

    def look(self, holding: Mapping[UUID, int], free: int, at: float) -> ClaimQuery:
        """The next claim, for a worker with this many runs of each workspace."""
        self._update_busy(holding, at)
        queues = self._in_order()
        turned = queues != self._queues
        # A full scan uses the normal order: it must find what appeared behind.
        whole = at >= self._whole_at and not turned
        if turned:
            free = min(free, max(self._slots // _BEHIND_PART, 1))
        others = [one for one in self._apart if one not in self._busy_workspaces]
        return ClaimQuery(
            queues,
            free,
            self._floors(queues, whole, others),
            tuple(self._busy_workspaces),
            self._count_busy_slots(free, at) if self._busy_workspaces else 0,
            self._floors(queues, whole, self._busy_workspaces, of_rest=False),
            whole,
        )

    def _in_order(self) -> tuple[str, ...]:
        turn, rest = divmod(self._full, _BEHIND_FIRST)
        if rest != _BEHIND_FIRST - 1 or len(self._queues) == 1:
            return self._queues
        behind = sum(self._in_hand[name] for name in self._queues[1:])
        if behind >= max(self._slots // _BEHIND_MOST, 1):
            return self._queues
        first = 1 + turn % (len(self._queues) - 1)
        return (*self._queues[first:], *self._queues[:first])

    def record_claim(
        self,
        look: ClaimQuery,
        taken: Sequence[ClaimedRunInfo],
        now: datetime,
        at: float,
        cost: float,
    ) -> None:
        """Record the result: the database time of the claim, and its duration."""
        if taken:
            self._lately.extend(one.workspace_id for one in taken)
            self._lately_at = at
        ours = [one for one in taken if one.workspace_id not in look.busy_workspaces]
        theirs = [one for one in taken if one.workspace_id in look.busy_workspaces]
        if look.busy_workspaces and ours:
            self._company_until = at + _COMPANY_SECONDS
            self._record_wait(now - min(one.due_at for one in ours))
        if theirs:
            self._portion_at = at + self._between
        reached = _advance_floors(look.queues, ours, len(ours) < look.most, now)
        _move(self._rest, reached, look.whole)
        for one, floors in self._apart.items():
            if one not in look.busy_workspaces:
                _move(floors, reached, look.whole)
        room = min(look.busy_most, look.most - len(ours))
        self._has_throttled = (
            bool(look.busy_workspaces) and room < look.most and len(theirs) == room
        )
        if room:
            reached = _advance_floors(look.queues, theirs, len(theirs) < room, now)
            for one in look.busy_workspaces:
                # Runs that ended meanwhile may have made it a normal workspace again.
                if one in self._apart:
                    _move(self._apart[one], reached, look.whole)
        # One claim at a time starts with a lower queue, even if it found nothing: the next one may
        # have to be a full scan.
        turned = look.queues != self._queues
        self._full += turned or len(ours) == look.most or 0 < room == len(theirs)
        if look.whole:
            self._whole_at = at + min(cost / _SHARE, _SECONDS_BETWEEN)

    def _record_wait(self, waited: timedelta) -> None:
        """Record how long others had to wait next to a busy workspace."""
        between = self._between * 2 if waited > _WAIT else self._between * 0.8
        self._between = min(max(between, _SOONEST), _LATEST)

    def has_throttled_runs(self, holding: Mapping[UUID, int], at: float) -> bool:
        """Whether a busy workspace is throttled and could now have some more."""
        if not self._has_throttled:
            return False
        self._update_busy(holding, at)
        return self._count_busy_slots(1, at) > 0

    def pause(self, holding: Mapping[UUID, int], at: float) -> float | None:
        """Seconds until a busy workspace gets its next batch; None: not before a slot is free."""
        soon = max(at, self._portion_at)
        return max(soon - at, _SOONEST) if self.has_throttled_runs(holding, soon) else None

    def _update_busy(self, holding: Mapping[UUID, int], at: float) -> None:
        """A workspace stays busy until it has few runs, so that it never fills all slots."""
        many, few = max(self._slots // 2, 1), max(self._slots // 4, 1)
        if at >= self._lately_at + _COMPANY_SECONDS:
            self._lately.clear()
        lately = Counter(self._lately)
        busy_workspaces = {
            one
            for one in holding.keys() | lately.keys()
            if (count := max(holding.get(one, 0), lately[one])) >= many
            or (count >= few and one in self._busy_workspaces)
        }
        for one in busy_workspaces - self._apart.keys():
            self._apart[one] = dict(self._rest)
        for one in [*self._apart]:
            if one not in busy_workspaces and self._is_level(one):
                del self._apart[one]
        self._busy_workspaces = frozenset(busy_workspaces)
        self._held = sum(holding.get(one, 0) for one in busy_workspaces)
        if busy_workspaces and not busy_workspaces.issuperset(holding):
            self._company_until = at + _COMPANY_SECONDS

    def _is_level(self, one: UUID) -> bool:
        return all(self._apart[one][name] >= self._rest[name] for name in self._queues)

    def _count_busy_slots(self, free: int, at: float) -> int:
        """The slots for a busy workspace. Next to others it waits for several of them."""
        if not self._busy_workspaces or at >= self._company_until:
            return free
        portion = max(self._slots // 8, 1)
        has_room = max(self._slots // 2, 1) - self._held >= portion
        return portion if has_room and at >= self._portion_at else 0

    def _floors(
        self, queues: Sequence[str], whole: bool, of: Collection[UUID], of_rest: bool = True
    ) -> tuple[datetime, ...]:
        if whole or not (of or of_rest):
            return (LONG_AGO,) * len(queues)
        known = [self._apart[one] for one in of]
        if of_rest:
            known.append(self._rest)
        return tuple(min(floors[name] for floors in known) for name in queues)


def _advance_floors(
    queues: Sequence[str], taken: Sequence[ClaimedRunInfo], all_taken: bool, now: datetime
) -> dict[str, datetime]:
    """Up to where nothing is left in each queue. Queues are scanned in order: when there was more
    than could be claimed, those after the last one were not scanned.
    """
    if all_taken:
        return dict.fromkeys(queues, now - _SLACK)
    reached: dict[str, datetime] = {}
    last = max((queues.index(one.queue) for one in taken), default=-1)
    for place, name in enumerate(queues[: last + 1]):
        until = now
        if place == last:
            until = max(one.due_at for one in taken if one.queue == name)
        reached[name] = min(until, now) - _SLACK
    return reached


def _move(floors: dict[str, datetime], reached: Mapping[str, datetime], whole: bool) -> None:
    """Move forward; and back, if a full scan found more than it could claim far behind."""
    for name, until in reached.items():
        floors[name] = until if whole else max(floors[name], until)
