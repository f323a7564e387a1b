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
        "What a step of a plan may name in `action`. The id of a capability may stand there "
        "too: the step is then a direct call, and its `config` are the arguments "
        "([capabilities](capabilities.md)).",
        *parts,
    )


def capabilities_page() -> str:
    words = registry()
    rows, parts = [], []
    for name, entry in sorted(words.capabilities.items()):
        notes = entry.annotations
        effect = "held for a person" if entry.write is not None else notes.effect.value
        rows.append((f"[{name}](#{name.replace('.', '')})", effect, sentence(entry.label)))
        secret = ", ".join(map(code, sorted(notes.secret_arguments)))
        parts.append(
            f"## {name}\n\n{entry.description.strip()}\n\n{fields(entry.input_schema)}\n\n"
            f"Result: {shape_of_output(entry.output_schema)}"
            + (f"\n\nA secret may stand in: {secret}." if secret else "")
        )
    return page(
        "Capabilities",
        "Everything the system can do, each behind the gate. `read` changes nothing, `keep` "
        "writes what the workspace keeps, `send` leaves the house.",
        table(("Capability", "Effect", "What it does"), rows),
        *parts,
    )


def triggers_page() -> str:
    words = registry()
    parts = [
        f"## {name}\n\n{entry.description.strip()}\n\n### Config\n\n{fields(entry.config_schema)}"
        f"\n\n### Payload\n\n{fields(entry.payload_schema)}"
        for name, entry in sorted(words.triggers.items())
    ]
    return page(
        "Triggers",
        "What may start a run besides a person. `config` stands in the definition; the payload "
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
