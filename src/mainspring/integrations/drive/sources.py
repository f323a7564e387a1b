"""Drive sources: search, incremental changes, and later the files' text.

Two polls follow the same changes with separate cursors. The first stores metadata; the second,
slower one reads the text of text files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Expired, Invalid, NotFound, Problem, UpstreamError
from mainspring.contracts.html_text import extract_html_text
from mainspring.contracts.integration import (
    MOST_FETCHED,
    Item,
    ItemBatch,
    Poll,
    Source,
    UnreadableItem,
)
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.partial_results import read_each, read_one
from mainspring.contracts.provider_responses import format_one_line
from mainspring.integrations.drive.client import INCOMPLETE, NAME, Drive, FilePage
from mainspring.integrations.drive.events import FILE_ADDED, FILE_CHANGED

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


# Drive queries built from words, escaped.

_NOT_TRASHED: Final = "trashed = false"


def quote_query_text(text: str) -> str:
    """Quote a text for a query."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def build_words_query(phrase: str) -> str:
    """Query files with these words in name or content."""
    text = quote_query_text(" ".join(phrase.split()))
    return f"(name contains {text} or fullText contains {text}) and {_NOT_TRASHED}"


def build_since_query(timestamp: datetime) -> str:
    """Query files changed since a time."""
    at = timestamp.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"modifiedTime >= {quote_query_text(at)} and {_NOT_TRASHED}"


# Mapping a file to a page: metadata first, text later.

_MOST_OWNERS: Final = 20
_TEXT: Final = 900_000
_SMALL: Final = 400_000
TOO_LARGE: Final = "(The file is too large for its text to be read here.)"
_DOCUMENTS: Final[Mapping[str, str]] = {
    "application/vnd.google-apps.document": "text/plain",
    "application/vnd.google-apps.presentation": "text/plain",
    "application/vnd.google-apps.spreadsheet": "text/csv",
}
_TEXT_KINDS: Final = frozenset(
    {"application/json", "application/xml", "application/x-yaml", "application/yaml"}
)


@dataclass(frozen=True, slots=True)
class TextAccess:
    """How a file's text is read: exported, or downloaded."""

    export_as: str | None = None
    too_large: bool = False


def build_source_ref(file_id: str) -> str:
    return f"drive:file:{file_id}"


def get_text_access(found: Mapping[str, Any]) -> TextAccess | None:
    """Return how a file's text is read; None when it has none."""
    kind = str(found.get("mimeType", ""))
    if found.get("trashed") is True:
        return None
    if kind in _DOCUMENTS:
        return TextAccess(_DOCUMENTS[kind])
    is_text = kind.startswith("text/") or kind in _TEXT_KINDS
    return TextAccess(too_large=read_size(found) > _SMALL) if is_text else None


def build_file_item(
    found: Mapping[str, Any], news_since: datetime | None = None, text: str | None = None
) -> Item | UnreadableItem:
    """Build a file's page; one without id or name is unreadable. Without text the page keeps its
    current text.

    Changes since ``news_since`` are published as events; None: none are.
    """
    own, name = found.get("id"), found.get("name")
    if not isinstance(own, str) or not own or not isinstance(name, str):
        ref = build_source_ref(own if isinstance(own, str) and own else "unknown")
        detail = f"{NAME} told of a file without its id or its name."
        return UnreadableItem(ref, UpstreamError(detail, code="file_unreadable", retryable=False))
    result = _frontmatter(found, own)
    event = _event(found, news_since)
    names = ("file_id", "mime_type", "owners", "modified", "web_link")
    return Item(
        source_ref=build_source_ref(own),
        type="gdrive_file",
        title=format_one_line(name, 400) or "(no name)",
        body=(text or "")[:_TEXT],
        frontmatter=result,
        event=event,
        payload={} if event is None else {"name": result["name"], **{k: result[k] for k in names}},
        # One page for all changes; the first poll to see one publishes it.
        news=result["modified"] or None,
        keeps_body=text is None,
    )


def decode_text(data: bytes, kind: str) -> str:
    """Decode text as UTF-8; invalid bytes are replaced."""
    text = data.decode("utf-8-sig", "replace").replace("\x00", "").replace("\r\n", "\n")
    return (extract_html_text(text) if kind == "text/html" else text).strip()


