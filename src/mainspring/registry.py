"""Builds the registry: every action, capability, trigger and event type of the installation.

It is separate from ``app`` so that a definition can be validated without importing what is needed
to run it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.actions.agent.capability import build_agent_capability
from mainspring.actions.agent.question import QuestionAnswering, question_capability
from mainspring.actions.script.runner import ScriptRunner
from mainspring.actions.vocabulary import build_actions
from mainspring.authoring.capabilities import authoring_capabilities
from mainspring.authoring.service import AuthoringService
from mainspring.authoring.similarity import TextSimilarity
from mainspring.authoring.watch_integration import watching_capabilities
from mainspring.connections.accounts.capabilities import integration_capabilities
from mainspring.connections.accounts.oauth_client_capabilities import oauth_client_capabilities
from mainspring.connections.accounts.service import AccountConnectionService
from mainspring.connections.act_on_integration import act_on_integration
from mainspring.connections.board_links.adapters import LinkableResources
from mainspring.connections.board_links.capabilities import linked_capabilities
from mainspring.connections.ingestion.capabilities import ingestion_capabilities
from mainspring.connections.ingestion.cursors import reset_poll_cursors
from mainspring.connections.ingestion.declared import declared_capability
from mainspring.connections.ingestion.sources import DataSources
from mainspring.connections.installed_integrations import InstalledIntegrations
from mainspring.connections.mcp_servers.capabilities import connection_capabilities
from mainspring.connections.mcp_servers.service import McpConnectionService
from mainspring.connections.mcp_servers.tool_consents import ChangedToolConsents
from mainspring.connections.models.capabilities import model_administration, model_capabilities
from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.embedding import Embedder
from mainspring.contracts.event import EventType
from mainspring.contracts.integration import Integration
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry, Vocabulary
from mainspring.contracts.trigger import TriggerKind
from mainspring.gate.draft_capabilities import draft_capabilities
from mainspring.gate.drafts import DraftLifetimes
from mainspring.gate.prompting.chat_linking import link_capability
from mainspring.gate.prompting.slack_identities import slack_link_capabilities
from mainspring.gate.standing.capabilities import standing_capabilities
from mainspring.gate.usage_capability import GET_USAGE
from mainspring.integration_loader import load_integrations
from mainspring.outbound.http_fetch import http_fetch_capability
from mainspring.outbound.models.llm_complete import LLM_COMPLETE
from mainspring.recipes.capabilities import recipe_capabilities
from mainspring.recipes.carrying.capabilities import carrying_capabilities
from mainspring.recipes.entities.workflows import WorkflowHandler
from mainspring.runs.capabilities import capabilities as run_capabilities
from mainspring.runs.halt_capabilities import halt_capabilities
from mainspring.runs.question_capabilities import question_capabilities
from mainspring.runs.resume import RunResumer
from mainspring.runs.rows import EVENTS
from mainspring.settings import Settings
from mainspring.triggers import event, form, poll, presets, schedule, webhook
from mainspring.triggers.storage_size import own_disk, size_capabilities
from mainspring.triggers.trigger_changes import record_overtaken
from mainspring.workspace import capabilities as workspace_capabilities
from mainspring.workspace.artifacts.blobs import BlobStore, NullBlobStore
from mainspring.workspace.artifacts.links import LinkSigner
from mainspring.workspace.artifacts.save import artifacts_capability
from mainspring.workspace.boards import events as board_events
from mainspring.workspace.boards.capabilities import board_capabilities
from mainspring.workspace.built_in_automations import BuiltInAutomations
from mainspring.workspace.consent_capabilities import consent_capabilities
from mainspring.workspace.inbox import POST_NOTIFICATION
from mainspring.workspace.pages import capabilities as page_capabilities
from mainspring.workspace.pages.action_pages import ActionPages
from mainspring.workspace.pages.writer import EVENTS as PAGE_EVENTS
from mainspring.workspace.people.administration import administration
from mainspring.workspace.secret_capabilities import secret_capabilities
from mainspring.workspace.vault import Vault
from mainspring.workspace.workflows import status as workflow_events
from mainspring.workspace.workflows.automations import WorkflowDependencies
from mainspring.workspace.workflows.capabilities import workflow_capabilities

if TYPE_CHECKING:
    from mainspring.outbound.models.model_registry import ProviderModels
    from mainspring.store.database import Database

# How many workspace vocabularies are cached; each keeps references to its tools.
_MAX_VOCABULARIES: Final = 20


@dataclass(frozen=True, slots=True)
class WorkspaceVocabulary:
    """The vocabulary of one workspace."""

    actions: Mapping[str, Action]
    capabilities: Mapping[str, Capability]
    triggers: Mapping[str, TriggerKind]
    events: Mapping[str, EventType]


class ApplicationRegistry(Registry):
    """A registry together with the services that its own capabilities use.

    The services are opened by the application that is built around the registry.
    """

    def __init__(
        self,
        studio: AuthoringService,
        mcp_connection_service: McpConnectionService,
        account_connection_service: AccountConnectionService,
        automations: BuiltInAutomations,
        question_answering: QuestionAnswering,
        **words: Any,
    ) -> None:
        super().__init__(**words)
        self.studio = studio
        self.question_answering = question_answering
        self.mcp_connection_service = mcp_connection_service
        self.account_connection_service = account_connection_service
        automations.open(self)
        self._vocabularies: dict[UUID, tuple[Mapping[str, Capability], WorkspaceVocabulary]] = {}

    async def of(self, workspace_id: UUID, *, needing: Iterable[str] = ()) -> Vocabulary:
        """The built-in vocabulary plus the tools of one workspace; a tool never replaces a
        built-in.
        """
        if not self.mcp_connection_service.is_open:
            return self
        named = [name for name in needing if "." in name and name not in self.capabilities]
        tools = await self.mcp_connection_service.parts.tools.of(workspace_id, named)
        return self._with(workspace_id, tools) if tools else self

    def _with(self, workspace_id: UUID, tools: Mapping[str, Capability]) -> Vocabulary:
        kept = self._vocabularies.get(workspace_id)
        if kept is not None and kept[0] is tools:
            return kept[1]
        both = MappingProxyType({**tools, **self.capabilities})
        spoken = WorkspaceVocabulary(self.actions, both, self.triggers, self.events)
        if len(self._vocabularies) >= _MAX_VOCABULARIES:
            self._vocabularies.clear()
        self._vocabularies[workspace_id] = (tools, spoken)
        return spoken


def build_registry(
    limits: Limits,
    *,
    settings: Settings | None = None,
    blobs: BlobStore | None = None,
    links: LinkSigner | None = None,
    embedder: Embedder | None = None,
    vault: Vault | None = None,
    database: Database | None = None,
    script_runner: ScriptRunner | None = None,
    providers: ProviderModels | None = None,
    actions: Iterable[Action] = (),
    capabilities: Iterable[Capability] = (),
    integrations: Iterable[Integration] = (),
) -> ApplicationRegistry:
    """The vocabulary of the installation; entries may be added, none replaced."""
    given = settings or Settings()
    shelf = tuple(one.name_products() for one in (*load_integrations(given), *integrations))
    events = _event_types(shelf)
    installs, automations = InstalledIntegrations(shelf, limits), BuiltInAutomations(limits)
    mcp_connections, questions = McpConnectionService(), QuestionAnswering()
    studio = AuthoringService(limits, given.address, TextSimilarity(embedder))
    account_connections = _build_account_connection_service(shelf, given, studio)
    known = (
        http_fetch_capability(limits),
        artifacts_capability(blobs or NullBlobStore(), limits, links),
        LLM_COMPLETE,
        GET_USAGE,
        build_agent_capability(limits),
        question_capability(questions),
        POST_NOTIFICATION,
        *workspace_capabilities.capabilities(limits, {entry.type for entry in events}),
        *page_capabilities.capabilities(limits, embedder, ActionPages(installs.pages())),
        *board_capabilities(limits),
        *run_capabilities(),
        *question_capabilities(limits, given.address),
        *halt_capabilities(database),
        *standing_capabilities(given.address),
        link_capability(),
        *slack_link_capabilities(given.address),
        *authoring_capabilities(studio),
        *secret_capabilities(vault, studio.load_vocabulary),
        *model_capabilities(database, vault, providers),
        *model_administration(database, vault),
        *connection_capabilities(mcp_connections),
        *integration_capabilities(account_connections),
        *oauth_client_capabilities(account_connections, database, vault),
        *administration(database, given.address),
        *size_capabilities(database, limits, own_disk(given)),
        *chain.from_iterable(entry.capabilities for entry in shelf),
        *_integration_capabilities(shelf, installs, studio, limits, database),
        *consent_capabilities(
            limits,
            studio.load_vocabulary,
            ChangedToolConsents(mcp_connections),
            studio.find_warnings,
            given.address,
        ),
        *_codex_capabilities(shelf, automations, studio, limits, database),
        *capabilities,
    )
    return ApplicationRegistry(
        studio,
        mcp_connections,
        account_connections,
        automations,
        questions,
        actions=(*_actions(shelf, limits, script_runner), *actions),
        capabilities=_add_draft_capabilities(known, given),
        triggers=(
            schedule.TRIGGER,
            webhook.TRIGGER,
            form.TRIGGER,
            event.TRIGGER,
            *presets.TRIGGERS,
            *poll.TRIGGERS,
        ),
        events=events,
    )


def _event_types(integrations: Iterable[Integration]) -> tuple[EventType, ...]:
    """The event types of the application and its integrations."""
    told = chain.from_iterable(entry.events for entry in integrations)
    return (*EVENTS, *PAGE_EVENTS, *board_events.EVENTS, *workflow_events.EVENTS, *told)


def _actions(
    integrations: Iterable[Integration], limits: Limits, script_runner: ScriptRunner | None
) -> Iterator[Action]:
    yield from build_actions(limits, script_runner)
    yield from chain.from_iterable(entry.actions for entry in integrations)


def _build_account_connection_service(
    integrations: tuple[Integration, ...], settings: Settings, studio: AuthoringService
) -> AccountConnectionService:
    """The service for members' accounts; what the operator configured needs none."""
    operated = frozenset(one.id for one in integrations if one.id in settings.integration_urls)
    return AccountConnectionService(
        integrations, operated=operated, changed=reset_poll_cursors, words=studio.load_vocabulary
    )


