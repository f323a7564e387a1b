"""The fixtures of tests about clients that connect by themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from mainspring.contracts.roles import Role
from tests.kit.api import Api
from tests.kit.people import Browser, browser, make_person, people

__all__ = ["ada", "people"]


@pytest_asyncio.fixture
async def ada(people: Api) -> AsyncIterator[Browser]:
    """An editor who is signed in."""
    application = people.application
    user = await make_person(
        application.database,
        "ada@example.org",
        workspace_id=application.workspace_id,
        role=Role.EDITOR,
    )
    async with browser(people, user.id) as made:
        answer = await made.ask(
            "POST", "/session/workspace", json={"workspace_id": str(application.workspace_id)}
        )
        yield Browser(made.client, answer.json())
