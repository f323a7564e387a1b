"""The forecast: how often times how much, each with what it rests on, next to the caps.

It is made of a definition that need not be finished, so it has an answer for everything: where
something is still open, it says so and leaves the number to the caps.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.forecast.answer import CostForecast, build_forecast, caps_of
from mainspring.authoring.forecast.costs import (
    CostEvidence,
    PastConversation,
    PricedStep,
    cost_of,
    cost_of_run,
    paying_of,
)
from mainspring.authoring.forecast.history import (
    LOOK_BACK,
    EventHistory,
    WorkspaceBudget,
    read_event_history,
    read_past_runs,
    read_starts,
    read_step_costs,
    read_talks,
    read_workspace_budget,
)
from mainspring.authoring.forecast.measured import (
    CostShape,
    MeasuredRuns,
    choose,
    cost_of_runs,
    measure_step,
    shape_of,
)
from mainspring.authoring.forecast.places import (
    StepFrequency,
    all_conditional,
    count_step_frequencies,
)
from mainspring.authoring.forecast.rates import (
    RunRate,
    by_schedule,
    rate_from_history,
    together,
    unknown,
)
from mainspring.authoring.forecast.reading import ExecutionBounds, bounds_of, entries, text
from mainspring.authoring.places import mapping
from mainspring.contracts.clock import Clock
from mainspring.contracts.errors import Problem
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelCatalog, Price
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.filters import compile_filter
from mainspring.triggers.presets import LISTENING, listens_to

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.walls import WorkspaceDatabase

# All payloads of one filter together.
_FILTER_SECONDS: Final = 1.0
_MOST_MODELS: Final = 20
_BY_HAND: Final = "manual"
_WEBHOOK: Final = "webhook"


@dataclass(frozen=True, slots=True)
class ForecastDependencies:
    """What a forecast looks at beside the definition itself."""

    walled: WorkspaceDatabase
    models: ModelCatalog
    clock: Clock
    limits: Limits


async def forecast(
    parts: ForecastDependencies,
    workspace_id: UUID,
    document: Mapping[str, Any],
    grants: Sequence[Grant],
    words: Vocabulary,
    *,
    automation_id: UUID | None = None,
) -> CostForecast:
    """What a definition will cost in thirty days from now, before it is set going."""
    desk = _Forecaster(parts, workspace_id, document, tuple(grants), words, automation_id)
    return await desk.forecast()


@dataclass(slots=True)
class _Forecaster:
    """One forecast under way."""

    parts: ForecastDependencies
    workspace_id: UUID
    document: Mapping[str, Any]
    grants: tuple[Grant, ...]
    words: Vocabulary
    automation_id: UUID | None

    async def forecast(self) -> CostForecast:
        now = self.parts.clock.now()
        async with self.parts.walled.acquire() as tx:
            space = await read_workspace_budget(tx, self.workspace_id, now)
            bounds = bounds_of(self.document, space.day_usd)
            rate = await self._rate(tx, space, now)
            steps = await asyncio.to_thread(self._steps, self.document, bounds)
            talks = await self._talks(tx, steps, now)
            measured, spent = await self._measured(tx, steps, bounds)
        known = await self._known(steps, bounds, talks)
        costs = [cost_of(step, bounds, self.words, known) for step in steps]
        notes = list(dict.fromkeys(step.note for step in costs if step.note))
        run = cost_of_run(costs, bounds, may_do_nothing=all_conditional(self.document))
        if measured is not None and (run.basis != "free" or measured.cost_money):
            run = cost_of_runs(measured, bounds)
            costs = [
                measure_step(one, spent.get(one.step_id, {}), measured, bounds) for one in costs
            ]
        return build_forecast(rate, run, costs, caps_of(bounds, rate), notes, space.day_usd)

    def _steps(
        self, document: Mapping[str, Any], bounds: ExecutionBounds
    ) -> list[PricedStep | StepFrequency]:
        places = count_step_frequencies(document, bounds, self.words, self.parts.limits)
        return paying_of(places, bounds, self.words, self.grants)

    async def _rate(self, tx: Transaction, space: WorkspaceBudget, now: datetime) -> RunRate:
        triggers = entries(self.document.get("triggers"))[: self.parts.limits.triggers]
        armed = [one for one in triggers if one.get("enabled") is not False]
        # Calls of all its webhooks are counted together, so one of them stands for all.
        hooks = [one for one in armed if one.get("type") == _WEBHOOK][1:]
        told = [one for one in armed if not any(one is hook for hook in hooks)]
        rates = [await self._rate_of(tx, one, space, now) for one in told]
        if not rates and self.automation_id is not None:
            by_hand = await self._started(tx, _BY_HAND, now, "Somebody started it by hand")
            rates = [replace(one, basis="by_hand") for one in by_hand]
        return together(rates)

    async def _rate_of(
        self, tx: Transaction, trigger: Mapping[str, Any], space: WorkspaceBudget, now: datetime
    ) -> RunRate:
        kind, config = text(trigger.get("type")), mapping(trigger.get("config"))
        if kind == "schedule":
            return await asyncio.to_thread(by_schedule, config, now)
        if kind in LISTENING:
            return await self._listening(tx, kind, config, space, now)
        if kind == _WEBHOOK:
            found = await self._started(tx, kind, now, "A webhook call started it")
            return found[0] if found else unknown("How often its webhook is called is not known.")
        return unknown("What starts it is still open.")

    async def _started(self, tx: Transaction, kind: str, now: datetime, what: str) -> list[RunRate]:
        """How often an automation that is there was started in one way; nothing if it never was."""
        if self.automation_id is None:
            return []
        since, starts = await read_starts(tx, self.workspace_id, self.automation_id, kind, now)
        return [rate_from_history(starts, since, now, what)] if starts else []

    async def _listening(
        self,
        tx: Transaction,
        kind: str,
        config: Mapping[str, Any],
        space: WorkspaceBudget,
        now: datetime,
    ) -> RunRate:
        limits = self.parts.limits
        try:
            event_type, written = listens_to(kind, config)
            wanted = compile_filter(written, limits)
        except (Problem, KeyError, TypeError, ValueError, RecursionError):
            return unknown("Which events start it is still open.")
        if not event_type.isprintable():
            return unknown("There can be no events of the type it waits for.")
        kept = min(LOOK_BACK, timedelta(days=limits.event_days))
        since = max(space.created_at, now - kept)
        told = await read_event_history(tx, self.workspace_id, event_type, since)
        found = await asyncio.to_thread(_let_through, told, wanted)
        if found is None:
            return unknown("Its filter takes too long to be tried on earlier events.")
        return rate_from_history(
            found, told.since, now, f"{event_type[:200]} would have started it"
        )

    async def _talks(
        self, tx: Transaction, steps: Iterable[PricedStep | StepFrequency], now: datetime
    ) -> list[PastConversation]:
        asked = [
            one.asking for one in steps if isinstance(one, PricedStep) and one.asking is not None
        ]
        callers = sorted({one.caller for one in asked})
        return await read_talks(tx, self.workspace_id, callers, now) if callers else []

    async def _measured(
        self, tx: Transaction, steps: Sequence[PricedStep | StepFrequency], bounds: ExecutionBounds
    ) -> tuple[MeasuredRuns | None, Mapping[str, Mapping[UUID, Decimal]]]:
        """Its own runs that tell, and what each of their steps spent on models."""
        if self.automation_id is None:
            return None, {}

        def shaped(document: Mapping[str, Any]) -> CostShape:
            theirs = bounds_of(document)
            return shape_of(self._steps(document, theirs), theirs)

        runs = await read_past_runs(tx, self.workspace_id, self.automation_id)
        found = await asyncio.to_thread(choose, runs, shape_of(steps, bounds), shaped)
        if found is None:
            return None, {}
        return found, await read_step_costs(tx, self.workspace_id, found.ids)

    async def _known(
        self,
        steps: Iterable[PricedStep | StepFrequency],
        bounds: ExecutionBounds,
        talks: Sequence[PastConversation],
    ) -> CostEvidence:
        """Prices of the models that are asked, and why there is none where there is none."""
        paying = [one for one in steps if isinstance(one, PricedStep)]
        named = [bounds.model if one.asking is None else one.asking.model for one in paying]
        prices: dict[str, Price] = {}
        unpriced: dict[str, str] = {}
        called: dict[str, str] = {}
        for name in list(dict.fromkeys(one for one in named if one is not None))[:_MOST_MODELS]:
            if not name.isprintable():
                unpriced[name] = "There can be no model of the name that it asks for."
                continue
            try:
                model = await self.parts.models.find(self.workspace_id, name)
            except Problem as problem:
                unpriced[name] = problem.detail
                continue
            called[name] = model.name
            if model.price is None:
                shown = repr(model.name[:200])
                unpriced[name] = f"What {shown} costs is not known, so it would not be asked."
            else:
                prices[name] = model.price
        return CostEvidence(prices, unpriced, called, talks)


def _let_through(told: EventHistory, wanted: Any) -> list[datetime] | None:
    """The moments of events that a filter lets through; None when that takes too long."""
    deadline = time.monotonic() + _FILTER_SECONDS
    found = []
    for at, payload in told.events:
        if time.monotonic() > deadline:
            return None
        try:
            if wanted(payload):
                found.append(at)
        except Problem:
            # One that cannot be answered does not start anything.
            continue
    return found
