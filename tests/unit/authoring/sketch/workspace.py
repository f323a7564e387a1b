"""A workspace in words for the tests of the sketcher: names, and tools of two connections."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.authoring.json_pointers import is_within, parent_of
from mainspring.authoring.models import AutomationRequest, ProposalSketch
from mainspring.authoring.resources import BoardSummary, DatasetSummary, WorkspaceResources
from mainspring.authoring.sketch.sketcher import sketch
from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.registry import build_registry

# One of several keys is lacking, and one of them is asked for.
EITHER: Final = frozenset({"any_of", "one_of"})
NOW: Final = datetime(2026, 11, 15, 12, tzinfo=UTC)
ORDERS: Final = "11111111-1111-4111-8111-111111111111"
LEADS: Final = "22222222-2222-4222-8222-222222222222"
IMPORT: Final = "44444444-4444-4444-8444-444444444444"


async def _never(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    raise AssertionError("nothing is called while a request is read")


def _tool(
    name: str, text: str, effect: Effect, required: list[str], **properties: Any
) -> Capability:
    return Capability(
        name,
        text,
        {
            "type": "object",
            "additionalProperties": False,
            "required": required,
            "properties": properties,
        },
        {"type": "object"},
        _never,
        annotations=Annotations(effect=effect),
    )


_TEXT: Final = {"type": "string"}
WORDS: Final = build_registry(
    Limits(),
    capabilities=[
        _tool(
            "linear.create_issue",
            "Create an issue\n\nOpens an issue in a team of Linear.",
            Effect.SEND,
            ["title", "team"],
            title=_TEXT,
            description=_TEXT,
            team={"enum": ["ENG", "OPS"]},
        ),
        _tool(
            "linear.list_issues",
            "List issues\n\nThe open issues of a team.",
            Effect.READ,
            [],
            state=_TEXT,
        ),
        _tool(
            "github.search",
            "Search code and issues\n\nFinds things on GitHub.",
            Effect.READ,
            ["query"],
            query=_TEXT,
        ),
        _tool(
            "crm.archive_contact",
            "Archive a contact\n\nPuts a contact away.",
            Effect.SEND,
            ["contact_id"],
            contact_id=_TEXT,
        ),
        _tool(
            "crm.archive_contacts_all",
            "Archive all contacts\n\nPuts contacts away.",
            Effect.SEND,
            ["contact_id"],
            contact_id=_TEXT,
        ),
    ],
)
HERE: Final = WorkspaceResources(
    boards=(
        BoardSummary(
            ORDERS, "Orders", "", (DatasetSummary("default", ("id", "customer", "total"), "id"),)
        ),
        BoardSummary(LEADS, "Leads", "", (DatasetSummary("default", ("email", "name"), None),)),
        BoardSummary("33333333-3333-4333-8333-333333333333", "Weekly wins", "", ()),
        BoardSummary("55555555-5555-4555-8555-555555555555", "Twin", "", ()),
        BoardSummary("66666666-6666-4666-8666-666666666666", "Twin", "", ()),
    ),
    page_types=("email", "note", "invoice"),
    event_types={"order.paid": "An order was paid."},
    secrets=("slack_bot_token", "billing_key"),
    automations={"Nightly import": IMPORT, "Post a digest": "77777777-7777-4777-8777-777777777777"},
    has_model=True,
)


def draw(
    text: str,
    *,
    resources: WorkspaceResources = HERE,
    timezone: str | None = None,
    before: Mapping[str, Any] | None = None,
) -> ProposalSketch:
    return sketch(AutomationRequest(text, NOW, timezone, before), WORDS, resources)


def strays(made: ProposalSketch) -> list[str]:
    """What is wrong with a sketch besides what its questions ask for."""
    open_places = [place for one in made.questions for place in (one.pointer, *one.others)]
    found = validate(made.document, WORDS, Limits()).findings
    return [
        f"{one.pointer}: {one.detail}"
        for one in found
        if not any(is_within(one.pointer, place) for place in open_places)
        and not (one.code in EITHER and one.pointer in map(parent_of, open_places))
    ]


def actions(made: ProposalSketch) -> list[str]:
    return [str(step.get("action")) for step in made.document.get("plan", [])]


def asked(made: ProposalSketch) -> dict[str, str]:
    """The questions by id, with where they point."""
    return {one.id: one.pointer for one in made.questions}
