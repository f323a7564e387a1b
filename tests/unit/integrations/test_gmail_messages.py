"""Untrusted messages parsed: charsets, alternatives, files, and limits on all of it."""

from __future__ import annotations

from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest

from mainspring.contracts.ids import get_lowest_id_at
from mainspring.integrations.gmail.capabilities import preview
from mainspring.integrations.gmail.client import decode_base64
from mainspring.integrations.gmail.compose import (
    CALL_HEADER,
    ReplyTarget,
    build_call_id,
    build_sent_search,
    compose_mail,
    find_mail_problems,
)
from mainspring.integrations.gmail.messages import (
    LONGEST_TEXT,
    GmailMessage,
    decode_text,
    read_letter,
)
from tests.kit.doubles.gmail import branch, coded, leaf


def _letter(payload: dict[str, Any], **more: Any) -> GmailMessage:
    found = read_letter({"id": "m1", "threadId": "t1", "payload": payload, **more})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("Grüße".encode(), "utf-8", "Grüße"),
        ("Grüße".encode("latin-1"), "iso-8859-1", "Grüße"),
        # The API has turned some into UTF-8 already and left the header as it was.
        ("Grüße".encode(), "iso-8859-1", "Grüße"),
        ("日本".encode("iso-2022-jp"), "ISO-2022-JP", "日本"),
        ("日本".encode("shift_jis"), "shift_jis", "日本"),
        ("Grüße".encode("utf-16"), "utf-16", "Grüße"),
        ("“x”".encode("cp1252"), "", "“x”"),
        ("Grüße".encode("cp1252"), "no-such-charset", "Grüße"),
        (b"aGk=", "base64", "aGk="),
        (b"\x81\xff", "us-ascii", "\x81ÿ"),
    ],
)
def test_text_is_read_whatever_its_charset_is_said_to_be(
    data: bytes, charset: str, text: str
) -> None:
    assert decode_text(data, charset) == text


def test_the_plain_one_of_two_is_read_and_the_other_where_it_says_nothing() -> None:
    html = leaf("text/html", b"<p>From <b>HTML</b></p>", Content_Type="text/html; charset=utf-8")
    plain = leaf("text/plain", b"From text\r\n\r\n\r\n\r\nend \r\n")
    assert _letter(branch("multipart/alternative", plain, html)).text == "From text\n\nend"
    empty = leaf("text/plain", b" \r\n")
    assert _letter(branch("multipart/alternative", empty, html)).text == "From HTML"
    related = branch("multipart/related", html, leaf("image/png", b"x"))
    assert _letter(branch("multipart/alternative", empty, related)).text == "From HTML"
    assert _letter(branch("multipart/mixed", plain, html)).text == "From text\n\nend\n\nFrom HTML"


def test_what_is_broken_or_endless_is_read_as_far_as_it_goes() -> None:
    deep = leaf("text/plain", b"deep")
    for _ in range(100):
        deep = branch("multipart/mixed", deep)
    assert _letter(deep).text == ""
    assert _letter({}).text == ""
    assert (
        _letter({"mimeType": 7, "parts": "x", "headers": [1, {"name": "a"}], "body": []}).text == ""
    )
    bad = {"mimeType": "text/plain", "body": {"data": "%%%"}}
    assert _letter(bad).text == ""
    long = _letter(leaf("text/plain", b"x" * (LONGEST_TEXT + 5)))
    assert (len(long.text), long.text[-3:]) == (LONGEST_TEXT + 4, "[…]")
    assert read_letter({"labelIds": ["DRAFT"]}) is None
    assert (decode_base64("_-8"), decode_base64("a"), decode_base64(None)) == (
        b"\xff\xef",
        None,
        None,
    )
    assert decode_base64(coded(b"any")) == b"any"


def test_headers_are_decoded_and_stay_on_one_line() -> None:
    headers = [
        {"name": "Subject", "value": "=?iso-8859-1?q?Gr=FC=DFe?= =?utf-8?b?4oCm?=\r\n x"},
        {"name": "subject", "value": "second"},
        {"name": "From", "value": "=?no-such?q?x?= <a@example.com>"},
        {"name": "Date", "value": "Mon, 1 Jun 2026 12:00:00 +0200"},
    ]
    found = _letter({"mimeType": "text/plain", "headers": headers, "body": {}})
    assert found.headers["subject"].startswith("Grüße…")
    assert "\n" not in found.headers["subject"]
    assert found.headers["from"] == "=?no-such?q?x?= <a@example.com>"
    assert found.at is not None
    assert found.at.isoformat() == "2026-06-01T10:00:00+00:00"
    assert _letter({}, internalDate="1780315200000").at is not None
    assert _letter({}, internalDate="9" * 40).at is None


