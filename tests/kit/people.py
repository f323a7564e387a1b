"""People for tests: a server whose passwords cost little, and browsers that sign in to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import httpx2
import pytest_asyncio
from argon2 import PasswordHasher

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.store.database import Database
from mainspring.workspace.people.passwords import PasswordVerifier
from mainspring.workspace.people.sign_in_links import make_link
from mainspring.workspace.people.users import User, create_user, set_password
from mainspring.workspace.people.workspaces import join_workspace
from mainspring.workspace.tokens import TokenLimits, make_token
from tests.kit.api import PATIENCE, Api, served
from tests.kit.bench import Bench

ROOT = "/api/v1"
PASSWORD = "four little words here"


def cheap() -> PasswordVerifier:
    """The same hashing with next to no work."""
    return PasswordVerifier(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@dataclass(slots=True)
class Browser:
    """A client that keeps its cookie and sends what a page of ours would send."""

    client: httpx2.AsyncClient
    who: dict[str, Any]

    @property
    def cookie(self) -> str:
        return self.client.cookies["mainspring"]

    async def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        headers = {"X-CSRF-Token": self.who["csrf_token"], **more.pop("headers", {})}
        return await self.client.request(method, ROOT + path, headers=headers, **more)


@asynccontextmanager
async def browser(api: Api, user_id: UUID) -> AsyncIterator[Browser]:
    """A browser that has signed in by a link."""
    async with api.application.database.transaction() as tx:
        plain = await make_link(tx, user_id, "first")
    async with httpx2.AsyncClient(base_url=api.address, timeout=PATIENCE) as client:
        answer = await client.post(f"{ROOT}/session/link", json={"token": plain})
        assert answer.status_code == 200, answer.text
        yield Browser(client, answer.json())


async def make_person(
    database: Database, email: str, *, workspace_id: UUID | None = None, role: Role = Role.VIEWER
) -> User:
    """A person with the usual password, perhaps in a workspace beside their own."""
    hashed = await cheap().hash(PASSWORD)
    async with database.transaction() as tx:
        user = await create_user(tx, email, email.partition("@")[0].title())
        await set_password(tx, user.id, hashed)
        if workspace_id is not None:
            await join_workspace(tx, workspace_id, user.id, role)
    return user


async def token_of(
    database: Database, workspace_id: UUID, user_id: UUID, **bounds: Any
) -> dict[str, str]:
    """The header of a token that somebody made."""
    _, plain = await make_token(database, workspace_id, user_id, "a test", TokenLimits(**bounds))
    return {"Authorization": f"Bearer {plain}"}


def member(workspace_id: UUID, user_id: UUID, role: Role) -> Actor:
    return Actor(workspace_id, "member", user_id, role=role)


@pytest_asyncio.fixture
async def people(bench: Bench) -> AsyncIterator[Api]:
    """The bench's application listening, with cheap passwords."""
    async with served(replace(bench.application, passwords=cheap())) as made:
        yield made
