"""Wiring: builds the whole by hand. The only module that knows every room.

Nothing registers itself by being imported: what this installation can do is what stands
in ``vocabulary``, and what an engine is made of stands in ``open_house``.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from mainspring.actions.script.workshop import Workshop
from mainspring.contracts.context import Mailer
from mainspring.contracts.embedding import Embedder
from mainspring.contracts.limits import Limits, with_overrides
from mainspring.contracts.model import Models
from mainspring.contracts.registry import Registry
from mainspring.gate.artifacts.blobs import BlobStore
from mainspring.gate.artifacts.links import Links
from mainspring.gate.artifacts.place import open_blobs
from mainspring.gate.call import Gate
from mainspring.gate.connected.lines import Lines, wide_egress
from mainspring.gate.connected.reception import Reception
from mainspring.gate.egress import Egress
from mainspring.gate.mail import SmtpMailer, read_smtp_url
from mainspring.gate.outside.client import Outside, roomy_egress
from mainspring.gate.outside.harvest import Harvester
from mainspring.gate.outside.switchboard import Switchboard
from mainspring.gate.preflight import InstallationPreflight
from mainspring.gate.prompting import pressing
from mainspring.gate.prompting.interactions import InteractionReceiver
from mainspring.gate.prompting.pressing import Pressing
from mainspring.gate.prompting.telling import Chats, Telling
from mainspring.gate.providers.desk import ProviderModels
from mainspring.gate.providers.embedder import OpenAIEmbedder
from mainspring.gate.providers.from_settings import take_in
from mainspring.gate.reminders import Reminders
from mainspring.gate.telemetry import TelemetryLine, check_telemetry
from mainspring.gate.web_push import PushDelivery, PushSender, contact_of
from mainspring.runs.control import Control
from mainspring.runs.dispatch import Dispatcher
from mainspring.runs.engine import Engine
from mainspring.runs.questions import Questions
from mainspring.runs.record import Recorder
from mainspring.runs.resuming import RunResumer
from mainspring.runs.telemetry import HouseTelemetry, RunTelemetry, both, watch_pool
from mainspring.runs.transport.broker import broker_of
from mainspring.runs.transport.consumer import Consumer
from mainspring.runs.transport.hearing import CeleryEar
from mainspring.runs.transport.hints import RUNS_CHANNEL, Ear, Hints, LocalHints
from mainspring.runs.transport.sender import CeleryHints
from mainspring.runs.versions import Versions
from mainspring.runs.watch import Hook, Watcher, no_hook, nobody
from mainspring.runs.worker import ALONE_SECONDS, Worker
from mainspring.settings import Settings, forget_model_keys, without_model_keys
from mainspring.store.batch import GroupWriter
from mainspring.store.clock import DatabaseClock
from mainspring.store.database import Database
from mainspring.store.events import EVENTS_CHANNEL, EventTable, Herald
from mainspring.store.migrate import require_tables
from mainspring.store.partitions import ensure_partitions
from mainspring.store.wake import Listener, Waker
from mainspring.surfaces.mcp.inside import InsideMcp
from mainspring.surfaces.rooms import Rooms
from mainspring.triggers.alerts import Alerts, Postman, mails
from mainspring.triggers.desk import WebhookDesk
from mainspring.triggers.foresight import Foresight
from mainspring.triggers.housekeeping import Housekeeper
from mainspring.triggers.log_reader import LogReader
from mainspring.triggers.matcher import Matcher
from mainspring.triggers.scheduler import Scheduler
from mainspring.triggers.watch import Duty, keep_watch
from mainspring.vocabulary import Words, build_registry, lifetimes_of
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE, ensure_workspace
from mainspring.workspace.pages.local_model import open_local_model
from mainspring.workspace.pages.vectors import Embedding
from mainspring.workspace.people.passwords import Passwords
from mainspring.workspace.people.users import ensure_first_person
from mainspring.workspace.vault import Vault

__all__ = [
    "House",
    "build_house",
    "build_registry",
    "build_scheduler",
    "build_worker",
    "keep_watch_over",
    "open_house",
    "prepare",
    "rooms_of",
]


@dataclass(frozen=True, slots=True)
class House:
    """Everything an entry point needs, built and open."""

    settings: Settings
    limits: Limits
    registry: Registry
    database: Database
    clock: DatabaseClock
    vault: Vault
    passwords: Passwords
    egress: Egress
    # The way to the servers of tools that workspaces are connected to.
    outside: Outside
    # Where models are asked, unless whoever built the house brought others.
    providers: ProviderModels
    mailer: Mailer
    push: PushSender
    blobs: BlobStore
    links: Links
    gate: Gate
    versions: Versions
    waker: Waker
    # Where it is said that runs are due.
    hints: Hints
    dispatcher: Dispatcher
    control: Control
    workspace_id: UUID = FIRST_WORKSPACE
    embedder: Embedder | None = None
    # Where scripts run; none in a house that only judges them.
    workshop: Workshop | None = None
    # The ways over members' connections to integrations.
    lines: Lines | None = None
    # Where traces and metrics go, if anywhere.
    telemetry: TelemetryLine = field(default_factory=lambda: TelemetryLine(None))


@asynccontextmanager
async def open_house(
    settings: Settings,
    *,
    registry: Registry | None = None,
    workshop: Workshop | None = None,
    attach: bool = False,
) -> AsyncIterator[House]:
    """Opens the database, checks its tables, and closes all of it at the end."""
    limits = with_overrides(settings.limits)
    check_telemetry(settings)
    database = await Database.open(settings, attach=attach)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(database.close)
        house = build_house(without_model_keys(settings), limits, registry, database, workshop)
        stack.push_async_callback(house.telemetry.aclose)
        stack.push_async_callback(house.blobs.aclose)
        stack.push_async_callback(house.egress.aclose)
        stack.push_async_callback(house.outside.aclose)
        stack.push_async_callback(house.providers.aclose)
        stack.push_async_callback(house.waker.aclose)
        stack.push_async_callback(house.hints.aclose)
        stack.push_async_callback(house.gate.aclose)
        if house.workshop is not None:
            stack.push_async_callback(house.workshop.aclose)
        await prepare(house)
        await take_in(database, house.vault, settings)
        forget_model_keys()
        yield house


def build_house(
    settings: Settings,
    limits: Limits,
    registry: Registry | None,
    database: Database,
    workshop: Workshop | None = None,
    models: Models | None = None,
) -> House:
    """The parts around an open database, each given what it needs and nothing more.

    Whoever brings a registry brings the workshop that its scripts run in, too.
    """
    if registry is None and workshop is None:
        workshop = Workshop(
            limits, address=settings.address, warm=settings.script_warm, database=database
        )
    clock = DatabaseClock()
    vault = Vault(database, settings.key_file, limits, key_command=settings.master_key_command)
    egress = Egress(limits, settings.egress_allow)
    outside = Outside(
        database,
        vault,
        roomy_egress(limits, settings.egress_allow),
        limits,
        clock,
        settings.address,
        allow=settings.egress_allow,
    )
    providers = ProviderModels(database, vault, limits, settings.egress_allow)
    mailer = SmtpMailer(read_smtp_url(settings.smtp_url), settings.mail_from, limits, clock)
    push = PushSender(vault, egress, clock, contact_of(settings.address, settings.mail_from))
    blobs = open_blobs(settings, limits, clock)
    links = Links(vault, settings.address)
    embedder = _embedder(settings, database, providers, clock)
    words = registry or build_registry(
        limits,
        settings=settings,
        blobs=blobs,
        links=links,
        vault=vault,
        embedder=embedder,
        database=database,
        workshop=workshop,
        providers=providers,
    )
    lines = None
    if isinstance(words, Words):
        wide = wide_egress(limits, settings.egress_allow)
        lines = words.reception.open(
            database, vault, wide, clock, settings.address, settings.egress_allow
        )
    preflight = _preflight(settings, database, lines, mailer)
    gate = Gate(
        words,
        database,
        egress,
        vault,
        clock,
        limits,
        mailer=mailer,
        owner_mail=settings.owner_mail,
        models=models or providers,
        blobs=blobs,
        lines=lines,
        lifetimes=lifetimes_of(settings),
        preflight=preflight,
        resumer=RunResumer(),
    )
    versions = Versions(database, words, limits)
    waker = Waker(database)
    hints = _hints(settings, waker)
    dispatcher = Dispatcher(database, versions, hints, limits)
    if isinstance(words, Words):
        words.studio.open(
            words,
            database,
            dispatcher,
            settings.address,
            embedder,
            workshop,
            gate.models,
            preflight,
        )
        words.switchboard.open(
            database, vault, outside, clock, limits, settings.address, natives=words
        )
    return House(
        settings=settings,
        limits=limits,
        registry=words,
        database=database,
        clock=clock,
        vault=vault,
        passwords=Passwords(),
        egress=egress,
        outside=outside,
        providers=providers,
        mailer=mailer,
        push=push,
        blobs=blobs,
        links=links,
        gate=gate,
        versions=versions,
        waker=waker,
        hints=hints,
        dispatcher=dispatcher,
        control=Control(database, waker, hints),
        embedder=embedder,
        workshop=workshop,
        lines=lines,
        telemetry=TelemetryLine(settings.otlp_url),
    )


def _preflight(
    settings: Settings, database: Database, lines: Lines | None, mailer: SmtpMailer
) -> InstallationPreflight:
    """What definitions are compared with before they run."""
    return InstallationPreflight(
        database,
        settings.egress_allow,
        lines,
        has_mail=mailer.is_set_up,
        owner_mail=settings.owner_mail,
    )


def _hints(settings: Settings, waker: Waker) -> Hints:
    """How workers are told of new runs."""
    broker = broker_of(settings)
    return LocalHints(waker) if broker is None else CeleryHints(broker)


def _embedder(
    settings: Settings, database: Database, providers: ProviderModels, clock: DatabaseClock
) -> Embedder | None:
    """The model by which texts are compared, if the installation has one."""
    match settings.embeddings:
        case "local":
            return open_local_model()
        case "openai":
            return OpenAIEmbedder(database, providers, clock)
        case _:
            return None


async def prepare(house: House) -> None:
    """Checks the tables, or makes the first ones; then partitions and the first workspace."""
    await require_tables(house.database)
    asked = house.clock.monotonic()
    async with house.database.transaction() as tx:
        row = await tx.fetchrow("SELECT now() AS now")
        assert row is not None
        house.clock.sync(row["now"], asked=asked)
        await ensure_partitions(tx, row["now"])
        await ensure_workspace(tx, house.workspace_id, "Home")
        await ensure_first_person(tx, FIRST_MEMBER, house.workspace_id)


def build_worker(
    house: House,
    *,
    watch: Watcher = nobody,
    hook: Hook = no_hook,
    ear: Ear | None = None,
    alone_seconds: float = ALONE_SECONDS,
) -> Worker:
    """A worker over an open house; it works once its ``run`` is awaited.

    ``alone_seconds`` is how long nothing is claimed beside a run that is suspected of killing its
    worker.
    """
    if house.workshop is not None and house.workshop.speak is None:
        house.workshop.speak = InsideMcp(rooms_of(house))
    told = house.telemetry.opened()
    if told is not None:
        watch = both(RunTelemetry(told), watch)
        watch_pool(told, house.database.in_use)
    recorder = Recorder(house.limits, Herald(house.waker).tell)
    engine = Engine(
        gate=house.gate,
        # Half of the runs work while the records of the other half are being written.
        writer=GroupWriter(
            house.database, recorder.flush, most=min(max(house.settings.slots // 2, 1), 256)
        ),
        clock=house.clock,
        limits=house.limits,
        watch=watch,
        hook=hook,
        chance=random.random,
        answers=Questions(house.database).came_to,
        prepare_models=house.providers.prepare,
    )
    found = ear or _ear(house)
    worker = Worker(
        house.database,
        engine,
        house.clock,
        house.versions,
        found,
        house.settings,
        alone_seconds=alone_seconds,
    )
    if isinstance(found, CeleryEar):
        found.on_shutdown = worker.stop
    return worker


def _ear(house: House) -> Ear:
    """Where a worker of this house hears of runs."""
    listener = Listener(house.database, RUNS_CHANNEL)
    broker = broker_of(house.settings)
    if broker is None:
        return listener
    return CeleryEar(listener, Consumer(broker, house.settings.queues))


def build_scheduler(house: House) -> Scheduler:
    """Fires schedules once its ``run`` is awaited."""
    foresight = Foresight(house.database, house.versions)
    return Scheduler(house.database, house.dispatcher, house.limits, foresight=foresight)


# Seconds between two looks of those who read events for people.
_UNHURRIED = 0.25


async def keep_watch_over(house: House, stop: asyncio.Event) -> None:
    """Every loop beside the workers: schedules, events, alerts, their mail, and order."""
    settings, database, limits = house.settings, house.database, house.limits
    events = EventTable(limits)
    listener = Listener(database, EVENTS_CHANNEL)
    listeners = [listener, listener.beside(), listener.beside()]
    matcher = Matcher(database, events, house.dispatcher, limits, listener=listeners[0])
    alerts = LogReader(
        database,
        "alerts",
        Alerts(limits, mail=mails(settings)).handle,
        events=events,
        listener=listeners[1],
        spacing=_UNHURRIED,
    )
    duties: dict[str, Duty] = {
        "schedules": build_scheduler(house).run,
        "events": matcher.reader.run,
        "alerts": alerts.run,
        "tools": Harvester(database, house.outside, house.clock, limits).run,
        "order": Housekeeper(database, house.blobs, house.clock, limits).run,
        "reminders": Reminders(database).run,
        "push": PushDelivery(database, house.push).run,
    }
    if house.lines is not None:
        chats = Chats(house.lines, house.clock, settings.address)
        answers = Pressing(database, house.gate, chats)
        duties["prompts"] = Telling(
            database, chats, house.mailer if mails(settings) else None, settings.owner_mail
        ).run
        duties["presses"] = LogReader(
            database,
            pressing.CONSUMER,
            answers.handle,
            events=events,
            listener=listeners[2],
            spacing=_UNHURRIED,
        ).run
        duties["answers"] = answers.run
    told = house.telemetry.opened()
    if told is not None:
        duties["numbers"] = HouseTelemetry(told, database).run
    if mails(settings):
        duties["mail"] = Postman(database, house.mailer, settings.owner_mail).run
    if house.embedder is not None:
        duties["embeddings"] = Embedding(database, house.embedder).run
    try:
        await keep_watch(duties, stop)
    finally:
        for one in listeners:
            await one.aclose()


def _interactions(house: House) -> InteractionReceiver:
    """Where a chat provider tells of buttons and commands."""
    lines = house.lines
    chats = None if lines is None else Chats(lines, house.clock, house.settings.address)
    return InteractionReceiver(
        house.database, house.gate, house.vault, lines, chats, house.clock, house.limits
    )


def rooms_of(house: House) -> Rooms:
    """The house as the surfaces see it."""
    return Rooms(
        settings=house.settings,
        limits=house.limits,
        registry=house.registry,
        database=house.database,
        clock=house.clock,
        gate=house.gate,
        vault=house.vault,
        passwords=house.passwords,
        push=house.push,
        waker=house.waker,
        dispatcher=house.dispatcher,
        desk=WebhookDesk(house.database, house.dispatcher, house.vault, house.limits),
        control=house.control,
        switchboard=_switchboard(house.registry),
        reception=_reception(house.registry),
        interactions=_interactions(house),
        blobs=house.blobs,
        links=house.links,
        workspace_id=house.workspace_id,
        watch=lambda stop: keep_watch_over(house, stop),
        hire=lambda watch: build_worker(house, watch=watch),
        workshop=house.workshop,
        telemetry=house.telemetry,
        mailer=None if house.settings.smtp_url is None else house.mailer,
    )


def _reception(registry: Registry) -> Reception:
    """That of the registry; one that was brought along may have none."""
    return registry.reception if isinstance(registry, Words) else Reception(())


def _switchboard(registry: Registry) -> Switchboard:
    """That of the registry; one that was brought along may have none."""
    return registry.switchboard if isinstance(registry, Words) else Switchboard()
