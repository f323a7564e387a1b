"""What a call came to, as the protocol says it: the value and its text, or the problem."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.errors import Problem
from mainspring.surfaces.rest.answers import as_json

# Where a program finds the whole problem when an error has no structured content.
PROBLEM_META_KEY: Final = "mainspring/problem"


def result_of(value: Any, *, wrapped: bool) -> dict[str, Any]:
    """The value as structured content, and the same as text for clients that read only that."""
    structured = {"result": value} if wrapped and not _is_otherwise(value) else value
    return {
        "content": [{"type": "text", "text": as_json(structured).decode()}],
        "structuredContent": structured,
        "isError": False,
    }


def failure_of(problem: Problem, *, structured: bool) -> dict[str, Any]:
    """The problem so that a model can act on it: a sentence, its places, a way out.

    Clients of the handshake versions (up to 2025-11-25) validate any structured content against
    the output schema, errors included, and show the mismatch instead of the error. For them the
    problem travels in the metadata, which no client validates.
    """
    whole = problem.as_dict()
    place = {"structuredContent": whole} if structured else {"_meta": {PROBLEM_META_KEY: whole}}
    return {
        "content": [{"type": "text", "text": "\n".join(_lines(problem))}],
        **place,
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
        "draft",
        "suppressed",
        "clarification",
        "noop",
    }
