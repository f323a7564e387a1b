"""What every surface is handed by whoever builds the house."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from uuid import UUID

    from mainspring.actions.script.runner import ScriptRunner
    from mainspring.connections.accounts.service import AccountConnectionService
    from mainspring.connections.mcp_servers.service import McpConnectionService
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import Mailer
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Registry
    from mainspring.gate.call import Gate
    from mainspring.gate.prompting.interactions import InteractionReceiver
    from mainspring.outbound.telemetry import TelemetryExporter
    from mainspring.outbound.web_push import PushSender
    from mainspring.runs.answers import RunWaiter
    from mainspring.runs.control import RunControl
    from mainspring.runs.dispatch import Dispatcher
    from mainspring.runs.rows import Watcher
    from mainspring.runs.worker import Worker
    from mainspring.settings import Settings
    from mainspring.store.database import Database
    from mainspring.store.wakeups import WakeupSender
    from mainspring.triggers.form_receiver import FormReceiver
    from mainspring.triggers.push import PushChannels
    from mainspring.triggers.webhook_receiver import WebhookReceiver
    from mainspring.workspace.artifacts.blobs import BlobStore
    from mainspring.workspace.artifacts.links import LinkSigner
    from mainspring.workspace.artifacts.uploads import UploadStore
    from mainspring.workspace.people.passwords import PasswordVerifier
    from mainspring.workspace.vault import Vault


@dataclass(frozen=True, slots=True)
class ApplicationServices:
    """The open house, as far as a surface may use it."""

    settings: Settings
    limits: Limits
    registry: Registry
    database: Database
    clock: Clock
    gate: Gate
    vault: Vault
    passwords: PasswordVerifier
    # Where notifications to browsers are sent.
    push: PushSender
    wakeup_sender: WakeupSender
    dispatcher: Dispatcher
    # Where webhooks are taken in; whoever opens it for calls closes it.
    webhook_receiver: WebhookReceiver
    control: RunControl
    # Where callers wait for the results of runs.
    run_waiter: RunWaiter
    # Where the servers of tools are connected.
    mcp_connection_service: McpConnectionService
    # Where members connect their accounts.
    account_connection_service: AccountConnectionService
    # Where a chat provider tells of buttons and commands.
    interactions: InteractionReceiver
    blobs: BlobStore
    # Where the files that callers send are saved.
    uploads: UploadStore
    # Finds hosted forms, and checks what people send.
    form_receiver: FormReceiver
    links: LinkSigner
    workspace_id: UUID
    # Everything beside the workers that a running server does, until the event is set.
    watch: Callable[[asyncio.Event], Awaitable[None]]
    # A worker over this house; it works once its run is awaited.
    hire: Callable[[Watcher], Worker]
    # Where scripts are built when they are saved; none in a house that only judges them.
    script_runner: ScriptRunner | None = None
    # Where traces and metrics go, if anywhere.
    telemetry: TelemetryExporter | None = None
    # Where providers report changes; none without integrations.
    push_channels: PushChannels | None = None
    # Whether a program gave the command that opened this: it agrees to nothing.
    by_program: bool = False
    # The operator's mail server; none where no mail can be sent.
    mailer: Mailer | None = None
