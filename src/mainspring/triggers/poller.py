"""The poller: looks at the sources of poll triggers and starts runs for what it finds.

A look calls an outside system, so it holds no transaction. It is claimed with a lease instead: any
number of pollers work concurrently, and the look of one that died is due again when its lease
expires. What a look has found is written in one transaction with the runs that it starts, and only
while the lease is its own. A poller that is killed has done all of that or nothing.

A source that fails is retried with backoff. It is reported once, and so is its recovery.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import orjson

from mainspring.contracts.errors import (
    Invalid,
    Problem,
    UpstreamError,
    as_problem,
    describe_for_log,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.polls import POLL_TYPES, PollSettings, read_poll
from mainspring.definition.strict_json import encode_exact
from mainspring.gate.call import Gate
from mainspring.gate.policy import Mode, RunPolicy
from mainspring.gate.run_budget import RunBudget
from mainspring.runs.dispatch import Dispatcher, DispatchResult
from mainspring.runs.missed_fire_times import KEPT, MissedFireTime, record_missed
from mainspring.runs.rows import Hook, no_hook
from mainspring.runs.run_requests import RunRequest
from mainspring.runs.versions import VersionCache
from mainspring.store.database import Database, is_lost_connection
from mainspring.store.database_errors import is_storage_full
from mainspring.triggers.poll_changes import (
    FoundItems,
    LookPlan,
    compute_retry_delay,
    find_items,
    is_reportable,
    plan_look,
)
from mainspring.triggers.push import compute_next_look
from mainspring.triggers.schedule import rfc3339
from mainspring.triggers.scheduler import Time, database_time
from mainspring.workspace import polls
from mainspring.workspace.alerts import Alert, post_alert
from mainspring.workspace.polls import DueLook, RememberedItem
from mainspring.workspace.push_channels import read_trigger_push
from mainspring.workspace.push_subscriptions import queue_failure

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.runs.engine import LoadedVersion

log = logging.getLogger(__name__)

# Looks of one process at a time.
TOGETHER: Final = 8
# The time limit of a look, and its lease, which must be longer.
LOOK_SECONDS: Final = 120.0
LEASE: Final = timedelta(seconds=300)
# The interval at which new triggers are noticed.
POLL_SECONDS: Final = 1.0
_AWAY_SECONDS: Final = 0.5
_LONGEST_DETAIL: Final = 1_000


@dataclass(frozen=True, slots=True)
class LookResult:
    """What a look found, or why it failed; and what it starts."""

    settings: PollSettings | None
    found: FoundItems
    problem: Problem | None
    first: bool
    plan: LookPlan


class Poller:
    """Looks for the poll triggers of all workspaces."""

    def __init__(
        self,
        database: Database,
        gate: Gate,
        versions: VersionCache,
        dispatcher: Dispatcher,
        limits: Limits,
        *,
        mail: bool,
        time: Time = database_time,
        poll: float = POLL_SECONDS,
        lease: timedelta = LEASE,
        hook: Hook = no_hook,
    ) -> None:
        self._database = database
        self._gate = gate
        self._versions = versions
        self._dispatcher = dispatcher
        self._limits = limits
        self._mail = mail
        self._time = time
        self._poll = poll
        self._lease = lease
        self._hook = hook

    async def run(self, stop: asyncio.Event) -> None:
        """Look until stopped; no error ends it. Looks under way are given up and due again."""
        under_way: dict[asyncio.Task[None], DueLook] = {}
        ending = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                pause = await self._start_due(under_way)
                await asyncio.wait(
                    {ending, *under_way}, timeout=pause, return_when=asyncio.FIRST_COMPLETED
                )
                for task in [task for task in under_way if task.done()]:
                    del under_way[task]
        finally:
            ending.cancel()
            for task in under_way:
                task.cancel()
            await asyncio.gather(ending, *under_way, return_exceptions=True)
            with contextlib.suppress(Exception):
                await self._release(list(under_way.values()))

    async def once(self, most: int = TOGETHER) -> int:
        """One round of due looks, to their end; returns how many."""
        looks = await self._claim(most)
        await asyncio.gather(*(self._look(look) for look in looks))
        return len(looks)

    async def _start_due(self, under_way: dict[asyncio.Task[None], DueLook]) -> float:
        """Start the looks that are due; returns how long to sleep."""
        free = TOGETHER - len(under_way)
        if not free:
            return self._poll
        try:
            for look in await self._claim(free):
                under_way[asyncio.create_task(self._look(look))] = look
            async with self._database.acquire() as connection:
                first = await polls.load_next_look(connection)
                now = await self._time(connection)
        except Exception as error:
            if not is_lost_connection(error) and not is_storage_full(error):
                log.exception("The poller failed and continues: %s", describe_for_log(error))
            return _AWAY_SECONDS
        seconds = self._poll if first is None else (first - now).total_seconds()
        # What is due and was not claimed waits for something else, such as consent.
        return min(seconds, self._poll) if seconds > 0 else self._poll

    async def _claim(self, most: int) -> list[DueLook]:
        async with self._database.transaction() as tx:
            now = await self._time(tx)
            return await polls.claim_looks(tx, now, most, self._lease, POLL_TYPES)

    async def _release(self, looks: Sequence[DueLook]) -> None:
        for look in looks:
            async with self._database.transaction() as tx:
                await polls.release_look(tx, look)

    async def _look(self, look: DueLook) -> None:
        """One look with its result written; an unexpected error leaves it to its lease."""
        try:
            result = await self._read(look)
            self._hook("looked")
            await self._write(look, result)
        except Exception as error:
            if not is_lost_connection(error) and not is_storage_full(error):
                log.exception(
                    "A look of trigger %s failed and is repeated: %s",
                    look.trigger_id,
                    describe_for_log(error),
                )

    async def _read(self, look: DueLook) -> LookResult:
        """Call the source and decide what its answer starts.

        Only the owner of the lease changes what was seen, so it is read without a lock.
        """
        settings, found, problem = None, FoundItems(), None
        try:
            settings = read_poll(look.type, look.config)
            loaded = await self._versions.get(look.workspace_id, look.automation_id, look.version)
            value = await call_source(self._gate, self._database, look, settings, loaded)
            found = await asyncio.to_thread(find_items, settings, value, self._limits)
        except Exception as error:
            if is_lost_connection(error):
                raise
            problem = as_problem(error)
        async with self._database.acquire() as connection:
            state = await polls.read_poll_states(connection, look.workspace_id, [look.trigger_id])
            own = state.get(look.trigger_id) or {"source_hash": None, "arrivals": 0}
            same = settings is not None and own["source_hash"] == settings.source_hash
            hashes = [one.id_hash for one in found.items]
            seen = await polls.read_seen(
                connection, look.workspace_id, look.trigger_id, hashes, waiting=not same
            )
            most = 0 if settings is None else settings.max_items
            waiting = await polls.read_waiting(connection, look, most)
        if settings is None:
            return LookResult(None, found, problem, first=False, plan=LookPlan((), (), 0))
        first = not same
        planned = plan_look(
            settings, found.items, seen, waiting, first=first, arrivals=own["arrivals"]
        )
        return LookResult(settings, found, problem, first=first, plan=planned)

    async def _write(self, look: DueLook, result: LookResult) -> None:
        now = await self._read_time()
        requests = [
            await self._dispatcher.prepare(one) for one in self._build_requests(look, result, now)
        ]
        made: list[DispatchResult | Problem] = []
        async with self._database.transaction() as tx:
            state = await polls.hold_look(tx, look)
            if state is None:
                # The trigger was changed meanwhile, or another process has looked.
                await polls.release_look(tx, look)
                return
            now = await self._time(tx)
            if requests:
                made = await self._dispatcher.take(tx, requests)
                await record_missed(tx, list(_list_refused(requests, made)))
                await polls.record_fired(tx, look)
            self._hook("fired")
            if result.problem is None and result.first:
                await polls.forget_items(tx, look)
            await polls.remember_items(tx, look, result.plan.remember)
            if result.problem is None:
                await self._succeed(tx, look, result, state, now)
            else:
                await self._fail(tx, look, result, state, now)
            self._hook("remembered")
        self._hook("committed")
        self._dispatcher.wake(made)

    async def _read_time(self) -> datetime:
        async with self._database.acquire() as connection:
            return await self._time(connection)

    async def _succeed(
        self,
        tx: Transaction,
        look: DueLook,
        result: LookResult,
        state: Mapping[str, Any],
        now: datetime,
    ) -> None:
        settings = result.settings
        assert settings is not None
        listed = [one.id_hash for one in result.found.items]
        await polls.trim_items(tx, look, listed, self._limits.poll_seen)
        # Looks that were missed are made up for by this one.
        due = look.due_at + settings.every
        due = due if due > now else now + settings.every
        push = await read_trigger_push(tx, look.workspace_id, look.trigger_id)
        began = state["leased_until"] - self._lease
        await polls.record_success(
            tx,
            look,
            settings.source_hash,
            compute_next_look(due, settings.every, push, now=now, began=began),
            items=len(listed),
            skipped=result.found.skipped,
            arrivals=result.plan.arrivals,
        )
        if state["reported_at"] is not None:
            await post_alert(tx, _build_recovery(look, state))

    async def _fail(
        self,
        tx: Transaction,
        look: DueLook,
        result: LookResult,
        state: Mapping[str, Any],
        now: datetime,
    ) -> None:
        problem, failures = result.problem, state["failures"] + 1
        assert problem is not None
        every = timedelta(0) if result.settings is None else result.settings.every
        report = state["reported_at"] is None and is_reportable(failures, problem)
        delay = compute_retry_delay(failures, every, problem)
        await polls.record_failure(tx, look, now + delay, problem.as_dict(), reported=report)
        if report:
            alert = _build_alert(look, problem, mail=self._mail)
            await post_alert(tx, alert)
            await queue_failure(tx, look.workspace_id, look.automation_id, alert.id, None)

    def _build_requests(
        self, look: DueLook, result: LookResult, now: datetime
    ) -> Iterator[RunRequest]:
        settings, fire = result.settings, result.plan.fire
        if settings is None:
            return
        if not settings.batches:
            for one in fire:
                payload = {"item": one.item, "change": one.change, "looked_at": rfc3339(now)}
                yield _build_request(look, payload, build_item_key(one), now)
            return
        for change in ("new", "changed"):
            chosen = [one for one in fire if one.change == change]
            for batch in _split(chosen, self._limits.payload_bytes // 2):
                payload = {
                    "items": [one.item for one in batch],
                    "change": change,
                    "looked_at": rfc3339(now),
                }
                yield _build_request(look, payload, _build_batch_key(batch), now)


async def call_source(
    gate: Gate,
    database: Database,
    look: DueLook,
    settings: PollSettings,
    loaded: LoadedVersion,
    *,
    mode: Mode = "live",
) -> Any:
    """Call the capability of a poll with the grants, the secrets and the budget of its version."""
    async with database.acquire() as connection:
        now = await database_time(connection)
    execution = loaded.program.execution
    policy = RunPolicy(loaded.grants, execution.write_policy, mode, loaded.created_by)
    budget = RunBudget(
        Decimal(execution.budget_cap_usd), day_cap=Decimal(execution.cost_cap_daily_usd)
    )
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            return await gate.look(
                look.workspace_id,
                look.automation_id,
                settings.capability,
                settings.resolve_arguments(now),
                policy,
                budget,
            )
    except TimeoutError:
        raise UpstreamError(
            f"{settings.capability} did not answer within {LOOK_SECONDS:.0f} seconds.",
            code="poll_timeout",
        ) from None


def build_item_key(one: RememberedItem) -> str:
    """The dedup key of a run: the item, its content and how often it has changed.

    The revision tells an item that changed back from one that never changed.
    """
    return f"poll:{one.id_hash.hex()}:{one.value_hash[:16].hex()}:{one.revision}"


def _build_batch_key(batch: Sequence[RememberedItem]) -> str:
    keys = "\n".join(map(build_item_key, batch))
    return f"polls:{hashlib.sha256(keys.encode()).hexdigest()}"


def _build_request(
    look: DueLook, payload: Mapping[str, Any], key: str, now: datetime
) -> RunRequest:
    inputs = look.inputs if isinstance(look.inputs, Mapping) else {}
    problem = (
        None
        if isinstance(look.inputs, Mapping)
        else Invalid("The stored inputs are not an object.", code="unreadable")
    )
    return RunRequest(
        look.workspace_id,
        look.automation_id,
        trigger_type=look.type,
        trigger_id=look.trigger_id,
        static=inputs,
        payload=payload,
        key=key,
        key_expires_at=now + KEPT,
        problem=problem,
    )


def _split(items: Sequence[RememberedItem], most_bytes: int) -> Iterator[list[RememberedItem]]:
    """Batches that fit into a payload; an item that is too large is alone."""
    batch: list[RememberedItem] = []
    size = 0
    for one in items:
        own = len(orjson.dumps(one.item, default=encode_exact))
        if batch and size + own > most_bytes:
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += own
    if batch:
        yield batch


def _list_refused(
    requests: Sequence[RunRequest], made: Sequence[DispatchResult | Problem]
) -> Iterator[MissedFireTime]:
    """Record the items that could not even become a failed run."""
    for request, answer in zip(requests, made, strict=True):
        if isinstance(answer, Problem):
            yield MissedFireTime(
                request.workspace_id, request.source_id, request.key or "", answer.code
            )


def _name(look: DueLook) -> str:
    """One line, because it becomes the subject of a mail and a name may contain anything."""
    words = "".join(sign if sign.isprintable() else " " for sign in look.name).split()
    return " ".join(words) or "An automation"


def _build_alert(look: DueLook, problem: Problem, *, mail: bool) -> Alert:
    lines = [f"Its trigger {look.slug} cannot read its source: {problem.detail[:_LONGEST_DETAIL]}"]
    if problem.suggestion:
        lines.append(problem.suggestion[:_LONGEST_DETAIL])
    promise = (
        "It is retried, at most an hour apart or at its own interval. You get no further message "
        "until it works again. Items that appear meanwhile start their runs then, if the source "
        "still lists them."
    )
    lines += [
        "",
        promise,
        "",
        f"Show the trigger: mainspring show {look.automation_id}",
    ]
    return Alert(
        generate_id(),
        look.workspace_id,
        look.automation_id,
        None,
        "error",
        f"{_name(look)} cannot read its source",
        "\n".join(lines),
        mail,
    )


def _build_recovery(look: DueLook, state: Mapping[str, Any]) -> Alert:
    since = rfc3339(state["failing_since"])
    return Alert(
        generate_id(),
        look.workspace_id,
        look.automation_id,
        None,
        "info",
        f"{_name(look)} can read its source again",
        f"Its trigger {look.slug} works again. It failed since {since}, "
        f"{state['failures']} times in a row.",
        mail=False,
    )
