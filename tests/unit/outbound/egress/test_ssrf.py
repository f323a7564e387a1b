"""Server-side request forgery: no URL makes the product dial what it must not dial.

Resolver and dialler are recorders, so nothing is ever sent: the judge is the list of
addresses that would have been called.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence

import pytest

from mainspring.contracts.context import HttpRequest
from mainspring.contracts.errors import Invalid, PermissionDenied, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.outbound.egress import Egress
from tests.kit.loopback_doubles import OK, RecordingDial, ResolverDouble, answer

PUBLIC = "93.184.216.34"
ALLOWED = "good.example"
# Made once: loading the machine's certificates would be most of the time of these tests.
TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

NAMES: dict[str, Sequence[str]] = {
    ALLOWED: [PUBLIC],
    "localhost": ["127.0.0.1", "::1"],
    "loop.example": ["127.0.0.1"],
    "loop6.example": ["::1"],
    "zero.example": ["0.0.0.0"],
    "private.example": ["10.1.2.3"],
    "private172.example": ["172.20.0.1"],
    "private192.example": ["192.168.1.1"],
    "carrier.example": ["100.64.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "metadata.example": ["169.254.169.254"],
    "metadata6.example": ["fd00:ec2::254"],
    "alibaba.example": ["100.100.100.200"],
    "azure.example": ["168.63.129.16"],
    "oracle.example": ["192.0.0.192"],
    "mixed.example": [PUBLIC, "127.0.0.1"],
    "mixed6.example": [PUBLIC, "::1"],
    "mixedlast.example": [*[PUBLIC] * 50, "10.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "compatible.example": ["::127.0.0.1"],
    "nat64.example": ["64:ff9b::a9fe:a9fe"],
    "sixtofour.example": ["2002:7f00:1::1"],
    "teredo.example": ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "zone.example": ["fe80::1%lo"],
    "multicast.example": ["224.0.0.1"],
    "broadcast.example": ["255.255.255.255"],
    "benchmark.example": ["198.18.0.1"],
    "documentation.example": ["203.0.113.1"],
    "nonsense.example": ["not-an-address"],
    "octal.example": ["0177.0.0.1"],
    "127.0.0.1.nip.example": ["127.0.0.1"],
}

BY_ADDRESS = [
    "http://127.0.0.1/",
    "http://127.0.0.1:80/",
    "http://127.0.0.1:8080/",
    "https://127.0.0.1/",
    "http://127.127.127.127/",
    "http://127.255.255.254/",
    "http://0.0.0.0/",
    "http://0.0.0.0:5432/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://172.16.0.1/",
    "http://172.31.255.254/",
    "http://192.168.0.1/",
    "http://192.168.1.254/",
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/v2/credentials",
    "http://100.100.100.200/latest/meta-data/",
    "http://100.64.0.1/",
    "http://168.63.129.16/metadata",
    "http://192.0.0.192/opc/v2/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.251/",
    "http://239.255.255.250:1900/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]/",
    "http://[::1]:8080/",
    "https://[::1]/",
    "http://[::127.0.0.1]/",
    "http://[::7f00:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::FFFF:7F00:0001]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:7f00:1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "http://[2001:db8::1]/",
    "http://[100::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fd20:ce::254]/",
    "http://[fe80::1]/",
    "http://[fe80::a9fe:a9fe]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2606:4700::5efe:127.0.0.1]/",
]

BY_NAME = [
    *(f"http://{name}/" for name in NAMES if name != ALLOWED),
    "http://LOCALHOST/",
    "http://LocalHost:8080/",
    "https://localhost/",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://mixed.example/",
    "http://loop.example:65535/",
    "http://unknown.example/",
    "http://sub.localhost/",
]

BY_SPELLING = [
    "http://127.1/",
    "http://127.0.1/",
    "http://127.0.0.1./",
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://0177.0.0.0x1/",
    "http://127.0.0.1%00.good.example/",
    "http://127.0.0.1%2f@good.example/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://⑯⑨。②⑤④。⑯⑨｡②⑤④/",
    "http://[::1%25lo]/",
    "http://[::1%lo]/",
    "http://good.example@127.0.0.1/",
    "http://good.example:80@127.0.0.1/",
    "http://good.example#@127.0.0.1/@localhost",
    "http://127.0.0.1#@good.example/",
    "http://127.0.0.1?@good.example/",
    "http://127.0.0.1\\@good.example/",
    "http://good.example\\@127.0.0.1/",
    "http://good.example&@127.0.0.1#@127.0.0.1/",
    "http://127.0.0.1:80:80/",
    "http://127.0.0.1\t/",
    "http://127.0.0.1\r\n/",
    "http://127.0.0.1 .good.example/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "http:///127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "//127.0.0.1/",
    "127.0.0.1",
    "HTTP://127.0.0.1/",
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "dict://127.0.0.1:11211/stat",
    "ftp://127.0.0.1/",
    "ldap://127.0.0.1/",
    "tftp://127.0.0.1/",
    "jar:http://127.0.0.1!/",
    "netdoc:///etc/passwd",
    "unix:/var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "ws://127.0.0.1/",
    "http://localhost./",
    "http://localhost%00/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http://loca\u00adlhost/",
    "http://lo\u212aalhost/",
    "http://xn--/",
    "http://[::ffff:127.0.0.1/",
    "http://[127.0.0.1]/",
    "http://0/",
    "http://0.0/",
    "http://0x0/",
    "http://00/",
    "http://1.1.1.1.1/",
    "http://3232235521/",
    "http://\x00127.0.0.1/",
    "\x00http://127.0.0.1/",
    "http://good.example:65536/",
    "http://good.example:0/",
    "",
]

FORBIDDEN = [*BY_ADDRESS, *BY_NAME, *BY_SPELLING]
# Read correctly it leads to the good host: what follows # is no host.
HARMLESS = "http://good.example#@127.0.0.1/@localhost"


def _request(url: str) -> HttpRequest:
    return HttpRequest("GET", url, {}, {})


def _egress(dial: RecordingDial, *allow: str, names: ResolverDouble | None = None) -> Egress:
    return Egress(Limits(), allow, resolve=names or ResolverDouble(NAMES), dial=dial, trust=TRUST)


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert len(set(FORBIDDEN)) >= 120


async def test_a_forbidden_url_is_refused_and_nobody_is_dialled() -> None:
    dial = RecordingDial()
    egress = _egress(dial)

    passed = [url for url in FORBIDDEN if url != HARMLESS and await _passes(egress, url)]

    assert (passed, dial.dialled) == ([], [])


async def test_with_one_approved_host_only_its_address_is_ever_dialled() -> None:
    dial = RecordingDial()
    egress = _egress(dial)

    passed = [url for url in FORBIDDEN if await _passes(egress, url, frozenset({ALLOWED}))]

    assert (passed, dial.dialled) == ([HARMLESS], [(PUBLIC, 80)])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_a_forbidden_url_is_not_followed(status: int) -> None:
    """A relative address stays with its host; everything else is refused."""
    for url in FORBIDDEN:
        dial = RecordingDial([_redirect(status, url)], [OK])

        await _passes(_egress(dial), f"http://{ALLOWED}/")

        assert {host for host, _ in dial.dialled} == {PUBLIC}, url
        assert set(_hosts_asked(dial)) == {f"Host: {ALLOWED}"}, url


async def _passes(egress: Egress, url: str, allowed: frozenset[str] | None = None) -> bool:
    try:
        await egress.send(_request(url), allowed_hosts=allowed)
    except (PermissionDenied, Invalid, UpstreamError):
        return False
    return True


def _redirect(status: int, location: str) -> bytes:
    shown = location.encode("utf-8", "replace")
    return b"HTTP/1.1 %d -\r\nContent-Length: 0\r\nLocation: %b\r\n\r\n" % (status, shown)


def _hosts_asked(dial: RecordingDial) -> list[str]:
    return [
        line.decode()
        for stream in dial.streams
        for line in stream.written.split(b"\r\n")
        if line.lower().startswith(b"host:")
    ]


async def test_the_address_that_was_judged_is_the_one_that_is_dialled() -> None:
    """Rebinding: a name that answers differently the second time is asked only once."""
    names = ResolverDouble({"rebind.example": [[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]]})
    dial = RecordingDial()

    await _egress(dial, names=names).send(_request("http://rebind.example/"))

    assert dial.dialled == [(PUBLIC, 80)]
    assert names.asked == ["rebind.example"]


async def test_a_name_that_turned_private_is_refused_at_the_next_connection() -> None:
    names = ResolverDouble({"rebind.example": [[PUBLIC], ["127.0.0.1"]]})
    dial = RecordingDial([answer(200, Connection="close")])
    egress = _egress(dial, names=names)
    await egress.send(_request("http://rebind.example/"))

    with pytest.raises(PermissionDenied) as caught:
        await egress.send(_request("http://rebind.example/"))

    assert caught.value.code == "address_not_public"
    assert dial.dialled == [(PUBLIC, 80)]


async def test_tls_proves_the_name_and_not_the_address() -> None:
    dial = RecordingDial()

    await _egress(dial).send(_request(f"https://{ALLOWED}/"))

    assert dial.dialled == [(PUBLIC, 443)]
    assert dial.streams[0].server_hostname == ALLOWED


async def test_an_operator_may_list_an_exact_host_and_port() -> None:
    dial = RecordingDial()
    egress = _egress(dial, "loop.example:8080", "127.0.0.1:9", "[::1]:9", "MIXED.example:80")

    for url in (
        "http://loop.example:8080/",
        "http://127.0.0.1:9/",
        "http://[0::1]:9/",
        "http://mixed.example/",
    ):
        await egress.send(_request(url))

    assert dial.dialled == [("127.0.0.1", 8080), ("127.0.0.1", 9), ("::1", 9), (PUBLIC, 80)]


@pytest.mark.parametrize(
    "url",
    [
        "http://loop.example/",
        "http://loop.example:8081/",
        "http://other.loop.example:8080/",
        "http://127.0.0.1:8080/",
        "http://loop6.example:8080/",
    ],
)
async def test_what_an_operator_lists_allows_nothing_else(url: str) -> None:
    dial = RecordingDial()

    with pytest.raises((PermissionDenied, UpstreamError)):
        await _egress(dial, "loop.example:8080").send(_request(url))

    assert dial.dialled == []


@pytest.mark.parametrize(
    "entry", ["localhost", "*:80", "10.0.0.0/8:80", "http://a:80", ":80", "a:0"]
)
def test_an_operators_entry_that_is_no_exact_pair_is_refused_at_the_start(entry: str) -> None:
    with pytest.raises(Invalid):
        _egress(RecordingDial(), entry)


async def test_a_refusal_does_not_tell_which_address_a_name_has_inside() -> None:
    with pytest.raises(PermissionDenied) as caught:
        await _egress(RecordingDial()).send(_request("http://private.example/"))

    assert "10.1.2.3" not in str(caught.value.as_dict())


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    names = ResolverDouble({"two.example": ["93.184.216.34", "93.184.216.35"]})
    dial = RecordingDial()
    dial.deaf.add("93.184.216.34")

    await _egress(dial, names=names).send(_request("http://two.example/"))

    assert dial.dialled == [("93.184.216.34", 80), ("93.184.216.35", 80)]


async def test_a_host_that_nobody_answers_for_may_be_tried_again() -> None:
    dial = RecordingDial()
    dial.deaf.add(PUBLIC)

    with pytest.raises(UpstreamError) as caught:
        await _egress(dial).send(_request(f"http://{ALLOWED}/"))

    assert caught.value.code == "unreachable"
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "later"), True),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), False),
        (OSError("no resolver"), True),
    ],
)
async def test_a_name_without_an_address_says_whether_to_try_again(
    error: OSError, retryable: bool
) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        del host, port
        raise error

    egress = Egress(Limits(), resolve=resolve, dial=RecordingDial(), trust=TRUST)

    with pytest.raises(UpstreamError) as caught:
        await egress.send(_request("http://gone.example/"))

    assert caught.value.code == "name_not_found"
    assert caught.value.retryable is retryable
