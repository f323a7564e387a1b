"""Missing parts that keep every run of an automation from succeeding, so it is not activated.

``judging_here.doubts_here`` answers what a definition needs and does not find; most of that is a
warning. It blocks activation only where a step that always runs needs the part: a step with a
condition, a loop, an agent's tool or a failure handler may never use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mainspring.contracts.agency import AGENT_TASK
from mainspring.contracts.errors import Conflict, Finding
from mainspring.contracts.preflight import WOULD_FAIL
from mainspring.definition.pointers import split_pointer

# Without these a step that asks a model fails before the model is asked.
_MODELS: Final = frozenset({"no_model", "unknown_model", "unknown_price"})
BLOCKING: Final = (WOULD_FAIL | _MODELS) - {"secret_missing"}
# The second is how the author of a script writes it.
_USUAL_MODEL: Final = ("/execution/model", "/model")
_LLM_COMPLETE: Final = "automation_llm_complete"
# Parts of a step's config that a run may leave unused.
_OPTIONAL: Final = frozenset({"tools", "grants", "steps"})


def filter_blocking_findings(
    document: Mapping[str, Any], findings: Iterable[Finding]
) -> tuple[Finding, ...]:
    """Those of the findings with which no run can succeed."""
    always = _find_unconditional_steps(document)
    return tuple(one for one in findings if one.code in BLOCKING and _is_needed(one, always))


def check_nothing_missing(document: Mapping[str, Any], findings: Iterable[Finding]) -> None:
    """Refuses to activate an automation that can only fail."""
    blocking = filter_blocking_findings(document, findings)
    if not blocking:
        return
    first = blocking[0]
    more = len(blocking) - 1
    rest = "" if not more else f" (and {more} more)"
    raise Conflict(
        f"It cannot run yet: {first.detail}{rest}",
        code="parts_missing",
        findings=blocking,
        suggestion=first.suggestion,
    )


def _find_unconditional_steps(document: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    plan = document.get("plan")
    steps = plan if isinstance(plan, list) else []
    return {
        place: step
        for place, step in enumerate(steps)
        if isinstance(step, Mapping) and step.get("when") is None
    }


def _is_needed(finding: Finding, always: Mapping[int, Mapping[str, Any]]) -> bool:
    if finding.pointer in _USUAL_MODEL:
        return any(_uses_default_model(step) for step in always.values())
    parts = split_pointer(finding.pointer)
    if len(parts) < 2 or parts[0] != "plan" or not parts[1].isdigit():
        return False
    optional = len(parts) > 3 and parts[2] == "config" and parts[3] in _OPTIONAL
    return int(parts[1]) in always and not optional


def _uses_default_model(step: Mapping[str, Any]) -> bool:
    config = step.get("config")
    named = isinstance(config, Mapping) and config.get("model")
    return step.get("action") in (AGENT_TASK, _LLM_COMPLETE) and not named
