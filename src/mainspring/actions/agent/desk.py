"""The tools on an agent's desk: names as a provider takes them, and what each stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mainspring.actions.agent.material import OutputShape
from mainspring.actions.agent.words import CANNOT, FINAL, NOTHING
from mainspring.contracts.agency import AgentTool
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.model import ModelTool
from mainspring.definition.json_schema.published import flatten_schema
from mainspring.definition.tool_names import choose_tool_name
from mainspring.definition.tool_patterns import is_pattern

_DESCRIPTION: Final = 4_000
# They speak of the whole schema, parts of which may be fixed.
_EXAMPLES: Final = frozenset({"examples", "$schema"})
_REASON: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["reason"],
    "additionalProperties": False,
    "properties": {"reason": {"type": "string", "minLength": 1}},
}


@dataclass(frozen=True, slots=True)
class ToolBinding:
    """One tool as it lies there."""

    tool: AgentTool
    fixed: Mapping[str, Any]


@dataclass(slots=True)
class AgentToolset:
    """What a model may ask for."""

    handles: dict[str, ToolBinding] = field(default_factory=dict)
    tools: tuple[ModelTool, ...] = ()

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.tools]


def build_toolset(
    tools: Sequence[AgentTool], fixed: Mapping[str, Mapping[str, Any]], shape: OutputShape | None
) -> AgentToolset:
    """Every tool under a name of its own, and the ways to end."""
    desk = AgentToolset()
    taken = {FINAL, NOTHING, CANNOT}
    offered: list[ModelTool] = []
    for tool in tools:
        params = {} if is_pattern(tool.id) else fixed.get(tool.id, {})
        _check_secrets(tool, params)
        name = choose_tool_name(tool.id, taken)
        taken.add(name)
        desk.handles[name] = ToolBinding(tool, params)
        schema, rule = flatten_schema(tool.input_schema)
        described = _describe_tool(tool, "" if params else rule)
        offered.append(ModelTool(name, described, _remove_fixed(schema, params)))
    desk.tools = (*offered, *_build_ending_tools(shape))
    return desk


def _build_ending_tools(shape: OutputShape | None) -> list[ModelTool]:
    ways = [
        ModelTool(NOTHING, "End the task because there is nothing to do.", _REASON),
        ModelTool(CANNOT, "End the task because it cannot be done.", _REASON),
    ]
    if shape is None:
        return ways
    schema = {key: value for key, value in shape.schema.items() if key != "$schema"}
    return [ModelTool(FINAL, "End the task with its answer.", schema), *ways]


def _describe_tool(tool: AgentTool, rule: str) -> str:
    text = tool.description.strip()[:_DESCRIPTION] or tool.id
    text = f"{text}\n\n{rule}" if rule else text
    return f"{text}\n\nA person must agree before this is done." if tool.waits else text


def _remove_fixed(schema: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without what is fixed, as a model is shown it."""
    shown = {key: value for key, value in schema.items() if key not in _EXAMPLES}
    properties = shown.get("properties", {})
    shown["properties"] = {key: value for key, value in properties.items() if key not in fixed}
    if "required" in shown:
        shown["required"] = [key for key in shown["required"] if key not in fixed]
    return {"type": "object", **shown}


def _check_secrets(tool: AgentTool, params: Mapping[str, Any]) -> None:
    needed = set(tool.input_schema.get("required", ())) & tool.secrets
    for name in sorted(needed - params.keys()):
        detail = f"{tool.id} needs the secret {name!r}, which a model can never give."
        way_out = f'List it as {{"tool": "{tool.id}", "params": {{"{name}": a secret}}}}.'
        raise Invalid(
            detail,
            code="tool_needs_secret",
            findings=[Finding("/tools", detail, "tool_needs_secret", way_out)],
            suggestion=way_out,
        )
