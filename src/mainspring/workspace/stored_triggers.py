"""A stored definition together with the truth of the trigger table.

While an automation lives, its triggers are what their rows say: one may have been switched
off since the version was saved. Whoever shows, exports or judges an automation as it is now
writes those rows back into the definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mainspring.definition.json_values import is_same_value
from mainspring.definition.upgrade import upgrade


def merge_stored_triggers(
    document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The definition with each trigger as its row has it; nothing that belongs to one place
    alone (an id, a token, a moment) goes along.
    """
    # A definition that was stored by an older release says what it does in today's format.
    document, _ = upgrade(document)
    found = {row["slug"]: row for row in rows}
    entries = document.get("triggers", [])
    triggers = [_merge_trigger(entry, found.get(entry.get("id"))) for entry in entries]
    return {**document, "triggers": triggers} if "triggers" in document else dict(document)


def agree(document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the rows say what the definition says."""
    return is_same_value(
        document.get("triggers", []), merge_stored_triggers(document, rows).get("triggers", [])
    )


def _merge_trigger(entry: Mapping[str, Any], row: Mapping[str, Any] | None) -> dict[str, Any]:
    if row is None:
        return dict(entry)
    shown = {name: row[name] for name in ("type", "config", "inputs", "enabled")}
    return {**entry, **shown}
