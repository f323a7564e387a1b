"""Mail before a connection is opened: the server's URL, the sender, and the message itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.contracts.context import Mail
from mainspring.contracts.errors import Conflict, Invalid
from mainspring.contracts.limits import Limits
from mainspring.outbound.mail.smtp import (
    MailSender,
    OutgoingMail,
    SmtpMailer,
    SmtpServer,
    build_mail,
    read_sender,
    read_smtp_url,
)
from mainspring.store.database import DatabaseClock
from tests.kit.mail import read_letter

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SENDER = MailSender("Mainspring", "mail@example.com")
PLAIN = Mail(to=("ada@example.com",), subject="Hello", text="All is well.")


def _written(mail: Mail, *, key: str = "run/step/1", most: int = 10_000_000) -> OutgoingMail:
    return build_mail(mail, SENDER, key=key, at=AT, most_bytes=most)


def _wrong(mail: Mail, most: int = 10_000_000) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        _written(mail, most=most)
    assert refusal.value.code == "mail_invalid"
    return [finding.pointer for finding in refusal.value.findings]


# --- the server's URL


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example", SmtpServer("mail.example", 25)),
        ("smtp://10.0.0.5:2525/", SmtpServer("10.0.0.5", 2525)),
        ("smtp://[::1]:2525", SmtpServer("::1", 2525)),
        ("smtp://a:b@mail.example", SmtpServer("mail.example", 587, "required", "a", "b")),
        ("smtp://a:b@127.0.0.1:25", SmtpServer("127.0.0.1", 25, "offered", "a", "b")),
        ("smtp://a:b@[::1]:25", SmtpServer("::1", 25, "offered", "a", "b")),
        ("smtp://a:b@localhost", SmtpServer("localhost", 587, "offered", "a", "b")),
        (
            "smtp://a:b@localhost.example",
            SmtpServer("localhost.example", 587, "required", "a", "b"),
        ),
        ("smtps://mail.example", SmtpServer("mail.example", 465, "from_start")),
        (
            "smtps://me%40example.com:p%2F%23%25w@mail.example:4650",
            SmtpServer("mail.example", 4650, "from_start", "me@example.com", "p/#%w"),
        ),
    ],
)
def test_a_password_leaves_the_machine_encrypted_or_not_at_all(
    url: str, server: SmtpServer
) -> None:
    assert read_smtp_url(url) == server


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mail.example",
        "http://mail.example",
        "smtp://",
        "smtp://:587",
        "smtp://u:hunter2@",
        "smtp://mail.example:0",
        "smtp://mail.example:99999",
        "smtp://mail.example:x",
        "smtp://u@mail.example",
        "smtp://:hunter2@mail.example",
        "smtp://mail.example/inbox",
        "smtp://u:hunter2@mail.example?tls=no",
        "smtp://u:hunter2/x@mail.example",
        "smtp://u:hunter2%0d%0a@mail.example",
        "smtp://mail example",
        "smtp://[::1",
        "smtp://u:hunter2%ff@mail.example",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_smtp_url(url)
    assert refusal.value.code == "bad_smtp_url"
    assert "hunter2" not in str(refusal.value.as_dict())
    assert "hunter2" not in repr(refusal.value.__cause__)
    assert "MAINSPRING_SMTP_URL" in refusal.value.detail


def test_no_url_means_no_server_and_a_password_is_not_in_its_text() -> None:
    assert read_smtp_url(None) is None
    assert "hunter2" not in repr(read_smtp_url("smtp://ada:hunter2@mail.example"))


# --- the sender


def test_a_sender_is_an_address_or_a_name_with_one() -> None:
    assert read_sender("mainspring@localhost") == MailSender("", "mainspring@localhost")
    assert read_sender("Größe <mail@MÜNCHEN.de>") == MailSender("Größe", "mail@xn--mnchen-3ya.de")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mainspring",
        "a@b@c",
        "a b@example.com",
        "x\r\nBcc: e@evil.example <a@b.de>",
        "Eve <a@b.de>\nBcc: e@evil.example",
        "a@b.de, c@d.de",
    ],
)
def test_a_sender_that_cannot_be_one_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_sender(text)
    assert refusal.value.code == "bad_mail_from"


# --- the message


def test_a_letter_says_what_the_mail_says() -> None:
    mail = Mail(
        to=("ada@example.com", "u@münchen.de"),
        cc=("ada@example.com", "Team@example.com"),
        subject="Bericht: größer & schöner – 日本語 " * 5,
        text="Grüße\n.\nEnde",
        html="<p>Grüße</p>",
        reply_to="office@example.com",
        headers={"Auto-Submitted": "auto-generated"},
    )
    message = _written(mail)
    read = read_letter(message.data)
    text, html = read.get_body(("plain",)), read.get_body(("html",))

    assert message.data.isascii()
    assert read["From"] == "Mainspring <mail@example.com>"
    assert read["To"] == "ada@example.com, u@xn--mnchen-3ya.de"
    assert read["Cc"] == "ada@example.com, Team@example.com"
    assert read["Reply-To"] == "office@example.com"
    assert str(read["Subject"]).strip() == mail.subject.strip()
    assert read["Date"].datetime == AT
    assert read["Auto-Submitted"] == "auto-generated"
    assert text is not None
    assert text.get_content().splitlines() == ["Grüße", ".", "Ende"]
    assert html is not None
    assert html.get_content().strip() == "<p>Grüße</p>"
    assert list(message.recipients) == ["ada@example.com", "u@münchen.de", "Team@example.com"]


@pytest.mark.parametrize(
    "subject",
    [
        "plain",
        "größer & schöner – 日本語 " * 30 + "x",
        "two  spaces " * 20 + "x",
        " around ",
        "=?utf-8?q?not_encoded?=",
        "y" * 400,
        "a " * 400 + "b",
        "é" * 998,
        "ä" + " b" * 300,
    ],
)
def test_a_subject_arrives_as_it_was_on_lines_that_every_server_takes(subject: str) -> None:
    data = _written(replace(PLAIN, subject=subject)).data

    assert read_letter(data)["Subject"] == subject
    assert max(map(len, data.split(b"\r\n"))) <= 80


def test_the_same_key_makes_the_same_message_id_and_another_another() -> None:
    first, again, other = (_written(PLAIN, key=key).message_id for key in ("a/b/1", "a/b/1", "ä"))

    assert first == again != other
    assert first.startswith("<")
    assert first.endswith("@example.com>")
    assert read_letter(_written(PLAIN, key="a/b/1").data)["Message-ID"] == first


def test_a_message_id_stays_whole_under_a_long_domain() -> None:
    domain = ".".join(["a" * 60] * 3) + ".example"
    sender = MailSender("", f"mail@{domain}")
    mail = build_mail(PLAIN, sender, key="k", at=AT, most_bytes=1_000)

    assert f"Message-ID: {mail.message_id}\r\n".encode() in mail.data


@pytest.mark.parametrize("trap", ["\n", "\r", "\r\n", "\0", "\x0b", "\x85", "\u2028", "\ud800"])
def test_nothing_can_begin_another_header(trap: str) -> None:
    evil = f"x{trap}Bcc: eve@evil.example"

    assert _wrong(replace(PLAIN, subject=evil)) == ["/subject"]
    assert _wrong(replace(PLAIN, to=("ada@example.com", f"{evil}"))) == ["/to/1"]
    assert _wrong(replace(PLAIN, cc=(f"a@b.de{trap}",))) == ["/cc/0"]
    assert _wrong(replace(PLAIN, reply_to=evil)) == ["/reply_to"]
    assert _wrong(replace(PLAIN, headers={"X-Note": evil})) == ["/headers/X-Note"]
    assert _wrong(replace(PLAIN, headers={f"X{trap}Bcc": "x"})) == ["/headers"]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ada",
        "@example.com",
        "ada@",
        "a b@example.com",
        "Ada <ada@example.com>",
        "ada@example.com, eve@evil.example",
        "ada@exa mple.com",
        "<ada@example.com>",
        "a@b@c.de",
        ".a@b.de",
        "a..b@c.de",
        "a.@b.de",
        "ä@example.com",
        '"a b"@example.com',
        "a@-b.de",
        "a@b..de",
        "a@b.de.",
        f"{'a' * 65}@b.de",
        f"a@{'b' * 64}.{'c' * 200}.de",
        "a@[127.0.0.1]",
        "a@b.de>\r\nDATA",
    ],
)
def test_what_is_no_address_is_refused_at_its_position(address: str) -> None:
    assert _wrong(replace(PLAIN, to=("ada@example.com", address))) == ["/to/1"]


@pytest.mark.parametrize(
    "name", ["To", "bcc", "FROM", "Content-Type", "Resent-To", "Message-ID", "X Y", "X:Y", ""]
)
def test_a_further_header_is_none_of_the_mail_s_own(name: str) -> None:
    (pointer,) = _wrong(replace(PLAIN, headers={name: "x"}))
    assert pointer.startswith("/headers")


def test_everything_is_bounded() -> None:
    many = tuple(f"a{number}@example.com" for number in range(51))

    assert _wrong(replace(PLAIN, to=())) == ["/to"]
    assert _wrong(replace(PLAIN, to=many)) == ["/to"]
    assert _wrong(replace(PLAIN, to=many[:30], cc=many[30:])) == ["/to"]
    assert len(_written(replace(PLAIN, to=many[:50])).recipients) == 50
    assert _wrong(replace(PLAIN, subject="x" * 999)) == ["/subject"]
    assert read_letter(_written(replace(PLAIN, subject="x" * 998)).data)["Subject"] == "x" * 998
    assert _wrong(replace(PLAIN, text="ä" * 600), most=1_000) == ["/text"]
    assert _wrong(replace(PLAIN, text="a" * 600, html="b" * 600), most=1_000) == ["/text"]
    assert _wrong(replace(PLAIN, headers={f"X-{n}": "x" for n in range(21)})) == ["/headers"]
    assert _wrong(replace(PLAIN, text="\ud800")) == ["/text"]


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    mail = Mail(to=("x",), cc=("y",), subject="a\nb", text="t", reply_to="z")
    assert _wrong(mail) == ["/to/0", "/cc/0", "/reply_to", "/subject"]


@pytest.mark.parametrize("text", ["ascii\n" * 20_000, "größer " * 20_000, "x" * 200_000])
def test_a_long_text_arrives_as_it_was(text: str) -> None:
    read = read_letter(_written(replace(PLAIN, text=text)).data)
    body: Any = read.get_body(("plain",))

    # Lines end in their own way on the wire, and the last one always ends.
    assert body.get_content().splitlines() == text.splitlines()


async def test_without_a_server_the_way_out_is_named() -> None:
    mailer = SmtpMailer(None, "mainspring@localhost", Limits(), DatabaseClock())
    with pytest.raises(Conflict) as refusal:
        await mailer.send(PLAIN, key="k")
    assert refusal.value.code == "mail_not_set_up"
    assert "MAINSPRING_SMTP_URL" in (refusal.value.suggestion or "")
