"""Definitions for tests, and their verdicts in one word each."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import ValidationReport, validate
from tests.kit.vocabulary import vocabulary

LIMITS = Limits()
WORDS = vocabulary()


def step(step_id: str, action: str = "transform_data", **more: Any) -> dict[str, Any]:
    """A step; without a config it builds nothing."""
    return {"step_id": step_id, "action": action, "config": {"output": None}, **more}


def shape(step_id: str, output: Any, **more: Any) -> dict[str, Any]:
    """A step that builds a value from templates."""
    return step(step_id, config={"output": output}, **more)


def loop(step_id: str, *steps: dict[str, Any], **config: Any) -> dict[str, Any]:
    """A step that walks nested steps."""
    return step(step_id, "for_each", config={"items": [1], "steps": list(steps), **config})


def document(*plan: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A whole definition around a plan."""
    steps = list(plan) or [step("only")]
    return {"schema_version": "1.2", "name": "Test", "goal": "Test.", "plan": steps, **more}


def inputs(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    """The inputs of a definition."""
    return {
        "schema": {"type": "object", "required": required or [], "properties": properties},
    }


def judged(*plan: dict[str, Any], **more: Any) -> ValidationReport:
    """The verdict over a plan."""
    return validate(document(*plan, **more), WORDS, LIMITS)


def told(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    """Where and what, without the words."""
    return [(finding.pointer, finding.code) for finding in findings]
