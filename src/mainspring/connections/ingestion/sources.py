"""Everything that can be read here: each source by its name, and what is looked for in it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from mainspring.connections.ingestion.items import IngestionOrigin
from mainspring.contracts.capability import ConnectionRoute
from mainspring.contracts.integration import Integration, Poll, Source
from mainspring.contracts.limits import Limits
from mainspring.contracts.manifest import get_source_name
from mainspring.definition.json_schema import Validator, compile_schema

# Ways to be let in that a member has to open themselves.
_OWN: Final = frozenset({"token", "oauth"})


@dataclass(frozen=True, slots=True)
class DataSource:
    """One integration that data comes from."""

    integration: Integration
    name: str
    source: Source | None
    # Judges an input of the source.
    shape: Validator | None
    polls: Mapping[str, Poll]

    @property
    def route(self) -> ConnectionRoute:
        """The way there, over the connection of whoever asks."""
        return route_to(self.integration)

    def origin(self, connection_id: UUID | None) -> IngestionOrigin:
        """What is known of where its items come from."""
        events = {
            one.type: frozenset(one.payload_schema.get("properties", ()))
            for one in self.integration.events
        }
        return IngestionOrigin(self.integration.id, self.name, events, connection_id)


def route_to(integration: Integration) -> ConnectionRoute:
    """The way to an integration: its own hosts, over a connection where it needs one."""
    manifest = integration.manifest
    needs: Literal["needed", "none"] = "needed" if manifest["auth"]["kind"] in _OWN else "none"
    return ConnectionRoute(integration.id, frozenset(manifest["hosts"]), needs)


class DataSources(Mapping[str, DataSource]):
    """What of the shelf can be read, by the name that it is asked for by."""

    def __init__(self, shelf: Iterable[Integration], limits: Limits) -> None:
        found: dict[str, DataSource] = {}
        for one in shelf:
            usual = get_source_name(one.manifest)
            for source in one.sources:
                shape = compile_schema(source.input_schema, limits)
                polls = {poll.name: poll for poll in one.polls} if source.name == usual else {}
                found[source.name] = DataSource(one, source.name, source, shape, polls)
            if one.polls and usual not in found:
                polls = {poll.name: poll for poll in one.polls}
                found[usual] = DataSource(one, usual, None, None, polls)
        self._all = found

    def __getitem__(self, name: str) -> DataSource:
        return self._all[name]

    def __iter__(self) -> Any:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @property
    def fetched(self) -> list[str]:
        """Those that answer a question."""
        return sorted(name for name, one in self.items() if one.source is not None)

    @property
    def poll_names(self) -> list[str]:
        """Those that are looked at again and again."""
        return sorted(name for name, one in self.items() if one.polls)
