"""Building a forecast: run rate times cost per run, each with its basis, next to the caps.

The definition may be unfinished: open parts are reported and their numbers left to the caps.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.authoring.forecast.amounts import ZERO, CostRange, at_least, at_most, format_usd
from mainspring.authoring.forecast.assumptions import FEWEST
from mainspring.authoring.forecast.costs import (
    CostEvidence,
    PastConversation,
    PricedStep,
    RunCost,
    StepCost,
    cost_of,
    cost_of_run,
    paying_of,
)
from mainspring.authoring.forecast.definition_view import ExecutionBounds, bounds_of, entries, text
from mainspring.authoring.forecast.forecast import CostForecast, build_forecast, caps_of
from mainspring.authoring.forecast.rates import (
    RunRate,
    by_schedule,
    rate_from_history,
    together,
    unknown,
)
from mainspring.authoring.forecast.step_frequency import (
    StepFrequency,
    all_conditional,
    count_step_frequencies,
)
from mainspring.authoring.json_pointers import mapping
from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.clock import Clock
from mainspring.contracts.errors import Problem
from mainspring.contracts.grant import Grant
from mainspring.contracts.ids import get_lowest_id_at
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelCatalog, Price
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.filters import compile_filter
from mainspring.definition.polls import POLL_TYPES
from mainspring.triggers.presets import LISTENING, listens_to

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import WorkspaceDatabase


# Read-only queries of the workspace's history.

LOOK_BACK: Final = timedelta(days=30)
_EVENTS: Final = 20_000
_EVENT_BYTES: Final = 2_097_152
_ASKS: Final = 1_000
_RUNS: Final = 200
_VERSIONS: Final = 10

_SPACE = """
    SELECT created_at, cost_cap_daily_usd FROM workspaces WHERE workspace_id = $1
"""
_REACH = """
    SELECT count(*) AS looked_at, min(e.created_at) AS since FROM (
        SELECT created_at FROM events
        WHERE workspace_id = $1 AND id >= $2 ORDER BY id DESC LIMIT $3
    ) AS e
"""
_TOLD = """
    WITH sized AS (
        SELECT e.created_at, e.payload, count(*) OVER () AS told,
            sum(pg_column_size(e.payload)) OVER (ORDER BY e.id DESC) AS bytes
        FROM (
            SELECT id, created_at, type, payload FROM events
            WHERE workspace_id = $1 AND id >= $2 ORDER BY id DESC LIMIT $3
        ) AS e
        WHERE e.type = $4
    )
    SELECT created_at, payload, told FROM sized WHERE bytes <= $5 ORDER BY created_at DESC
"""
# Trials are not automatic runs, and skipped runs did nothing.
_RUN_DAYS = """
    SELECT r.created_at FROM runs r
    WHERE r.workspace_id = $1 AND r.automation_id = $2 AND r.id >= $3 AND r.mode = 'live'
      AND r.trigger_type = $4 AND r.status <> 'skipped'
    ORDER BY r.id DESC LIMIT $5
"""
_BEGUN = "SELECT created_at FROM automations WHERE workspace_id = $1 AND id = $2"
_FINISHED = """
    SELECT r.id, r.version, r.cost_usd FROM runs r
    WHERE r.workspace_id = $1 AND r.automation_id = $2 AND r.mode = 'live'
      AND r.finished_at IS NOT NULL AND r.status IN ('succeeded', 'failed', 'timed_out', 'dead')
    ORDER BY r.id DESC LIMIT $3
"""
_DOCUMENTS = """
    SELECT v.version, d.document FROM automation_versions v
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE v.workspace_id = $1 AND v.automation_id = $2 AND v.version = ANY($3::int[])
"""
_STEPS = """
    SELECT u.run_id, u.step, sum(u.cost_usd) AS usd FROM llm_usage u
    WHERE u.workspace_id = $1 AND u.run_id = ANY($2::uuid[]) GROUP BY u.run_id, u.step
"""
_TALKS = """
    SELECT u.id, u.caller, u.model, u.run_id, u.step, u.item, u.attempt, u.input_tokens,
        u.output_tokens, u.cached_tokens
    FROM llm_usage u
    WHERE u.workspace_id = $1 AND u.at >= $2 AND NOT u.reported AND u.run_id IS NOT NULL
      AND u.caller = ANY($3::text[])
    ORDER BY u.at DESC, u.id DESC LIMIT $4
