"""Page after page: what the next request says, and when there is none.

Pure decisions over one answer. Where a reading stands is plain JSON, so that it can be kept
with the pages that it brought.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mainspring.contracts.context import HttpResponse
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.definition.paths import parse_path
from mainspring.gate.ingestion.declared_answers import EndpointResponse, next_link, value_at
from mainspring.gate.ingestion.declared_schema import USUAL_PAGES
from mainspring.gate.ingestion.declared_templates import format_value

_LONGEST_NEXT: Final = 2_000

Place = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a request says beyond what its endpoint always says."""

    # The whole address, where an answer gave it.
    url: str | None
    params: Mapping[str, Any]


def most_pages(paging: Mapping[str, Any] | None) -> int:
    """How many answers one run reads at most."""
    return 1 if paging is None else int(paging.get("max_pages", USUAL_PAGES))


def build_page_request(given: Mapping[str, Any], place: Place, since: str | None) -> PageRequest:
    """What is asked for at one place of a reading."""
    paging, cursor = given.get("paging") or {}, given.get("cursor")
    if place is not None and "url" in place:
        return PageRequest(_without(str(place["url"]), given.get("query") or {}), {})
    params: dict[str, Any] = {}
    if paging.get("kind") == "page":
        params[paging["param"]] = place["page"] if place else paging.get("start", 1)
        if "size_param" in paging:
            params[paging["size_param"]] = paging["size"]
    elif place is not None and "cursor" in place:
        params[paging["param"]] = place["cursor"]
    if cursor is not None and since is not None:
        params[cursor["param"]] = since
    return PageRequest(None, params)


def _without(url: str, query: Mapping[str, Any]) -> str:
    """An address without what the endpoint says anyway, such as a key that was echoed."""
    parts = urlsplit(url)
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in query]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(kept), ""))


def next_page_position(
    paging: Mapping[str, Any] | None,
    place: Place,
    response: HttpResponse,
    answer: EndpointResponse,
    found: int,
    limits: Limits,
) -> Place:
    """Where the next page is; None after the last one."""
    kind = (paging or {}).get("kind")
    if paging is None or kind is None:
        return None
    if kind == "page":
        full = found >= paging["size"] if "size" in paging else found > 0
        number = place["page"] if place else paging.get("start", 1)
        return {"page": number + 1} if full else None
    if kind == "link":
        there = next_link(response.headers.get("link"), response.url)
        return None if there is None else {"url": there}
    said = value_at(answer, paging["next"], limits)
    if said is None or said is False or said == "":
        return None
    if isinstance(said, dict | list | bool):
        raise _unreadable()
    text = format_value(said, answer.spelt)
    if len(text) > _LONGEST_NEXT:
        raise _unreadable()
    return {"cursor": text}


def _unreadable() -> UpstreamError:
    detail = "What the answer says of its next page is neither text nor a number."
    return UpstreamError(detail, code="paging_unreadable", retryable=False)


def max_marker(
    so_far: str | None, items: list[Any], answer: EndpointResponse, field: str, limits: Limits
) -> str | None:
    """The highest of what grows from item to item; numbers by size, anything else as text."""
    path = parse_path(field, limits)
    for item in items:
        found = path.find(item)
        if found and isinstance(found[0], str | int | float) and not isinstance(found[0], bool):
            text = format_value(found[0], answer.spelt)
            if text and len(text) <= _LONGEST_NEXT and (so_far is None or _above(text, so_far)):
                so_far = text
    return so_far


def _above(one: str, other: str) -> bool:
    numbers = _number(one), _number(other)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] > numbers[1]
    return one > other


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