def _integration_capabilities(
    integrations: tuple[Integration, ...],
    installs: InstalledIntegrations,
    studio: AuthoringService,
    limits: Limits,
    database: Database | None,
) -> Iterator[Capability]:
    """Reads and writes over any connection, manually or repeatedly by an automation."""
    reachable = DataSources(integrations, limits)
    yield act_on_integration(installs, database)
    yield from ingestion_capabilities(reachable, limits, database)
    yield declared_capability(limits, database)
    yield from watching_capabilities(studio, reachable)


def _codex_capabilities(
    integrations: tuple[Integration, ...],
    automations: BuiltInAutomations,
    studio: AuthoringService,
    limits: Limits,
    database: Database | None,
) -> Iterator[Capability]:
    """What people compose: linked boards, recipes, workflows."""
    yield from linked_capabilities(
        LinkableResources(integrations, limits), automations, limits, database
    )
    around = WorkflowDependencies(studio, record_overtaken)
    yield from workflow_capabilities(around)
    yield from recipe_capabilities(studio, limits, WorkflowHandler(around))
    yield from carrying_capabilities(around)


def _add_draft_capabilities(
    known: tuple[Capability, ...], settings: Settings
) -> tuple[Capability, ...]:
    """All capabilities, plus those that decide the drafts of outside writes."""
    lasting = read_draft_lifetimes(settings)
    ids = {one.id: one for one in known}
    return (*known, *draft_capabilities(ids, lasting, RunResumer(), settings.address))


def read_draft_lifetimes(settings: Settings) -> DraftLifetimes:
    """How long drafts wait, where neither step nor workspace sets it."""
    return DraftLifetimes(
        timedelta(seconds=settings.draft_seconds), timedelta(seconds=settings.held_seconds)
    )
