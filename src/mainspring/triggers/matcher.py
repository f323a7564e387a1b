"""The matcher: events fire the triggers whose filters match them.

The filters of a workspace are cached in one index, which is valid as long as the workspace's epoch
is unchanged; the epoch is read before the triggers, so an index is never older than it claims. An
event and a trigger give one dedup key, so an event that is processed several times, by any number
of matchers, starts one run.

Filters and events come from users, so matching may take long. It runs in a thread, before any
transaction begins; the transaction that fires only verifies that no epoch has changed since.
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
from mainspring.definition.chat_triggers import CHAT_MESSAGE, NO_ANSWER, read_chat_answer
from mainspring.definition.filters import FilterIndex
from mainspring.runs.dispatch import Dispatcher, DispatchResult
from mainspring.runs.run_requests import RunRequest, trials_among
from mainspring.store.database import Database
from mainspring.store.wakeups import WakeupListener
from mainspring.triggers.chat_intake import build_dedup_key, record_chat_messages
from mainspring.triggers.log_reader import (
    EventLogReader,
    Handle,
    Hook,
    PartialBatch,
    StalePreparation,
    no_hook,
)
from mainspring.triggers.presets import listens_to
from mainspring.workspace.events import notify_ignored_event, record_firing

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

log = logging.getLogger(__name__)

CONSUMER: Final = "triggers"
# Firings of one transaction; the events of a batch that would exceed it wait for the next.
MOST_FIRINGS: Final = 2_000
# After this time, the matches so far are fired; at least one event is always matched.
MOST_SECONDS: Final = 2.0

_EPOCHS = """
    SELECT workspace_id, epoch FROM trigger_epochs WHERE workspace_id = ANY($1::uuid[])
"""
_ARMED = """
    SELECT id, automation_id, type, config, inputs, armed_at FROM triggers
    WHERE workspace_id = $1 AND type IN ('event', 'board_change', 'page_ingested', 'chat_message')
      AND armed_at IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class ArmedTrigger:
    """An enabled event trigger, or a preset."""

    id: UUID
    automation_id: UUID
    type: str
    event_type: str
    filters: Mapping[str, Any]
    inputs: Mapping[str, Any]
    armed_at: datetime
    # When the sender of a chat message gets an answer.
    answer: str = NO_ANSWER


@dataclass(frozen=True, slots=True)
class TriggerMatch:
    """A trigger that an event matches, or whose filter raised."""

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
        """Add a trigger; one with an invalid filter matches nothing."""
        try:
            self.index.add(trigger.id, trigger.event_type, trigger.filters)
        except Exception as error:
            log.warning(
                "Trigger %s cannot subscribe to events: %s", trigger.id, describe_for_log(error)
            )
        else:
            self.triggers[trigger.id] = trigger

    def match(self, event: Event) -> list[TriggerMatch]:
        """Every trigger that the event fires; the event must be newer than the trigger.

        An event is as old as the transaction that appended it: one that had begun before a trigger
        was enabled does not fire it, even if it was committed later.
        """
        if not self.triggers:
            return []
        broken: dict[UUID, Exception] = {}
        keys = self.index.match(event.type, event.payload, broken)
        found = [TriggerMatch(self.triggers[key], event) for key in keys]
        # A filter that raises on an event only affects its own trigger.
        found += [
            TriggerMatch(self.triggers[key], event, _broken(key, error))
            for key, error in broken.items()
        ]
        return [match for match in found if match.trigger.armed_at <= event.created_at]


@dataclass(frozen=True, slots=True)
class MatchedBatch:
    """The matches of the first events of a batch, as of the epochs of their workspaces."""

    epochs: Mapping[UUID, int]
    found: Mapping[UUID, Sequence[TriggerMatch]]
    # How many events are covered.
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
        # From the beginning: a trigger may have been enabled before the first read, and earlier
        # events do not fire it.
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
        """Match the events; the result fires the matches."""
        spaces = {event.workspace_id for event in events}
        async with self._database.acquire() as connection:
            listening = await self._refresh(connection, spaces)
        return partial(self._fire, await asyncio.to_thread(_match_events, events, listening))

    async def _fire(
        self, matched: MatchedBatch, tx: Transaction, events: Sequence[Event]
    ) -> PartialBatch | Callable[[], None] | None:
        """Fire the matches of a batch, in the batch's own transaction."""
        if await _epochs(tx, {event.workspace_id for event in events}) != matched.epochs:
            raise StalePreparation
        fired = {
            space: await self._requests(tx, space, found)
            for space, found in sorted(matched.found.items())
        }
        results: list[tuple[RunRequest, DispatchResult | Problem]] = []
        # All triggers are locked before the first lane: the lock order is the same everywhere.
        for requests in fired.values():
            if requests:
                taken = await self._dispatcher.take(tx, requests)
                results += zip(requests, taken, strict=True)
        answers = {
            match.trigger.id: match.trigger.answer
            for found in matched.found.values()
            for match in found
        }
        await record_chat_messages(tx, events[: matched.done], results, answers, self._limits)
        made = [result for _, result in results]
        for problem in made:
            if isinstance(problem, Problem):
                log.warning("Cannot start a run for an event: %s", problem.detail)
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
        times = await record_firing(tx, workspace_id, {match.trigger.id for match in found}, meant)
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
            key=build_dedup_key(event) or event_key(event.id)
            if trigger.type == CHAT_MESSAGE
            else event_key(event.id),
            key_expires_at=event.created_at + self._kept,
            parent_id=event.run_id,
            last_fired_at=before,
            measured=True,
            problem=match.problem,
        )

    async def _refresh(self, tx: Transaction, spaces: set[UUID]) -> dict[UUID, WorkspaceTriggers]:
        """The triggers of each workspace; they are read again where the epoch has changed."""
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
                    read_chat_answer(row["config"]) if row["type"] == CHAT_MESSAGE else NO_ANSWER,
                )
            )
        return listening


def event_key(event_id: UUID) -> str:
    """The dedup key of an event and a trigger."""
    return f"event:{event_id}"


async def _epochs(tx: Transaction, spaces: set[UUID]) -> dict[UUID, int]:
    rows = await tx.fetch(_EPOCHS, list(spaces))
    return {row["workspace_id"]: row["epoch"] for row in rows}


def _match_events(
    events: Sequence[Event], listening: Mapping[UUID, WorkspaceTriggers]
) -> MatchedBatch:
    """Match the events within the limits of time and number."""
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
    log.warning("The filter of trigger %s failed.", trigger_id, exc_info=error)
    return InternalError(
        "The filter of this trigger could not be applied to the event.",
        code="filter_broke",
        retryable=False,
    )


async def _record_passed_over(tx: Transaction, entry: EventLogEntry, problem: Problem) -> None:
    await notify_ignored_event(tx, entry.workspace_id, entry.place[1], problem)
