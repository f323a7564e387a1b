"""The names that a template can read: ``run``, ``inputs``, ``trigger`` and step outputs.

A step's output is available as ``steps.<step_id>``, as ``steps.<name>`` if it has ``output_as``,
and, unless that is reserved, as the bare name. Steps inside ``for_each`` also see the item, and
their outputs are discarded after the item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

# Reserved names; a step or an item may not use them.
RESERVED = frozenset(
    {
        "run",
        "inputs",
        "steps",
        "trigger",
        "item",
        "index",
        "loop",
        "secrets",
        "true",
        "false",
        "none",
        "True",
        "False",
        "None",
        "and",
        "or",
        "not",
        "in",
        "is",
        "if",
        "elif",
        "else",
        "for",
        "set",
        "with",
        "raw",
        "recursive",
        "self",
        "super",
        "caller",
        "namespace",
        "range",
        "dict",
    }
)
# These refer to the current item, so only for_each sets them.
_OF_ITEMS = frozenset({"item", "index"})


@dataclass(frozen=True, slots=True)
class RunFailure:
    """The error that ended a plan; only visible to the steps of ``on_failure``."""

    step_id: str
    # The problem document: type, title, status, detail, code …
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The values of ``run.*``."""

    id: UUID
    started_at: datetime
    automation_id: UUID
    automation_name: str
    automation_version: int
    trigger_type: str
    trigger_id: UUID | None
    workspace_id: UUID
    creator_id: UUID | None
    attempt: int = 1
    failure: RunFailure | None = None

    def as_data(self) -> dict[str, Any]:
        """The same values as plain JSON data."""
        answer: dict[str, Any] = {
            "id": str(self.id),
            "started_at": self.started_at.isoformat(),
            "automation_id": str(self.automation_id),
            "automation_name": str(self.automation_name),
            "automation_version": self.automation_version,
            "trigger_type": str(self.trigger_type),
            "trigger_id": _text(self.trigger_id),
            "workspace_id": str(self.workspace_id),
            # The same values under the name that existing definitions use.
            "search_space_id": str(self.workspace_id),
            "creator_id": _text(self.creator_id),
            "attempt": self.attempt,
        }
        if self.failure is not None:
            answer["failed_step_id"] = self.failure.step_id
            answer["error"] = dict(self.failure.error)
        return answer


class TemplateScope:
    """The names visible at one place of a plan; ``names`` is passed to templates."""

    __slots__ = ("_names", "_steps")

    def __init__(self, names: Mapping[str, Any], steps: Mapping[str, Any]) -> None:
        self._steps = dict(steps)
        self._names = {**names, "steps": self._steps}

    @property
    def names(self) -> Mapping[str, Any]:
        return self._names

    def add(self, name: str, output: Any, step_id: str | None = None) -> None:
        """Add a finished step's output under its name and its step id."""
        self._steps[name] = output
        if step_id is not None:
            self._steps[step_id] = output
        if name not in RESERVED:
            self._names[name] = output

    def push(self, names: Mapping[str, Any]) -> TemplateScope:
        """The scope of one item: all names of this scope plus these."""
        allowed = {
            name: value
            for name, value in names.items()
            if name not in RESERVED or name in _OF_ITEMS
        }
        return TemplateScope({**self._names, **allowed}, self._steps)


def build_run_context(
    facts: RunFacts,
    *,
    inputs: Mapping[str, Any],
    trigger: Any = None,
    steps: Mapping[str, Any] | None = None,
) -> TemplateScope:
    """The scope in which a plan begins, or resumes after the finished steps.

    A trigger payload may be any JSON value and is passed on unchanged; no payload is an empty
    object.
    """
    brought = {} if trigger is None else trigger
    if isinstance(brought, Mapping):
        brought = dict(brought)
    scope = TemplateScope({"run": facts.as_data(), "inputs": dict(inputs), "trigger": brought}, {})
    for name, output in (steps or {}).items():
        scope.add(name, output)
    return scope


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)
