"""One application with integrations and a provider for all tests of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from mainspring.store.embedded import EmbeddedServer
from tests.kit.accounts import Accounts, accounts
from tests.kit.doubles.oauth_provider import ACCOUNT
from tests.kit.postgres import fresh_database


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    postgres_server: EmbeddedServer,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Accounts]:
    async with (
        fresh_database(postgres_server, migrated_template) as url,
        accounts(url, tmp_path_factory.mktemp("accounts")) as made,
    ):
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def here(shared: Accounts) -> Accounts:
    """The application without connections, and the provider as it was."""
    for name in ("notebook", "diary", "keyed"):
        await shared.ask("DELETE", f"/integrations/{name}/connection")
    provider = shared.provider
    provider.basic, provider.lasts, provider.gives_refresh = False, 3_600.0, True
    provider.agreed, provider.shut, provider.account = None, False, ACCOUNT
    provider.errors_are_200, provider.leads_back = False, False
    for stored in (provider.codes, provider.families, provider.asked, provider.calls):
        stored.clear()
    shared.unknown_provider.requests.clear()
    await shared.be_client()
    return shared
