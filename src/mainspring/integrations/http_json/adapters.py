"""Board adapter: a URL is the resource, and a JSONPath selects the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any, Final

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError, JSONPathQuery

from mainspring.contracts.addresses import URL_SCHEMA, get_hosts, normalize_address_ref
from mainspring.contracts.errors import Finding, Invalid, UpstreamError
from mainspring.contracts.integration import Adapter, Operation
from mainspring.integrations.http_json.client import fetch_json

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


# Selecting rows and columns by JSONPath (RFC 9535).

LONGEST: Final = 300
_DOTTED: Final = re.compile(r"[^\s$@\[\]'\"?*()]+")
_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
_MOST_WAYS: Final = 100
_PATTERN: Final = re.compile(r"\b(?:match|search)\s*\(")


class NoValue:
    """A path without a match; null is a match."""


NOTHING: Final = NoValue()


@lru_cache(maxsize=256)
def read_path(text: str, at: str) -> JSONPathQuery:
    """Parse a path, or raise ``Invalid`` with its pointer."""
    if not text.startswith("$"):
        raise _bad(at, "A JSONPath begins with $.", "As in $.data.items[*].")
    ways = prod(one.count(",") + 1 for one in _BRACKETS.findall(text))
    if text.count("..") > 1 or "$" in text[1:] or _PATTERN.search(text) or ways > _MOST_WAYS:
        raise _bad(
            at,
            "This path could match too many places: it may have .. once, few commas, and no $ "
            "and no match() or search() behind its beginning.",
            "Name the places on the way.",
        )
    try:
        return JSONPathEnvironment().compile(text)
    except JSONPathError as error:
        raise _bad(at, f"This JSONPath cannot be read: {error}") from None
    except (ArithmeticError, LookupError, RecursionError, ValueError):
        raise _bad(at, "This JSONPath cannot be read.") from None


def find_values(text: str, at: str, value: Any) -> Iterator[Any]:
    """Return the matches of a path, in document order."""
    try:
        for node in read_path(text, at).finditer(value):
            yield node.value
    except (JSONPathError, RecursionError):
        raise UpstreamError(
            "The answer is nested too deeply for this path.",
            code="unreadable_answer",
            retryable=False,
            suggestion="Name the places on the way instead of looking everywhere with two dots.",
        ) from None


def find_first_value(text: str, at: str, value: Any) -> Any:
    """Return the first match of a JSONPath or dotted name; ``NOTHING`` when there is none."""
    if text.startswith("$"):
        return next(find_values(text, at, value), NOTHING)
    for name in text.split("."):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return NOTHING
    return value


def check_column(text: str, at: str) -> None:
    """Reject anything but a JSONPath or dotted name."""
    if text.startswith("$"):
        read_path(text, at)
    elif not _DOTTED.fullmatch(text):
        raise _bad(at, "This is not a JSONPath or names with dots.", "As in user.login.")


def _bad(at: str, detail: str, suggestion: str | None = None) -> Invalid:
    return Invalid(detail, code="bad_path", findings=[Finding(at, detail, "bad_path", suggestion)])


MOST_ROWS: Final = 10_000
_SECRET: Final = re.compile(
    r"auth|cookie|token|secret|password|passwd|credential|signature|api[-_]?key|access[-_]?key",
    re.IGNORECASE,
)
_PATH: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": LONGEST}
REF_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["url"],
    "properties": {
        "url": {**URL_SCHEMA, "title": "Address"},
        "method": {"enum": ["GET"], "default": "GET"},
        "headers": {
            "description": "Sent with each read, such as Accept-Language. No credentials: every "
            "member can read a link.",
            "type": "object",
            "maxProperties": 20,
            "propertyNames": {"maxLength": 100, "pattern": "^[A-Za-z0-9-]+$"},
            "additionalProperties": {"type": "string", "maxLength": 500},
        },
    },
    "examples": [{"url": "https://api.example.com/v1/incidents?open=true"}],
    "x-mainspring-anti-examples": [
        {"value": {"url": "ftp://example.com/a.json"}, "reason": "web addresses alone"},
        {"value": {"url": "https://example.com/", "method": "POST"}, "reason": "it only reads"},
    ],
}
PARAMS_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "items": {
            "description": "A JSONPath to the items that become rows. Default: the response "
            "itself, if it is a list.",
            **_PATH,
        },
        "columns": {
            "description": "Each column with the place of its value in an item: a JSONPath, or "
            "names with dots. Default: every field of the item.",
            "type": "object",
            "minProperties": 1,
            "maxProperties": 100,
            "propertyNames": {"minLength": 1, "maxLength": 200},
            "additionalProperties": _PATH,
        },
    },
    "examples": [
        {"items": "$.incidents[*]", "columns": {"id": "id", "who": "$.owner.name"}},
        {},
    ],
    "x-mainspring-anti-examples": [
        {"value": {"items": ["a"]}, "reason": "one path"},
        {"value": {"columns": ["id"]}, "reason": "a column says where its value stands"},
    ],
}


def normalize_ref(ref: Mapping[str, Any]) -> dict[str, Any]:
    """Normalize a reference; credential headers are rejected."""
    kept = normalize_address_ref({key: value for key, value in ref.items() if key != "method"})
    findings = [
        Finding(
            f"/headers/{name}",
            f"{name} looks like a credential, and every member can read a link.",
            "secret_header",
            "Use an integration with a connection, or an automation with http_fetch and a secret.",
        )
        for name in kept.get("headers", {})
        if _SECRET.search(name)
    ]
    if findings:
        raise Invalid(findings[0].detail, code="secret_header", findings=findings)
    if not kept.get("headers"):
        kept.pop("headers", None)
    return kept


def check_params(params: Mapping[str, Any]) -> None:
    """Reject invalid paths, with pointers."""
    if "items" in params:
        read_path(str(params["items"]), "/items")
    for name, path in params.get("columns", {}).items():
        check_column(str(path), f"/columns/{name.replace('~', '~0').replace('/', '~1')}")


async def get(
    ctx: CallContext, ref: Mapping[str, Any], params: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """Fetch a URL's rows."""
    check_params(params)
    return build_rows(await fetch_json(ctx, ref), params)


