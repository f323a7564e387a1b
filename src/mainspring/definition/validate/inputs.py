"""Inputs: the schema can be used, and its defaults are values it accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import find_default_problems
from mainspring.definition.json_schema import check_schema
from mainspring.definition.validate.outline import DefinitionOutline
from mainspring.definition.validate.report import FindingCollector

_AT = "/inputs/schema"


def check_inputs(
    outline: DefinitionOutline, limits: Limits, sheet: FindingCollector
) -> Mapping[str, Any] | None:
    """The schema when it can be used to judge inputs, else None."""
    schema = outline.inputs_schema
    if schema is None:
        return None
    findings = check_schema(schema, limits, _AT)
    if findings:
        sheet.add(findings)
        return None
    if schema.get("type", "object") != "object":
        sheet.wrong(
            f"{_AT}/type",
            "Inputs are an object: each one has a name.",
            "inputs_not_an_object",
            'Write "type": "object" and put the inputs into properties.',
        )
        return None
    sheet.add(find_default_problems(schema, _AT, limits))
    return schema
