"""The language: how long a render, a validation and a filter take.

    python -m bench.language

Each figure is next to a yardstick of the same run (a plain Jinja2 render, a JSON
round trip of the same document), so that a noisy machine moves both.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import jinja2

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.definition.templates import parse_template
from mainspring.definition.validate import validate

TEMPLATE = (
    "*{{ inputs.title }}* for {{ run.id }}\n"
    "{% for bullet in steps.read.bullets %}- {{ bullet | trim }}\n{% endfor %}"
    "{{ steps.read.bullets | length }} in all"
)
NAMES: dict[str, Any] = {
    "inputs": {"title": "Digest"},
    "run": {"id": "0190-7"},
    "steps": {"read": {"bullets": [f" point {number} " for number in range(5)]}},
}


def twenty_steps() -> dict[str, Any]:
    """A definition of twenty steps with forty templates."""
    plan = [
        {
            "step_id": f"step_{number}",
            "action": "transform_data",
            "when": "{{ inputs.count > 0 }}",
            "config": {
                "output": {
                    "title": "{{ inputs.title | upper }} " + str(number),
                    "before": f"{{{{ steps.step_{number - 1}.title }}}}" if number else "none",
                }
            },
        }
        for number in range(20)
    ]
    return {
        "schema_version": "1.2",
        "name": "twenty",
        "goal": "Measure the validator.",
        "inputs": {
            "schema": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "count": {"type": "integer"}},
            }
        },
        "plan": plan,
    }


def milliseconds(work: Callable[[], object], times: int) -> float:
    """The median of single calls; what a machine does now and then does not count."""
    accepted = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        accepted.append((time.perf_counter() - began) * 1000)
    return statistics.median(accepted)


def measure() -> list[tuple[str, float, float, str, float]]:
    """Name, milliseconds, bar, yardstick and its milliseconds."""
    limits = Limits()
    registry = build_registry(limits)
    ours = parse_template(TEMPLATE, limits)
    theirs = jinja2.Environment(autoescape=False).from_string(TEMPLATE)
    document = twenty_steps()
    findings = validate(document, registry, limits).findings
    if findings:
        raise SystemExit(str(findings))
    return [
        (
            "render, typical",
            milliseconds(lambda: ours.render(NAMES), 2_000),
            0.25,
            "plain Jinja2",
            milliseconds(lambda: theirs.render(NAMES), 2_000),
        ),
        (
            "validate, 20 steps",
            milliseconds(lambda: validate(document, registry, limits), 200),
            5.0,
            "JSON there and back",
            milliseconds(lambda: json.loads(json.dumps(document)), 200),
        ),
    ]


def main() -> None:
    rows = measure()
    print(f"{'':>20} {'ms':>8} {'bar':>6} {'yardstick':>20} {'ms':>8} {'ratio':>7}")
    for name, ms, bar, yardstick, other in rows:
        print(f"{name:>20} {ms:8.3f} {bar:6.2f} {yardstick:>20} {other:8.3f} {ms / other:7.1f}")


if __name__ == "__main__":
    main()
