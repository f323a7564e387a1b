"""The size of the installation, for those who look after it."""

from __future__ import annotations

from tests.kit.api import Api
from tests.kit.bench import Bench, document, step
from tests.kit.people import make_person, token_of


async def test_the_size_is_reported_by_what_is_kept_and_to_administrators_alone(
    bench: Bench, api: Api
) -> None:
    await bench.run(document(step("one", "transform_data", {"output": "x" * 1_000})))
    application = bench.application
    # As if it had been there for two days: then it is known how fast it grows.
    await application.database.execute(
        "UPDATE workspaces SET created_at = now() - interval '2 days'"
    )

    shown = (await api.client.get("/api/v1/admin/size")).json()

    groups = {one["name"]: one for one in shown["groups"]}
    assert {"runs", "steps", "calls", "events", "boards", "pages", "audit"} <= groups.keys()
    assert groups["runs"]["bytes"] > 0
    assert (groups["runs"]["kept_days"], groups["events"]["kept_days"]) == (90, 7)
    assert groups["runs"]["oldest_at"] < groups["runs"]["removal_at"]
    assert sum(one["bytes"] for one in shown["groups"]) <= shown["database_bytes"]
    user = await make_person(
        application.database, "eve@example.org", workspace_id=application.workspace_id
    )
    known = await token_of(application.database, application.workspace_id, user.id)
    assert (await api.anonymous.get("/api/v1/admin/size", headers=known)).status_code == 404
