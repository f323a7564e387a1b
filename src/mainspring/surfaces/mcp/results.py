"""What a call came to, as the protocol says it: the value and its text, or the problem."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.errors import Problem
from mainspring.surfaces.rest.answers import as_json


def result_of(value: Any, *, wrapped: bool) -> dict[str, Any]:
    """The value as structured content, and the same as text for clients that read only that."""
    structured = {"result": value} if wrapped and not _is_otherwise(value) else value
    return {
        "content": [{"type": "text", "text": as_json(structured).decode()}],
        "structuredContent": structured,
        "isError": False,
    }


def failure_of(problem: Problem) -> dict[str, Any]:
    """The problem so that a model can act on it: a sentence, its places, a way out."""
    return {
        "content": [{"type": "text", "text": "\n".join(_lines(problem))}],
        "structuredContent": problem.as_dict(),
        "isError": True,
    }


def _lines(problem: Problem) -> list[str]:
    lines = [problem.detail]
    for finding in problem.findings:
        where = finding.pointer or "the arguments"
        lines.append(f"{where}: {finding.detail}")
        if finding.suggestion:
            lines.append(f"{where}: {finding.suggestion}")
    if problem.suggestion:
        lines.append(problem.suggestion)
    return lines


def _is_otherwise(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") in {
        "draft", "suppressed", "clarification", "noop",
    }  # fmt: skip
