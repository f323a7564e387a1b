"""Application wiring: builds and opens all parts. The only module that knows every package.

Nothing registers itself by being imported: ``registry.build_registry`` lists what this installation
can do, and ``build_application`` connects the parts.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from mainspring.actions.script.runner import ScriptRunner
from mainspring.connections.accounts.account_connections import (
    AccountConnections,
    build_integration_egress,
)
from mainspring.connections.accounts.service import AccountConnectionService
from mainspring.connections.mcp_servers.client import McpClientPool, roomy_egress
from mainspring.connections.mcp_servers.service import McpConnectionService
from mainspring.connections.mcp_servers.tool_discovery import McpToolDiscovery
from mainspring.connections.models.from_settings import take_in
from mainspring.connections.preflight import InstallationPreflight
from mainspring.contracts.context import Mailer
from mainspring.contracts.embedding import Embedder
from mainspring.contracts.limits import Limits, override_limits
from mainspring.contracts.model import ModelCatalog
from mainspring.contracts.registry import Registry
from mainspring.gate.call import Gate
from mainspring.gate.embedder import OpenAIEmbedder
from mainspring.gate.prompting import button_presses
from mainspring.gate.prompting.button_presses import ButtonPressConsumer
from mainspring.gate.prompting.interactions import InteractionReceiver
from mainspring.gate.prompting.prompt_delivery import MemberChats, PromptDelivery
from mainspring.gate.reminders import DraftReminders
from mainspring.outbound.egress import Egress
from mainspring.outbound.mail import SmtpMailer, read_smtp_url
from mainspring.outbound.models.model_registry import ProviderModels
from mainspring.outbound.object_storage.blob_stores import open_blobs
from mainspring.outbound.telemetry import TelemetryExporter, check_telemetry
from mainspring.outbound.web_push import PushDelivery, PushSender, contact_of
from mainspring.registry import ApplicationRegistry, build_registry, read_draft_lifetimes
from mainspring.runs.answers import AnswerAnnouncer, RunWaiter
from mainspring.runs.control import RunControl
from mainspring.runs.dispatch import Dispatcher
from mainspring.runs.engine import Engine
from mainspring.runs.questions import StepQuestions
from mainspring.runs.record import RunRecorder
from mainspring.runs.resume import RunResumer
from mainspring.runs.rows import Hook, Watcher, ignore_event, no_hook
from mainspring.runs.telemetry import InstallationTelemetry, RunTelemetry, both, watch_pool
from mainspring.runs.transport.broker import broker_of
from mainspring.runs.transport.celery_listener import CeleryHintListener
from mainspring.runs.transport.celery_sender import CeleryHintSender
from mainspring.runs.transport.consumer import CeleryConsumer
from mainspring.runs.versions import VersionCache
from mainspring.runs.worker import ALONE_SECONDS, Worker
from mainspring.settings import Settings, forget_model_keys, without_model_keys
from mainspring.store.database import Database, DatabaseClock
from mainspring.store.events import EVENTS_CHANNEL, EventNotifier, EventTable
from mainspring.store.group_commit import GroupWriter
from mainspring.store.migrate import require_tables
from mainspring.store.partitions import ensure_partitions
from mainspring.store.wakeups import (
    RUNS_CHANNEL,
    HintListener,
    HintSender,
    PostgresHintSender,
    WakeupListener,
    WakeupSender,
)
from mainspring.surfaces.mcp.in_process import InProcessMcp
from mainspring.surfaces.services import ApplicationServices
from mainspring.triggers.alerts import AlertMailer, FailureAlerts, mails
from mainspring.triggers.chat_replies import ChatReplies
from mainspring.triggers.form_receiver import FormReceiver
from mainspring.triggers.housekeeping import Housekeeper
from mainspring.triggers.log_reader import EventLogReader
from mainspring.triggers.matcher import EventMatcher
from mainspring.triggers.poller import Poller
from mainspring.triggers.push import PushChannels
from mainspring.triggers.scheduler import Scheduler, VersionPrefetcher
from mainspring.triggers.watch import Duty, run_loops
from mainspring.triggers.webhook_receiver import WebhookReceiver
from mainspring.workspace.artifacts.blobs import BlobStore
from mainspring.workspace.artifacts.links import LinkSigner
from mainspring.workspace.artifacts.uploads import UploadStore
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE, ensure_workspace
from mainspring.workspace.pages.embedding_job import PageEmbeddingJob
from mainspring.workspace.pages.local_embedder import open_local_model
from mainspring.workspace.people.passwords import PasswordVerifier
from mainspring.workspace.people.users import ensure_first_person
from mainspring.workspace.vault import Vault

__all__ = [
    "Application",
    "application_services",
    "build_application",
    "build_poller",
    "build_registry",
    "build_scheduler",
    "build_worker",
    "open_application",
    "prepare_database",
    "run_background_loops",
]


@dataclass(frozen=True, slots=True)
class Application:
    """Everything that an entry point needs, built and open."""

    settings: Settings
    limits: Limits
    registry: Registry
    database: Database
    clock: DatabaseClock
    vault: Vault
    passwords: PasswordVerifier
    egress: Egress
    # The pool of MCP clients for the servers that workspaces are connected to.
    mcp_clients: McpClientPool
    # The model providers, unless the caller passed its own.
    providers: ProviderModels
    mailer: Mailer
    push: PushSender
    blobs: BlobStore
    links: LinkSigner
    gate: Gate
    versions: VersionCache
    wakeup_sender: WakeupSender
    # Sends hints that runs are due.
    hints: HintSender
    dispatcher: Dispatcher
    control: RunControl
    # Where callers wait for the results of runs.
    run_waiter: RunWaiter
    workspace_id: UUID = FIRST_WORKSPACE
    embedder: Embedder | None = None
    # Runs scripts; None in an application that only validates them.
    script_runner: ScriptRunner | None = None
    # The clients for members' connections to integrations.
    account_connections: AccountConnections | None = None
    # Where traces and metrics are sent, if configured.
    telemetry: TelemetryExporter = field(default_factory=lambda: TelemetryExporter(None))


@asynccontextmanager
async def open_application(
    settings: Settings,
    *,
    registry: Registry | None = None,
    script_runner: ScriptRunner | None = None,
    attach: bool = False,
) -> AsyncIterator[Application]:
    """Open the database, check its tables, and close everything at the end."""
    limits = override_limits(settings.limits)
    check_telemetry(settings)
    database = await Database.open(settings, attach=attach)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(database.close)
        application = build_application(
            without_model_keys(settings), limits, registry, database, script_runner
        )
        stack.push_async_callback(application.telemetry.aclose)
        stack.push_async_callback(application.blobs.aclose)
        stack.push_async_callback(application.egress.aclose)
        stack.push_async_callback(application.mcp_clients.aclose)
        stack.push_async_callback(application.providers.aclose)
        stack.push_async_callback(application.run_waiter.aclose)
        stack.push_async_callback(application.wakeup_sender.aclose)
        stack.push_async_callback(application.hints.aclose)
        stack.push_async_callback(application.gate.aclose)
        if application.script_runner is not None:
            stack.push_async_callback(application.script_runner.aclose)
        await prepare_database(application)
        await take_in(database, application.vault, settings)
        forget_model_keys()
        yield application


def build_application(
    settings: Settings,
    limits: Limits,
    registry: Registry | None,
    database: Database,
    script_runner: ScriptRunner | None = None,
    models: ModelCatalog | None = None,
) -> Application:
    """Build the parts around an open database, each with its dependencies.

    A caller that passes a registry must also pass the script runner of its scripts.
    """
    if registry is None and script_runner is None:
        script_runner = ScriptRunner(
            limits, address=settings.address, warm=settings.script_warm, database=database
        )
    clock = DatabaseClock()
    vault = Vault(database, settings.key_file, limits, key_command=settings.master_key_command)
    egress = Egress(limits, settings.egress_allow)
    outside = McpClientPool(
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
    links = LinkSigner(vault, settings.address)
    embedder = _build_embedder(settings, database, providers, clock)
    words = registry or build_registry(
        limits,
        settings=settings,
        blobs=blobs,
        links=links,
        vault=vault,
        embedder=embedder,
        database=database,
        script_runner=script_runner,
        providers=providers,
    )
    lines = None
    if isinstance(words, ApplicationRegistry):
        wide = build_integration_egress(limits, settings.egress_allow)
        lines = words.account_connection_service.open(
            database, vault, wide, clock, settings.address, settings.egress_allow
        )
    preflight = _build_preflight(settings, database, lines, mailer)
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
        lifetimes=read_draft_lifetimes(settings),
        preflight=preflight,
        resumer=RunResumer(),
    )
    versions = VersionCache(database, words, limits)
    wakeup_sender = WakeupSender(database)
    hints = _build_hint_sender(settings, wakeup_sender)
    dispatcher = Dispatcher(database, versions, hints, limits)
    if isinstance(words, ApplicationRegistry):
        words.studio.open(
            words,
            database,
            dispatcher,
            settings.address,
            embedder,
            script_runner,
            gate.models,
            preflight,
        )
        words.question_answering.open(gate, database)
        words.mcp_connection_service.open(
            database, vault, outside, clock, limits, settings.address, natives=words
        )
    return Application(
        settings=settings,
        limits=limits,
        registry=words,
        database=database,
        clock=clock,
        vault=vault,
        passwords=PasswordVerifier(),
        egress=egress,
        mcp_clients=outside,
        providers=providers,
        mailer=mailer,
        push=push,
        blobs=blobs,
        links=links,
        gate=gate,
        versions=versions,
        wakeup_sender=wakeup_sender,
        hints=hints,
        dispatcher=dispatcher,
        control=RunControl(database, wakeup_sender, hints),
        run_waiter=RunWaiter(database, versions),
        embedder=embedder,
        script_runner=script_runner,
        account_connections=lines,
        telemetry=TelemetryExporter(settings.otlp_url),
    )


def _build_preflight(
    settings: Settings, database: Database, lines: AccountConnections | None, mailer: SmtpMailer
) -> InstallationPreflight:
    """What definitions are checked against before they run."""
    return InstallationPreflight(
        database,
        settings.egress_allow,
        lines,
        has_mail=mailer.is_set_up,
        owner_mail=settings.owner_mail,
    )


def _build_hint_sender(settings: Settings, wakeup_sender: WakeupSender) -> HintSender:
    """How workers are notified of new runs."""
    broker = broker_of(settings)
    return PostgresHintSender(wakeup_sender) if broker is None else CeleryHintSender(broker)


def _build_embedder(
    settings: Settings, database: Database, providers: ProviderModels, clock: DatabaseClock
) -> Embedder | None:
    """The embedding model, if one is configured."""
    match settings.embeddings:
        case "local":
            return open_local_model()
        case "openai":
            return OpenAIEmbedder(database, providers, clock)
        case _:
            return None


async def prepare_database(application: Application) -> None:
    """Check or create the tables, then the partitions and the first workspace."""
    await require_tables(application.database)
    asked = application.clock.monotonic()
    async with application.database.transaction() as tx:
        row = await tx.fetchrow("SELECT now() AS now")
        assert row is not None
        application.clock.sync(row["now"], asked=asked)
        await ensure_partitions(tx, row["now"])
        await ensure_workspace(tx, application.workspace_id, "Home")
        await ensure_first_person(tx, FIRST_MEMBER, application.workspace_id)


def build_worker(
    application: Application,
    *,
    watch: Watcher = ignore_event,
    hook: Hook = no_hook,
    ear: HintListener | None = None,
    alone_seconds: float = ALONE_SECONDS,
) -> Worker:
    """A worker of an open application; it works once its ``run`` is awaited.

    ``alone_seconds`` is how long nothing else is claimed next to a run that is suspected of killing
    its worker.
    """
    if application.script_runner is not None and application.script_runner.speak is None:
        application.script_runner.speak = InProcessMcp(application_services(application))
    told = application.telemetry.opened()
    if told is not None:
        watch = both(RunTelemetry(told), watch)
        watch_pool(told, application.database.in_use)
    recorder = RunRecorder(application.limits, EventNotifier(application.wakeup_sender).tell)
    engine = Engine(
        gate=application.gate,
        # Half of the runs execute while the records of the other half are being written.
        writer=GroupWriter(
            application.database,
            recorder.flush,
            most=min(max(application.settings.slots // 2, 1), 256),
        ),
        clock=application.clock,
        limits=application.limits,
        watch=watch,
        hook=hook,
        chance=random.random,
        answers=StepQuestions(application.database).came_to,
        prepare_models=application.providers.prepare,
        announce=AnswerAnnouncer(application.wakeup_sender).announce,
    )
    found = ear or _build_hint_listener(application)
    worker = Worker(
        application.database,
        engine,
        application.clock,
        application.versions,
        found,
        application.settings,
        alone_seconds=alone_seconds,
    )
    if isinstance(found, CeleryHintListener):
        found.on_shutdown = worker.stop
    return worker


def _build_hint_listener(application: Application) -> HintListener:
    """How a worker of this application is notified of runs."""
    listener = WakeupListener(application.database, RUNS_CHANNEL)
    broker = broker_of(application.settings)
    if broker is None:
        return listener
    return CeleryHintListener(listener, CeleryConsumer(broker, application.settings.queues))


def build_scheduler(application: Application) -> Scheduler:
    """Fires schedules once its ``run`` is awaited."""
    foresight = VersionPrefetcher(application.database, application.versions)
    return Scheduler(
        application.database, application.dispatcher, application.limits, foresight=foresight
    )


def build_poller(application: Application) -> Poller:
    """Looks at the sources of poll triggers once its ``run`` is awaited."""
    return Poller(
        application.database,
        application.gate,
        application.versions,
        application.dispatcher,
        application.limits,
        mail=mails(application.settings),
    )


def build_chat_replies(application: Application, lines: AccountConnections) -> ChatReplies:
    """Answers chat messages once its ``run`` is awaited."""
    return ChatReplies(
        application.database,
        application.gate,
        lines,
        application.run_waiter,
        application.clock,
        application.settings.address,
    )


def build_push_channels(application: Application) -> PushChannels | None:
    """Has providers report changes once its ``run`` is awaited; None without integrations."""
    if application.account_connections is None:
        return None
    return PushChannels(
        application.database,
        application.account_connections,
        application.vault,
        application.clock,
        application.settings.public_url,
    )


# The poll interval of event consumers that notify people.
_EVENT_POLL_SECONDS = 0.25


async def run_background_loops(application: Application, stop: asyncio.Event) -> None:
    """Every loop besides the workers: schedules, events, alerts, mail and housekeeping."""
    settings, database, limits = application.settings, application.database, application.limits
    events = EventTable(limits)
    listener = WakeupListener(database, EVENTS_CHANNEL)
    listeners = [listener, listener.share_connection(), listener.share_connection()]
    matcher = EventMatcher(database, events, application.dispatcher, limits, listener=listeners[0])
    alerts = EventLogReader(
        database,
        "alerts",
        FailureAlerts(limits, mail=mails(settings)).handle,
        events=events,
        listener=listeners[1],
        spacing=_EVENT_POLL_SECONDS,
    )
    duties: dict[str, Duty] = {
        "schedules": build_scheduler(application).run,
        "polls": build_poller(application).run,
        "events": matcher.reader.run,
        "alerts": alerts.run,
        "tools": McpToolDiscovery(database, application.mcp_clients, application.clock, limits).run,
        "order": Housekeeper(database, application.blobs, application.clock, limits).run,
        "reminders": DraftReminders(database).run,
        "push": PushDelivery(database, application.push).run,
    }
    channels = build_push_channels(application)
    if channels is not None:
        duties["push channels"] = channels.run
    if application.account_connections is not None:
        chats = MemberChats(application.account_connections, application.clock, settings.address)
        answers = ButtonPressConsumer(database, application.gate, chats)
        duties["prompts"] = PromptDelivery(
            database, chats, application.mailer if mails(settings) else None, settings.owner_mail
        ).run
        duties["presses"] = EventLogReader(
            database,
            button_presses.CONSUMER,
            answers.handle,
            events=events,
            listener=listeners[2],
            spacing=_EVENT_POLL_SECONDS,
        ).run
        duties["answers"] = answers.run
        duties["chats"] = build_chat_replies(application, application.account_connections).run
    told = application.telemetry.opened()
    if told is not None:
        duties["numbers"] = InstallationTelemetry(told, database).run
    if mails(settings):
        duties["mail"] = AlertMailer(database, application.mailer, settings.owner_mail).run
    if application.embedder is not None:
        duties["embeddings"] = PageEmbeddingJob(database, application.embedder).run
    try:
        await run_loops(duties, stop)
    finally:
        for one in listeners:
            await one.aclose()


def _interactions(application: Application) -> InteractionReceiver:
    """Receives buttons and commands from chat providers."""
    lines = application.account_connections
    chats = (
        None
        if lines is None
        else MemberChats(lines, application.clock, application.settings.address)
    )
    return InteractionReceiver(
        application.database,
        application.gate,
        application.vault,
        lines,
        chats,
        application.clock,
        application.limits,
    )


def application_services(application: Application) -> ApplicationServices:
    """The application as the interfaces see it."""
    return ApplicationServices(
        settings=application.settings,
        limits=application.limits,
        registry=application.registry,
        database=application.database,
        clock=application.clock,
        gate=application.gate,
        vault=application.vault,
        passwords=application.passwords,
        push=application.push,
        wakeup_sender=application.wakeup_sender,
        dispatcher=application.dispatcher,
        webhook_receiver=WebhookReceiver(
            application.database, application.dispatcher, application.vault, application.limits
        ),
        control=application.control,
        run_waiter=application.run_waiter,
        mcp_connection_service=_mcp_connection_service(application.registry),
        account_connection_service=_account_connection_service(application.registry),
        interactions=_interactions(application),
        push_channels=build_push_channels(application),
        blobs=application.blobs,
        form_receiver=FormReceiver(
            application.database, application.vault, application.clock, application.limits
        ),
        uploads=UploadStore(
            application.database, application.blobs, application.clock, application.limits
        ),
        links=application.links,
        workspace_id=application.workspace_id,
        watch=lambda stop: run_background_loops(application, stop),
        hire=lambda watch: build_worker(application, watch=watch),
        script_runner=application.script_runner,
        telemetry=application.telemetry,
        mailer=None if application.settings.smtp_url is None else application.mailer,
    )


def _account_connection_service(registry: Registry) -> AccountConnectionService:
    """The service of the registry; one that the caller passed may have none."""
    return (
        registry.account_connection_service
        if isinstance(registry, ApplicationRegistry)
        else AccountConnectionService(())
    )


def _mcp_connection_service(registry: Registry) -> McpConnectionService:
    """The service of the registry; one that the caller passed may have none."""
    return (
        registry.mcp_connection_service
        if isinstance(registry, ApplicationRegistry)
        else McpConnectionService()
    )
