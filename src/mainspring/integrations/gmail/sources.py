"""Gmail source and poll: search, and new mail since the last poll.

A poll stores the mailbox's history id. When Gmail expires it, the poll starts over with everything
since the last one, and unchanged pages are not rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import getaddresses
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import NotFound, Problem, ReconnectRequired, TooLarge
from mainspring.contracts.integration import (
    MOST_FETCHED,
    Item,
    ItemBatch,
    ItemFile,
    Poll,
    Source,
    UnreadableItem,
)
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.partial_results import read_each
from mainspring.contracts.provider_responses import format_one_line, malformed_response_error
from mainspring.integrations.gmail.client import NAME, Gmail
from mainspring.integrations.gmail.compose import ATTACHMENT_BYTES
from mainspring.integrations.gmail.events import MESSAGE_RECEIVED
from mainspring.integrations.gmail.messages import GmailAttachment, GmailMessage, read_letter

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


# Mapping a thread to a page: its messages in order, with attachments.

_BODY_BYTES: Final = 800_000
_ATTACHED_TEXT: Final = 20_000
_MOST_PEOPLE: Final = 100
_MOST_ATTACHMENTS: Final = 60
_MOST_LABELS: Final = 50


def build_source_ref(thread_id: str) -> str:
    return f"gmail:thread:{thread_id}"


def build_thread_item(
    thread_id: str,
    mails: Sequence[GmailMessage],
    texts: Mapping[str, str],
    labels: Mapping[str, str],
    news_since: datetime | None,
) -> Item:
    """Build a thread's page; ``texts`` are those of its attachments, by id.

    Messages since ``news_since`` are published as events; None: none are.
    """
    first, last = mails[0], mails[-1]
    subject = first.headers.get("subject", "")
    arrived = [one for one in mails if one.is_received]
    news = arrived[-1] if arrived and _is_news(arrived[-1], news_since) else None
    return Item(
        source_ref=build_source_ref(thread_id),
        type="email",
        title=subject or "(no subject)",
        body=_body(mails, texts),
        frontmatter=_frontmatter(thread_id, subject, mails, labels),
        event=MESSAGE_RECEIVED.type if news else None,
        payload=_payload(news, last, labels) if news else {},
        # Each message is published once, by whichever read sees it first.
        news=arrived[-1].id if arrived else None,
    )


def _frontmatter(
    thread_id: str, subject: str, mails: Sequence[GmailMessage], labels: Mapping[str, str]
) -> dict[str, Any]:
    last = mails[-1]
    files = [file for one in mails for file in one.attachments]
    named = dict.fromkeys(name for one in mails for name in list_label_names(one, labels))
    return {
        "thread_id": thread_id,
        "message_id": last.id,
        "from": last.headers.get("from", ""),
        "to": _people(last.headers.get("to", "")),
        "cc": _people(last.headers.get("cc", "")),
        "subject": subject,
        "date": "" if last.at is None else last.at.isoformat(),
        "labels": list(named)[:_MOST_LABELS],
        "messages": len(mails),
        "attachments": [_describe_attachment(one) for one in files[:_MOST_ATTACHMENTS]],
    }


def list_label_names(message: GmailMessage, labels: Mapping[str, str]) -> list[str]:
    """Return the names of a message's labels; system labels use their ids."""
    return [format_one_line(labels.get(one) or one, 100) for one in message.labels]


def _describe_attachment(file: GmailAttachment) -> dict[str, Any]:
    return {
        "filename": file.filename,
        "mime_type": file.mime_type,
        "size": file.size,
        "attachment_id": file.id,
    }


def _people(header: str) -> list[str]:
    """Return addresses only, so that pages can be filtered by participant."""
    found = dict.fromkeys(address for _, address in getaddresses([header]) if address)
    return [one[:254] for one in found][:_MOST_PEOPLE]


def _body(mails: Sequence[GmailMessage], texts: Mapping[str, str]) -> str:
    """Render the messages in order; of a too long thread, the latest."""
    shown: list[str] = []
    room = _BODY_BYTES
    for one in reversed(mails):
        said = _message(one, texts)
        room -= len(said.encode("utf-8", "replace"))
        if room < 0 and shown:
            shown.append(f"[{len(mails) - len(shown)} earlier messages are not shown.]")
            break
        shown.append(said)
    return "\n\n---\n\n".join(reversed(shown))


