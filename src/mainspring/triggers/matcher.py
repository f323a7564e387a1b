"""The matcher: events become firings of the triggers whose filters let them through.

The filters of a workspace are kept in memory in one index, which holds as long as the
workspace's epoch does; the epoch is read before the triggers, so an index is never older
than it says. An event and a trigger make one key, so however often an event is looked at,
and by however many matchers, there is one run.

People write the filters and the events, so asking one about the other may take long. It is
done in a thread, before any transaction begins; the transaction that fires only makes sure
that no epoch has moved since.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import InternalError, Problem, describe_for_log
from mainspring.contracts.event import Event, EventLog, EventLogEntry
from mainspring.contracts.limits import Limits
from mainspring.definition.filters import FilterIndex
from mainspring.runs.dispatch import Dispatcher, DispatchResult
from mainspring.runs.run_requests import RunRequest, trials_among
from mainspring.store.database import Database
from mainspring.store.wakeups import WakeupListener
from mainspring.triggers.log_reader import (
    EventLogReader,
    Handle,
    Hook,
    PartialBatch,
    StalePreparation,
    no_hook,
)
from mainspring.triggers.presets import listens_to
from mainspring.workspace.events import note_fired, note_passed_over

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

log = logging.getLogger(__name__)

CONSUMER: Final = "triggers"
# Firings of one transaction; the events of a batch that would make more wait for the next.
MOST_FIRINGS: Final = 2_000
# After this long, what was matched so far is fired; one event is always matched.
MOST_SECONDS: Final = 2.0

_EPOCHS = """
    SELECT workspace_id, epoch FROM trigger_epochs WHERE workspace_id = ANY($1::uuid[])
"""
_ARMED = """
    SELECT id, automation_id, type, config, inputs, armed_at FROM triggers
    WHERE workspace_id = $1 AND type IN ('event', 'board_change', 'page_ingested')
      AND armed_at IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class ArmedTrigger:
    """An event trigger, or a preset over one, that is listening."""

    id: UUID
    automation_id: UUID
    type: str
    event_type: str
    filters: Mapping[str, Any]
    inputs: Mapping[str, Any]
    armed_at: datetime


@dataclass(frozen=True, slots=True)
class TriggerMatch:
    """A trigger that an event is for, or that could not say whether it is."""

    trigger: ArmedTrigger
    event: Event
    problem: Problem | None = None


@dataclass(slots=True)
class WorkspaceTriggers:
    """The event triggers of one workspace, as of one epoch."""

    limits: Limits
    epoch: int = 0
    triggers: dict[UUID, ArmedTrigger] = field(default_factory=dict)
    index: FilterIndex[UUID] = field(init=False)

    def __post_init__(self) -> None:
        self.index = FilterIndex(self.limits)

    def add(self, trigger: ArmedTrigger) -> None:
        """Keeps a trigger; one whose filter cannot be read listens to nothing."""
        try:
            self.index.add(trigger.id, trigger.event_type, trigger.filters)
        except Exception as error:
            log.warning("Trigger %s cannot listen: %s", trigger.id, describe_for_log(error))
        else:
            self.triggers[trigger.id] = trigger

    def match(self, event: Event) -> list[TriggerMatch]:
        """Every trigger that the event sets off; it was told after they were armed.

        An event is as old as the transaction that told of it: one that had begun before a
        trigger was armed does not set it off, even if it was committed later.
        """
        if not self.triggers:
            return []
        broken: dict[UUID, Exception] = {}
        keys = self.index.match(event.type, event.payload, broken)
        found = [TriggerMatch(self.triggers[key], event) for key in keys]
        # A filter that breaks on an event is the trouble of its own trigger only.
        found += [
            TriggerMatch(self.triggers[key], event, _broken(key, error))
            for key, error in broken.items()
        ]
        return [match for match in found if match.trigger.armed_at <= event.created_at]


@dataclass(frozen=True, slots=True)
class MatchedBatch:
    """What the first events of a batch set off, as of the epochs of their workspaces."""

    epochs: Mapping[UUID, int]
    found: Mapping[UUID, Sequence[TriggerMatch]]
    # How many events that covers.
    done: int


