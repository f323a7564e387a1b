"""A definition as every family of flags looks at it: read once, with what goes with it."""

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


# What a review knows beside the definition: the request, its price, and what was seen before.

_MOST: Final = 5_000
# What the other automations of a workspace may call now; what was put away may call nothing.
_GRANTED: Final = """
    SELECT v.grants FROM automations a
    JOIN automation_versions v
      ON v.workspace_id = a.workspace_id AND v.automation_id = a.id AND v.version = a.version
    WHERE a.workspace_id = $1 AND a.state <> 'archived' AND a.id IS DISTINCT FROM $2
    ORDER BY a.id DESC LIMIT $3
"""


@dataclass(frozen=True, slots=True)
class ReviewFacts:
    """Whatever is not known is None, and then nothing is said about it."""

    # The words of whoever asked for it.
    request: str = ""
    # Capabilities that other automations of this workspace may call.
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
    """The capabilities and hosts that automations of a workspace may call, one left out."""
    rows = await tx.fetch(_GRANTED, workspace_id, but, _MOST)
    return collect_capabilities_and_hosts(row["grants"] for row in rows)


def collect_capabilities_and_hosts(
    versions: Iterable[Any],
) -> tuple[frozenset[str], frozenset[str]]:
    """The capabilities and the hosts in the grants of versions."""
    used: set[str] = set()
    hosts: set[str] = set()
    for grants in versions:
        for grant in listing(grants):
            used.add(str(mapping(grant).get("capability")))
            params = mapping(mapping(grant).get("params"))
            hosts |= {host_name(one) for one in listing(params.get("hosts"))}
    return frozenset(used), frozenset(hosts)


def host_name(entry: Any) -> str:
    """A host of a list without its port."""
    host, colon, port = str(entry).rpartition(":")
    return host if colon and port.isdigit() else str(entry)


@dataclass(frozen=True, slots=True)
class ReviewView:
    """Everything that a flag may depend on."""

    document: Mapping[str, Any]
    grants: tuple[Grant, ...]
    words: Vocabulary
    facts: ReviewFacts
    steps: tuple[StepView, ...]
    triggers: tuple[TriggerView, ...]
    # What the steps call, and what was granted for them though none was seen to call it.
    asks: tuple[CapabilityUse, ...]
    # The same with grants that were written beside the steps, needed or not.
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
        """What it is for, and what says so.

        Whoever asked for it knows best. A name and a goal may be a model's own words, with which
        it could speak for anything that it put into the plan.
        """
        if self.facts.request.strip():
            return self.facts.request[:8_000], "the request"
        parts = [
            value[:8_000]
            for key in ("name", "goal", "intent", "description")
            if isinstance(value := self.document.get(key), str)
        ]
        return "\n".join(parts), "what is said of its goal"


def view_of(
    document: Mapping[str, Any], grants: Iterable[Grant], vocabulary: Vocabulary, facts: ReviewFacts
) -> ReviewView:
    """Reads a definition once for all families."""
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
