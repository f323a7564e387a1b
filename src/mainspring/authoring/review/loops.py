"""What a loop goes through and does for each item, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from mainspring.authoring.review.deeds import StepDescription, describe_step, thing
from mainspring.authoring.review.reading import StepView, text_of
from mainspring.authoring.review.values import Names, describe_value

_PATH: Final = re.compile(r"\s*\{\{-?\s*(?:steps\.)?(\w{1,64})((?:\.\w{1,64}){0,3})\s*-?\}\}\s*")
# What is found by looking; nobody needs to be told by which step.
_FOUND: Final = {
    "list_pages": "the pages found",
    "search": "the pages found",
    "query": "the pages found",
    "search_space.query": "the pages found",
    "get_board": "the rows read",
    "list_calendar_events": "the events found",
}
_LISTS: Final = frozenset({".pages", ".results", ".rows", ".events", ".hits", ".documents"})
_OF_THE_ITEM: Final = ("get_page", "search_space.fetch_document", "update_page", "delete_page")
_ITS_NAMES: Final = frozenset({".id", ".page_id", ".slug"})
_LONGEST: Final = 500


def items_of(loop: StepView, plan: Sequence[StepView], names: Names) -> str:
    """The list that a loop goes through."""
    value = loop.config.get("items")
    path = _PATH.fullmatch(value[:_LONGEST]) if isinstance(value, str) else None
    if path is not None and path[2] in _LISTS:
        made = {one.id: one.action for one in plan}
        renamed = {text_of(one.whole.get("output_as")): one.action for one in plan}
        found = _FOUND.get(made.get(path[1]) or renamed.get(path[1], ""))
        # Where two steps find something, it is said which.
        if found is not None and [_FOUND.get(one) for one in made.values()].count(found) == 1:
            return found
    return thing("items") if value in (None, "", [], {}) else describe_value(value, names, 60)


def one_of_each(loop: StepView, step: StepView, names: Names) -> StepDescription:
    """What a step inside does; a page that is the item itself is the page."""
    deed = describe_step(step, names)
    item = text_of(loop.config.get("as")) or "item"
    where = [step.config[key] for key in ("id", "slug") if key in step.config]
    path = _PATH.fullmatch(where[0][:_LONGEST]) if where and isinstance(where[0], str) else None
    own = path is not None and path[1] == item and path[2] in _ITS_NAMES
    if step.action in _OF_THE_ITEM and own and len(where) == 1:
        return replace(deed, short=deed.short.replace(" a page", " the page"), more="")
    return deed
