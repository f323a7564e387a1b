"""The tools that are documented by name are offered by that name, to those who may call them."""

from __future__ import annotations

from mainspring.contracts.capability import Audience
from tests.kit.api import Api
from tests.kit.mcp import RawMcpClient, problem_of

AUTOMATIONS = {
    "create_automation_flow",
    "save_automation_draft",
    "update_automation",
    "run_automation_once",
    "delete_automation",
    "find_overlapping_automations",
    "automation_secret_set",
    "automation_secret_list",
    "automation_secret_delete",
    "automation_llm_complete",
    "automation_kv.get",
    "automation_kv.set",
    "automation_kv.list",
    "automation_kv.delete",
}
INTEGRATIONS = {
    "list_integrations",
    "fetch_from_integration",
    "act_on_integration",
    "confirm_action",
    "confirm_actions",
    "discard_action",
    "discard_actions",
    "list_pending_actions",
    "ack_inbox_action",
    "create_board_link",
    "create_dataset_recipe",
}
WORKSPACE = {
    "get_board",
    "append_board_rows",
    "create_board",
    "create_workflow",
    "search",
    "query",
    "list_pages",
    "http_fetch",
    "telegram_push",
    "admin_list_users",
    "admin_list_workspaces",
    "admin_create_user",
    "admin_disable_user",
    "admin_enable_user",
    "admin_reset_password",
}
# What only the steps of a run may call: a person's call has no automation, no run and no grant.
FOR_RUNS = {
    "automation_llm_complete",
    "automation_kv.get",
    "automation_kv.set",
    "automation_kv.list",
    "automation_kv.delete",
    "http_fetch",
}


async def _check_offered(wire: RawMcpClient, api: Api, names: set[str]) -> None:
    tools = await wire.tools()
    assert names - FOR_RUNS <= tools.keys()
    assert not names & FOR_RUNS & tools.keys()
    for name in sorted(names):
        answer = await api.client.get(f"/api/v1/capabilities/{name}")
        assert answer.status_code == 200, (name, answer.text)
        found = answer.json()
        assert found["input_schema"]["type"] == "object", name
        assert (found["audience"] == Audience.RUNS.value) == (name in FOR_RUNS), name
    for name in sorted(names - FOR_RUNS):
        # It can be called: what does not fit is refused by its own schema and not as unknown.
        made = await wire.call(name, {"no_such_argument": 1})
        assert made["isError"] is True, name
        assert problem_of(made)["status"] == 422, (name, made)


async def test_every_automation_tool_is_offered_by_its_documented_name(
    wire: RawMcpClient, api: Api
) -> None:
    await _check_offered(wire, api, AUTOMATIONS)


async def test_every_integration_tool_is_offered_by_its_documented_name(
    wire: RawMcpClient, api: Api
) -> None:
    await _check_offered(wire, api, INTEGRATIONS)


async def test_every_workspace_tool_is_offered_by_its_documented_name(
    wire: RawMcpClient, api: Api
) -> None:
    await _check_offered(wire, api, WORKSPACE)