def _message(message: GmailMessage, texts: Mapping[str, str]) -> str:
    names = (("From", "from"), ("To", "to"), ("Cc", "cc"), ("Subject", "subject"))
    head = [f"{name}: {message.headers[key]}" for name, key in names if message.headers.get(key)]
    if message.at is not None:
        head.append(f"Date: {message.at.isoformat()}")
    pieces = ["\n".join(head), message.text]
    if message.attachments:
        pieces.append("\n".join(["Attachments:", *map(_line, message.attachments)]))
    pieces += [
        f"{one.filename}:\n\n{_cut(texts[one.id])}"
        for one in message.attachments
        if texts.get(one.id)
    ]
    return "\n\n".join(one for one in pieces if one)


def _line(file: GmailAttachment) -> str:
    return f"- {file.filename} ({file.mime_type}, {file.size:,} bytes)"


def _cut(text: str) -> str:
    return text[:_ATTACHED_TEXT] + ("\n[…]" if len(text) > _ATTACHED_TEXT else "")


def _is_news(message: GmailMessage, since: datetime | None) -> bool:
    return since is not None and message.at is not None and message.at >= since


def _payload(news: GmailMessage, last: GmailMessage, labels: Mapping[str, str]) -> dict[str, Any]:
    told = {
        "message_id": news.id,
        "thread_id": news.thread_id or last.thread_id,
        "from": news.headers.get("from", ""),
        "to": news.headers.get("to", ""),
        "subject": news.headers.get("subject", ""),
        "snippet": news.snippet,
        "labels": list_label_names(news, labels),
    }
    return told if news.at is None else {**told, "received_at": news.at.isoformat()}


USUAL_LIMIT: Final = 100
_AT_A_TIME: Final = 25
# How far back the first poll goes, and how much polls overlap.
_FIRST_DAYS: Final = 7
_OVERLAP: Final = timedelta(hours=1)
# On demand, only recent messages are published as events.
_FRESH: Final = timedelta(hours=1)
_READ_BYTES: Final = 200_000
_MOST_READ: Final = 10

INPUT: Final = build_object_schema(
    {
        "query": {
            "type": "string",
            "description": "A search as in Gmail, such as from:noah after:2026/04/01.",
            "minLength": 1,
            "maxLength": 1_000,
        },
        "limit": {
            "type": "integer",
            "description": "The most threads.",
            "minimum": 1,
            "maximum": MOST_FETCHED,
            "default": USUAL_LIMIT,
        },
    },
    ["query"],
    [{"query": "from:noah ethera after:2026/04/01", "limit": 100}],
    [
        ({}, "nothing is looked for"),
        ({"query": "", "limit": 10}, "nothing is looked for"),
        ({"query": "from:noah", "limit": 251}, "at most 250 threads"),
    ],
)


def build_threads_source(gmail: Gmail) -> Source:
    """Build the search source."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        left = int((cursor or {}).get("left", given.get("limit", USUAL_LIMIT)))
        page = (cursor or {}).get("page")
        most = min(left, _AT_A_TIME)
        found = await gmail.threads(ctx.http, str(given["query"]), most, page)
        ids = found.ids[:left]
        items = await _read_threads(gmail, ctx, ids, ctx.clock.now() - _FRESH)
        left -= len(ids)
        if found.next_page is None or left <= 0:
            note = None if found.next_page is None else "There are more threads that fit."
            return ItemBatch(items, note=note)
        return ItemBatch(items, {"page": found.next_page, "left": left}, more=True)

    async def files(ctx: CallContext, frontmatter: Mapping[str, Any]) -> list[ItemFile]:
        return await _files(gmail, ctx, frontmatter)

    return Source("gmail", INPUT, read, _from_request, files=files)


def build_arrivals_poll(gmail: Gmail) -> Poll:
    """Build the poll for new mail."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        del given
        if cursor is None or "after" in cursor:
            return await _since(gmail, ctx, cursor)
        try:
            found = await gmail.arrivals(ctx.http, str(cursor["history_id"]), cursor.get("page"))
        except NotFound:
            # The history id expired; new mail is found by date.
            seen = _moment(cursor.get("seen_at"))
            after = None if seen is None else int((seen - _OVERLAP).timestamp())
            kept = {"after": after, "seen_at": cursor.get("seen_at")}
            return await _since(gmail, ctx, kept)
        seen = _moment(cursor.get("seen_at")) or ctx.clock.now() - _FRESH
        items = await _read_threads(gmail, ctx, found.ids, seen - _OVERLAP, gone_is_none=True)
        if found.next_page is not None:
            return ItemBatch(items, {**cursor, "page": found.next_page}, more=True)
        now = ctx.clock.now().isoformat()
        return ItemBatch(items, {"history_id": found.history_id, "seen_at": now})

    return Poll("messages", "New messages of the mailbox, as pages of their threads.", read)


