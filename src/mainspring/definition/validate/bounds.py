"""Bounds: how large a definition may be, and whether its own limits fit together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from mainspring.contracts.limits import Limits
from mainspring.definition.json_text import encode_canonical
from mainspring.definition.model import Definition, show_money
from mainspring.definition.templates import has_syntax
from mainspring.definition.templates.config import SCOPE
from mainspring.definition.validate.outline import DefinitionOutline, StepOutline
from mainspring.definition.validate.report import FindingCollector


def check_bounds(
    document: Mapping[str, Any], outline: DefinitionOutline, limits: Limits, sheet: FindingCollector
) -> None:
    """Refuses what is larger than the limits of this installation."""
    size = len(encode_canonical(document))
    if size > limits.definition_bytes:
        detail = f"The definition has {size:,} bytes; {limits.definition_bytes:,} are allowed."
        sheet.wrong("", detail, "definition_too_large")
    steps = sum(1 for _ in outline.steps())
    if steps > limits.steps:
        detail = (
            f"The definition has {steps} steps, nested ones included; {limits.steps} are allowed."
        )
        sheet.wrong("/plan", detail, "too_many_steps", "Split it into several automations.")
    if len(outline.triggers) > limits.triggers:
        detail = f"There are {len(outline.triggers)} triggers; {limits.triggers} are allowed."
        sheet.wrong("/triggers", detail, "too_many_triggers")
    templates = sum(map(_template_text, (document.get("plan"), document.get("execution"))))
    templates -= sum(map(_plain_text, outline.steps()))
    if templates > limits.templates_bytes:
        detail = (
            f"The templates have {templates:,} characters together; "
            f"{limits.templates_bytes:,} are allowed."
        )
        sheet.wrong("/plan", detail, "too_much_template", "Move long texts into inputs.")
    _check_nesting((*outline.plan, *outline.on_failure), 1, limits, sheet)


def _template_text(value: Any, key: str = "") -> int:
    """How much there is for the template engine to read, below one part of a document."""
    if isinstance(value, str):
        return len(value) if key == "when" or has_syntax(value) else 0
    if isinstance(value, dict):
        return sum(_template_text(entry, name) for name, entry in value.items())
    return sum(map(_template_text, value)) if isinstance(value, list) else 0


def _plain_text(step: StepOutline) -> int:
    """What looks like a template in a config and is never read as one, such as a script."""
    if step.known is None or step.config is None:
        return 0
    declared = step.known.config_schema.get("properties", {})
    plain = [name for name, schema in declared.items() if schema.get(SCOPE) == "none"]
    return sum(_template_text(step.config[name], name) for name in plain if name in step.config)


def check_execution(definition: Definition, sheet: FindingCollector) -> None:
    """Points at bounds that can never be reached because another one comes first."""
    execution = definition.execution
    if execution.budget_cap_usd > execution.cost_cap_daily_usd:
        sheet.doubtful(
            "/execution/budget_cap_usd",
            f"A run may spend {show_money(execution.budget_cap_usd)} USD, but all runs of a day "
            f"together {show_money(execution.cost_cap_daily_usd)} USD: the smaller cap counts.",
            "budget_above_day_cap",
            "Raise cost_cap_daily_usd or lower budget_cap_usd.",
        )
    if execution.concurrency_key is not None and execution.concurrency == "allow_parallel":
        sheet.doubtful(
            "/execution/concurrency_key",
            "Runs that may overlap never wait for each other, so the key has no effect.",
            "key_without_effect",
            "Choose queue or drop_if_running, or remove the key.",
        )
    steps = [("/plan", definition.plan), ("/execution/on_failure", execution.on_failure)]
    for at, part in steps:
        for place, step in enumerate(part):
            if (step.timeout_seconds or 0) > execution.timeout_seconds:
                sheet.doubtful(
                    f"{at}/{place}/timeout_seconds",
                    f"The step may take {step.timeout_seconds} s, but the whole run only "
                    f"{execution.timeout_seconds} s.",
                    "timeout_above_run",
                    "Raise execution.timeout_seconds.",
                )
            if (step.budget_cap_usd or 0) > execution.budget_cap_usd:
                sheet.doubtful(
                    f"{at}/{place}/budget_cap_usd",
                    f"The step may spend {show_money(step.budget_cap_usd or Decimal(0))} USD, but "
                    f"the whole run only {show_money(execution.budget_cap_usd)} USD.",
                    "step_budget_above_run",
                    "Raise execution.budget_cap_usd or lower the step's.",
                )


def _check_nesting(
    steps: Iterable[StepOutline], depth: int, limits: Limits, sheet: FindingCollector
) -> None:
    for step in steps:
        if step.known is None or step.known.nested is None:
            continue
        if depth > limits.nesting:
            detail = f"Steps are nested {depth} levels deep; {limits.nesting} are allowed."
            sheet.wrong(step.pointer, detail, "nested_too_deeply", "Flatten the inner loop.")
        else:
            _check_nesting(step.nested, depth + 1, limits, sheet)
