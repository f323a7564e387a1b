"""Converts triggers from the form used in drafts and recipes to the form of a definition.

Drafts and recipes write ``{kind: "cron", cron, tz}``, or at, every or times in place of cron; a
definition has type and config. For every other kind, the kind is the type and the settings are on
the same level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from mainspring.contracts.errors import Finding
from mainspring.definition.schedules import TIME_KEYS
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest

_FILTERS: Final = {"filters": "filters"}
# For each kind: its type, its settings by draft name and definition name, and required ones.
WRITTEN_KINDS: Final[Mapping[str, tuple[str, Mapping[str, str], tuple[str, ...]]]] = (
    MappingProxyType(
        {
            "cron": (
                "schedule",
                {
                    "cron": "cron",
                    "at": "at",
                    "every": "every",
                    "anchor": "anchor",
                    "times": "times",
                    "except": "except",
                    "jitter": "jitter",
                    "tz": "timezone",
                    "misfire": "misfire",
                    "catch_up_seconds": "catch_up_seconds",
                },
                ("tz",),
            ),
            "board_change": (
                "board_change",
                {"board_id": "board_id", "dataset": "dataset", "change": "change", **_FILTERS},
                ("board_id",),
            ),
            "page_ingested": (
                "page_ingested",
                {"page_type": "page_type", "source": "source", "created": "created", **_FILTERS},
                (),
            ),
            "webhook": (
                "webhook",
                {
                    "input_mapping": "input_mapping",
                    "signature": "signature",
                    "auth": "auth",
                    "events": "events",
                },
                (),
            ),
            "event": ("event", {"event_type": "event_type", **_FILTERS}, ("event_type",)),
        }
    )
)


def as_entries(triggers: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The triggers in the form of a definition, and the problems found in them.

    A trigger id is derived from its kind and its index among triggers of that kind, so that a
    webhook keeps its token when a schedule is inserted before it.
    """
    entries: list[dict[str, Any]] = []
    findings: list[Finding] = []
    counts: dict[str, int] = {}
    for place, given in enumerate(triggers):
        kind = str(given["kind"])
        type_, names, needed = WRITTEN_KINDS[kind]
        counts[kind] = counts.get(kind, 0) + 1
        at = f"/triggers/{place}"
        findings += _find_misplaced_fields(given, kind, names, needed, at)
        config = {names[name]: value for name, value in given.items() if name in names}
        slug = f"{kind.replace('_', '-')}-{counts[kind]}"
        entries.append({"id": slug, "type": type_, "config": config})
    return entries, findings


def _find_misplaced_fields(
    arguments: Mapping[str, Any],
    kind: str,
    names: Mapping[str, str],
    needed: Sequence[str],
    at: str,
) -> Iterable[Finding]:
    if kind == "cron" and not any(name in arguments for name in TIME_KEYS):
        detail = "A trigger of the kind cron needs one of cron, at, every and times."
        yield Finding(at, detail, "missing")
    for name in needed:
        if name not in arguments:
            yield Finding(at, f"A trigger of the kind {kind} needs {name}.", "missing")
    for name in arguments.keys() - {"kind"} - names.keys():
        detail = f"A trigger of the kind {kind} has no {name}."
        yield Finding(join_pointer(at, name), detail, "unknown_key", suggest_nearest(name, names))