def read_size(found: Mapping[str, Any]) -> int:
    """Parse a size; Drive sends numbers as text."""
    size = found.get("size")
    return int(size) if isinstance(size, str) and size.isdecimal() and len(size) < 19 else 0


def _frontmatter(found: Mapping[str, Any], own: str) -> dict[str, Any]:
    owners = found.get("owners")
    people = [one for one in owners if isinstance(one, Mapping)] if isinstance(owners, list) else []
    result: dict[str, Any] = {
        "file_id": own,
        "name": _line(found, "name", 400),
        "mime_type": _line(found, "mimeType", 200),
        "owners": [
            _line(one, "emailAddress", 254) or _line(one, "displayName", 200)
            for one in people[:_MOST_OWNERS]
        ],
        "created": _line(found, "createdTime", 40),
        "modified": _line(found, "modifiedTime", 40),
        "web_link": _line(found, "webViewLink", 2_000),
        "size": read_size(found),
    }
    if _line(found, "description", 2_000):
        result["description"] = _line(found, "description", 2_000)
    if found.get("trashed") is True:
        result["trashed"] = True
    return result


def _event(found: Mapping[str, Any], since: datetime | None) -> str | None:
    if since is None or found.get("trashed") is True:
        return None
    came = [_parse_timestamp(found.get(name)) for name in ("createdTime", "sharedWithMeTime")]
    if any(one is not None and one >= since for one in came):
        return FILE_ADDED.type
    changed = _parse_timestamp(found.get("modifiedTime"))
    return FILE_CHANGED.type if changed is not None and changed >= since else None


