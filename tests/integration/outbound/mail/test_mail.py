"""Mail handed to real servers on loopback: plain, encrypted, signed in, refused, silent."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mainspring.contracts.context import Mail, MailReceipt
from mainspring.contracts.errors import DeadlineExceeded, Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.outbound.mail.smtp import SmtpMailer, SmtpServer, Tls, read_smtp_url
from mainspring.store.database import DatabaseClock
from tests.kit.certificates import client_side, self_signed, server_side
from tests.kit.mail import PASSWORD, USER, MailServerDouble, mail_server, scripted_server

MAIL = Mail(
    to=("ada@example.com", "bob@example.com"),
    cc=("cy@example.com",),
    subject="Grüße",
    text="Zeile\n.\nEnde",
)
SENDER = "Mainspring <mail@example.com>"


def _mailer(server: SmtpServer | None, *trusted: Path, seconds: int = 20) -> SmtpMailer:
    limits = Limits(http_seconds=seconds)
    trust = client_side(*trusted) if trusted else None
    return SmtpMailer(server, SENDER, limits, DatabaseClock(), trust=trust)


async def _sent(server: SmtpServer, *trusted: Path, seconds: int = 20) -> MailReceipt:
    return await _mailer(server, *trusted, seconds=seconds).send(MAIL, key="run/step/1")


async def _failure(server: SmtpServer, *trusted: Path, seconds: int = 20) -> Problem:
    with pytest.raises(UpstreamError) as failure:
        await _sent(server, *trusted, seconds=seconds)
    shown = str(failure.value.as_dict()) + repr(failure.value.__cause__)
    assert PASSWORD not in shown
    return failure.value


def _signed_in(port: int, tls: Tls, password: str = PASSWORD) -> SmtpServer:
    return SmtpServer("localhost", port, tls, USER, password)


async def test_a_mail_arrives_whole_and_a_repeat_has_the_same_message_id() -> None:
    post = MailServerDouble()
    async with mail_server(post) as port:
        server = read_smtp_url(f"smtp://127.0.0.1:{port}")
        assert server is not None
        receipts = [await _sent(server) for _ in range(2)]

    assert receipts[0] == receipts[1]
    assert receipts[0].accepted == ("ada@example.com", "bob@example.com", "cy@example.com")
    assert receipts[0].refused == {}
    assert [mail["Message-ID"] for mail in post.messages] == [receipts[0].message_id] * 2
    assert post.envelopes[0].mail_from == "mail@example.com"
    assert post.envelopes[0].rcpt_tos == list(receipts[0].accepted)
    assert post.messages[0]["Subject"] == "Grüße"
    assert post.messages[0].get_content().splitlines() == ["Zeile", ".", "Ende"]
    assert post.encrypted == [False, False]


async def test_encryption_is_used_when_it_is_offered(tmp_path: Path) -> None:
    """Nobody vouches for this certificate; without STARTTLS there would be none at all."""
    post = MailServerDouble()
    offered = server_side(self_signed(tmp_path, "other.example"))
    async with mail_server(post, starttls=offered) as port:
        await _sent(SmtpServer("127.0.0.1", port))

    assert post.encrypted == [True]


async def test_who_must_be_encrypted_must_also_prove_its_name(tmp_path: Path) -> None:
    right, wrong = self_signed(tmp_path, "localhost"), self_signed(tmp_path, "other.example")
    post = MailServerDouble()
    async with mail_server(post, starttls=server_side(right), sign_in=True) as port:
        await _sent(_signed_in(port, "required"), right)
        unknown = await _failure(_signed_in(port, "required"))
    async with mail_server(post, starttls=server_side(wrong), sign_in=True) as port:
        other = await _failure(_signed_in(port, "required"), wrong)

    assert (post.encrypted, post.users, post.sign_ins) == ([True], [USER], 1)
    assert (unknown.code, other.code) == ("mail_tls", "mail_tls")
    assert not unknown.retryable


async def test_a_password_is_not_sent_to_a_server_without_encryption() -> None:
    post = MailServerDouble()
    async with mail_server(post, sign_in=True) as port:
        refusal = await _failure(_signed_in(port, "required"))

    assert (refusal.code, refusal.retryable) == ("mail_tls_missing", False)
    assert post.sign_ins == 0


async def test_a_server_on_this_machine_may_be_signed_in_to_without() -> None:
    post = MailServerDouble()
    async with mail_server(post, sign_in=True) as port:
        server = read_smtp_url(f"smtp://{USER}:{PASSWORD.replace('@', '%40')}@127.0.0.1:{port}")
        assert server is not None
        await _sent(server)

    assert (post.users, post.encrypted) == ([USER], [False])


async def test_smtps_is_encrypted_from_the_first_byte(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path, "localhost")
    post = MailServerDouble()
    async with mail_server(post, tls=server_side(certificate), sign_in=True) as port:
        await _sent(_signed_in(port, "from_start"), certificate)
        unknown = await _failure(_signed_in(port, "from_start"))

    assert post.users == [USER]
    assert (unknown.code, unknown.retryable) == ("mail_tls", False)


async def test_a_wrong_password_is_reported_once_and_never_shown() -> None:
    post = MailServerDouble()
    async with mail_server(post, sign_in=True) as port:
        wrong = await _failure(_signed_in(port, "offered", "wr0ng-word"))
    async with mail_server(MailServerDouble()) as port:
        nowhere = await _failure(_signed_in(port, "offered"))

    assert (wrong.code, wrong.retryable) == ("mail_sign_in", False)
    assert "wr0ng-word" not in str(wrong.as_dict())
    assert (nowhere.code, nowhere.retryable) == ("mail_sign_in_missing", False)


@pytest.mark.parametrize(
    ("reply", "code", "retryable"),
    [
        ("451 4.3.0 Try later", "mail_not_now", True),
        ("452 Disk full", "mail_not_now", True),
        ("554 5.7.1 This is spam", "mail_refused", False),
        ("552 Too large", "mail_refused", False),
    ],
)
@pytest.mark.parametrize("stage", ["at_mail", "at_data"])
async def test_four_means_not_now_and_five_means_never(
    reply: str, code: str, retryable: bool, stage: str
) -> None:
    post = MailServerDouble()
    getattr(post, stage).append(reply)
    async with mail_server(post) as port:
        refusal = await _failure(SmtpServer("127.0.0.1", port))
        # The server has nothing against the next one.
        await _sent(SmtpServer("127.0.0.1", port))

    assert (refusal.code, refusal.retryable) == (code, retryable)
    assert reply in refusal.detail


async def test_who_was_refused_among_others_is_reported() -> None:
    post = MailServerDouble(refusals={"bob@example.com": "550 5.1.1 No such user"})
    async with mail_server(post) as port:
        receipt = await _sent(SmtpServer("127.0.0.1", port))

    assert receipt.accepted == ("ada@example.com", "cy@example.com")
    assert receipt.refused == {"bob@example.com": "550 5.1.1 No such user"}
    assert post.envelopes[0].rcpt_tos == ["ada@example.com", "cy@example.com"]


@pytest.mark.parametrize(("last", "retryable"), [("550 Never", False), ("450 Later", True)])
async def test_when_everybody_is_refused_the_mail_has_failed(last: str, retryable: bool) -> None:
    everybody = dict.fromkeys((*MAIL.to, *MAIL.cc), "550 No such user")
    post = MailServerDouble(refusals={**everybody, "cy@example.com": last})
    async with mail_server(post) as port:
        refusal = await _failure(SmtpServer("127.0.0.1", port))

    assert (refusal.code, refusal.retryable) == ("mail_recipients_refused", retryable)
    assert post.envelopes == []


async def test_nobody_there_and_a_lost_connection_are_tried_again() -> None:
    with socket.socket() as accepted:
        accepted.bind(("127.0.0.1", 0))
        nobody = await _failure(SmtpServer("127.0.0.1", accepted.getsockname()[1]))
    async with scripted_server(b"220 hello", b"250 hello", b"") as port:
        lost = await _failure(SmtpServer("127.0.0.1", port))

    assert (nobody.code, nobody.retryable) == ("mail_unreachable", True)
    assert (lost.code, lost.retryable) == ("mail_unreachable", True)


@pytest.mark.parametrize(
    "replies", [[], [b"220 hello"], [b"220 hello", b"250 ok", b"250 ok", b"250 ok"]]
)
async def test_a_silent_server_is_left_in_time(replies: list[bytes]) -> None:
    async with scripted_server(*replies) as port:
        with pytest.raises(DeadlineExceeded) as late:
            await _sent(SmtpServer("127.0.0.1", port), seconds=1)

    assert late.value.retryable


async def test_a_server_that_says_no_goodbye_has_the_mail_all_the_same() -> None:
    """Waiting for it and failing would send the mail a second time."""
    talk = [b"220 hello", *[b"250 ok"] * 5, b"354 go on", b"250 taken"]
    async with scripted_server(*talk) as port:
        receipt = await _sent(SmtpServer("127.0.0.1", port), seconds=5)

    assert len(receipt.accepted) == 3


async def test_an_old_server_that_knows_no_ehlo_is_spoken_to() -> None:
    talk = [b"220 hello", b"502 what?", b"502 what?", *[b"250 ok"] * 5, b"354 go on", b"250 taken"]
    async with scripted_server(*talk) as port:
        receipt = await _sent(SmtpServer("127.0.0.1", port))

    assert len(receipt.accepted) == 3


@pytest.mark.parametrize(
    ("greeting", "retryable"),
    [
        (b"hello there", True),
        (b"421 busy", True),
        (b"554 go away", False),
        (b"999 what", True),
        (b"220 " + b"x" * 40_000, True),
    ],
)
async def test_a_stranger_s_greeting_is_a_problem_and_no_accident(
    greeting: bytes, retryable: bool
) -> None:
    async with scripted_server(greeting) as port:
        refusal = await _failure(SmtpServer("127.0.0.1", port), seconds=5)

    assert refusal.code.startswith("mail_")
    assert refusal.retryable is retryable


async def test_a_server_that_repeats_the_password_or_signs_is_not_quoted_with_them() -> None:
    noisy = f"554 \x1b[31m\xff {PASSWORD} and more ".encode("latin-1") + b"y" * 2_000
    talk = [b"220 hello", b"250-hello\r\n250 AUTH PLAIN", b"235 welcome", noisy]
    async with scripted_server(*talk) as port:
        refusal = await _failure(_signed_in(port, "offered"))

    assert refusal.code == "mail_refused"
    assert "[secret smtp_password] and more" in refusal.detail
    assert refusal.detail.isprintable()
    assert len(refusal.detail) < 300
