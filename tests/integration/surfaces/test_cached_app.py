"""The kit reuses its FastAPI application for the next bench, and nothing of the last one leaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mainspring.app import build_application, prepare_database
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.embedded import EmbeddedServer
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.postgres import fresh_database

PLAN = step("one", "transform_data", {"output": 1})


async def _names(api: Api) -> list[str]:
    answer = await api.client.get("/api/v1/automations")
    assert answer.status_code == 200, answer.text
    return [one["name"] for one in answer.json()["items"]]


async def test_the_cached_app_serves_the_next_application_and_no_caller_of_the_last(
    bench: Bench, postgres_server: EmbeddedServer, migrated_template: str, tmp_path: Path
) -> None:
    await bench.save(document(PLAN, name="here"))
    async with served(bench.application) as one, served(bench.application) as another:
        assert one.app is not another.app
        assert await _names(one) == await _names(another) == ["here"]
    async with fresh_database(postgres_server, migrated_template) as url:
        settings = replace(bench.application.settings, home=tmp_path / "other", database_url=url)
        settings.home.mkdir()
        database = await Database.open(Settings(database_url=url))
        application = build_application(
            settings, bench.application.limits, bench.application.registry, database
        )
        try:
            await prepare_database(application)
            async with served(application) as other:
                assert other.app in (one.app, another.app)
                assert await _names(other) == []
                # The gate reads the rows of automations; this route calls the services itself.
                await database.execute("UPDATE workspaces SET name = 'Elsewhere'")
                mine = (await other.client.get("/api/v1/workspaces")).json()["workspaces"]
                assert [one["name"] for one in mine] == ["Elsewhere"]
                stale = {"Authorization": f"Bearer {one.token}"}
                answer = await other.anonymous.get("/api/v1/automations", headers=stale)
                assert answer.status_code == 401
            async with served(application, own_app=True) as alone:
                assert alone.app not in (one.app, another.app)
        finally:
            for part in (application.gate, application.wakeup_sender, application.egress):
                await part.aclose()
            await database.close()