def _parse_timestamp(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _line(found: Mapping[str, Any], name: str, most: int) -> str:
    value = found.get(name)
    return format_one_line(value, most) if isinstance(value, str) else ""


USUAL_LIMIT: Final = 100
_AT_A_TIME: Final = 100
_TEXTS_AT_A_TIME: Final = 25
_FIRST_DAYS: Final = 30
_OVERLAP: Final = timedelta(hours=1)
_FRESH: Final = timedelta(hours=1)
_MAY_MISS: Final = f"{INCOMPLETE} Some files may be missing."
INPUT: Final = build_object_schema(
    {
        "query": {
            "type": "string",
            "description": "Words in the name or the text of the files.",
            "minLength": 1,
            "maxLength": 1_000,
        },
        "limit": {
            "type": "integer",
            "description": "The most files.",
            "minimum": 1,
            "maximum": MOST_FETCHED,
            "default": USUAL_LIMIT,
        },
    },
    ["query"],
    [{"query": "quarterly report", "limit": 20}],
    [
        ({}, "nothing is looked for"),
        ({"query": ""}, "nothing is looked for"),
        ({"query": "report", "limit": 0}, "at least one file"),
    ],
)

# What happens to a page of files.
KeepFiles = Callable[
    ["CallContext", FilePage, datetime | None], Awaitable[list[Item | UnreadableItem]]
]


def build_files_source(drive: Drive) -> Source:
    """Build the search source."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        left = int((cursor or {}).get("left", given.get("limit", USUAL_LIMIT)))
        query, most = build_words_query(str(given["query"])), min(left, _AT_A_TIME)
        found = await drive.search(ctx.http, query, most, (cursor or {}).get("page"))
        fresh = ctx.clock.now() - _FRESH
        items = _items(found.items[:left], fresh)
        left -= len(items)
        note = _MAY_MISS if found.incomplete else None
        if found.next_page is None or left <= 0:
            more = None if found.next_page is None else "There are more files that fit."
            return ItemBatch(items, note=note or more)
        return ItemBatch(items, {"page": found.next_page, "left": left}, more=True, note=note)

    return Source("drive", INPUT, read, _from_request)


def build_files_poll(drive: Drive) -> Poll:
    """Build the poll for file metadata."""

    async def keep(
        ctx: CallContext, found: FilePage, news_since: datetime | None
    ) -> list[Item | UnreadableItem]:
        del ctx
        return _items(found.items, news_since)

    text = "Files that were added or changed, with their metadata."
    return Poll("files", text, _following(drive, keep, _AT_A_TIME))


def build_texts_poll(drive: Drive) -> Poll:
    """Build the poll for file texts, which become page bodies."""

    async def keep(
        ctx: CallContext, found: FilePage, news_since: datetime | None
    ) -> list[Item | UnreadableItem]:
        files = {str(one.get("id")): one for one in found.items if get_text_access(one) is not None}

        async def read(file_id: str) -> Item | None:
            return await _with_text(drive, ctx, files[file_id], news_since)

        return await read_each({one: build_source_ref(one) for one in files}, read)

    text = "The text of documents and small text files, as the bodies of their pages."
    return Poll("texts", text, _following(drive, keep, _TEXTS_AT_A_TIME), every="5-59/10 * * * *")


def _items(
    found: Sequence[Mapping[str, Any]], since: datetime | None
) -> list[Item | UnreadableItem]:
    return [
        read_one(build_source_ref(f"unreadable:{n}"), partial(build_file_item, one, since))
        for n, one in enumerate(found)
    ]


def _following(
    drive: Drive, keep: KeepFiles, most: int
) -> Callable[[CallContext, Mapping[str, Any], Mapping[str, Any] | None], Awaitable[ItemBatch]]:
    """Read recent files once, and then follow changes."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        del given
        if cursor is None or "since" in cursor:
            return await _since(drive, ctx, keep, most, cursor)
        seen = _moment(cursor.get("seen_at"))
        try:
            found = await drive.changes(ctx.http, str(cursor["token"]))
        except (Expired, Invalid, NotFound):
            # The change token expired: read what changed since the last poll.
            anew = None if seen is None else (seen - _OVERLAP).isoformat()
            kept = {"since": anew, "seen_at": cursor.get("seen_at")}
            return await _since(drive, ctx, keep, most, kept)
        news_since = None if seen is None else seen - _OVERLAP
        items = await keep(ctx, found, news_since)
        if found.next_page is not None:
            return ItemBatch(items, {**cursor, "token": found.next_page}, more=True)
        token = found.next_start or cursor["token"]
        return ItemBatch(items, {"token": token, "seen_at": ctx.clock.now().isoformat()})

    return read


async def _since(
    drive: Drive, ctx: CallContext, keep: KeepFiles, most: int, cursor: Mapping[str, Any] | None
) -> ItemBatch:
    """Start over: the change token is fetched first, so that nothing is missed in between."""
    kept = dict(cursor or {})
    if "token" not in kept:
        kept["token"] = await drive.start_token(ctx.http)
        kept["began_at"] = ctx.clock.now().isoformat()
    since = _moment(kept.get("since")) or ctx.clock.now() - timedelta(days=_FIRST_DAYS)
    kept["since"] = since.isoformat()
    found = await drive.search(ctx.http, build_since_query(since), most, kept.get("page"))
    items = await keep(ctx, found, _moment(kept.get("seen_at")))
    note = _MAY_MISS if found.incomplete else None
    if found.next_page is not None:
        return ItemBatch(items, {**kept, "page": found.next_page}, more=True, note=note)
    return ItemBatch(items, {"token": kept["token"], "seen_at": kept["began_at"]}, note=note)


async def _with_text(
    drive: Drive, ctx: CallContext, found: Mapping[str, Any], news_since: datetime | None
) -> Item | None:
    try:
        text = await _text(drive, ctx, found)
    except NotFound:
        return None
    item = build_file_item(found, news_since, text)
    if isinstance(item, UnreadableItem):
        raise item.problem
    return item


async def _text(drive: Drive, ctx: CallContext, found: Mapping[str, Any]) -> str:
    """Return a file's text, or that it is too large: then an older text would be wrong."""
    way, own = get_text_access(found), str(found.get("id"))
    assert way is not None
    if way.too_large:
        return TOO_LARGE
    try:
        if way.export_as is None:
            data = await drive.download(ctx.http, own)
        else:
            data = await drive.export(ctx.http, own, way.export_as)
    except Problem as problem:
        if problem.code == "response_too_large":
            return TOO_LARGE
        raise
    return decode_text(data, way.export_as or str(found.get("mimeType", "")))


def _from_request(request: str, now: datetime) -> dict[str, Any]:
    """The sentence itself is the search."""
    del now
    return {"query": request}


def _moment(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
