"""ingest_from_endpoint: one endpoint of a declarative integration, read and kept as pages.

A recipe says what is asked and how an item becomes a page; everything else is done here and
by the gate: the guard on the address, secrets, retries, the record, the bookkeeping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect, require_part
from mainspring.contracts.errors import Finding, InternalError
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.gate.ingestion.cursors import PollCursor
from mainspring.gate.ingestion.declared_mapping import read_mapping
from mainspring.gate.ingestion.declared_reading import DeclaredEndpointReader
from mainspring.gate.ingestion.declared_rules import validate_endpoint, validate_mapping
from mainspring.gate.ingestion.declared_schema import INPUT, MOST_LISTED, OUTPUT
from mainspring.gate.ingestion.items import IngestionOrigin
from mainspring.gate.ingestion.reading import IngestionResult
from mainspring.store.walls import WorkspaceDatabase
from mainspring.workspace.pages.keep import get_page_writer

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database

INGEST: Final = "ingest_from_endpoint"
_MOST_ERRORS: Final = 50

Arguments = Mapping[str, Any]


def declared_capability(limits: Limits, database: Database | None) -> Capability:
    """The capability; a registry that only describes has no database."""
    return Capability(
        id=INGEST,
        description="Read an endpoint of a declarative integration\n\n"
        "Asks an approved host, maps every item of the answer to a page and keeps those that are "
        "new or say something new. The same source_ref never makes a second page. Secrets may "
        "stand in headers and query.",
        input_schema=INPUT,
        output_schema=OUTPUT,
        handler=_ingest(limits, database),
        annotations=Annotations(
            effect=Effect.KEEP,
            seconds=30.0,
            secret_arguments=frozenset({"headers", "query"}),
            judge=_findings,
            judges_saved=True,
            stub=_nothing,
            subject=lambda given, _: given.get("source"),
            # Only a grant says which hosts are approved, and only a run has one.
            audience=Audience.RUNS,
        ),
    )


def _findings(given: Arguments) -> Sequence[Finding]:
    return [*validate_endpoint(given), *validate_mapping(given["mapping"])]


def _ingest(limits: Limits, database: Database | None) -> CapabilityHandler:
    async def ingest(ctx: CallContext, given: Arguments) -> dict[str, Any] | Unchanged:
        if ctx.run is None:
            raise InternalError("An endpoint is read by a run alone.", retryable=False)
        space = ctx.actor.workspace_id
        # No slug of a recipe is taken for an integration of the house.
        source = f"recipe:{given['source']}"
        reading = DeclaredEndpointReader(
            ctx,
            given,
            read_mapping(given["mapping"]),
            IngestionOrigin(source, source),
            replace(get_page_writer(ctx), source=source),
            WorkspaceDatabase(require_part(database), space),
            PollCursor(space, ctx.run.automation_id, given["op"]),
            limits,
        )
        found = await reading.read()
        told = _describe_endpoint_result(given, found)
        return told if found.slugs or found.broken else Unchanged(told)

    return ingest


def _describe_endpoint_result(given: Arguments, found: IngestionResult) -> dict[str, Any]:
    told: dict[str, Any] = {
        "source": given["source"],
        "op": given["op"],
        "ingested_count": len(found.slugs),
        "page_slugs": found.slugs[:MOST_LISTED],
        "more": found.more,
    }
    if found.broken:
        told["errors"] = [
            {"source_ref": one.source_ref, "detail": one.problem.detail, "code": one.problem.code}
            for one in found.broken[:_MOST_ERRORS]
        ]
    notes = list(found.notes)
    if found.known:
        notes.append(f"{found.known} more were there already and say the same.")
    if found.more:
        notes.append("There is more than one run reads; the next one goes on from here.")
    if notes:
        told["note"] = " ".join(notes)
    return told


def _nothing(given: Arguments) -> dict[str, Any]:
    """What a dry run answers: it reads nothing, because what is read is kept."""
    return {
        "source": given["source"],
        "op": given["op"],
        "ingested_count": 0,
        "page_slugs": [],
        "more": False,
        "note": "A dry run reads nothing.",
    }
