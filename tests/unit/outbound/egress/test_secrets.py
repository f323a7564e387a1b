"""A secret reaches approved hosts only, in its place only, and is never read back."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping

import pytest

from mainspring.contracts.context import HttpRequest
from mainspring.contracts.errors import Invalid, NotFound, PermissionDenied, Problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.outbound.egress import CallHttp, Egress
from tests.kit.loopback_doubles import OK, RecordingDial, ResolverDouble, answer

VALUE = "s3cr3t/va lue+ü&?#"
NAMES = {
    "one.example": ["93.184.216.34"],
    "two.example": ["93.184.216.35"],
    "in.example": ["10.0.0.1"],
}
TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
HOSTS = frozenset({"one.example", "two.example", "in.example"})


class Vault:
    """Remembers what was asked of it."""

    def __init__(self, **values: str) -> None:
        self._values = values
        self.asked: list[frozenset[str]] = []

    async def __call__(self, names: frozenset[str]) -> Mapping[str, str]:
        self.asked.append(names)
        return {name: self._values[name] for name in names if name in self._values}


def _text(*parts: str | SecretRef) -> SecretText:
    return SecretText(parts)


KEY = SecretRef("key")


def _http(
    dial: RecordingDial, vault: Vault | None, hosts: frozenset[str] | None = HOSTS
) -> CallHttp:
    return Egress(Limits(), resolve=ResolverDouble(NAMES), dial=dial, trust=TRUST).bound(
        hosts, vault
    )


def _get(
    url: str | SecretText = "https://one.example/",
    headers: Mapping[str, str | SecretText] | None = None,
    query: Mapping[str, str | SecretText] | None = None,
) -> HttpRequest:
    return HttpRequest("GET", url, headers or {}, query or {})


async def test_a_secret_is_percent_encoded_in_a_url_and_plain_in_a_header() -> None:
    dial = RecordingDial()
    vault = Vault(key=VALUE, token="tok-en 1")
    request = _get(
        _text("https://one.example/a/", KEY, "/b?c=", KEY),
        {"Authorization": _text("Bearer ", SecretRef("token"))},
        {"q": _text("x ", KEY, "&y"), "plain": "a b"},
    )

    response = await _http(dial, vault).send(request)

    encoded = "s3cr3t%2Fva%20lue%2B%C3%BC%26%3F%23"
    head = dial.streams[0].written.decode()
    assert head.startswith(
        f"GET /a/{encoded}/b?c={encoded}&q=x%20{encoded}%26y&plain=a%20b HTTP/1.1\r\n"
    )
    assert "\r\nAuthorization: Bearer tok-en 1\r\n" in head
    assert vault.asked == [frozenset({"key", "token"})]
    assert response.url == (
        "https://one.example/a/[secret key]/b?c=[secret key]&q=x%20[secret key]%26y&plain=a%20b"
    )


async def test_text_that_looks_like_a_placeholder_is_data() -> None:
    dial = RecordingDial()
    vault = Vault(key=VALUE)

    await _http(dial, vault).send(
        _get("https://one.example/{{secrets.key}}", {"X": "{{ secrets.key }}"})
    )

    assert vault.asked == []
    assert b"X: {{ secrets.key }}" in dial.streams[0].written


@pytest.mark.parametrize(
    ("hosts", "has_vault"), [(None, True), (HOSTS, False), (frozenset({"two.example"}), True)]
)
async def test_without_an_approved_host_no_secret_is_even_asked_for(
    hosts: frozenset[str] | None, has_vault: bool
) -> None:
    dial, vault = RecordingDial(), Vault(key=VALUE)

    with pytest.raises(PermissionDenied):
        await _http(dial, vault if has_vault else None, hosts).send(_get(query={"k": _text(KEY)}))

    assert (vault.asked, dial.dialled) == ([], [])


async def test_an_approved_name_with_a_private_address_gets_no_secret() -> None:
    dial = RecordingDial()

    with pytest.raises(PermissionDenied):
        await _http(dial, Vault(key=VALUE)).send(
            _get("https://in.example/", query={"k": _text(KEY)})
        )

    assert dial.dialled == []


@pytest.mark.parametrize(
    "url",
    [
        _text(KEY),
        _text(KEY, "://one.example/"),
        _text("https://", KEY, "/"),
        _text("https://", KEY, ".one.example/"),
        _text("https://one.example", KEY),
        _text("https://one.example", KEY, "/"),
        _text("https://one.example:", KEY, "/"),
        _text("https://", KEY, "@one.example/"),
        _text("https:/", KEY, "/one.example/"),
        _text("https://one.example/#", KEY),
        _text("https://one.example/", KEY, "#", KEY),
        _text("", KEY, "https://one.example/"),
    ],
)
async def test_a_secret_cannot_choose_where_it_goes(url: SecretText) -> None:
    dial, vault = RecordingDial(), Vault(key="https://two.example/")

    with pytest.raises((Invalid, PermissionDenied)):
        await _http(dial, vault).send(_get(url))

    assert (vault.asked, dial.dialled) == ([], [])


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b", "ü"])
async def test_a_secret_cannot_split_a_header(value: str) -> None:
    dial = RecordingDial()

    with pytest.raises(Invalid) as caught:
        await _http(dial, Vault(key=value)).send(_get(headers={"X-Key": _text(KEY)}))

    assert value not in str(caught.value.as_dict())
    assert dial.dialled == []


async def test_a_secret_that_is_not_there_is_named() -> None:
    with pytest.raises(NotFound) as caught:
        await _http(RecordingDial(), Vault()).send(_get(query={"k": _text(KEY)}))

    assert caught.value.code == "secret_missing"
    assert "key" in caught.value.detail


async def test_a_malformed_request_is_refused_before_its_secrets_are_asked_for() -> None:
    vault = Vault(key=VALUE)

    with pytest.raises(Invalid):
        await _http(RecordingDial(), vault).send(_get(headers={"Host": _text(KEY)}))

    assert vault.asked == []


@pytest.mark.parametrize("status", [301, 307])
async def test_a_header_with_a_secret_never_crosses_an_origin(status: int) -> None:
    dial = RecordingDial([answer(status, Location="https://two.example/")], [OK])
    request = _get(headers={"X-Own": _text(KEY), "X-Plain": "p"}, query={"q": _text(KEY)})

    await _http(dial, Vault(key="abcdefgh")).send(request)

    assert b"abcdefgh" in dial.streams[0].written
    assert b"abcdefgh" not in dial.streams[1].written
    assert b"X-Plain: p" in dial.streams[1].written


@pytest.mark.parametrize(
    "spelling",
    ["abcd/efgh+", "abcd%2Fefgh%2B", "abcd%2fefgh%2b", base64.b64encode(b"abcd/efgh+").decode()],
)
async def test_an_upstream_cannot_pass_a_secret_on_in_a_redirect(spelling: str) -> None:
    dial = RecordingDial([answer(302, Location=f"https://two.example/?k={spelling}")], [OK])

    with pytest.raises(PermissionDenied) as caught:
        await _http(dial, Vault(key="abcd/efgh+")).send(_get(query={"q": _text(KEY)}))

    assert caught.value.code == "redirect_with_secret"
    assert len(dial.dialled) == 1


async def test_an_answer_that_echoes_a_secret_shows_its_name_only() -> None:
    value = "abcd/efgh+ijk"
    echoed = base64.b64encode(b"?" + value.encode()).decode()
    body = f'{{"plain": "{value}", "base64": "{echoed}", "hex": "{value.encode().hex()}"}}'
    dial = RecordingDial([answer(200, body.encode(), X_Echo=f"it is {value}.")])
    http = _http(dial, Vault(key=value))

    response = await http.send(_get(query={"q": _text(KEY)}))

    assert response.headers["x-echo"] == "it is [secret key]."
    assert response.body.count(b"[secret key]") == 3
    assert value.encode() not in response.body
    assert http.masked({"deep": [value, 1, None]}) == {"deep": ["[secret key]", 1, None]}


async def test_a_problem_that_would_quote_a_secret_shows_its_name_only() -> None:
    """A redirect within the origin may name the secret; a later refusal must not."""
    location = "https://abcdefgh.example/"
    dial = RecordingDial([answer(302, Location=location)], [OK])

    with pytest.raises(Problem) as caught:
        await _http(dial, Vault(key="abcdefgh")).send(_get(query={"q": _text(KEY)}))

    assert "abcdefgh" not in str(caught.value.as_dict())
    assert "abcdefgh" not in str(caught.value)


async def test_an_unexpected_error_of_the_vault_is_a_problem_without_its_text() -> None:
    async def broken(names: frozenset[str]) -> Mapping[str, str]:
        raise RuntimeError(f"SELECT {VALUE} FROM secrets {names}")

    egress = Egress(Limits(), resolve=ResolverDouble(NAMES), dial=RecordingDial(), trust=TRUST)

    with pytest.raises(Problem) as caught:
        await egress.bound(HOSTS, broken).send(_get(query={"q": _text(KEY)}))

    assert VALUE not in str(caught.value.as_dict())
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
