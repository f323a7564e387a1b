"""A mailbox over IMAP, against a server on loopback: search, cursors, bounds and refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mainspring.connections.call_context import GateContext
from mainspring.contracts.errors import (
    DeadlineExceeded,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    ReconnectRequired,
    UpstreamError,
)
from mainspring.contracts.integration import Integration, Item, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.integrations.email import integration
from mainspring.outbound.egress import Egress
from mainspring.outbound.mail import imap
from tests.kit.doubles.imap import PASSWORD, USER, MailboxDouble, MailboxWay, mailbox_double
from tests.kit.handler_context import visiting

NOW = datetime(2026, 8, 10, 12, 0, tzinfo=UTC)
World = tuple[MailboxDouble, Integration, GateContext]


class _Noon:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def _mail(number: int, subject: str = "", text: str = "", **more: str) -> bytes:
    headers = {
        "From": "Ada <ada@example.com>",
        "To": "grace@example.com",
        "Subject": subject or f"Mail {number}",
        "Date": "Sun, 09 Aug 2026 10:00:00 +0000",
        "Message-ID": f"<{number}@example.com>",
    }
    lines = [f"{name}: {value}" for name, value in (headers | more).items() if value]
    body = text or f"Text of {number}."
    return "\r\n".join([*lines, "Content-Type: text/plain; charset=utf-8", "", body]).encode()


@asynccontextmanager
async def _world(
    place: Path,
    *,
    password: str = PASSWORD,
    starttls: bool = False,
    allowed: bool = True,
    trusted: bool = True,
    **settings: Any,
) -> AsyncIterator[World]:
    async with mailbox_double(place, starttls=starttls) as box:
        result = {
            "host": "localhost",
            "port": box.port,
            "user": USER,
            "security": "starttls" if starttls else "tls",
            **settings,
        }
        egress = Egress(Limits(), [box.pair] if allowed else [])
        async with visiting(box.pair, integration="email", settings=result, clock=_Noon()) as ctx:
            way = MailboxWay(egress, ctx, box.certificate if trusted else None, password)
            yield box, integration({}), replace(ctx, open_http=lambda: way)
        await egress.aclose()


async def _all(world: World, arguments: dict[str, Any]) -> list[Item | UnreadableItem]:
    (source,) = world[1].sources
    found: list[Item | UnreadableItem] = []
    cursor, more = None, True
    while more:
        portion = await source.read(world[2], arguments, cursor)
        found, cursor, more = [*found, *portion.items], portion.cursor, portion.more
    return found


async def _poll(world: World, cursor: Any) -> tuple[list[Item | UnreadableItem], Any]:
    (poll,) = world[1].polls
    found: list[Item | UnreadableItem] = []
    more = True
    while more:
        portion = await poll.read(world[2], {}, cursor)
        found, cursor, more = [*found, *portion.items], portion.cursor, portion.more
    return found, cursor


def _told(found: list[Item | UnreadableItem]) -> int:
    return sum(isinstance(one, Item) and one.event is not None for one in found)


def _titles(found: list[Item | UnreadableItem]) -> list[str]:
    return [one.title for one in found if isinstance(one, Item)]


async def test_mails_are_searched_and_become_pages(tmp_path: Path) -> None:
    async with _world(tmp_path) as world:
        box = world[0]
        box.put(_mail(1, 'The "big" plan'), days_ago=9, now=NOW)
        box.put(
            _mail(2, From="Bob <bob@example.com>", **{"In-Reply-To": "<1@example.com>"}), now=NOW
        )
        for number in range(3, 40):
            box.put(_mail(number, text="Grüße an alle"), now=NOW)
        newest = await _all(world, {"limit": 30})
        assert _titles(newest) == [f"Mail {n}" for n in range(39, 9, -1)]
        assert len({one.source_ref for one in newest}) == 30
        assert _titles(await _all(world, {"query": 'subject:"The big" '})) == []
        assert _titles(await _all(world, {"query": "from:bob"})) == ["Mail 2"]
        assert len(await _all(world, {"query": "Grüße", "limit": 250})) == 37
        assert len(await _all(world, {"since": "2026-08-05", "limit": 250})) == 38
        # Arguments are never a command, whatever signs are in them.
        odd = 'x" ALL\r\nm9 LOGOUT'
        assert await _all(world, {"query": f"{odd} \\"}) == []
        words = [b'x"', b"ALL", b"m9", b"LOGOUT", b"\\"]
        expected = [part for word in words for part in (b"TEXT", word)]
        assert [b"UID", b"SEARCH", b"UID", b"1:*", *expected] in box.heard
        assert set(box.names()) == {"LOGIN", "EXAMINE", "UID SEARCH", "UID FETCH", "LOGOUT"}

        (answer,) = await _all(world, {"query": "from:bob"})
        assert isinstance(answer, Item)
        assert (answer.type, answer.event) == ("email", None), "it is of yesterday, and no news"
        assert answer.frontmatter["thread_id"] == "<1@example.com>"
        box.put(_mail(40, Date="Mon, 10 Aug 2026 11:30:00 +0000", To="new@example.com"), now=NOW)
        (fresh,) = await _all(world, {"query": "to:new"})
        assert isinstance(fresh, Item)
        assert fresh.event == "email.message_received"
        assert fresh.payload["from"] == "Ada <ada@example.com>"
        assert answer.body == "Text of 2."
        assert await world[1].account(world[2]) == USER


async def test_a_poll_reads_each_mail_once_also_when_the_folder_counts_anew(
    tmp_path: Path,
) -> None:
    async with _world(tmp_path) as world:
        box = world[0]
        box.put(_mail(1), days_ago=30, now=NOW)
        first, cursor = await _poll(world, None)
        assert (first, cursor["uid"]) == ([], 101), "what is older than the first look stays"
        assert (await _poll(world, cursor))[0] == []
        for number in range(2, 32):
            box.put(_mail(number), now=NOW)
        second, cursor = await _poll(world, cursor)
        assert _titles(second) == [f"Mail {n}" for n in range(2, 32)]
        assert _told(second) == 30
        assert (await _poll(world, cursor))[0] == []

        box.uidvalidity += 1
        for one in box.messages:
            one.uid -= 90
        again, cursor = await _poll(world, cursor)
        assert [one.source_ref for one in again] == [one.source_ref for one in second]
        assert _told(again) == 0, "all of them were sent before the last look"
        box.put(_mail(50), now=NOW)
        third, _ = await _poll(world, cursor)
        assert (_titles(third), _told(third)) == (["Mail 50"], 1)

        # A mail under a name that was used before changes no other page.
        box.put(_mail(50, "Another", text="forged"), now=NOW)
        forged, cursor = await _poll(world, cursor)
        assert forged[-1].source_ref.startswith("email:<50@example.com>:")
        assert forged[-1].source_ref != forged[0].source_ref

    async with _world(tmp_path) as world:
        world[0].sends_uidnext = False
        world[0].put(_mail(1), days_ago=30, now=NOW)
        assert (await _poll(world, None))[1]["uid"] == 101


async def test_large_and_unreadable_mails_do_not_hold_up_the_others(tmp_path: Path) -> None:
    async with _world(tmp_path) as world:
        box = world[0]
        box.put(_mail(1, text="begin " + "x" * 1_500_000), now=NOW)
        box.put(b"\xff\x00 no mail at all", now=NOW)
        box.put(_mail(3, **{"Message-ID": ""}), now=NOW)
        box.refused = {box.put(_mail(4), now=NOW)}
        box.put(_mail(5), now=NOW)
        found, cursor = await _poll(world, None)
        assert [type(one) for one in found] == [Item, Item, Item, UnreadableItem, Item]
        assert found[3].source_ref == f"email:{box.uidvalidity}:104"
        assert cursor["uid"] == 105, "one mail that is not given does not stop the others"
        assert _told(found) == 0, "what a first look finds was there before"
        assert isinstance(found[0], Item)
        assert found[0].body.startswith("begin x")
        assert len(found[0].body) < 250_000
        assert "only its beginning was read" in found[0].body
        assert found[2].source_ref.startswith("email:")

        # A server that sends more than it was asked for is left before it is read.
        box.instead = {"UID FETCH": b"* 1 FETCH (UID 101 BODY[]<0> {999999999}\r\n"}
        with pytest.raises(UpstreamError) as huge:
            await _poll(world, None)
        assert (huge.value.code, huge.value.retryable) == ("mailbox_too_large", False)


async def test_a_wrong_password_is_refused_and_is_in_no_problem(
    tmp_path: Path,
) -> None:
    async with _world(tmp_path, password="wrong-word") as world:
        with pytest.raises(ReconnectRequired) as refused:
            await world[1].account(world[2])
        assert refused.value.code == "mailbox_sign_in"
        assert "wrong-word" not in str(refused.value.as_dict())
        world[0].instead = {"LOGIN": b"TAG NO [UNAVAILABLE] later\r\n"}
        with pytest.raises(UpstreamError) as later:
            await world[1].account(world[2])
        assert later.value.code == "mailbox_not_now"
    async with _world(tmp_path, folder="Entwürfe") as world:
        with pytest.raises(NotFound):
            await world[1].account(world[2])
        assert world[0].heard[-1] == [b"EXAMINE", b"Entw&APw-rfe"]


async def test_a_password_is_said_over_a_proven_connection_or_not_at_all(tmp_path: Path) -> None:
    async with _world(tmp_path, starttls=True) as world:
        world[0].put(_mail(1), now=NOW)
        assert _titles(await _all(world, {})) == ["Mail 1"]
        assert world[0].names()[:2] == ["STARTTLS", "LOGIN"]
        world[0].offers_tls = False
        with pytest.raises(UpstreamError) as plain:
            await _all(world, {})
        assert plain.value.code == "mailbox_tls_missing"
        world[0].offers_tls = True
        # Words that somebody slips in before the talk is secret.
        world[0].instead = {"STARTTLS": b"TAG OK begin\r\n* OK slipped in\r\n"}
        with pytest.raises(UpstreamError) as slipped:
            await _all(world, {})
        assert slipped.value.code == "mailbox_answer"
    for trusted, code in ((False, "tls_failed"), (True, "address_not_public")):
        async with _world(tmp_path, trusted=trusted, allowed=not trusted) as world:
            with pytest.raises((UpstreamError, PermissionDenied)) as failed:
                await world[1].account(world[2])
            assert failed.value.code == code
            assert "LOGIN" not in world[0].names()


@pytest.mark.parametrize(
    ("greeting", "instead", "code"),
    [
        (b"220 mail.example.com ESMTP\r\n", {}, "mailbox_answer"),
        (b"* BYE too many\r\n", {}, "mailbox_not_now"),
        (b"* OK ready\r\n", {"LOGIN": b""}, "mailbox_ended"),
        (b"* OK ready\r\n", {"EXAMINE": b"* BYE going down\r\n"}, "mailbox_ended"),
        (b"* OK ready\r\n", {"EXAMINE": b"TAG OK open\r\n"}, "mailbox_answer"),
        (b"* OK ready\r\n", {"UID SEARCH": b"TAG BAD [BADCHARSET] no\r\n"}, "mailbox_search"),
        (b"* OK ready\r\n", {"UID SEARCH": b"what?\r\n"}, "mailbox_answer"),
        (b"* OK ready\r\n", {"UID SEARCH": b"* SEARCH" + b" 1" * 600_000}, "mailbox_too_large"),
    ],
    ids=["smtp", "bye", "cut", "going down", "no numbering", "charset", "stranger", "long line"],
)
async def test_what_does_not_speak_as_a_mailbox_is_a_clear_problem(
    tmp_path: Path, greeting: bytes, instead: dict[str, bytes | None], code: str
) -> None:
    async with _world(tmp_path) as world:
        world[0].greeting, world[0].instead = greeting, instead
        with pytest.raises(Problem) as failed:
            await _all(world, {})
        assert failed.value.code == code


async def test_a_silent_server_is_left_in_time(tmp_path: Path) -> None:
    async with _world(tmp_path) as world:
        world[0].instead = {"LOGIN": None}
        assert isinstance(world[2].http, MailboxWay)
        world[2].http.seconds = 0.3
        with pytest.raises(DeadlineExceeded) as late:
            await world[1].account(world[2])
        assert late.value.code == "mailbox_late"
        assert world[0].names() == ["LOGIN"]


@pytest.mark.parametrize(
    ("settings", "pointer"),
    [
        ({"host": ""}, "/host"),
        ({"host": "a b"}, "/host"),
        ({"host": "http://x"}, "/host"),
        ({"port": 70_000}, "/port"),
        ({"port": "mail"}, "/port"),
        ({"user": " "}, "/user"),
        ({"security": "none"}, "/security"),
    ],
)
def test_settings_that_cannot_be_right_are_reported_with_their_place(
    settings: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        imap.parse_imap_settings({"host": "imap.example.com", "user": "ada", **settings})
    assert [one.pointer for one in refused.value.findings] == [pointer]
    usual = imap.parse_imap_settings({"host": "imap.example.com", "user": "ada"})
    assert (usual.port, usual.folder, usual.security) == (993, "INBOX", "tls")
