"""JSON schema of the forecast."""

from __future__ import annotations

from typing import Any, Final

from mainspring.authoring.forecast.amounts import BASES
from mainspring.contracts.object_schema import build_object_part

_USD: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^[0-9]+(\.[0-9]{1,6})?$",
    "description": "US dollars, as decimal text.",
}
_RUNS: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
_SENTENCE: Final[dict[str, Any]] = {"type": "string"}
_RANGE: Final[dict[str, Any]] = {"low": _USD, "usual": _USD, "high": _USD}

FORECAST_SCHEMA: Final[dict[str, Any]] = {
    **build_object_part(
        {
            "runs_per_month": build_object_part(
                {
                    "low": _RUNS,
                    "usual": _RUNS,
                    "high": _RUNS,
                    "basis": {"enum": ["schedule", "observed", "by_hand", "unknown"]},
                    "why": _SENTENCE,
                }
            ),
            "usd_per_run": build_object_part(
                {**_RANGE, "basis": {"enum": list(BASES)}, "why": _SENTENCE}
            ),
            "usd_per_month": build_object_part(_RANGE),
            "caps": build_object_part(
                {
                    "usd_per_run": _USD,
                    "usd_per_day": _USD,
                    "usd_per_month": {
                        **_USD,
                        "description": "US dollars, as decimal text: thirty times the daily cap, "
                        "or the cap per run times the scheduled runs if that is "
                        "less and nothing else starts it; manual runs are extra "
                        "then.",
                    },
                }
            ),
            "steps": {
                "type": "array",
                "items": build_object_part(
                    {
                        "step_id": {"type": "string"},
                        "usual": _USD,
                        "high": _USD,
                        "basis": {"enum": list(BASES)},
                        "why": _SENTENCE,
                    }
                ),
            },
            "notes": {"type": "array", "items": _SENTENCE},
            "sentence": _SENTENCE,
        }
    ),
    "description": "Cost of the next thirty days, as a range next to its caps. A month never "
    "exceeds them.",
}