async def _since(gmail: Gmail, ctx: CallContext, cursor: Mapping[str, Any] | None) -> ItemBatch:
    """Start over: the history id is fetched first, so that nothing is missed in between."""
    kept = dict(cursor or {})
    if "history_id" not in kept:
        kept["history_id"] = (await gmail.profile(ctx.http))[1]
        kept["began_at"] = ctx.clock.now().isoformat()
    after = kept.get("after")
    if after is None:
        start = ctx.clock.now() - timedelta(days=_FIRST_DAYS)
        after = kept["after"] = int(start.timestamp())
    found = await gmail.threads(ctx.http, f"after:{after}", _AT_A_TIME, kept.get("page"))
    # The first poll finds old mail; later, what came since the last one is published.
    news_since = _moment(kept.get("seen_at"))
    items = await _read_threads(gmail, ctx, found.ids, news_since, gone_is_none=True)
    if found.next_page is not None:
        return ItemBatch(items, {**kept, "page": found.next_page}, more=True)
    return ItemBatch(items, {"history_id": kept["history_id"], "seen_at": kept["began_at"]})


async def _read_threads(
    gmail: Gmail,
    ctx: CallContext,
    ids: Iterable[str],
    news_since: datetime | None,
    *,
    gone_is_none: bool = False,
) -> list[Item | UnreadableItem]:
    wanted = {one: build_source_ref(one) for one in ids}
    if not wanted:
        return []
    labels = await gmail.label_names(ctx.http)

    async def read(thread_id: str) -> Item | None:
        try:
            messages = await gmail.thread(ctx.http, thread_id)
        except NotFound:
            if gone_is_none:
                return None
            raise
        mails = [letter for one in messages if (letter := read_letter(one)) is not None]
        if not mails:
            if not all(isinstance(one, Mapping) for one in messages):
                raise malformed_response_error(NAME)
            return None
        texts = await _read_attached_texts(gmail, ctx, mails)
        return build_thread_item(thread_id, mails, texts, labels, news_since)

    return await read_each(wanted, read)


async def _read_attached_texts(
    gmail: Gmail, ctx: CallContext, mails: list[GmailMessage]
) -> dict[str, str]:
    """Read small text attachments; one that fails is only named."""
    files = [file for one in mails for file in one.attachments if file.is_text]
    small = [file for file in files if file.size <= _READ_BYTES][-_MOST_READ:]
    texts: dict[str, str] = {}
    for file in small:
        try:
            texts[file.id] = file.text(await _read_attached_bytes(gmail, ctx, file))
        except ReconnectRequired:
            raise
        except Problem as problem:
            if problem.retryable:
                raise
            texts[file.id] = f"(It could not be read: {problem.detail})"
    return texts


async def _files(gmail: Gmail, ctx: CallContext, frontmatter: Mapping[str, Any]) -> list[ItemFile]:
    """List the attachments of a page, read again from their messages."""
    told = frontmatter.get("attachments")
    listed = told if isinstance(told, list) else []
    names = [one.get("attachment_id") for one in listed if isinstance(one, Mapping)]
    by_message: dict[str, list[str]] = {}
    for name in names:
        message_id, _, part_id = str(name).partition("/")
        by_message.setdefault(message_id, []).append(part_id)
    found: list[ItemFile] = []
    for message_id, parts in by_message.items():
        letter = read_letter(await gmail.message(ctx.http, message_id))
        files = {} if letter is None else {one.part_id: one for one in letter.attachments}
        for part_id in parts:
            file = files.get(part_id)
            if file is None:
                raise NotFound("The message has no such attachment.", code="attachment_missing")
            if file.size > ATTACHMENT_BYTES:
                detail = f"{file.filename} is larger than {ATTACHMENT_BYTES:,} bytes."
                raise TooLarge(detail, code="attachment_too_large")
            data = await _read_attached_bytes(gmail, ctx, file)
            found.append(ItemFile(file.filename, data, file.mime_type))
    return found


async def _read_attached_bytes(gmail: Gmail, ctx: CallContext, file: GmailAttachment) -> bytes:
    if file.remote_id:
        return await gmail.attachment(ctx.http, file.message_id, file.remote_id)
    return file.data or b""


def _from_request(request: str, now: datetime) -> dict[str, Any]:
    """The sentence is passed to Gmail's search."""
    del now
    return {"query": request}


def _moment(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
