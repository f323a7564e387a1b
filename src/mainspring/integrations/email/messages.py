"""Mapping a mail to a page. The content is untrusted text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

from mainspring.contracts.context import RawMail
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.mail_parser import ParsedMail, read_mail

MESSAGE_RECEIVED: Final = "email.message_received"
_TITLE: Final = 200
_LISTED: Final = 50


def build_mail_item(
    uidvalidity: int, raw: RawMail, is_news: Callable[[ParsedMail], bool] = lambda _: True
) -> Item | UnreadableItem:
    """Build a mail's page, or return why there is none; old mail is not published."""
    try:
        mail = read_mail(raw.data)
    except ValueError as error:
        return UnreadableItem(
            f"email:{uidvalidity}:{raw.uid}",
            UpstreamError(str(error), code="email_unreadable", retryable=False),
        )
    tells = is_news(mail)
    received = None if mail.date is None else mail.date.isoformat()
    cut = len(raw.data) < raw.size
    body = mail.text + ("\n\n[The mail goes on; only its beginning was read.]" if cut else "")
    payload: dict[str, Any] = {
        "message_id": mail.message_id,
        "from": mail.sender,
        "to": list(mail.to[:_LISTED]),
        "subject": mail.subject[:1_000],
        "text": mail.text[:4_000],
    }
    if received is not None:
        payload["sent_at"] = received
    return Item(
        source_ref=build_source_ref(mail),
        type="email",
        title=mail.subject[:_TITLE] or f"Mail of {mail.sender or 'somebody'}"[:_TITLE],
        body=body,
        frontmatter=_frontmatter(mail, received),
        event=MESSAGE_RECEIVED if tells else None,
        payload=payload if tells else {},
    )


def build_source_ref(mail: ParsedMail) -> str:
    """Build a reference that survives a UIDVALIDITY change.

    The sender chooses the Message-ID and may reuse another's. So the reference also covers the
    content: a forged mail becomes a page of its own and changes no other.
    """
    said = "\x00".join((mail.sender, mail.subject, str(mail.date), *mail.to, mail.text)).encode(
        "utf-8", "replace"
    )
    mark = hashlib.blake2b(said, digest_size=12).hexdigest()
    return f"email:{mail.message_id}:{mark}" if mail.message_id else f"email:{mark}"


def _frontmatter(mail: ParsedMail, received: str | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "from": mail.sender[:1_000],
        "to": [one[:500] for one in mail.to[:_LISTED]],
        "message_id": mail.message_id,
    }
    if mail.cc:
        result["cc"] = [one[:500] for one in mail.cc[:_LISTED]]
    if received is not None:
        result["date"] = received
    if mail.in_reply_to:
        result["in_reply_to"] = mail.in_reply_to
    thread = mail.references[0] if mail.references else mail.in_reply_to or mail.message_id
    if thread:
        result["thread_id"] = thread
    if mail.files:
        result["attachments"] = [
            {"filename": one.filename, "mime_type": one.mime_type, "bytes": one.size}
            for one in mail.files
        ]
    return result
