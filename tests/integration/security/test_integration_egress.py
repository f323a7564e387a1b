"""Every outbound connection of integrations, against the same address lists as the egress client.

Resolver and dialler are recorders where an address is checked: nothing is ever sent, and the check
is the list of addresses that would have been called. Responses are sent by a real server.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import recurring_ical_events
from icalendar import Calendar

from mainspring.connections.accounts.connection_test import (
    InMemoryTokenProvider,
    fetch_account_name,
    ignore_values,
    reveal_no_secrets,
)
from mainspring.connections.accounts.http import ConnectedHttp
from mainspring.connections.oauth.authorization_server import (
    AuthorizationServerClient,
    TokenEndpointError,
)
from mainspring.contracts.clock import SystemClock
from mainspring.contracts.context import Actor, CallContext
from mainspring.contracts.errors import (
    DeadlineExceeded,
    Invalid,
    PermissionDenied,
    Problem,
    UpstreamError,
)
from mainspring.contracts.integration import Integration
from mainspring.contracts.limits import Limits
from mainspring.contracts.mail_parser import read_mail
from mainspring.contracts.time_limit import TimeLimitExceeded, run_with_time_limit
from mainspring.integrations import coinmarketcap, github, gmail, http_json, ics, linear, rss, slack
from mainspring.integrations.http_json.adapters import build_rows
from mainspring.integrations.ics.calendar import list_events_between
from mainspring.integrations.rss.feed import parse_entries
from mainspring.outbound.egress import Egress
from mainspring.outbound.mail.imap import PASSWORD, open_mailbox
from mainspring.workspace.accounts.rows import AccountRow
from tests.kit.handler_context import CONNECTION, MEMBER, WORKSPACE, visiting
from tests.kit.loopback_doubles import RecordingDial, ResolverDouble, always, answer, local_server
from tests.unit.integrations.test_ics import calendar
from tests.unit.outbound.egress.test_ssrf import (
    ALLOWED,
    BY_ADDRESS,
    FORBIDDEN,
    HARMLESS,
    NAMES,
    PUBLIC,
    TRUST,
)

TOKEN = "tok-3b1f09-of-a-connection"
ACTOR = Actor(WORKSPACE, "member", MEMBER)
FREE = (http_json.integration({}), ics.integration({}), rss.integration({}))
SECRETS = {"token": TOKEN, "api_key": TOKEN, "bot_token": TOKEN, "password": TOKEN}
Door = Callable[[Egress, str], Awaitable[object]]


def _egress(dial: RecordingDial, names: ResolverDouble | None = None) -> Egress:
    return Egress(Limits(), resolve=names or ResolverDouble(NAMES), dial=dial, trust=TRUST)


async def _over(egress: Egress, hosts: frozenset[str]) -> CallContext:
    """The context of a call that goes to these hosts, without a connection."""
    async with visiting(integration="x") as ctx:
        return replace(ctx, open_http=lambda: egress.bound(hosts, None))


def _adapter(integration: Integration) -> Door:
    [adapter] = integration.adapters
    [operation] = adapter.operations

    async def read(egress: Egress, url: str) -> object:
        ref = adapter.normal({"url": url})
        assert adapter.hosts is not None
        return await operation.rows(await _over(egress, adapter.hosts(ref)), ref, {})

    return read


async def _feed(egress: Egress, url: str) -> object:
    [source] = FREE[2].sources
    assert source.hosts is not None
    given = {"url": url, "limit": 3}
    return await source.read(await _over(egress, source.hosts(given)), given, None)


async def _tokens(egress: Egress, url: str) -> object:
    form = {"grant_type": "refresh_token", "refresh_token": TOKEN}
    client = {"id": "c", "method": "client_secret_post"}
    return await AuthorizationServerClient(egress, ()).asked(url, form, client, TOKEN)


DOORS: Mapping[str, Door] = {
    **{one.id: _adapter(one) for one in FREE},
    "a feed": _feed,
    "a server of tokens": _tokens,
}


async def _problem(work: Awaitable[object]) -> Problem | TokenEndpointError | None:
    try:
        await work
    except (Problem, TokenEndpointError) as problem:
        return problem
    return None


@pytest.mark.parametrize("name", DOORS)
async def test_no_address_leads_an_integration_to_another_host(name: str) -> None:
    dial = RecordingDial()
    egress = _egress(dial)
    for url in FORBIDDEN:
        problem = await _problem(DOORS[name](egress, url))
        if url == HARMLESS:
            continue
        assert isinstance(problem, (PermissionDenied, Invalid, UpstreamError)), (name, url, problem)
    assert {host for host, _ in dial.dialled} <= {PUBLIC}, dial.dialled
    # A name is looked up, but no address behind it that is not public is called.
    asked = b"".join(stream.written for stream in dial.streams)
    assert all(
        line == f"Host: {ALLOWED}".encode()
        for line in asked.split(b"\r\n")
        if line.lower().startswith(b"host:")
    )


@pytest.mark.parametrize("name", DOORS)
async def test_no_redirect_leads_an_integration_elsewhere_and_no_secret_is_forwarded(
    name: str,
) -> None:
    scheme = "https" if name == "a server of tokens" else "http"
    port = 443 if scheme == "https" else 80
    for place, url in enumerate(FORBIDDEN):
        status = (301, 302, 303, 307, 308)[place % 5]
        # One after another: the first answer leads away, whatever comes then is refused.
        dial = RecordingDial([_leads(status, url)], [_leads(status, url)])
        await _problem(DOORS[name](_egress(dial), f"{scheme}://{ALLOWED}/a"))
        assert set(dial.dialled) == {(PUBLIC, port)}, url
        assert {_host(stream.written) for stream in dial.streams} == {ALLOWED}, url
    # Another host of the public is not the one that was named either, nor is less protection.
    for to in (f"https://{ALLOWED}:8443/", f"http://{ALLOWED}:81/", "https://other.example/"):
        dial = RecordingDial([_leads(302, to)])
        names = ResolverDouble({**NAMES, "other.example": ["93.184.216.35"]})
        problem = await _problem(DOORS[name](_egress(dial, names), f"{scheme}://{ALLOWED}/"))
        assert dial.dialled == [(PUBLIC, port)], to
        assert problem is not None


def _leads(status: int, location: str) -> bytes:
    shown = location.encode("utf-8", "replace")
    return b"HTTP/1.1 %d -\r\nContent-Length: 0\r\nLocation: %b\r\n\r\n" % (status, shown)


def _host(written: bytes) -> str:
    (line,) = {one for one in written.split(b"\r\n") if one.lower().startswith(b"host:")}
    return line.decode().partition(": ")[2]


CLIENTS: Mapping[str, Integration] = {
    "github": github.integration({"github": f"https://{ALLOWED}"}),
    "gmail": gmail.integration({"gmail": f"https://{ALLOWED}"}),
    "slack": slack.integration({"slack": f"https://{ALLOWED}"}),
    "linear": linear.integration({"linear": f"https://{ALLOWED}"}),
    "coinmarketcap": coinmarketcap.integration({"coinmarketcap": f"https://{ALLOWED}"}),
}


def _connected(integration: Integration, egress: Egress, **hosts: frozenset[str]) -> ConnectedHttp:
    """The way out over a connection, as the gate has it, with a token at hand."""
    row = AccountRow(
        WORKSPACE,
        CONNECTION,
        MEMBER,
        integration.id,
        integration.name,
        "",
        "token",
        {},
        frozenset(),
        None,
        None,
        None,
        None,
        "ready",
        None,
        None,
        None,
        None,
        0,
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    own = hosts.get("hosts", frozenset(integration.manifest["hosts"]))
    return ConnectedHttp(
        integration,
        row,
        InMemoryTokenProvider(SECRETS),
        egress,
        own,
        own=reveal_no_secrets,
        learn=ignore_values,
    )


@pytest.mark.parametrize("name", CLIENTS)
async def test_credentials_of_a_connection_are_sent_only_to_their_host(name: str) -> None:
    integration, shown = CLIENTS[name], b""
    for place, url in enumerate(["http://other.example/", f"http://{ALLOWED}/", *FORBIDDEN]):
        status = (301, 302, 303, 307, 308)[place % 5]
        dial = RecordingDial([_leads(status, url)], [_leads(status, url)])
        names = ResolverDouble({**NAMES, "other.example": ["93.184.216.35"]})
        way = _connected(integration, _egress(dial, names))
        problem = await _problem(fetch_account_name(way, ACTOR, SystemClock()))
        assert problem is not None, url
        assert TOKEN not in str(problem.args) + str(vars(problem)), url
        assert set(dial.dialled) == {(PUBLIC, 443)}, url
        assert {_host(stream.written) for stream in dial.streams} == {ALLOWED}, url
        shown = dial.streams[0].written
    assert TOKEN.encode() in shown, "it was shown to its own host"


async def test_a_redirect_within_the_hosts_of_a_connection_goes_on_without_its_token() -> None:
    away = "93.184.216.35"
    dial = RecordingDial([_leads(307, "https://files.example/x")], [answer(200, b"{}")])
    names = ResolverDouble({**NAMES, "files.example": [away]})
    hosts = frozenset({f"{ALLOWED}:443", "files.example"})
    way = _connected(CLIENTS["github"], _egress(dial, names), hosts=hosts)
    await _problem(fetch_account_name(way, ACTOR, SystemClock()))
    assert dial.dialled == [(PUBLIC, 443), (away, 443)]
    first, second = (stream.written for stream in dial.streams)
    assert TOKEN.encode() in first
    assert TOKEN.encode() not in second
    assert b"uthorization" not in second


@pytest.mark.parametrize(
    "name", [*FREE, "client", "mailbox"], ids=lambda one: getattr(one, "id", one)
)
async def test_the_address_that_was_judged_is_the_one_that_is_dialled(name: Any) -> None:
    names = ResolverDouble({"rebind.example": [[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]]})
    dial = RecordingDial()
    egress = _egress(dial, names)
    for _ in range(2):
        if name == "mailbox":
            await _problem(_mailbox(egress, {"host": "rebind.example"}))
        elif name == "client":
            built = github.integration({"github": "https://rebind.example"})
            await _problem(fetch_account_name(_connected(built, egress), ACTOR, SystemClock()))
        else:
            await _problem(_adapter(name)(egress, "https://rebind.example/"))
        # Answers that break off are not kept, so the next one looks the name up again.
        await egress.aclose()
    assert {host for host, _ in dial.dialled} == {PUBLIC}
    assert names.asked == ["rebind.example"] * 2
    assert len(dial.dialled) == 1


async def _mailbox(egress: Egress, settings: Mapping[str, Any], seconds: float = 20) -> list[int]:
    async def reveal(asked: frozenset[str]) -> Mapping[str, str]:
        return {PASSWORD: TOKEN}

    result = {"user": "ada", "port": 993, **settings}
    async with open_mailbox(egress, result, reveal, trust=TRUST, seconds=seconds) as box:
        return list(await box.search())


async def test_a_mailbox_inside_is_not_dialled_and_no_password_is_said() -> None:
    hosts = [
        *NAMES,
        *(urlsplit(url).netloc.rpartition(":80")[0] or urlsplit(url).netloc for url in BY_ADDRESS),
    ]
    for security in ("tls", "starttls"):
        dial = RecordingDial([b"* OK ready\r\n"])
        for host in hosts:
            if host != ALLOWED:
                refused = await _problem(
                    _mailbox(_egress(dial), {"host": host, "security": security})
                )
                assert isinstance(refused, (PermissionDenied, Invalid, UpstreamError)), host
        assert dial.dialled == []
    good = [
        b"* OK ready\r\n",
        b"m1 OK in\r\n",
        b"* OK [UIDVALIDITY 3]\r\nm2 OK\r\n",
        b"* SEARCH 7\r\nm3 OK\r\n",
    ]
    dial = RecordingDial(good)
    assert await _mailbox(_egress(dial), {"host": ALLOWED}) == [7]
    assert dial.streams[0].server_hostname == ALLOWED


FLOOD = b"x" * 65_536
MAILBOXES: Mapping[str, list[bytes]] = {
    "a greeting without an end": [FLOOD] * 40,
    "a literal of a gigabyte": [b"* OK ready\r\n", b"* OK {1073741824}\r\n" + FLOOD],
    "a literal that lies": [b"* OK ready\r\n", b"* OK {99999}\r\n", *[FLOOD] * 40],
    "literals without an end": [b"* OK ready\r\n", *[b"* {0}\r\n" + b"{0}\r\n" * 13_000] * 40],
    "replies without an end": [b"* OK ready\r\n", *[b"* 1 EXISTS\r\n" * 5_000] * 40],
    "echoes": [b"* OK ready\r\n", f"m1 NO [{TOKEN}] {TOKEN} is wrong\r\n".encode()],
    "echoes again": [b"* OK ready\r\n", f"{TOKEN}\r\n".encode()],
    "echoes and leaves": [b"* OK ready\r\n", f"* BYE {TOKEN}\r\n".encode()],
}


@pytest.mark.parametrize("name", MAILBOXES)
async def test_a_mailbox_that_means_harm_is_left_with_a_problem(name: str) -> None:
    problem = await _problem(_mailbox(_egress(RecordingDial(MAILBOXES[name])), {"host": ALLOWED}))
    assert isinstance(problem, Problem)
    assert TOKEN not in str(problem.as_dict())
    assert problem.code in {
        "mailbox_too_large",
        "response_too_large",
        "mailbox_sign_in",
        "mailbox_answer",
        "mailbox_ended",
    }


def _bombs() -> Mapping[str, bytes]:
    packed = zlib.compressobj(9, wbits=31)
    bomb = b"".join([packed.compress(bytes(1_048_576)) for _ in range(8)] + [packed.flush()])
    return {
        "large": answer(200, b"[" + b"1," * 500_000 + b"1]"),
        "gzip": answer(200, bomb, Content_Encoding="gzip"),
        "twice": answer(200, gzip.compress(bomb), Content_Encoding="gzip, gzip"),
        "brotli": answer(200, b"x", Content_Encoding="br"),
        "headers": b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 10_000 + b"Content-Length: 0\r\n\r\n",
        "short": b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n[",
    }


async def test_an_answer_that_is_a_bomb_ends_as_a_problem_in_every_integration() -> None:
    for name, bomb in _bombs().items():

        async def speak(head: bytes, writer: asyncio.StreamWriter, content: bytes = bomb) -> None:
            del head
            writer.write(content)
            await writer.drain()
            writer.close()

        async with local_server(speak) as server:
            pair = f"127.0.0.1:{server.port}"
            egress = Egress(Limits(), [pair])
            for entry_point in DOORS.values():
                if entry_point is _tokens:
                    work = AuthorizationServerClient(egress, [pair]).asked(
                        f"http://{pair}/", {}, {"id": "c"}, None
                    )
                else:
                    work = entry_point(egress, f"http://{pair}/")  # type: ignore[assignment]
                problem = await _problem(work)
                assert isinstance(problem, UpstreamError), (name, problem)
            for one in CLIENTS:
                moved = _moved(one, f"http://{pair}")
                problem = await _problem(
                    fetch_account_name(_connected(moved, egress), ACTOR, SystemClock())
                )
                assert isinstance(problem, UpstreamError), (name, one, problem)
            await egress.aclose()


def _moved(name: str, url: str) -> Integration:
    built: Mapping[str, Callable[[Mapping[str, str]], Integration]] = {
        "github": github.integration,
        "gmail": gmail.integration,
        "slack": slack.integration,
        "linear": linear.integration,
        "coinmarketcap": coinmarketcap.integration,
    }
    return built[name]({name: url})


async def test_an_answer_that_drips_ends_with_a_timeout_in_every_integration() -> None:
    async def drip(head: bytes, writer: asyncio.StreamWriter) -> None:
        del head
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.05)

    async with local_server(drip) as server:
        pair = f"127.0.0.1:{server.port}"
        egress = Egress(Limits(http_seconds=1), [pair])
        doors = [DOORS[one.id](egress, f"http://{pair}/") for one in FREE]
        clients = [
            fetch_account_name(
                _connected(_moved(one, f"http://{pair}"), egress), ACTOR, SystemClock()
            )
            for one in CLIENTS
        ]
        ended = await asyncio.gather(*(_problem(work) for work in [*doors, *clients]))
        await egress.aclose()
    assert [type(one) for one in ended] == [DeadlineExceeded] * (len(FREE) + len(CLIENTS))


async def test_json_that_is_nested_without_end_is_no_more_than_a_problem() -> None:
    for depth in (10_000, 1_000):
        body = b'{"a":' * depth + b"1" + b"}" * depth
        for params in ({"items": "$..a"}, {"columns": {"x": "$..a"}}, {"columns": {"x": "a.a"}}):
            async with local_server(always(answer(200, b"[" + body + b"]"))) as server:
                pair = f"127.0.0.1:{server.port}"
                async with visiting(pair, integration="http_json") as ctx:
                    [operation] = FREE[0].adapters[0].operations
                    ref = {"url": f"http://{pair}/"}
                    problem = await _problem(operation.rows(ctx, ref, params))
            assert problem is None or isinstance(problem, UpstreamError), (depth, params)
            assert depth < 10_000 or problem is not None
    wide = [[[[[list(range(9))]]]]]
    for path in ("$" + "[*,*,*,*,*,*,*,*,*,*]" * 6, "$" + "[0,0]" * 50, "$[?@..*][?@..*]"):
        with pytest.raises(Invalid):
            build_rows(wide, {"items": path})


START = datetime(2026, 1, 1, tzinfo=UTC)
OFTEN = ",".join(map(str, range(60)))


def _event(rule: str, start: str = "20260101T000000Z", uid: int = 0) -> str:
    lines = ["BEGIN:VEVENT", f"UID:{uid}", f"DTSTART:{start}", f"RRULE:{rule}", "END:VEVENT"]
    return "\n".join(lines)


CALENDARS: Mapping[str, bytes] = {
    "a million": calendar(_event("FREQ=HOURLY;COUNT=1000000", "19000101T000000Z")),
    "every second": calendar(_event("FREQ=SECONDLY")),
    "every second in other words": calendar(
        _event(f"FREQ=DAILY;BYHOUR={OFTEN[:61]};BYMINUTE={OFTEN};BYSECOND={OFTEN}")
    ),
    "hundreds of rules": calendar(*(_event("FREQ=HOURLY", uid=n) for n in range(300))),
    "one inside another": b"BEGIN:VCALENDAR\r\n"
    + b"BEGIN:VEVENT\r\n" * 3_000
    + b"END:VEVENT\r\n" * 3_000
    + b"END:VCALENDAR\r\n",
    "rules that are none": calendar(_event("FREQ=DAILY;INTERVAL=0;COUNT=-1")),
    "years without end": calendar(_event("FREQ=YEARLY;INTERVAL=9999", "99991231T235959Z")),
}


@pytest.mark.parametrize("name", CALENDARS)
async def test_a_calendar_that_is_built_to_take_long_is_refused_or_read(name: str) -> None:
    work = list_events_between(CALENDARS[name], START, START + timedelta(days=731))
    problem = await _problem(work)
    assert problem is None or isinstance(problem, UpstreamError)
    assert (problem is None) == (name == "years without end")


def test_a_rule_that_never_comes_true_ends_itself() -> None:
    never = calendar(_event("FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30"))
    found = recurring_ical_events.of(Calendar.from_ical(never))
    with pytest.raises(TimeLimitExceeded):
        run_with_time_limit(lambda: found.between(START, START + timedelta(days=30)), seconds=0.2)
    assert run_with_time_limit(lambda: 7, seconds=0.2) == 7


ENTITIES = (
    '<!DOCTYPE r [<!ENTITY a "lol"><!ENTITY b "&a;&a;"><!ENTITY e SYSTEM "file:///etc/passwd">]>'
)
ITEM = '<rss version="2.0"><channel><item><title>&b;&e;</title></item></channel></rss>'
BOMB = f'<?xml version="1.0"?>{ENTITIES}{ITEM}'


def _rss(inner: str) -> bytes:
    return f'<rss version="2.0"><channel>{inner}</channel></rss>'.encode()


FEEDS: Mapping[str, tuple[bytes, str]] = {
    "plain": (BOMB.encode(), ""),
    "two bytes": (BOMB.encode("utf-16"), "application/xml"),
    "four bytes": (BOMB.encode("utf-32"), ""),
    "by the header": (BOMB.encode("cp037"), "application/xml; charset=cp037"),
    "by its first bytes": (BOMB.encode("cp037"), ""),
    "seven bits": (BOMB.encode("utf-7"), "text/xml; charset=utf-7"),
    "escaped": (BOMB.replace("<!", "\\x3c!").encode(), "text/xml; charset=unicode_escape"),
    "escaped as it says": (
        f'<?xml version="1.0" encoding="unicode_escape"?>{ENTITIES}{ITEM}'.replace(
            "<!", "\\x3c!"
        ).encode(),
        "application/xml",
    ),
    "attributes": (_rss("<item " + " ".join(f'a{n}="x"' for n in range(9_000)) + "/>"), ""),
    "attributes behind a sign": (
        _rss('<item z=">" ' + " ".join(f"a{n}='>'" for n in range(9_000)) + "/>"),
        "",
    ),
    "namespaces": (_rss("".join(f'<a{n}:b xmlns:a{n}="u{n}"/>' for n in range(4_000))), ""),
}


@pytest.mark.parametrize("name", FEEDS)
async def test_a_feed_that_is_a_bomb_is_refused_before_it_is_read(name: str) -> None:
    with pytest.raises(UpstreamError) as refused:
        await parse_entries(*FEEDS[name])
    assert refused.value.code in {"feed_entities", "feed_markup"}


async def test_a_feed_whose_broken_markup_takes_long_ends_itself() -> None:
    broken = _rss("<item><title>a<b><c></item>" * 20_000)
    with pytest.raises(UpstreamError, match="too long") as refused:
        await parse_entries(broken, "", seconds=0.1)
    assert (refused.value.code, refused.value.retryable) == ("feed_markup", False)


async def test_a_feed_reads_no_file_and_dials_nobody_for_what_it_includes() -> None:
    outer = b'<!DOCTYPE rss SYSTEM "http://127.0.0.1:9/x.dtd">'
    include = (
        '<item xmlns:xi="http://www.w3.org/2001/XInclude"><title><xi:include '
        'href="file:///etc/passwd" parse="text"/>&passwd;</title></item>'
    )
    found = await parse_entries(outer + _rss(include), "")
    assert "root:" not in str(found)
    burst = await _problem(parse_entries(b"<!DOCTYPE" * 40_000 + _rss("<item/>"), ""))
    assert isinstance(burst, UpstreamError)


def test_a_mail_in_an_alphabet_that_takes_minutes_is_read_in_a_moment() -> None:
    for charset in ("punycode", "idna", "unicode_escape", "undefined"):
        head = f"Content-Type: text/plain; charset={charset}\r\n\r\n".encode()
        assert read_mail(head + b"a-" + b"9" * 400_000).text.startswith("a-999")
