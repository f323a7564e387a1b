"""What may be written, as the server tells it."""

from __future__ import annotations

from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.schema import EXAMPLES
from tests.kit.api import Api
from tests.kit.bench import Bench


async def test_the_schema_of_a_definition_judges_definitions(api: Api) -> None:
    answer = await api.client.get("/api/v1/schemas/definition")

    assert answer.status_code == 200
    schema = compile_schema(answer.json(), Limits())
    assert [found for example in EXAMPLES for found in schema.findings(example.document, "")] == []


async def test_the_schemas_of_a_filter_and_of_a_recipe_are_schemas(api: Api) -> None:
    for name in ("filter", "recipe"):
        answer = await api.client.get(f"/api/v1/schemas/{name}")

        assert answer.status_code == 200
        assert check_schema(answer.json(), Limits(), "") == []


async def test_the_vocabulary_is_the_registry_and_what_the_workspace_declared(
    bench: Bench, api: Api
) -> None:
    await bench.application.database.execute(
        "INSERT INTO event_types (workspace_id, type, description, payload_schema) "
        "VALUES ($1, 'stock.low', 'Something runs out.', '{\"type\": \"object\"}')",
        bench.application.workspace_id,
    )

    shown = (await api.client.get("/api/v1/vocabulary")).json()

    registry = bench.application.registry
    assert {entry["type"] for entry in shown["actions"]} == set(registry.actions)
    assert {entry["id"] for entry in shown["capabilities"]} == set(registry.capabilities)
    assert {entry["type"] for entry in shown["triggers"]} == set(registry.triggers)
    assert {entry["type"] for entry in shown["event_types"]} == {*registry.events, "stock.low"}
    assert all(entry["description"] for kind in shown.values() for entry in kind)
