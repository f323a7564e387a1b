"""The words a definition may use: actions, capabilities, triggers and events."""

from __future__ import annotations

import importlib
from typing import Any

from scripts.reference_pages.markdown import (
    code,
    fields,
    page,
    sentence,
    shape_of_output,
    table,
)


def registry() -> Any:
    """Every word, as a server without settings of its own has them."""
    limits = importlib.import_module("mainspring.contracts.limits").Limits()
    return importlib.import_module("mainspring.app").build_registry(limits)


def actions_page() -> str:
    words = registry()
    parts = [
        f"## {name}\n\n{entry.description.strip()}\n\n{fields(entry.config_schema)}\n\n"
        + (
            f"Output: {shape_of_output(entry.output_schema)}"
            if entry.output_schema is not None
            else "Output: in the shape that the step declares."
        )
        for name, entry in sorted(words.actions.items())
    ]
    return page(
        "Actions",
        "The values of `action` in a step. You can also use the id of a capability. The step "
        "then calls it, and `config` contains the arguments "
        "([capabilities](capabilities.md)).",
        *parts,
    )


def capabilities_page() -> str:
    words = registry()
    rows, parts = [], []
    for name, entry in sorted(words.capabilities.items()):
        notes = entry.annotations
        effect = "held for a person" if entry.write is not None else notes.effect.value
        link = f"[{name}](#{name.replace('.', '')})"
        rows.append((link, effect, _toolsets(entry), sentence(entry.label)))
        secret = ", ".join(map(code, sorted(notes.secret_arguments)))
        parts.append(
            f"## {name}\n\n{entry.description.strip()}\n\n{fields(entry.input_schema)}\n\n"
            f"Result: {shape_of_output(entry.output_schema)}"
            + (f"\n\nAccepts secrets: {secret}." if secret else "")
        )
    return page(
        "Capabilities",
        "Everything that steps, scripts, agents and clients can call. `read` changes nothing, "
        "`keep` writes to the workspace, and `send` writes to outside systems. MCP clients choose "
        "[toolsets](../guides/connect-an-mcp-client.md#choose-toolsets). A capability without one "
        "is only for runs.",
        table(("Capability", "Effect", "Toolsets", "What it does"), rows),
        *parts,
    )


def _toolsets(entry: Any) -> str:
    """The toolsets that contain a capability; empty for those that only runs may call."""
    toolsets = importlib.import_module("mainspring.surfaces.mcp.toolsets")
    if entry.annotations.audience.value == "runs":
        return ""
    named = entry.annotations.toolset
    is_default = toolsets.ToolSelection().names_capability(entry)
    names = [named.value] if named is not None else []
    return ", ".join(code(name) for name in names + [toolsets.DEFAULT] * is_default)


def triggers_page() -> str:
    words = registry()
    parts = [
        f"## {name}\n\n{entry.description.strip()}\n\n### Config\n\n{fields(entry.config_schema)}"
        f"\n\n### Payload\n\n{fields(entry.payload_schema)}"
        for name, entry in sorted(words.triggers.items())
    ]
    return page(
        "Triggers",
        "What may start a run besides a person. `config` is part of the definition; the payload "
        "is what templates see as `trigger`.",
        *parts,
    )


def events_page() -> str:
    words = registry()
    parts = [
        f"## {name}\n\n{entry.description.strip()}\n\n{fields(entry.payload_schema)}"
        for name, entry in sorted(words.events.items())
    ]
    return page("Events", "Every declared type of event and the shape of its payload.", *parts)
