"""An answer of somebody else's server, read so that no digit is lost and no size surprises."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urljoin

from mainspring.contracts.errors import Invalid, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.definition.hosts import parse_url_host
from mainspring.definition.jsonpath import parse_path
from mainspring.definition.strict_json import read_json

MOST_ITEMS: Final = 1_000
# One bad text spoils that item alone, of two equal names the last counts, and a number that is
# too large to reckon with is still text.
_FORGIVEN: Final = frozenset(
    {"json_surrogate", "json_nul", "json_duplicate_key", "json_integer", "json_overflow"}
)
_LINK: Final = re.compile(
    r"\s*+<([^<>]{1,4000}+)>\s*+((?:;[^,;\"]*+(?:\"[^\"]*+\"[^,;\"]*+)*+)*+),?"
)
_REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    """The value of an answer, and how its numbers were written."""

    value: Any
    # By the identity of each number in the value, which lives as long as the value.
    spelt: Mapping[int, str] = field(repr=False)


def parse_response(body: bytes, limits: Limits) -> EndpointResponse:
    """The JSON of an answer; ``Upstream`` where it is none that can be read."""
    text = body.removeprefix(b"\xef\xbb\xbf")
    try:
        read_json(text, limits)
    except Invalid as problem:
        if problem.code not in _FORGIVEN:
            raise _unreadable(problem.detail) from None
    spelt: dict[int, str] = {}
    try:
        value = json.loads(
            text,
            parse_float=lambda written: _parse_float(written, spelt),
            parse_constant=_reject_constant,
        )
    except ValueError:
        raise _unreadable("It breaks the rules of JSON in more than one place.") from None
    return EndpointResponse(value, spelt)


def _unreadable(why: str) -> UpstreamError:
    detail = f"The answer cannot be read as JSON. {why}"
    return UpstreamError(detail, code="answer_unreadable", retryable=False)


def _reject_constant(name: str) -> None:
    raise ValueError(name)


def _parse_float(written: str, spelt: dict[int, str]) -> float:
    number = float(written)
    spelt[id(number)] = written
    return number


def items_of(answer: EndpointResponse, iterate: str, limits: Limits) -> list[Any]:
    """What the path leads to, within bounds."""
    try:
        found = parse_path(iterate, limits).find(answer.value)
    except Invalid as problem:
        raise UpstreamError(problem.detail, code=problem.code, retryable=False) from None
    if len(found) > MOST_ITEMS:
        raise UpstreamError(
            f"One answer has {len(found)} items; at most {MOST_ITEMS} are taken.",
            code="too_many_items",
            retryable=False,
            suggestion="Ask for fewer at a time, with paging.",
        )
    return found


def value_at(answer: EndpointResponse, path: str, limits: Limits) -> Any:
    """The one value that a path leads to; None where there is none."""
    found = parse_path(path, limits).find(answer.value)
    return found[0] if found else None


def next_link(header: str | None, url: str) -> str | None:
    """The address after this one, by RFC 8288; None on the last page.

    ``Upstream`` for one on another host: what was asked for is asked of nobody else.
    """
    place = 0
    text = (header or "")[:16_384]
    while (found := _LINK.match(text, place)) is not None and found.end() > place:
        place = found.end()
        rel = _REL.search(found[2])
        if rel is not None and "next" in (rel[1] or rel[2]).lower().split():
            there = str(urljoin(url, found[1]))
            site = parse_url_host(there)
            if site is None or site != parse_url_host(url) or not _same_way(there, url):
                raise UpstreamError(
                    "The next page is on another host, which is not requested.",
                    code="link_elsewhere",
                    retryable=False,
                )
            return there
    return None


def _same_way(one: str, other: str) -> bool:
    return one.partition(":")[0].lower() == other.partition(":")[0].lower()