def build_rows(value: Any, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Build rows from a response by the item path and column paths."""
    items = list(_items(value, params))
    if len(items) > MOST_ROWS:
        raise UpstreamError(
            f"These are {MOST_ROWS + 1:,} rows or more; at most {MOST_ROWS:,} are read.",
            code="too_many_rows",
            retryable=False,
            suggestion="Narrow it with the query of the address, or with items.",
        )
    columns = params.get("columns")
    if columns is None:
        return [item if isinstance(item, dict) else {"value": item} for item in items]
    return [_row(item, columns) for item in items]


def _items(value: Any, params: Mapping[str, Any]) -> Sequence[Any]:
    path = params.get("items")
    if path is not None:
        picked = list(islice(find_values(str(path), "/items", value), MOST_ROWS + 1))
        # A path to a list means its items.
        return picked[0] if len(picked) == 1 and isinstance(picked[0], list) else picked
    if isinstance(value, list):
        return value
    raise UpstreamError(
        "The answer is not a list, so its rows have to be named.",
        code="unreadable_answer",
        retryable=False,
        suggestion="Give items, a JSONPath such as $.data[*].",
    )


def _row(item: Any, columns: Mapping[str, str]) -> dict[str, Any]:
    row = {}
    for name, path in columns.items():
        value = find_first_value(path, f"/columns/{name}", item)
        row[name] = None if value is NOTHING else value
    return row


ADAPTER: Final = Adapter(
    kind="http_json",
    description="Any public address that answers JSON.",
    ref_schema=REF_SCHEMA,
    operations=(
        Operation(
            id="http_json.get",
            description="Rows of what the address answers, by JSONPath.",
            params_schema=PARAMS_SCHEMA,
            rows=get,
            columns={},
            check=check_params,
            label="Items",
            sample={"items": "$.items[*]", "columns": {"id": "id"}},
        ),
    ),
    label="Address that answers JSON",
    normal=normalize_ref,
    hosts=get_hosts,
    connection="none",
)
