"""The names a template can read: ``run``, ``inputs``, ``trigger`` and what steps gave.

A step's output is available as ``steps.<step_id>``, under ``steps.<name>`` if it has a name of its
own, and, unless that is reserved, under the name alone. Steps inside ``for_each`` see one item
more than the steps around them, and what they give is forgotten with the item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

# Names of the language and of the run; a step or an item may not take them as its own.
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
# These stand for the item at hand, so for_each itself sets them.
_OF_ITEMS = frozenset({"item", "index"})


@dataclass(frozen=True, slots=True)
class RunFailure:
    """What ended a plan; known only to the steps of ``on_failure``."""

    step_id: str
    # The problem document: type, title, status, detail, code …
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What ``run.*`` says."""

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
        """The same as plain JSON data."""
        answer: dict[str, Any] = {
            "id": str(self.id),
            "started_at": self.started_at.isoformat(),
            "automation_id": str(self.automation_id),
            "automation_name": str(self.automation_name),
            "automation_version": self.automation_version,
            "trigger_type": str(self.trigger_type),
            "trigger_id": _text(self.trigger_id),
            "workspace_id": str(self.workspace_id),
            # The same walls under the name that existing definitions use.
            "search_space_id": str(self.workspace_id),
            "creator_id": _text(self.creator_id),
            "attempt": self.attempt,
        }
        if self.failure is not None:
            answer["failed_step_id"] = self.failure.step_id
            answer["error"] = dict(self.failure.error)
        return answer


class TemplateScope:
    """The names at one place of a plan; ``names`` is what a template is given."""

    __slots__ = ("_names", "_steps")

    def __init__(self, names: Mapping[str, Any], steps: Mapping[str, Any]) -> None:
        self._steps = dict(steps)
        self._names = {**names, "steps": self._steps}

    @property
    def names(self) -> Mapping[str, Any]:
        return self._names

    def add(self, name: str, output: Any, step_id: str | None = None) -> None:
        """Makes a finished step's output known from here on, by its name and its step's id."""
        self._steps[name] = output
        if step_id is not None:
            self._steps[step_id] = output
        if name not in RESERVED:
            self._names[name] = output

    def push(self, names: Mapping[str, Any]) -> TemplateScope:
        """The scope of one item: everything known here, and these names on top."""
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
    """The scope in which a plan begins, or goes on after the steps already done.

    A trigger may have brought any JSON value; it is shown as it came, and nothing as an
    empty object.
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
