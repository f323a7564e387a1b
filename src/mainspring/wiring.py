"""Wiring: builds the whole by hand. The only module that knows every room.

Nothing registers itself by being imported: what this installation can do is what stands
in ``build_registry``, and what an engine is made of stands in ``open_house``.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from mainspring.actions.vocabulary import builtin_actions
from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.limits import Limits, with_overrides
from mainspring.contracts.registry import Registry
from mainspring.gate.call import Gate
from mainspring.gate.egress import Egress
from mainspring.gate.http_fetch import http_fetch_capability
from mainspring.runs.control import Control
from mainspring.runs.dispatch import RUNS_CHANNEL, Dispatcher
from mainspring.runs.engine import Engine
from mainspring.runs.events import EVENTS
from mainspring.runs.record import Recorder
from mainspring.runs.versions import Versions
from mainspring.runs.watch import Hook, Watcher, no_hook, nobody
from mainspring.runs.worker import Worker
from mainspring.settings import Settings
from mainspring.store.batch import GroupWriter
from mainspring.store.clock import DatabaseClock
from mainspring.store.database import Database
from mainspring.store.migrate import migrate
from mainspring.store.partitions import ensure_partitions
from mainspring.store.wake import Listener, Waker
from mainspring.surfaces.rooms import Rooms
from mainspring.triggers import event, schedule, webhook
from mainspring.workspace import capabilities as workspace_capabilities
from mainspring.workspace.automations import FIRST_WORKSPACE, ensure_workspace
from mainspring.workspace.inbox import POST_NOTIFICATION
from mainspring.workspace.vault import Vault


def build_registry(
    limits: Limits,
    *,
    actions: Iterable[Action] = (),
    capabilities: Iterable[Capability] = (),
) -> Registry:
    """Every word a definition may use here; more may be added, none replaced."""
    return Registry(
        actions=(*builtin_actions(limits), *actions),
        capabilities=(
            http_fetch_capability(limits),
            POST_NOTIFICATION,
            *workspace_capabilities.capabilities(limits),
            *capabilities,
        ),
        triggers=(schedule.TRIGGER, webhook.TRIGGER, event.TRIGGER),
        events=EVENTS,
    )


@dataclass(frozen=True, slots=True)
class House:
    """Everything an entry point needs, built and open."""

    settings: Settings
    limits: Limits
    registry: Registry
    database: Database
    clock: DatabaseClock
    vault: Vault
    egress: Egress
    gate: Gate
    versions: Versions
    waker: Waker
    dispatcher: Dispatcher
    control: Control
    workspace_id: UUID = FIRST_WORKSPACE


@asynccontextmanager
async def open_house(
    settings: Settings, *, registry: Registry | None = None, attach: bool = False
) -> AsyncIterator[House]:
    """Opens the database, brings its tables up to date, and closes all of it at the end."""
    limits = with_overrides(settings.limits)
    words = registry or build_registry(limits)
    database = await Database.open(settings, attach=attach)
    house = build_house(settings, limits, words, database)
    try:
        await prepare(house)
        yield house
    finally:
        await house.waker.aclose()
        await house.egress.aclose()
        await database.close()


def build_house(
    settings: Settings, limits: Limits, registry: Registry, database: Database
) -> House:
    """The parts around an open database, each given what it needs and nothing more."""
    clock = DatabaseClock()
    vault = Vault(database, settings.key_file, limits)
    egress = Egress(limits, settings.egress_allow)
    gate = Gate(registry, database, egress, vault, clock, limits)
    versions = Versions(database, registry, limits)
    waker = Waker(database)
    return House(
        settings, limits, registry, database, clock, vault, egress, gate, versions, waker,
        Dispatcher(database, versions, waker, limits), Control(database, waker),
    )  # fmt: skip


async def prepare(house: House) -> None:
    """Migrations, partitions for the time to come, and the first workspace."""
    await migrate(house.database)
    async with house.database.transaction() as tx:
        row = await tx.fetchrow("SELECT now() AS now")
        assert row is not None
        house.clock.sync(row["now"])
        await ensure_partitions(tx, row["now"])
        await ensure_workspace(tx, house.workspace_id, "Home")


def build_worker(house: House, *, watch: Watcher = nobody, hook: Hook = no_hook) -> Worker:
    """A worker over an open house; it works once its ``run`` is awaited."""
    recorder = Recorder(house.limits)
    engine = Engine(
        gate=house.gate,
        writer=GroupWriter(house.database, recorder.flush),
        clock=house.clock,
        limits=house.limits,
        watch=watch,
        hook=hook,
        chance=random.random,
    )
    listener = Listener(house.database, RUNS_CHANNEL)
    return Worker(house.database, engine, house.clock, house.versions, listener, house.settings)


def rooms_of(house: House) -> Rooms:
    """The house as the surfaces see it."""
    return Rooms(
        settings=house.settings,
        limits=house.limits,
        registry=house.registry,
        database=house.database,
        clock=house.clock,
        vault=house.vault,
        waker=house.waker,
        dispatcher=house.dispatcher,
        control=house.control,
        workspace_id=house.workspace_id,
        hire=lambda watch: build_worker(house, watch=watch),
    )
