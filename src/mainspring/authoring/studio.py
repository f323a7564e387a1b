"""The studio: what the capabilities of this room are given by whoever builds the house.

A capability is part of the registry, and these need the registry themselves, to judge what
they are given, and the dispatcher, which needs it too. So the studio is made empty and opened
once everything stands. Before that its capabilities can be described and not called.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from mainspring.actions.script.checking import built
from mainspring.contracts.embedding import Embedder
from mainspring.contracts.errors import Fault
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabularies, Vocabulary
from mainspring.definition.validate import Report, validate
from mainspring.store.walls import Walled

if TYPE_CHECKING:
    from mainspring.actions.script.workshop import Workshop
    from mainspring.authoring.similarity import Likeness
    from mainspring.runs.dispatch import Dispatcher
    from mainspring.store.database import Database

Part = TypeVar("Part")


class Studio:
    """The parts around the capabilities of authoring."""

    def __init__(self, limits: Limits, address: str, likeness: Likeness) -> None:
        self.limits = limits
        self.likeness = likeness
        self._address = address
        self._vocabulary: Vocabularies | None = None
        self._database: Database | None = None
        self._dispatcher: Dispatcher | None = None
        self._workshop: Workshop | None = None

    def open(
        self, vocabulary: Vocabularies, database: Database, dispatcher: Dispatcher, address: str,
        embedder: Embedder | None = None, workshop: Workshop | None = None,
    ) -> None:  # fmt: skip
        """Everything stands: from here on the capabilities work."""
        self._vocabulary, self._database, self._dispatcher = vocabulary, database, dispatcher
        self._address = address
        self.likeness.embedder = embedder
        self._workshop = workshop

    @property
    def natives(self) -> Vocabulary:
        """What can be said in every workspace."""
        return _there(self._vocabulary)

    async def words(self, workspace_id: UUID) -> Vocabulary:
        """What one workspace can say, the tools that it is connected to included."""
        return await _there(self._vocabulary).of(workspace_id)

    @property
    def database(self) -> Database:
        """The whole database; what belongs to a workspace is read behind its wall."""
        return _there(self._database)

    @property
    def dispatcher(self) -> Dispatcher:
        return _there(self._dispatcher)

    def inside(self, workspace_id: UUID) -> Walled:
        return Walled(self.database, workspace_id)

    def admin_url(self, automation_id: UUID) -> str:
        """Where a person looks at an automation and activates it."""
        return f"{self._address.rstrip('/')}/automations/{automation_id}"

    async def judge(
        self, workspace_id: UUID, document: Any, automation_id: UUID | None = None
    ) -> Report:
        """The verdict on a definition; a hostile one takes its time on a thread."""
        own = None if automation_id is None else str(automation_id)
        report = await asyncio.to_thread(
            validate, document, await self.words(workspace_id), self.limits, automation_id=own
        )
        return await built(self._workshop, workspace_id, report)


def _there(part: Part | None) -> Part:
    if part is None:
        raise Fault("Nothing is open here that this could work on.", retryable=False)
    return part
