"""Files come in: those that fit words, on a schedule what has changed, and later their text.

Two polls go over the same changes, each from its own place. The first keeps what is told of the
files; the second, which is slower, reads the text of those that have some.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Expired, Invalid, NotFound, Problem
from mainspring.contracts.integration import (
    MOST_FETCHED,
    Item,
    ItemBatch,
    Poll,
    Source,
    UnreadableItem,
)
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.one_by_one import read_each, read_one
from mainspring.integrations.drive.client import INCOMPLETE, Drive, FilePage
from mainspring.integrations.drive.pages import (
    TOO_LARGE,
    build_file_item,
    build_source_ref,
    decode_text,
    get_text_access,
)
from mainspring.integrations.drive.queries import build_since_query, build_words_query

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

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

# What becomes of one page of files.
KeepFiles = Callable[
    ["CallContext", FilePage, datetime | None], Awaitable[list[Item | UnreadableItem]]
]


def build_files_source(drive: Drive) -> Source:
    """Files that have these words in them."""

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
    """What is told of the files that were added or changed."""

    async def keep(
        ctx: CallContext, found: FilePage, news_since: datetime | None
    ) -> list[Item | UnreadableItem]:
        del ctx
        return _items(found.items, news_since)

    words = "Files that were added or changed, by what is told of them."
    return Poll("files", words, _following(drive, keep, _AT_A_TIME))


def build_texts_poll(drive: Drive) -> Poll:
    """The text of the files that were added or changed, as the body of their pages."""

    async def keep(
        ctx: CallContext, found: FilePage, news_since: datetime | None
    ) -> list[Item | UnreadableItem]:
        files = {str(one.get("id")): one for one in found.items if get_text_access(one) is not None}

        async def read(file_id: str) -> Item | None:
            return await _with_text(drive, ctx, files[file_id], news_since)

        return await read_each({one: build_source_ref(one) for one in files}, read)

    words = "The text of documents and small text files, as the bodies of their pages."
    return Poll("texts", words, _following(drive, keep, _TEXTS_AT_A_TIME), every="5-59/10 * * * *")


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
    """Goes over the files of the last weeks once, and from then on over what changes."""

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
            # Drive does not know the place any more: what was changed since the last look.
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
    """A fresh start: the place of the changes is kept first, so that nothing falls in between."""
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
    """The text of a file, or that there is too much of it: then an older one would be wrong."""
    way, own = get_text_access(found), str(found.get("id"))
    assert way is not None
    if way.too_large:
        return TOO_LARGE
    try:
        if way.export_as is None:
            data = await drive.content(ctx.http, own)
        else:
            data = await drive.exported(ctx.http, own, way.export_as)
    except Problem as problem:
        if problem.code == "response_too_large":
            return TOO_LARGE
        raise
    return decode_text(data, way.export_as or str(found.get("mimeType", "")))


def _from_request(request: str, now: datetime) -> dict[str, Any]:
    """The words themselves are looked for."""
    del now
    return {"query": request}


def _moment(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
