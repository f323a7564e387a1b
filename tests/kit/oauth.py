"""A client that connects by itself, message by message, and a browser that answers for a person."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from mainspring.contracts.roles import Role
from tests.kit.api import Api
from tests.kit.people import Browser

LOOPBACK = "http://127.0.0.1:7777/callback"
WEB = "https://assistant.example/oauth/callback"
CONSENT = "/oauth/consent/"


def query_of(address: str) -> dict[str, str]:
    """The query of an address, each name once."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def challenge_of(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def description(**changed: Any) -> dict[str, Any]:
    """What a client says of itself."""
    return {
        "client_name": "Assistant",
        "redirect_uris": [LOOPBACK, WEB],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    } | changed


@dataclass(slots=True)
class OAuthTestClient:
    """One registered client, as its own program sees itself."""

    api: Api
    known: dict[str, Any]
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    @property
    def id(self) -> str:
        return str(self.known["client_id"])

    @property
    def http(self) -> httpx2.AsyncClient:
        return self.api.anonymous

    def query(self, **changed: str | None) -> dict[str, str]:
        """The parameters with which a person is sent; None leaves one out."""
        given: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": LOOPBACK,
            "state": "st/ate+1 &ü",
            "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256",
            "resource": f"{self.api.address}/mcp",
            "scope": "read operate edit",
        }
        return {name: value for name, value in (given | changed).items() if value is not None}

    async def authorize(self, **changed: str | None) -> httpx2.Response:
        return await self.http.get("/oauth/authorize", params=self.query(**changed))

    async def ask(self, **changed: str | None) -> str:
        """The id of a request that waits for a person."""
        answer = await self.authorize(**changed)
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith(CONSENT), answer.headers["location"]
        return answer.headers["location"].removeprefix(CONSENT)

    async def code(self, browser: Browser, role: Role = Role.EDITOR, **changed: str | None) -> str:
        """A code that a person has agreed to."""
        return query_of(await agreed(browser, await self.ask(**changed), role))["code"]

    async def token(self, **form: str | None) -> httpx2.Response:
        """A request for a token; None leaves a field out."""
        given: dict[str, str | None] = {"client_id": self.id, **form}
        fields = {name: value for name, value in given.items() if value is not None}
        return await self.http.post("/oauth/token", data=fields)

    async def exchange(self, code: str, **changed: str | None) -> httpx2.Response:
        form: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": LOOPBACK,
            "code_verifier": self.verifier,
            "resource": f"{self.api.address}/mcp",
        }
        return await self.token(**(form | changed))

    async def renew(self, renewal: str, **changed: str | None) -> httpx2.Response:
        form: dict[str, str | None] = {"grant_type": "refresh_token", "refresh_token": renewal}
        return await self.token(**(form | changed))

    async def connect(self, browser: Browser, role: Role = Role.EDITOR) -> dict[str, Any]:
        """The whole way: what the client holds in the end."""
        answer = await self.exchange(await self.code(browser, role))
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


async def register(api: Api, **changed: Any) -> OAuthTestClient:
    answer = await api.anonymous.post("/oauth/register", json=description(**changed))
    assert answer.status_code == 201, answer.text
    return OAuthTestClient(api, answer.json())


async def read_request(browser: Browser, request_id: str) -> dict[str, Any]:
    """What a person reads before they answer."""
    answer = await browser.ask("GET", f"/oauth/requests/{request_id}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def answer_request(browser: Browser, request_id: str, **changed: Any) -> httpx2.Response:
    """An answer by the page: a yes for the workspace that the browser looks at."""
    body = {"agree": True, "workspace_id": browser.who["workspace"]["id"], "role": "viewer"}
    return await browser.ask("POST", f"/oauth/requests/{request_id}/answer", json=body | changed)


async def agreed(browser: Browser, request_id: str, role: Role) -> str:
    """Where the browser is sent after a person has read the request and said yes."""
    await read_request(browser, request_id)
    answer = await answer_request(browser, request_id, role=role.value)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["redirect"])
