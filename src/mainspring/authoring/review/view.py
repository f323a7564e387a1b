"""The parsed definition that all flag families share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.json_pointers import mapping
from mainspring.authoring.review.definition_reader import (
    StepView,
    TriggerView,
    listing,
    read_all_steps,
    read_all_triggers,
)
from mainspring.authoring.review.grants import (
    CapabilityUse,
    asks_in,
    find_unexplained_grants,
    joined,
)
from mainspring.authoring.review.secrets import SecretUse, secrets_in
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Context beside the definition: the request, its cost, and other automations.

_MOST: Final = 5_000
# Current grants of the workspace's other automations, except archived ones.
_GRANTED: Final = """
    SELECT v.grants FROM automations a
    JOIN automation_versions v
      ON v.workspace_id = a.workspace_id AND v.automation_id = a.id AND v.version = a.version
    WHERE a.workspace_id = $1 AND a.state <> 'archived' AND a.id IS DISTINCT FROM $2
    ORDER BY a.id DESC LIMIT $3
"""


@dataclass(frozen=True, slots=True)
class ReviewFacts:
    """Context facts; None means unknown, and disables the flags that need it."""

    # The requester's own words.
    request: str = ""
    # Capabilities that the workspace's other automations may call.
    used: frozenset[str] | None = None
    # Hosts that they may reach, without ports.
    known_hosts: frozenset[str] | None = None
    forecast_usd: Decimal | None = None
    monthly_usd: Decimal | None = None
    automation_id: UUID | None = None
    # The definition that this one would replace.
    before: Mapping[str, Any] | None = None


async def read_review_facts(
    tx: Transaction, workspace_id: UUID, but: UUID | None = None
) -> tuple[frozenset[str], frozenset[str]]:
    """Load the capabilities and hosts of a workspace's automations, except one."""
    rows = await tx.fetch(_GRANTED, workspace_id, but, _MOST)
    return collect_capabilities_and_hosts(row["grants"] for row in rows)


def collect_capabilities_and_hosts(
    versions: Iterable[Any],
) -> tuple[frozenset[str], frozenset[str]]:
    """Collect the capabilities and hosts in grants."""
    used: set[str] = set()
    hosts: set[str] = set()
    for grants in versions:
        for grant in listing(grants):
            used.add(str(mapping(grant).get("capability")))
            params = mapping(mapping(grant).get("params"))
            hosts |= {host_name(one) for one in listing(params.get("hosts"))}
    return frozenset(used), frozenset(hosts)


def host_name(entry: Any) -> str:
    """Return a host without its port."""
    host, colon, port = str(entry).rpartition(":")
    return host if colon and port.isdigit() else str(entry)


@dataclass(frozen=True, slots=True)
class ReviewView:
    """Everything that flags depend on."""

    document: Mapping[str, Any]
    grants: tuple[Grant, ...]
    vocabulary: Vocabulary
    facts: ReviewFacts
    steps: tuple[StepView, ...]
    triggers: tuple[TriggerView, ...]
    # What the steps call, plus grants that no step was seen to need.
    asks: tuple[CapabilityUse, ...]
    # The same plus explicitly written grants.
    reach: tuple[CapabilityUse, ...]
    secrets: tuple[SecretUse, ...]

    @property
    def execution(self) -> Mapping[str, Any]:
        return mapping(self.document.get("execution"))

    @property
    def armed(self) -> tuple[TriggerView, ...]:
        return tuple(trigger for trigger in self.triggers if trigger.enabled)

    @property
    def agents(self) -> tuple[StepView, ...]:
        return tuple(step for step in self.steps if step.is_agent)

    @property
    def purpose(self) -> tuple[str, str]:
        """The purpose, and its source.

        The requester's words take precedence. A name and goal may be written by a model, which
        could thereby justify anything in its plan.
        """
        if self.facts.request.strip():
            return self.facts.request[:8_000], "the request"
        parts = [
            value[:8_000]
            for key in ("name", "goal", "intent", "description")
            if isinstance(value := self.document.get(key), str)
        ]
        return "\n".join(parts), "the description of its goal"


def view_of(
    document: Mapping[str, Any], grants: Iterable[Grant], vocabulary: Vocabulary, facts: ReviewFacts
) -> ReviewView:
    """Parse a definition once for all families."""
    document = mapping(document)
    steps = read_all_steps(document, vocabulary)
    seen = asks_in(steps, vocabulary)
    given = tuple(grants) or joined(seen)
    reach = (*seen, *find_unexplained_grants(given, seen, vocabulary))
    asks = seen if isinstance(document.get("grants"), list) else reach
    return ReviewView(
        document,
        given,
        vocabulary,
        facts,
        steps,
        read_all_triggers(document),
        asks,
        reach,
        secrets_in(steps),
    )
