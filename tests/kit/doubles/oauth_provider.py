"""A provider on loopback that signs people in, hands out tokens, and has a small API behind them.

It is as strict as the standards are: a code works once, for the client and the redirect address
it was made for, and with the verifier of its challenge (RFC 6749, RFC 7636). A renewal token is
replaced with each renewal, and one that is shown twice ends all that came from it (RFC 9700).
Revoking any token ends everything that its account has agreed to for this client, as at Google.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

CLIENT = "client-of-a-test"
CLIENT_SECRET = "s3cret of the client: with a colon"
ACCOUNT = "ada@example.org"
_JSON = "Content-Type: application/json"


def _json(status: int, value: Any) -> bytes:
    return http_answer(status, json.dumps(value).encode(), _JSON)


@dataclass(slots=True)
class Family:
    """All tokens of one signing in."""

    scope: str
    account: str = ACCOUNT
    access: dict[str, float] = field(default_factory=dict)
    refresh: str = ""
    ended: bool = False


@dataclass(slots=True)
class OAuthProvider(ScriptedDouble):
    """Codes and tokens, and what was asked of each endpoint."""

    redirect_uri: str = ""
    basic: bool = False
    lasts: float | None = 3_600.0
    gives_refresh: bool = True
    # GitHub and Slack say an error of the token endpoint with status 200.
    errors_are_200: bool = False
    # GitHub leads back with an error where the redirect address is not the registered one;
    # Google shows a page of its own.
    leads_back: bool = False
    # What a person agrees to; None: everything that is asked for.
    agreed: str | None = None
    # Who signs in over there.
    account: str = ACCOUNT
    # Whose a key is that nobody signed in for; left out: the usual account's.
    keys: dict[str, str] = field(default_factory=dict)
    # What the API answers instead of letting anybody in.
    shut: bool = False
    # Where /api/away leads.
    elsewhere: str = ""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    families: list[Family] = field(default_factory=list)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)

    def asked_for(self, what: str) -> list[dict[str, str]]:
        """The forms of one kind: authorization_code, refresh_token or revoke."""
        return [form for kind, form in self.asked if kind == what]

    def expire(self) -> None:
        """Every access token is revoked now, without a notification."""
        for family in self.families:
            family.access = dict.fromkeys(family.access, 0.0)

    def end(self) -> None:
        """The person takes back what they agreed to."""
        for family in self.families:
            family.ended = True

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        place = urlsplit(target)
        query, form = dict(parse_qsl(place.query)), dict(parse_qsl(body.decode("latin-1")))
        match method, place.path:
            case "GET", "/authorize":
                return self._authorize(query)
            case "POST", "/token":
                return self._token(form, headers)
            case "POST", "/revoke":
                return self._revoke(form, headers)
        if place.path.startswith("/api/"):
            return self._api(place.path, headers)
        return http_answer(404, b"")

    def _authorize(self, query: dict[str, str]) -> bytes:
        known = query.get("client_id") == CLIENT
        if known and self.leads_back and query.get("redirect_uri") != self.redirect_uri:
            query["redirect_uri"] = self.redirect_uri
            return self._redirect(query, error="redirect_uri_mismatch")
        if not known or query.get("redirect_uri") != self.redirect_uri:
            return http_answer(400, b"This client is not known with this address.")
        if query.get("response_type") != "code" or query.get("code_challenge_method") != "S256":
            return self._redirect(query, error="invalid_request")
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return self._redirect(query, code=code)

    def _redirect(self, query: dict[str, str], **more: str) -> bytes:
        led = urlencode({**more, "state": query.get("state", "")})
        return http_answer(302, b"", f"Location: {query['redirect_uri']}?{led}")

    def _known(self, form: dict[str, str], headers: dict[str, str]) -> bool:
        if self.basic:
            kind, _, output = headers.get("authorization", "").partition(" ")
            name, _, secret = base64.b64decode(output or "").decode().partition(":")
            given = (unquote(name), unquote(secret))
            return (
                kind == "Basic" and "client_secret" not in form and given == (CLIENT, CLIENT_SECRET)
            )
        given = (form.get("client_id", ""), form.get("client_secret", ""))
        return "authorization" not in headers and given == (CLIENT, CLIENT_SECRET)

    def _token(self, form: dict[str, str], headers: dict[str, str]) -> bytes:
        kind = form.get("grant_type", "")
        self.asked.append((kind, form))
        if not self._known(form, headers):
            return _json(401, {"error": "invalid_client"})
        if kind == "authorization_code":
            return self._first(form)
        if kind == "refresh_token":
            return self._again(form)
        return _json(400, {"error": "unsupported_grant_type"})

    def _first(self, form: dict[str, str]) -> bytes:
        made = self.codes.pop(form.get("code", ""), None)
        if form.get("redirect_uri") != self.redirect_uri:
            return self._refused(400, "redirect_uri_mismatch")
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if made is None or made["redirect_uri"] != form.get("redirect_uri"):
            return _json(400, {"error": "invalid_grant"})
        if made["code_challenge"] != challenge:
            return _json(400, {"error": "invalid_grant"})
        scope = made.get("scope", "") if self.agreed is None else self.agreed
        family = Family(scope, self.account)
        self.families.append(family)
        return self._handed(family)

    def _refused(self, status: int, error: str) -> bytes:
        return _json(200 if self.errors_are_200 else status, {"error": error})

    def _again(self, form: dict[str, str]) -> bytes:
        shown = form.get("refresh_token", "")
        for family in self.families:
            if family.refresh and family.refresh == shown and not family.ended:
                return self._handed(family)
        for family in self.families:
            # A rotated refresh token is used again, so it may be stolen: both are revoked.
            if shown.startswith(f"refresh-{self.families.index(family)}-"):
                family.ended = True
        return _json(400, {"error": "invalid_grant"})

    def _handed(self, family: Family) -> bytes:
        access = f"access-{secrets.token_urlsafe(24)}"
        family.access = {access: time.monotonic() + (self.lasts or 1e9)}
        answer: dict[str, Any] = {
            "access_token": access,
            "token_type": "Bearer",
            "scope": family.scope,
        }
        if self.lasts is not None:
            answer["expires_in"] = int(self.lasts)
        if self.gives_refresh:
            number = self.families.index(family)
            family.refresh = f"refresh-{number}-{secrets.token_urlsafe(24)}"
            answer["refresh_token"] = family.refresh
        return _json(200, answer)

    def _revoke(self, form: dict[str, str], headers: dict[str, str]) -> bytes:
        self.asked.append(("revoke", form))
        if not self._known(form, headers):
            return _json(401, {"error": "invalid_client"})
        shown = form.get("token")
        accounts = {one.account for one in self.families if shown in {one.refresh, *one.access}}
        if not accounts:
            return _json(400, {"error": "invalid_token"})
        for family in self.families:
            family.ended = family.ended or family.account in accounts
        return _json(200, {})

    def _api(self, path: str, headers: dict[str, str]) -> bytes:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        self.calls.append((path, token))
        if not self._lets_in(token):
            return _json(401, {"error": f"{token} is not let in"})
        if path == "/api/away":
            return http_answer(302, b"", f"Location: {self.elsewhere}/taken")
        if path == "/api/me":
            return _json(200, {"account": self._account(token)})
        return _json(200, {"notes": ["one", "two"], "echo": token})

    def _account(self, token: str) -> str:
        known = self.keys.get(token, ACCOUNT)
        return next((one.account for one in self.families if token in one.access), known)

    def _lets_in(self, token: str) -> bool:
        if self.shut:
            return False
        if token == "key-0123456789" or token in self.keys:
            return True
        return any(
            not family.ended and family.access.get(token, 0.0) > time.monotonic()
            for family in self.families
        )


@contextlib.asynccontextmanager
async def oauth_provider() -> AsyncIterator[OAuthProvider]:
    """The provider on a free port of loopback until the block ends."""
    async with serving(OAuthProvider()) as double:
        yield double


@dataclass(slots=True)
class UnknownProvider(ScriptedDouble):
    """Somebody else on loopback, who writes down what they are sent."""

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        return _json(200, {"notes": ["from elsewhere"]})


@contextlib.asynccontextmanager
async def stranger() -> AsyncIterator[UnknownProvider]:
    async with serving(UnknownProvider()) as double:
        yield double