"""


@dataclass(frozen=True, slots=True)
class WorkspaceBudget:
    """The workspace's own budget."""

    created_at: datetime
    day_usd: Decimal | None = None


@dataclass(frozen=True, slots=True)
class EventHistory:
    """Events of one type, and since when they are complete."""

    since: datetime
    events: Sequence[tuple[datetime, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class PastRun:
    """A finished run, its cost, and the definition it used."""

    id: UUID
    cost_usd: Decimal
    version: int
    document: Mapping[str, Any] | None


async def read_workspace_budget(
    tx: Transaction, workspace_id: UUID, now: datetime
) -> WorkspaceBudget:
    row = await tx.fetchrow(_SPACE, workspace_id)
    return (
        WorkspaceBudget(now)
        if row is None
        else WorkspaceBudget(row["created_at"], row["cost_cap_daily_usd"])
    )


async def read_event_history(
    tx: Transaction, workspace_id: UUID, event_type: str, since: datetime
) -> EventHistory:
    """Load the newest events of a type, within retention and the scan limit."""
    bounds = (workspace_id, get_lowest_id_at(since), _EVENTS)
    reach = await tx.fetchrow(_REACH, *bounds)
    rows = await tx.fetch(_TOLD, *bounds, event_type, _EVENT_BYTES)
    if reach["looked_at"] >= _EVENTS:
        since = max(since, reach["since"])
    if rows and len(rows) < rows[0]["told"]:
        since = max(since, rows[-1]["created_at"])
    return EventHistory(since, [(row["created_at"], row["payload"]) for row in rows])


async def read_starts(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, kind: str, now: datetime
) -> tuple[datetime, list[datetime]]:
    """Load when an automation was started in one way, and since when that was possible."""
    begun = await tx.fetchrow(_BEGUN, workspace_id, automation_id)
    since = now - LOOK_BACK if begun is None else max(begun["created_at"], now - LOOK_BACK)
    rows = await tx.fetch(
        _RUN_DAYS, workspace_id, automation_id, get_lowest_id_at(since), kind, _EVENTS
    )
    if len(rows) >= _EVENTS:
        since = rows[-1]["created_at"]
    return since, [row["created_at"] for row in rows]


async def read_past_runs(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> list[PastRun]:
    """Load its newest finished runs, each with its definition when that is recent."""
    rows = await tx.fetch(_FINISHED, workspace_id, automation_id, _RUNS)
    versions = list(dict.fromkeys(row["version"] for row in rows))[:_VERSIONS]
    kept = await tx.fetch(_DOCUMENTS, workspace_id, automation_id, versions)
    documents = {row["version"]: row["document"] for row in kept}
    return [
        PastRun(row["id"], row["cost_usd"], row["version"], documents.get(row["version"]))
        for row in rows
    ]


async def read_step_costs(
    tx: Transaction, workspace_id: UUID, runs: Sequence[UUID]
) -> dict[str, dict[UUID, Decimal]]:
    """Load the model cost of each step, by step and run."""
    found: dict[str, dict[UUID, Decimal]] = {}
    for row in await tx.fetch(_STEPS, workspace_id, list(runs)):
        found.setdefault(row["step"], {})[row["run_id"]] = row["usd"]
    return found


async def read_talks(
    tx: Transaction, workspace_id: UUID, callers: Sequence[str], now: datetime
) -> list[PastConversation]:
    """Load the workspace's newest model conversations."""
    rows = await tx.fetch(_TALKS, workspace_id, now - LOOK_BACK, list(callers), _ASKS)
    talks: dict[tuple[Any, ...], list[tuple[int, int, int]]] = {}
    for row in rows:
        place: tuple[Any, ...] = (row["run_id"], row["step"], row["item"], row["attempt"])
        if row["caller"] != AGENT_RUN:
            # An agent's calls are one conversation; others are single calls.
            place = (row["id"],)
        ask = (row["input_tokens"], row["output_tokens"], row["cached_tokens"])
        talks.setdefault((row["caller"], row["model"], *place), []).append(ask)
    return [PastConversation(key[0], key[1], tuple(asks)) for key, asks in talks.items()]


# Costs of the automation's own runs.

# From this sample size on, outliers are dropped.
_MANY: Final = 20

# The factor in tokens above which two definitions are not comparable.
_FAR: Final = 2


@dataclass(frozen=True, slots=True)
class CostShape:
    """The costly parts of a definition: in full, in brief, and in tokens."""

    whole: tuple[tuple[Any, ...], ...]
    brief: tuple[tuple[Any, ...], ...]
    tokens: tuple[int, ...]

    def like(self, other: CostShape) -> bool:
        """Whether the same models are called at the same places for about as many tokens."""
        pairs = zip(self.tokens, other.tokens, strict=False)
        return self.brief == other.brief and all(
            max(pair) <= _FAR * max(min(pair), 1) for pair in pairs
        )


@dataclass(frozen=True, slots=True)
class MeasuredRuns:
    """Past runs that predict the next one."""

    runs: Sequence[PastRun]
    # Whether some of them used a definition with different prompts.
    nearly: bool

    @property
    def ids(self) -> list[UUID]:
        return [run.id for run in self.runs]

    @property
    def cost_money(self) -> bool:
        """Whether any run cost money: a program may report cost that no plan shows."""
        return any(run.cost_usd for run in self.runs)


def shape_of(steps: Sequence[PricedStep | StepFrequency], bounds: ExecutionBounds) -> CostShape:
    """Extract the costly parts of a plan, for comparison."""
    whole, brief, tokens = [], [], []
    for step in steps:
        if isinstance(step, StepFrequency):
            continue
        place, model = step.place, bounds.model
        if step.asking is not None:
            model = step.asking.model or ""
            tokens.append(step.asking.usual.read + step.asking.usual.written)
        short = (place.action, model, place.items_open, place.conditional)
        brief.append(short)
        whole.append((*short, place.step_id, _encode_config(place.config)))
    return CostShape(tuple(whole), tuple(brief), tuple(tokens))


def _encode_config(config: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(config, default=str, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError):
        return b""


def choose(
    runs: Sequence[PastRun], shape: CostShape, shaped: Callable[[Mapping[str, Any]], CostShape]
) -> MeasuredRuns | None:
    """Choose the comparable runs; None when too few."""
    shapes: dict[int, CostShape] = {}
    same, alike = [], []
    for run in runs:
        if run.document is None:
            continue
        if run.version not in shapes:
            shapes[run.version] = shaped(run.document)
        theirs = shapes[run.version]
        if theirs.like(shape):
            alike.append(run)
            if theirs.whole == shape.whole:
                same.append(run)
    if len(same) >= FEWEST:
        return MeasuredRuns(same, nearly=False)
    found = MeasuredRuns(alike, nearly=len(alike) > len(same))
    # One run with a cost is enough to know that a seemingly free plan is not.
    enough = len(alike) >= FEWEST or (not shape.brief and found.cost_money)
    return found if enough else None


def span_of(costs: Sequence[Decimal]) -> CostRange:
    """Return the range without outliers; a month of runs adds up to the mean."""
    ranked, usual = sorted(costs), mean(costs)
    cut = len(ranked) // _MANY
    return CostRange(min(ranked[cut], usual), usual, max(ranked[len(ranked) - 1 - cut], usual))


def cost_of_runs(measured: MeasuredRuns, bounds: ExecutionBounds) -> RunCost:
    """Estimate the cost of a run from past ones."""
    costs = [run.cost_usd for run in measured.runs]
    whole = span_of(costs)
    span = whole.capped(bounds.most_usd)
    why = _describe_past_costs(costs, nearly=measured.nearly)
    if len(costs) >= _MANY:
        why += " The range excludes outliers."
    if max(costs) > bounds.most_usd:
        why += f" A run may cost {at_most(bounds.most_usd)} now, so no more is reckoned."
    return RunCost(span, "measured", why, pstdev(costs), len(costs))


def _describe_past_costs(costs: Sequence[Decimal], *, nearly: bool) -> str:
    """Summarize what past runs cost."""
    steps = "the same or nearly the same" if nearly else "the same"
    if len(costs) == 1:
        return f"Its last live run with {steps} paid steps cost {format_usd(costs[0])}."
    return (
        f"Its last {len(costs)} live runs with {steps} paid steps cost {format_usd(mean(costs))} on "  # noqa: E501
        f"average, from {at_least(min(costs))} to {at_most(max(costs))}."
    )


def measure_step(
    step: StepCost, spent: Mapping[UUID, Decimal], measured: MeasuredRuns, bounds: ExecutionBounds
) -> StepCost:
    """Estimate a step from its booked model calls; unbooked parts are kept."""
    if not spent:
        return step
    costs = [spent.get(run.id, ZERO) for run in measured.runs]
    span = span_of(costs).capped(bounds.most_usd)
    return StepCost(step.step_id, span, "measured", _describe_sample(len(costs)), step.note)


def _describe_sample(runs: int) -> str:
    return "Measured in one run." if runs == 1 else f"Measured in {runs} runs."


# The time limit for all payloads of one filter.
_FILTER_SECONDS: Final = 1.0
_MOST_MODELS: Final = 20
_BY_HAND: Final = "manual"
_WEBHOOK: Final = "webhook"


@dataclass(frozen=True, slots=True)
class ForecastDependencies:
    """The dependencies of a forecast."""

    walled: WorkspaceDatabase
    models: ModelCatalog
    clock: Clock
    limits: Limits


async def forecast(
    parts: ForecastDependencies,
    workspace_id: UUID,
    document: Mapping[str, Any],
    grants: Sequence[Grant],
    vocabulary: Vocabulary,
    *,
    automation_id: UUID | None = None,
) -> CostForecast:
    """Forecast the cost of a definition for the next thirty days."""
    forecaster = _Forecaster(
        parts, workspace_id, document, tuple(grants), vocabulary, automation_id
    )
    return await forecaster.forecast()


@dataclass(slots=True)
class _Forecaster:
    """A forecast in progress."""

    parts: ForecastDependencies
    workspace_id: UUID
    document: Mapping[str, Any]
    grants: tuple[Grant, ...]
    vocabulary: Vocabulary
    automation_id: UUID | None

    async def forecast(self) -> CostForecast:
        now = self.parts.clock.now()
        async with self.parts.walled.acquire() as tx:
            space = await read_workspace_budget(tx, self.workspace_id, now)
            bounds = bounds_of(self.document, space.day_usd)
            rate = await self._rate(tx, space, now)
            steps = await asyncio.to_thread(self._steps, self.document, bounds)
            talks = await self._talks(tx, steps, now)
            measured, spent = await self._load_measured_runs(tx, steps, bounds)
        known = await self._load_prices(steps, bounds, talks)
        costs = [cost_of(step, bounds, self.vocabulary, known) for step in steps]
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
        places = count_step_frequencies(document, bounds, self.vocabulary, self.parts.limits)
        return paying_of(places, bounds, self.vocabulary, self.grants)

    async def _rate(self, tx: Transaction, space: WorkspaceBudget, now: datetime) -> RunRate:
        triggers = entries(self.document.get("triggers"))[: self.parts.limits.triggers]
        armed = [one for one in triggers if one.get("enabled") is not False]
        # Webhook calls are counted together, so one webhook represents all.
        hooks = [one for one in armed if one.get("type") == _WEBHOOK][1:]
        told = [one for one in armed if not any(one is hook for hook in hooks)]
        rates = [await self._rate_of(tx, one, space, now) for one in told]
        if not rates and self.automation_id is not None:
            by_hand = await self._load_start_rates(tx, _BY_HAND, now, "Started manually")
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
            found = await self._load_start_rates(tx, kind, now, "A webhook call started it")
            return found[0] if found else unknown("How often its webhook is called is not known.")
        if kind in POLL_TYPES:
            found = await self._load_start_rates(tx, kind, now, "An item that it found started it")
            return found[0] if found else unknown("How many items its poll finds is not known.")
        return unknown("What starts it is still open.")

    async def _load_start_rates(
        self, tx: Transaction, kind: str, now: datetime, what: str
    ) -> list[RunRate]:
        """Load how often an automation was started in one way; empty if never."""
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

    async def _load_measured_runs(
        self, tx: Transaction, steps: Sequence[PricedStep | StepFrequency], bounds: ExecutionBounds
    ) -> tuple[MeasuredRuns | None, Mapping[str, Mapping[UUID, Decimal]]]:
        """Load its own comparable runs, and the model cost of each of their steps."""
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

    async def _load_prices(
        self,
        steps: Iterable[PricedStep | StepFrequency],
        bounds: ExecutionBounds,
        talks: Sequence[PastConversation],
    ) -> CostEvidence:
        """Load the prices of the models, with the reason for each missing one."""
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
    """Return the times of events that a filter accepts; None on timeout."""
    deadline = time.monotonic() + _FILTER_SECONDS
    found = []
    for at, payload in told.events:
        if time.monotonic() > deadline:
            return None
        try:
            if wanted(payload):
                found.append(at)
        except Problem:
            # An event on which the filter fails starts nothing.
            continue
    return found
