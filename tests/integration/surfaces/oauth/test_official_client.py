"""The official client, given nothing but the address: it connects, calls, renews, is sent away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from mainspring.contracts.roles import Role
from tests.kit.api import Api
from tests.kit.oauth import CONSENT, LOOPBACK, agreed, query_of
from tests.kit.people import Browser


@dataclass(slots=True)
class MemoryTokenStorage:
    """Where the client keeps what it was given."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass(slots=True)
class Person:
    """Follows the link that the client opens, and says how much it may do."""

    browser: Browser
    role: Role
    asked: list[str] = field(default_factory=list)
    brought: dict[str, str] = field(default_factory=dict)

    async def follow(self, link: str) -> None:
        self.asked.append(link)
        answer = await self.browser.client.get(link)
        assert answer.status_code == 303, answer.text
        request_id = answer.headers["location"].removeprefix(CONSENT)
        self.brought = query_of(await agreed(self.browser, request_id, self.role))

    async def come_back(self) -> AuthorizationCodeResult:
        result = self.brought
        return AuthorizationCodeResult(
            code=result["code"], state=result["state"], iss=result["iss"]
        )


@asynccontextmanager
async def _client(address: str, provider: OAuthClientProvider) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(auth=provider, timeout=30) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):
        yield client


def _id(pocket: MemoryTokenStorage) -> str:
    """The client's own id, without the scope that it registered with."""
    assert pocket.client is not None
    return str(pocket.client.client_id).partition(".")[0]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
async def test_the_official_client_connects_by_itself(people: Api, ada: Browser, name: str) -> None:
    address = people.address.replace("127.0.0.1", name)
    pocket, person = MemoryTokenStorage(), Person(ada, Role.OPERATOR)
    output = OAuthClientMetadata(client_name="Official", redirect_uris=[AnyUrl(LOOPBACK)])
    provider = OAuthClientProvider(
        f"{address}/mcp", output, pocket, person.follow, person.come_back
    )

    async with _client(address, provider) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert "test_echo" in tools
        assert pocket.client is not None
        assert pocket.client.client_name == "Official"
        first = pocket.tokens
        assert first is not None
        assert first.scope == "read operate"
        query = query_of(person.asked[0])
        assert query["resource"] == f"{address}/mcp"
        assert query["scope"] == "read"

        # Its hour is over: it renews, and nobody is asked again.
        provider.context.token_expiry_time = 1
        assert not (await client.call_tool("test.echo", {"a": 1})).is_error
        second = pocket.tokens
        assert second is not None
        assert second.access_token != first.access_token
        assert second.refresh_token != first.refresh_token
        assert len(person.asked) == 1

        # Disconnected, it has to ask the person, who now gives less.
        assert (await ada.ask("DELETE", f"/oauth/clients/{_id(pocket)}")).is_success
        person.role = Role.VIEWER
        assert not (await client.call_tool("test.echo", {"a": 2})).is_error
        assert len(person.asked) == 2
        assert pocket.tokens is not None
        assert pocket.tokens.scope == "read"
