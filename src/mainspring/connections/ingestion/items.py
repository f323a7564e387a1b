"""What an integration read, as the page that it becomes, or as the problem that it is.

What strangers wrote is kept as it is, as far as it can be kept: a title that is too long is cut,
and a sign that the database does not take is marked. What cannot be kept at all is a problem of
that one item, and the others go on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.display_text import clean_name
from mainspring.contracts.errors import Finding, InternalError, Problem
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import check_value
from mainspring.workspace.pages.content import (
    LONGEST_REF,
    LONGEST_TITLE,
    PageDraft,
    find_page_problems,
    refuse,
)
from mainspring.workspace.pages.writer import build_ingested_slug

_UNREADABLE: Final = "\ufffd"


@dataclass(frozen=True, slots=True)
class IngestionOrigin:
    """Where a portion came from: the integration, and the connection that it came over."""

    integration: str
    source: str
    # The types of events that the integration may tell of, each with its payload's properties.
    events: Mapping[str, frozenset[str]] = field(default_factory=dict)
    connection_id: UUID | None = None

    def provenance(self) -> dict[str, str]:
        told = {"integration": self.integration}
        if self.connection_id is not None:
            told["connection_id"] = str(self.connection_id)
        return told


@dataclass(frozen=True, slots=True)
class SortedItems:
    """A portion, as what can be kept and what cannot."""

    items: tuple[Item, ...]
    pages: tuple[PageDraft, ...]
    broken: tuple[UnreadableItem, ...]
    # What is told and makes no page.
    bare: tuple[Item, ...] = ()


def sort_items(
    found: Iterable[Item | UnreadableItem], origin: IngestionOrigin, limits: Limits
) -> SortedItems:
    """Every item as a page, or with what is wrong with it; of one source_ref the last counts."""
    items: dict[str, tuple[Item, PageDraft]] = {}
    bare: dict[str, Item] = {}
    broken: dict[str, UnreadableItem] = {}
    for one in found:
        ref = shorten_ref(one.source_ref)
        if isinstance(one, UnreadableItem):
            broken[ref] = UnreadableItem(ref, one.problem)
            continue
        try:
            check_item(one, origin, limits)
            if one.type:
                items[ref] = (one, page_of(one, origin, limits))
            else:
                bare[ref] = one
            broken.pop(ref, None)
        except Problem as problem:
            broken[ref] = UnreadableItem(ref, problem)
    kept = {ref: pair for ref, pair in items.items() if ref not in broken}
    return SortedItems(
        tuple(item for item, _ in kept.values()),
        tuple(page for _, page in kept.values()),
        tuple(broken.values()),
        tuple(bare.values()),
    )


def check_item(item: Item, origin: IngestionOrigin, limits: Limits) -> None:
    """Refuses what no page and no event can hold."""
    if item.event is not None and item.event not in origin.events:
        raise InternalError(
            f"The integration {origin.integration} tells of {item.event}, which it has not "
            "declared.",
            code="event_undeclared",
            retryable=False,
        )
    if item.source_ref != shorten_ref(item.source_ref):
        detail = f"A source_ref has 1 to {LONGEST_REF} characters, all of which can be kept."
        refuse([Finding("/source_ref", detail, "page_source_ref")])
    told = {"frontmatter": dict(item.frontmatter), "payload": dict(item.payload)}
    check_value({**told, "news": item.news}, limits)


def page_of(item: Item, origin: IngestionOrigin, limits: Limits) -> PageDraft:
    """The page of one item; ``Invalid`` when it cannot be kept."""
    title = _readable(clean_name(item.title))
    if len(title) > LONGEST_TITLE:
        title = f"{title[: LONGEST_TITLE - 1]}…"
    title = title or item.type.replace("_", " ").capitalize()
    page = PageDraft(
        slug=build_ingested_slug(title, item.source_ref),
        type=item.type,
        title=title,
        body=_readable(item.body),
        frontmatter=dict(item.frontmatter),
        source_ref=item.source_ref,
        provenance=origin.provenance(),
    )
    refuse(find_page_problems(page, limits))
    return page


def build_event_payload(item: Item, slug: str, origin: IngestionOrigin) -> dict[str, Any]:
    """What is told of a new item; with the slug of its page where the event has a place for it."""
    told = dict(item.payload)
    if item.event is not None and "page_slug" in origin.events[item.event]:
        told.setdefault("page_slug", slug)
    return told


def shorten_ref(ref: str) -> str:
    """A reference that can be kept; a longer one is told by its beginning and a mark."""
    ref = _readable(ref)
    if 0 < len(ref) <= LONGEST_REF:
        return ref
    mark = hashlib.sha256(ref.encode()).hexdigest()[:16]
    return f"{ref[: LONGEST_REF - 17]}…{mark}"


def _readable(text: str) -> str:
    """The database keeps no NUL and no half of a sign."""
    return text.replace("\x00", _UNREADABLE).encode("utf-8", "replace").decode()