def test_files_are_named_and_invitations_are_files() -> None:
    invite = leaf("text/calendar", b"BEGIN:VCALENDAR", Content_Type="text/calendar; method=REQUEST")
    unnamed = leaf("text/plain", b"x", Content_Disposition="attachment; filename*=utf-8''a")
    named = {**leaf("application/pdf", b"%PDF"), "filename": "=?utf-8?q?Gr=C3=B6=C3=9Fe?=\n.pdf"}
    parts = [{**one, "partId": str(at)} for at, one in enumerate((invite, unnamed, named))]
    found = _letter(branch("multipart/mixed", leaf("text/plain", b"Hello"), *parts))
    assert found.text == "Hello"
    assert [one.filename for one in found.attachments] == ["invite.ics", "attachment", "Größe .pdf"]
    assert [one.id for one in found.attachments] == ["m1/0", "m1/1", "m1/2"]
    assert [one.is_text for one in found.attachments] == [True, True, False]


def test_a_mail_is_looked_for_by_a_recipient_and_since_its_call_began() -> None:
    made = get_lowest_id_at(datetime(2026, 6, 1, 12, 0, tzinfo=UTC))
    since = "after:1780311600"
    for to, key, words in (
        (
            ["ada@example.com", "bo@example.com"],
            f"{made}/send/1",
            f"in:sent to:ada@example.com {since}",
        ),
        (
            ["{x}@example.com", "bo@example.com"],
            f"draft/{made}",
            f"in:sent to:bo@example.com {since}",
        ),
        (["iva@bücher.example"], f"call/{made}", f"in:sent {since}"),
        (["ada+x@example.com"], "run/1/send", "in:sent to:ada+x@example.com"),
    ):
        assert build_sent_search(key, {"to": to}) == words


def test_a_mail_is_built_from_values_and_nothing_begins_a_header_of_its_own() -> None:
    arguments: dict[str, Any] = {
        "to": ["a@example.com"],
        "subject": "Grüße " * 40,
        "body": "x\n.\ny",
    }
    before = ReplyTarget("<b@x>", tuple(f"<{at}@example.com>" for at in range(40)))
    mail = message_from_bytes(
        compose_mail(arguments, build_call_id("k"), "ada@example.com", before),
        policy=default,
    )
    assert (
        mail["Subject"] == arguments["subject"].strip() or mail["Subject"] == arguments["subject"]
    )
    assert mail["References"].split()[-1] == "<b@x>"
    assert len(mail["References"].split()) == 20
    assert mail[CALL_HEADER] == build_call_id("k") != build_call_id("l")
    # Gmail would replace it.
    assert mail["Message-ID"] is None
    for bad in ("x\nBcc: e@example.com", "x\r\n\r\nbody", "x\rBcc: e"):
        with pytest.raises(ValueError, match=r"linefeed|newline|carriage"):
            compose_mail({**arguments, "subject": bad}, "<i@x>", "", None)
        with pytest.raises(ValueError, match=r".+"):
            compose_mail({**arguments, "to": [bad]}, "<i@x>", "", None)


def test_what_is_wrong_with_a_mail_is_reported_with_its_place() -> None:
    good = {"to": ["a@example.com"], "subject": "s", "body": "b"}
    assert find_mail_problems(good) == []
    assert find_mail_problems({**good, "cc": ["jü@example.com"]})[0].pointer == "/cc/0"
    assert find_mail_problems({**good, "bcc": ["a@" + "x" * 70 + ".com"]})[0].pointer == "/bcc/0"
    assert find_mail_problems({**good, "cc": ["a@example.com"] * 100})[0].code == "mail_recipients"
    big = {"filename": "a", "content_base64": "AAAA" * 3_500_000}
    assert find_mail_problems({**good, "attachments": [big]})[0].code == "attachment_too_large"
    odd = {"to": ["a@example.com"] * 5, "subject": "a\u202eb\nc", "body": "d", "thread_id": "t"}
    assert preview(odd) == (
        "Send from Gmail to a@example.com, a@example.com, a@example.com and 2 more in an existing "
        "thread “a\\u202eb c”: d"
    )
