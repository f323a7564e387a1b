"""Schemas of capabilities are generated from models (``contracts/model_schema.py``)."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.tree import PACKAGE, modules, nodes, shown

# These modules still spell object schemas out. A module is removed when its models exist; none is
# added. Integrations are plug-ins, which describe themselves as JSON.
HAND_WRITTEN = {
    "src/mainspring/actions/agent/loop.py",
    "src/mainspring/actions/agent/question.py",
    "src/mainspring/actions/agent/schema.py",
    "src/mainspring/actions/agent/task.py",
    "src/mainspring/actions/approval.py",
    "src/mainspring/actions/callback.py",
    "src/mainspring/actions/delay.py",
    "src/mainspring/actions/for_each.py",
    "src/mainspring/actions/notify.py",
    "src/mainspring/actions/respond.py",
    "src/mainspring/actions/script/runner.py",
    "src/mainspring/actions/transform.py",
    "src/mainspring/authoring/forecast/schemas.py",
    "src/mainspring/authoring/generate/looking.py",
    "src/mainspring/authoring/generate/model_review.py",
    "src/mainspring/authoring/generate/prompts.py",
    "src/mainspring/authoring/generate/submission.py",
    "src/mainspring/authoring/phrases/capability.py",
    "src/mainspring/authoring/prompts.py",
    "src/mainspring/authoring/proposals/capabilities.py",
    "src/mainspring/authoring/proposals/schemas.py",
    "src/mainspring/authoring/review/schemas.py",
    "src/mainspring/authoring/saving_schemas.py",
    "src/mainspring/authoring/sketch/agent_step.py",
    "src/mainspring/authoring/sketch/read_steps.py",
    "src/mainspring/authoring/sketch/sketcher.py",
    "src/mainspring/authoring/watch_integration.py",
    "src/mainspring/connections/act_on_integration.py",
    "src/mainspring/connections/board_links/capabilities.py",
    "src/mainspring/connections/ingestion/declared_schema.py",
    "src/mainspring/connections/ingestion/schemas.py",
    "src/mainspring/connections/installed_integrations.py",
    "src/mainspring/connections/mcp_servers/tool_registry.py",
    "src/mainspring/contracts/chat.py",
    "src/mainspring/contracts/manifest.py",
    "src/mainspring/definition/filters/validation.py",
    "src/mainspring/definition/forms.py",
    "src/mainspring/definition/model.py",
    "src/mainspring/definition/schema/antiexamples.py",
    "src/mainspring/definition/schema/examples.py",
    "src/mainspring/gate/prompting/chat_linking.py",
    "src/mainspring/gate/prompting/slack_identities.py",
    "src/mainspring/gate/standing/capabilities.py",
    "src/mainspring/gate/usage_capability.py",
    "src/mainspring/outbound/http_fetch.py",
    "src/mainspring/outbound/models/llm_complete.py",
    "src/mainspring/recipes/carrying/capabilities.py",
    "src/mainspring/recipes/compiling/compiler.py",
    "src/mainspring/recipes/compiling/declarative.py",
    "src/mainspring/recipes/entities/workflows.py",
    "src/mainspring/recipes/package/example_recipes.py",
    "src/mainspring/recipes/package/template_schemas.py",
    "src/mainspring/recipes/schemas.py",
    "src/mainspring/recipes/schemas_installs.py",
    "src/mainspring/runs/capabilities.py",
    "src/mainspring/runs/question_capabilities.py",
    "src/mainspring/runs/rows.py",
    "src/mainspring/surfaces/cli/starters.py",
    "src/mainspring/surfaces/mcp/server.py",
    "src/mainspring/surfaces/rest/openapi.py",
    "src/mainspring/surfaces/rest/routes/interactions.py",
    "src/mainspring/triggers/chat_message.py",
    "src/mainspring/triggers/event.py",
    "src/mainspring/triggers/form.py",
    "src/mainspring/triggers/poll.py",
    "src/mainspring/triggers/presets.py",
    "src/mainspring/triggers/schedule.py",
    "src/mainspring/triggers/storage_size.py",
    "src/mainspring/triggers/webhook.py",
    "src/mainspring/workspace/approval_policy.py",
    "src/mainspring/workspace/artifacts/save.py",
    "src/mainspring/workspace/boards/capabilities.py",
    "src/mainspring/workspace/boards/events.py",
    "src/mainspring/workspace/boards/part_capabilities.py",
    "src/mainspring/workspace/boards/row_capabilities.py",
    "src/mainspring/workspace/boards/schemas.py",
    "src/mainspring/workspace/capabilities.py",
    "src/mainspring/workspace/consent_schemas.py",
    "src/mainspring/workspace/events.py",
    "src/mainspring/workspace/inbox.py",
    "src/mainspring/workspace/pages/schemas.py",
    "src/mainspring/workspace/pages/writer.py",
    "src/mainspring/workspace/secret_capabilities.py",
    "src/mainspring/workspace/workflows/capabilities.py",
    "src/mainspring/workspace/workflows/schemas.py",
    "src/mainspring/workspace/workflows/status.py",
}
# They build the published form.
BUILDERS = {
    "src/mainspring/contracts/model_schema.py",
    "src/mainspring/contracts/object_schema.py",
}


def _spells_out_an_object(path: Path) -> bool:
    return any(_is_object_schema(node) or _is_builder_call(node) for node in nodes(path))


def _is_object_schema(node: ast.AST) -> bool:
    if not isinstance(node, ast.Dict):
        return False
    written = {
        key.value: ast.unparse(value)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    }
    return "properties" in written and "object" in written.get("type", "")


def _is_builder_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"build_object_part", "build_object_schema", "schema_with_examples"}
    )


def test_no_further_module_spells_out_the_schema_of_an_object() -> None:
    found = {
        shown(path)
        for path in modules("src")
        if PACKAGE / "integrations" not in path.parents and _spells_out_an_object(path)
    }

    assert found - BUILDERS == HAND_WRITTEN
