"""What a review knows beside the definition: the request, its price, and what was seen before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.places import mapping
from mainspring.authoring.review.reading import listing

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

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
