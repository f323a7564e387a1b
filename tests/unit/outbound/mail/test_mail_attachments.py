"""Mails with hidden recipients and files, written down as they leave."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mainspring.contracts.context import MAIL_FILE_BYTES, Mail, MailAttachment
from mainspring.contracts.errors import Invalid
from mainspring.outbound.mail.smtp import OutgoingMail, build_mail, read_sender
from tests.kit.mail import read_letter

MAIL = Mail(to=("ada@example.com",), subject="Hello", text="All is well.")


def _letter(mail: Mail) -> OutgoingMail:
    sender = read_sender("mail@example.com")
    at = datetime(2026, 8, 1, tzinfo=UTC)
    return build_mail(mail, sender, key="k", at=at, most_bytes=10_000)


def test_hidden_recipients_get_the_mail_and_are_nowhere_in_it() -> None:
    mail = _letter(replace(MAIL, cc=("cy@example.com",), bcc=("eve@example.com",)))
    assert list(mail.recipients) == ["ada@example.com", "cy@example.com", "eve@example.com"]
    assert b"eve" not in mail.data
    assert read_letter(mail.data)["Bcc"] is None


def test_files_leave_whole_with_their_names_and_are_no_part_of_the_text() -> None:
    files = (
        MailAttachment("Übersicht.pdf", b"%PDF\x00\xff" * 100, "application/pdf"),
        MailAttachment("a.eml", b"Subject: inner\r\n\r\nx", "message/rfc822"),
        MailAttachment("n.csv", b"a,b\r\n1,2\r\n", "text/csv"),
    )
    read = read_letter(_letter(replace(MAIL, html="<p>x</p>", attachments=files)).data)
    parts = list(read.iter_attachments())
    assert [part.get_filename() for part in parts] == ["Übersicht.pdf", "a.eml", "n.csv"]
    assert [part.get_payload(decode=True) for part in parts] == [one.content for one in files]
    # What another mail program would open as a mail of its own leaves as plain bytes.
    assert parts[1].get_content_type() == "application/octet-stream"
    body = read.get_body(("plain",))
    assert body is not None
    assert body.get_content().strip() == "All is well."


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"bcc": ("eve",)}, "/bcc/0"),
        ({"bcc": tuple(f"a{n}@example.com" for n in range(60))}, "/to"),
        ({"attachments": (MailAttachment("a", b"x"),) * 6}, "/attachments"),
        ({"attachments": (MailAttachment("a/b", b"x"),)}, "/attachments/0/filename"),
        ({"attachments": (MailAttachment("a\r\nBcc: x", b"x"),)}, "/attachments/0/filename"),
        ({"attachments": (MailAttachment(" ", b"x"),)}, "/attachments/0/filename"),
        ({"attachments": (MailAttachment("a", b"x", "text"),)}, "/attachments/0/mime_type"),
        (
            {"attachments": (MailAttachment("a", b"x", "text/x\r\nB: c"),)},
            "/attachments/0/mime_type",
        ),
        ({"attachments": (MailAttachment("a", bytes(MAIL_FILE_BYTES + 1)),)}, "/attachments/0"),
    ],
)
def test_what_cannot_be_sent_is_reported_with_its_place(
    change: dict[str, object], pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        _letter(replace(MAIL, **change))  # type: ignore[arg-type]
    assert [one.pointer for one in refused.value.findings] == [pointer]
