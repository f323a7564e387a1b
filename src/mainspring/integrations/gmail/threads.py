"""A thread as the page that it becomes: its messages in their order, with what is attached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from email.utils import getaddresses
from typing import Any, Final

from mainspring.contracts.integration import Item
from mainspring.contracts.provider_answers import format_one_line
from mainspring.integrations.gmail.events import MESSAGE_RECEIVED
from mainspring.integrations.gmail.letters import GmailAttachment, GmailMessage

_BODY_BYTES: Final = 800_000
_ATTACHED_TEXT: Final = 20_000
_MOST_PEOPLE: Final = 100
_MOST_ATTACHMENTS: Final = 60
_MOST_LABELS: Final = 50


def build_source_ref(thread_id: str) -> str:
    return f"gmail:thread:{thread_id}"


def build_thread_item(
    thread_id: str,
    letters: Sequence[GmailMessage],
    texts: Mapping[str, str],
    labels: Mapping[str, str],
    news_since: datetime | None,
) -> Item:
    """The page of a thread; ``texts`` are those of its attachments, by their ids.

    A message that came since ``news_since`` is told as an event; None: nothing of it is news.
    """
    first, last = letters[0], letters[-1]
    subject = first.headers.get("subject", "")
    arrived = [one for one in letters if one.is_received]
    news = arrived[-1] if arrived and _is_news(arrived[-1], news_since) else None
    return Item(
        source_ref=build_source_ref(thread_id),
        type="email",
        title=subject or "(no subject)",
        body=_body(letters, texts),
        frontmatter=_frontmatter(thread_id, subject, letters, labels),
        event=MESSAGE_RECEIVED.type if news else None,
        payload=_payload(news, last, labels) if news else {},
        # The page tells of each of its messages once, whoever comes across it first.
        news=arrived[-1].id if arrived else None,
    )


def _frontmatter(
    thread_id: str, subject: str, letters: Sequence[GmailMessage], labels: Mapping[str, str]
) -> dict[str, Any]:
    last = letters[-1]
    files = [file for one in letters for file in one.attachments]
    named = dict.fromkeys(name for one in letters for name in list_label_names(one, labels))
    return {
        "thread_id": thread_id,
        "message_id": last.id,
        "from": last.headers.get("from", ""),
        "to": _people(last.headers.get("to", "")),
        "cc": _people(last.headers.get("cc", "")),
        "subject": subject,
        "date": "" if last.at is None else last.at.isoformat(),
        "labels": list(named)[:_MOST_LABELS],
        "messages": len(letters),
        "attachments": [_told(one) for one in files[:_MOST_ATTACHMENTS]],
    }


def list_label_names(letter: GmailMessage, labels: Mapping[str, str]) -> list[str]:
    """What people call the labels of a message; those of Gmail itself have their ids as names."""
    return [format_one_line(labels.get(one) or one, 100) for one in letter.labels]


def _told(file: GmailAttachment) -> dict[str, Any]:
    return {
        "filename": file.filename,
        "mime_type": file.mime_type,
        "size": file.size,
        "attachment_id": file.id,
    }


def _people(header: str) -> list[str]:
    """Addresses alone, so that pages can be found by who is in them."""
    found = dict.fromkeys(address for _, address in getaddresses([header]) if address)
    return [one[:254] for one in found][:_MOST_PEOPLE]


def _body(letters: Sequence[GmailMessage], texts: Mapping[str, str]) -> str:
    """The messages in their order; of a thread that is too long, the latest ones."""
    shown: list[str] = []
    room = _BODY_BYTES
    for one in reversed(letters):
        said = _message(one, texts)
        room -= len(said.encode("utf-8", "replace"))
        if room < 0 and shown:
            shown.append(f"[{len(letters) - len(shown)} earlier messages are not shown.]")
            break
        shown.append(said)
    return "\n\n---\n\n".join(reversed(shown))


def _message(letter: GmailMessage, texts: Mapping[str, str]) -> str:
    names = (("From", "from"), ("To", "to"), ("Cc", "cc"), ("Subject", "subject"))
    head = [f"{name}: {letter.headers[key]}" for name, key in names if letter.headers.get(key)]
    if letter.at is not None:
        head.append(f"Date: {letter.at.isoformat()}")
    pieces = ["\n".join(head), letter.text]
    if letter.attachments:
        pieces.append("\n".join(["Attachments:", *map(_line, letter.attachments)]))
    pieces += [
        f"{one.filename}:\n\n{_cut(texts[one.id])}"
        for one in letter.attachments
        if texts.get(one.id)
    ]
    return "\n\n".join(one for one in pieces if one)


def _line(file: GmailAttachment) -> str:
    return f"- {file.filename} ({file.mime_type}, {file.size:,} bytes)"


def _cut(text: str) -> str:
    return text[:_ATTACHED_TEXT] + ("\n[…]" if len(text) > _ATTACHED_TEXT else "")


def _is_news(letter: GmailMessage, since: datetime | None) -> bool:
    return since is not None and letter.at is not None and letter.at >= since


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