class EventMatcher:
    """Follows the log and fires event triggers; any number of processes may do so."""

    def __init__(
        self,
        database: Database,
        events: EventLog,
        dispatcher: Dispatcher,
        limits: Limits,
        *,
        listener: WakeupListener | None = None,
        hook: Hook = no_hook,
    ) -> None:
        self._database = database
        self._dispatcher = dispatcher
        self._limits = limits
        self._kept = timedelta(days=limits.event_days + 1)
        self._listening: dict[UUID, WorkspaceTriggers] = {}
        # From the beginning: a trigger may have been armed before anybody ever read, and
        # what happened before it was armed does not set it off.
        self.reader = EventLogReader(
            database,
            CONSUMER,
            prepare=self.prepare,
            events=events,
            listener=listener,
            passed_over=_record_passed_over,
            from_beginning=True,
            hook=hook,
        )

    async def prepare(self, events: Sequence[Event]) -> Handle:
        """Matches the events; what is answered fires what they set off."""
        spaces = {event.workspace_id for event in events}
        async with self._database.acquire() as connection:
            listening = await self._refresh(connection, spaces)
        return partial(self._fire, await asyncio.to_thread(_match_events, events, listening))

    async def _fire(
        self, matched: MatchedBatch, tx: Transaction, events: Sequence[Event]
    ) -> PartialBatch | Callable[[], None] | None:
        """Fires what a batch sets off, in the batch's own transaction."""
        if await _epochs(tx, {event.workspace_id for event in events}) != matched.epochs:
            raise StalePreparation
        made: list[DispatchResult | Problem] = []
        fired = {
            space: await self._requests(tx, space, found)
            for space, found in sorted(matched.found.items())
        }
        # Every trigger is held before the first lane is: locks go in one order everywhere.
        for requests in fired.values():
            if requests:
                made += await self._dispatcher.take(tx, requests)
        for problem in made:
            if isinstance(problem, Problem):
                log.warning("An event could not be fired: %s", problem.detail)
        wake = partial(self._dispatcher.wake, made) if made else None
        return wake if matched.done == len(events) else PartialBatch(matched.done, wake)

    async def _requests(
        self, tx: Transaction, workspace_id: UUID, matches: Iterable[TriggerMatch]
    ) -> list[RunRequest]:
        found = list(matches)
        if not found:
            return []
        causes = {match.event.run_id for match in found} - {None}
        trials = await trials_among(tx, workspace_id, causes)
        meant = {match.trigger.id for match in found if match.event.run_id not in trials}
        times = await note_fired(tx, workspace_id, {match.trigger.id for match in found}, meant)
        requests: list[RunRequest] = []
        for match in found:
            if match.trigger.id in times:
                before, now = times[match.trigger.id]
                if match.event.run_id not in trials:
                    times[match.trigger.id] = (now, now)
                requests.append(self._request(match, before))
        return requests

    def _request(self, match: TriggerMatch, before: datetime | None) -> RunRequest:
        event, trigger = match.event, match.trigger
        return RunRequest(
            workspace_id=event.workspace_id,
            automation_id=trigger.automation_id,
            trigger_type=trigger.type,
            trigger_id=trigger.id,
            static=trigger.inputs,
            payload=event.payload,
            key=event_key(event.id),
            key_expires_at=event.created_at + self._kept,
            parent_id=event.run_id,
            last_fired_at=before,
            measured=True,
            problem=match.problem,
        )

    async def _refresh(self, tx: Transaction, spaces: set[UUID]) -> dict[UUID, WorkspaceTriggers]:
        """Who listens in each workspace; the triggers are read where the epoch has moved."""
        found: dict[UUID, WorkspaceTriggers] = {}
        for space, epoch in (await _epochs(tx, spaces)).items():
            known = self._listening.get(space)
            if known is None or known.epoch != epoch:
                known = self._listening[space] = await self._read(tx, space, epoch)
            found[space] = known
        return found

    async def _read(self, tx: Transaction, workspace_id: UUID, epoch: int) -> WorkspaceTriggers:
        listening = WorkspaceTriggers(self._limits, epoch)
        for row in await tx.fetch(_ARMED, workspace_id):
            event_type, filters = listens_to(row["type"], row["config"])
            listening.add(
                ArmedTrigger(
                    row["id"],
                    row["automation_id"],
                    row["type"],
                    event_type,
                    filters,
                    row["inputs"],
                    row["armed_at"],
                )
            )
        return listening


def event_key(event_id: UUID) -> str:
    """The key of the moment at which an event sets off a trigger."""
    return f"event:{event_id}"


async def _epochs(tx: Transaction, spaces: set[UUID]) -> dict[UUID, int]:
    rows = await tx.fetch(_EPOCHS, list(spaces))
    return {row["workspace_id"]: row["epoch"] for row in rows}


def _match_events(
    events: Sequence[Event], listening: Mapping[UUID, WorkspaceTriggers]
) -> MatchedBatch:
    """What the events set off, as far as there is time and room for it."""
    epochs = {space: known.epoch for space, known in listening.items()}
    found: dict[UUID, list[TriggerMatch]] = defaultdict(list)
    total, deadline = 0, time.monotonic() + MOST_SECONDS
    for number, event in enumerate(events):
        if number and time.monotonic() > deadline:
            return MatchedBatch(epochs, found, number)
        if event.workspace_id not in listening:
            continue
        matches = listening[event.workspace_id].match(event)
        if matches and number and total + len(matches) > MOST_FIRINGS:
            return MatchedBatch(epochs, found, number)
        found[event.workspace_id] += matches
        total += len(matches)
    return MatchedBatch(epochs, found, len(events))


def _broken(trigger_id: UUID, error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    log.warning("The filter of trigger %s broke.", trigger_id, exc_info=error)
    return InternalError(
        "The filter of this trigger could not be applied to the event.",
        code="filter_broke",
        retryable=False,
    )


async def _record_passed_over(tx: Transaction, entry: EventLogEntry, problem: Problem) -> None:
    await note_passed_over(tx, entry.workspace_id, entry.place[1], problem)
