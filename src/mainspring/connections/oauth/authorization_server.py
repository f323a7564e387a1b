"""Asking the servers that hand out tokens: through the guarded way out, and within bounds.

Where such a server is, the server of tools says, so none of it is believed: each address must
be https unless the operator has listed it, it is judged like any other that is called, and no
redirect is followed.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard
from urllib.parse import quote, urlencode

import orjson

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import PermissionDenied, Problem, UpstreamError
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.outbound.egress import Egress, UrlTarget, parse_url
from mainspring.outbound.egress.url import parse_host_port

# Long enough for a slow server, and shorter than the lease of a worker that waits for it.
SECONDS: Final = 10.0
_MOST_BYTES: Final = 262_144
_LONGEST_LIFE: Final = 10 * 365 * 86_400
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,8192}")
# The errors that RFC 6749 and its kin know, and one that Google and GitHub share; no other word of
# the server is repeated.
_KNOWN_ERRORS: Final = frozenset(
    {
        "access_denied",
        "consent_required",
        "interaction_required",
        "invalid_client",
        "invalid_client_metadata",
        "invalid_grant",
        "invalid_redirect_uri",
        "invalid_request",
        "invalid_scope",
        "invalid_target",
        "login_required",
        "redirect_uri_mismatch",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_grant_type",
        "unsupported_response_type",
    }
)


@dataclass(frozen=True, slots=True, repr=False)
class OAuthTokenResponse:
    """What a server of tokens has handed out."""

    access: str
    refresh: str | None
    # Seconds that the access token is good for, if that was said.
    lasts: int | None


class TokenEndpointError(Exception):
    """The server of tokens said no; the word is one that the standard knows, or empty."""

    def __init__(self, word: str, status: int) -> None:
        super().__init__(word)
        self.word = word
        self.status = status


class AuthorizationServerClient:
    """The way to servers of tokens."""

    def __init__(self, egress: Egress, allow: Iterable[str]) -> None:
        self._egress = egress
        self._allow = frozenset(":".join(map(str, parse_host_port(entry))) for entry in allow)

    def judged(self, url: str) -> UrlTarget:
        """An address that may be asked or shown; Denied for one without encryption."""
        target = parse_url(url)
        if target.scheme != "https" and target.pair not in self._allow:
            raise PermissionDenied(
                f"{target.bracketed} is not called, as its address is not https.",
                code="https_needed",
                suggestion=f"If it is meant, an operator can add {target.pair} to "
                "MAINSPRING_EGRESS_ALLOW.",
            )
        return target

    async def get(self, url: str) -> Any:
        """A JSON document, or None where there is none."""
        answer = await self._send("GET", url, {"Accept": "application/json"})
        if answer.status != 200:
            return None
        return _json(answer)

    async def knock(self, url: str, body: bytes) -> HttpResponse:
        """What the server of tools says to somebody it does not know."""
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        return await self._send("POST", url, headers, body)

    async def register(self, url: str, document: Mapping[str, Any]) -> Any:
        """What came of making ourselves known."""
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        answer = await self._send("POST", url, headers, orjson.dumps(dict(document)))
        return _read_success(answer)

    async def tokens(
        self, url: str, form: Mapping[str, str], client: Mapping[str, str], secret: str | None
    ) -> OAuthTokenResponse:
        """Tokens for a grant; a Refusal if the server says no."""
        return _tokens(await self.asked(url, form, client, secret))

    async def asked(
        self, url: str, form: Mapping[str, str], client: Mapping[str, str], secret: str | None
    ) -> Any:
        """What a server of tokens answers to a form; a Refusal if it says no."""
        headers: dict[str, str | SecretText] = {
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        sent = dict(form)
        values: dict[str, str] = {}
        if secret is not None and client["method"] == "client_secret_basic":
            pair = f"{quote(client['id'], safe='')}:{quote(secret, safe='')}"
            values["client_secret"] = base64.b64encode(pair.encode()).decode()
            headers["Authorization"] = SecretText(("Basic ", SecretRef("client_secret")))
        else:
            sent["client_id"] = client["id"]
            if secret is not None:
                sent["client_secret"] = secret
        answer = await self._send("POST", url, headers, urlencode(sent).encode(), values)
        return _read_success(answer)

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str | SecretText],
        body: bytes | None = None,
        values: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        target = self.judged(url)

        async def reveal(names: frozenset[str]) -> Mapping[str, str]:
            return {name: text for name, text in (values or {}).items() if name in names}

        way = self._egress.bound(frozenset({target.pair}), reveal)
        return await way.send(
            HttpRequest(
                method,
                url,
                headers,
                {},
                body,
                timeout_seconds=SECONDS,
                max_bytes=_MOST_BYTES,
                follow_redirects=False,
            )
        )


def normalize_oauth_error(word: object) -> str:
    """An error of the standard by its word; empty for any other."""
    return word if isinstance(word, str) and word in _KNOWN_ERRORS else ""


def _read_success(answer: HttpResponse) -> Any:
    if 200 <= answer.status < 300:
        return _json(answer)
    if answer.status >= 500 or answer.status in {408, 429}:
        raise UpstreamError(
            f"The server of tokens answered with status {answer.status}.", code="tokens_failed"
        )
    try:
        said = _json(answer)
    except Problem:
        said = None
    raise TokenEndpointError(
        normalize_oauth_error(said.get("error") if isinstance(said, dict) else None), answer.status
    )


def _json(answer: HttpResponse) -> Any:
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise _bad() from None


def _tokens(answer: Any) -> OAuthTokenResponse:
    if not isinstance(answer, dict):
        raise _bad()
    kind = answer.get("token_type", "Bearer")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise UpstreamError(
            "The server issues tokens of an unknown type.",
            code="token_kind",
            retryable=False,
        )
    refresh = answer.get("refresh_token")
    return OAuthTokenResponse(
        _token(answer.get("access_token")),
        _token(refresh) if refresh else None,
        lasts_seconds(answer.get("expires_in")),
    )


def lasts_seconds(answer: Any) -> int | None:
    """How long a token is good for: a number, or the text of one, as some servers send it."""
    if isinstance(answer, bool):
        return None
    try:
        seconds = float(answer)
    except (TypeError, ValueError):
        return None
    return int(min(seconds, _LONGEST_LIFE)) if seconds >= 0 else None


def is_token(text: object) -> TypeGuard[str]:
    """Printable ASCII without a space: anything else could not stand in a header."""
    return isinstance(text, str) and _TOKEN.fullmatch(text) is not None


def _token(text: object) -> str:
    if not is_token(text):
        raise _bad()
    return text


def _bad() -> UpstreamError:
    return UpstreamError(
        "The server of tokens answered with something that cannot be read.",
        code="bad_response",
        retryable=False,
    )
