"""The registry: everything that a definition may name, looked up by name.

It is built once, explicitly, and then only read; a duplicate name is a programming error and
raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar
from uuid import UUID

from mainspring.contracts.action import Action, declare_actions
from mainspring.contracts.capability import Capability, declare_writes
from mainspring.contracts.errors import InternalError
from mainspring.contracts.event import EventType
from mainspring.contracts.trigger import TriggerKind

Entry = TypeVar("Entry")


class Vocabulary(Protocol):
    """The read interface of a registry, which is all that most packages need."""

    @property
    def actions(self) -> Mapping[str, Action]: ...
    @property
    def capabilities(self) -> Mapping[str, Capability]: ...
    @property
    def triggers(self) -> Mapping[str, TriggerKind]: ...
    @property
    def events(self) -> Mapping[str, EventType]: ...


class WorkspaceVocabularies(Vocabulary, Protocol):
    """The vocabulary of the installation, and of each workspace.

    Read as a vocabulary, it holds what all workspaces share.
    """

    async def of(self, workspace_id: UUID, *, needing: Iterable[str] = ()) -> Vocabulary:
        """The vocabulary of one workspace, including the tools of its connections.

        The connections may be cached for up to a second. With ``needed``, a missing capability is
        looked up again.
        """
        ...


class Registry:
    """Actions, capabilities, triggers and event types by name."""

    def __init__(
        self,
        *,
        actions: Iterable[Action] = (),
        capabilities: Iterable[Capability] = (),
        triggers: Iterable[TriggerKind] = (),
        events: Iterable[EventType] = (),
    ) -> None:
        self.actions = _index_by_name("action", ((entry.type, entry) for entry in actions))
        self.capabilities = _index_by_name(
            "capability", ((entry.id, entry) for entry in capabilities)
        )
        self.triggers = _index_by_name("trigger", ((entry.type, entry) for entry in triggers))
        self.events = _index_by_name("event type", ((entry.type, entry) for entry in events))
        declare_actions(self.actions.values())
        declare_writes(self.capabilities.values())
        twice = self.actions.keys() & self.capabilities.keys()
        if twice:
            raise InternalError(
                f"These names are both an action and a capability: {sorted(twice)}."
            )

    async def of(self, workspace_id: UUID, *, needing: Iterable[str] = ()) -> Vocabulary:
        """The same for every workspace, where nothing is connected."""
        del workspace_id, needing
        return self


def _index_by_name(kind: str, entries: Iterable[tuple[str, Entry]]) -> Mapping[str, Entry]:
    found: dict[str, Entry] = {}
    for name, entry in entries:
        if name in found:
            raise InternalError(f"The {kind} {name!r} is registered twice.")
        found[name] = entry
    return MappingProxyType(found)
