"""The authoring service: dependencies of the authoring capabilities.

The capabilities are part of the registry and also need the registry and the dispatcher built from
it. So the service is created empty and opened once the application is built. Before that its
capabilities can be described but not called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from mainspring.actions.script.prebuild import prebuild_scripts
from mainspring.authoring.draft import as_written, is_script
from mainspring.contracts.embedding import Embedder
from mainspring.contracts.errors import Finding, InternalError
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import EmptyModelCatalog, ModelCatalog
from mainspring.contracts.preflight import DefinitionOwner, NoPreflight, Preflight
from mainspring.contracts.registry import Vocabulary, WorkspaceVocabularies
from mainspring.definition.validate import ValidationReport
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.workspace_validation import (
    find_missing_dependencies,
    load_vocabulary,
    validate_in_workspace,
)

if TYPE_CHECKING:
    from mainspring.actions.script.runner import ScriptRunner
    from mainspring.authoring.similarity import TextSimilarity
    from mainspring.runs.dispatch import Dispatcher
    from mainspring.store.database import Database

Part = TypeVar("Part")


class AuthoringService:
    """The dependencies of the authoring capabilities."""

    def __init__(self, limits: Limits, address: str, likeness: TextSimilarity) -> None:
        self.limits = limits
        self.likeness = likeness
        self._address = address
        self._vocabulary: WorkspaceVocabularies | None = None
        self._database: Database | None = None
        self._dispatcher: Dispatcher | None = None
        self._script_runner: ScriptRunner | None = None
        self._models: ModelCatalog = EmptyModelCatalog()
        self._preflight: Preflight = NoPreflight()

    def open(
        self,
        vocabulary: WorkspaceVocabularies,
        database: Database,
        dispatcher: Dispatcher,
        address: str,
        embedder: Embedder | None = None,
        script_runner: ScriptRunner | None = None,
        models: ModelCatalog | None = None,
        preflight: Preflight | None = None,
    ) -> None:
        """Set the dependencies once the application is built."""
        self._vocabulary, self._database, self._dispatcher = vocabulary, database, dispatcher
        self._address = address
        self.likeness.embedder = embedder
        self._script_runner = script_runner
        self._models = models or EmptyModelCatalog()
        self._preflight = preflight or NoPreflight()

    @property
    def native_vocabulary(self) -> Vocabulary:
        """The vocabulary shared by every workspace."""
        return _there(self._vocabulary)

    async def load_vocabulary(self, workspace_id: UUID, document: Any) -> Vocabulary:
        """Load a workspace's vocabulary for a document, with the tools of its connections."""
        return await load_vocabulary(_there(self._vocabulary), workspace_id, document)

    async def load_vocabulary_with(self, workspace_id: UUID, needing: Iterable[str]) -> Vocabulary:
        """Build a workspace's vocabulary with these tools of its connections."""
        return await _there(self._vocabulary).of(workspace_id, needing=sorted(needing))

    async def find_warnings(
        self,
        workspace_id: UUID,
        document: Mapping[str, Any],
        grants: Sequence[Grant],
        automation_id: UUID,
    ) -> tuple[Finding, ...]:
        """Find what a stored definition needs and would not find if it ran now."""
        words = await self.load_vocabulary(workspace_id, document)
        whose = DefinitionOwner(workspace_id, automation_id)
        found = await find_missing_dependencies(
            document, grants, words, self._models, self._preflight, whose
        )
        # Plan authors see definition pointers; script authors see argument pointers.
        return tuple(map(as_written, found)) if is_script(document) else found

    async def run_preflight(
        self, document: Mapping[str, Any], whose: DefinitionOwner, vocabulary: Vocabulary
    ) -> tuple[Finding, ...]:
        """Find missing dependencies of a document's steps; it may be incomplete."""
        return await self._preflight.findings(document, vocabulary, whose)

    @property
    def database(self) -> Database:
        """The unrestricted database; workspace data is read under row-level security."""
        return _there(self._database)

    @property
    def models(self) -> ModelCatalog:
        """The model providers; calls go through the gate."""
        return self._models

    @property
    def dispatcher(self) -> Dispatcher:
        return _there(self._dispatcher)

    def open_workspace(self, workspace_id: UUID) -> WorkspaceDatabase:
        return WorkspaceDatabase(self.database, workspace_id)

    def admin_url(self, automation_id: UUID) -> str:
        """The URL of an automation's page."""
        return f"{self._address.rstrip('/')}/automations/{automation_id}"

    def proposal_url(self, proposal_id: UUID) -> str:
        """The URL of a proposal's page."""
        return f"{self._address.rstrip('/')}/proposals/{proposal_id}"

    async def validate(
        self,
        workspace_id: UUID,
        document: Any,
        automation_id: UUID | None = None,
        author_id: UUID | None = None,
    ) -> ValidationReport:
        """Validate a definition, with this installation's warnings."""
        words = await self.load_vocabulary(workspace_id, document)
        whose = DefinitionOwner(workspace_id, automation_id, author_id)
        report = await validate_in_workspace(
            document, whose, words, self._models, self.limits, self._preflight
        )
        return await prebuild_scripts(self._script_runner, workspace_id, report)


def _there(part: Part | None) -> Part:
    if part is None:
        raise InternalError("Nothing is open here that this could work on.", retryable=False)
    return part
