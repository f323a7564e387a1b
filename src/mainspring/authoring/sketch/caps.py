"""Limits in a request: cost, time and model.

They are parsed first: "at most two dollars a day" is not a schedule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from mainspring.authoring.sketch.word_tables import NUMBERS

Span = tuple[int, int]

_COUNT: Final = r"(?:\d{1,6}(?:\.\d{1,4})?|" + "|".join(NUMBERS) + ")"
_MOST: Final = (
    r"(?:(?:with |using |spend(?:ing)? |costs? |costing |for |keep it |budget of |and |please |"
    r"it |this |must |should |may )*"
    r"(?:at most|no more than|not more than|up to|max(?:imum)?(?: of)?|under|below|less than|"
    r"(?:do not|don'?t|does not|doesn'?t|never|not)(?: ever)?(?: spend| cost| use)? more than|"
    r"budget(?: of)?|limit(?:ed)?(?: it)? to|cap(?:ped)?(?: it)?(?: at| to)?|"
    r"within)\s+)"
)
_AMOUNT: Final = (
    rf"(?:(?:\$|usd ?|us\$)\s?(?P<dollars>\d{{1,6}}(?:\.\d{{1,4}})?)|"
    rf"(?P<spelled>{_COUNT})\s?(?:\$|usd|dollars?|bucks)|(?P<cents>{_COUNT})\s?(?:cents?|ct|¢))"
)
_PER: Final = (
    r"(?:\s?(?:a|per|each|every|/|for each|for every|for a|in a)\s?"
    r"(?P<per>day|run|time|execution|go))"
)
_MONEY_PER: Final = re.compile(rf"(?:\b{_MOST})?{_AMOUNT}{_PER}\b", re.IGNORECASE)
_MONEY_MOST: Final = re.compile(rf"\b{_MOST}{_AMOUNT}(?P<daily> daily)?", re.IGNORECASE)
_TIME: Final = re.compile(
    rf"\b(?:within|in under|in less than|(?:must|should) (?:finish|be done|end) (?:in|within)|"
    rf"(?:take|taking|run|running|timeout of|time ?out after|stop after|give up after)"
    rf"(?: at most| no more than| no longer than| up to| for at most)?)\s+"
    rf"(?P<count>{_COUNT})\s(?P<unit>seconds?|minutes?|mins?|hours?)\b",
    re.IGNORECASE,
)
_MODEL: Final = re.compile(
    r"\b(?:use|using|with|by)\s+(?:the\s+)?(?:"
    r"model\s+(?P<named>[A-Za-z0-9][\w./:-]{1,80})|"
    r"(?P<known>(?:[a-z]{2,20}/)?(?:claude|gpt|gemini|llama|mistral|o[134]|deepseek|qwen|grok)"
    r"[\w./:-]{0,80})(?:\s+model)?)",
    re.IGNORECASE,
)
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}


@dataclass(slots=True)
class RequestedCaps:
    """The requested limits, and their positions."""

    values: dict[str, Any] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)


def find_caps(text: str) -> RequestedCaps:
    """Find the limits in a text."""
    caps = RequestedCaps()
    for found in (*_MONEY_PER.finditer(text), *_MONEY_MOST.finditer(text)):
        if any(start <= found.start() < end for start, end in caps.spans):
            continue
        amount = _amount(found)
        if amount is None:
            continue
        groups = found.groupdict()
        daily = (groups.get("per") or "").lower() == "day" or bool(groups.get("daily"))
        key = "cost_cap_daily_usd" if daily else "budget_cap_usd"
        highest = Decimal(100) if daily else Decimal(1_000_000)
        caps.values[key] = format(min(amount, highest).normalize(), "f")
        caps.spans.append(found.span())
    timed = _TIME.search(text)
    if timed is not None:
        seconds = int(_number(timed["count"]) * _UNITS[timed["unit"][0].lower()])
        if 1 <= seconds <= 86_400:
            caps.values["timeout_seconds"] = seconds
            caps.spans.append(timed.span())
    model = _MODEL.search(text)
    if model is not None:
        caps.values["model"] = (model["named"] or model["known"]).rstrip(".,;:")
        caps.spans.append(model.span())
    return caps


def _number(text: str) -> Decimal:
    low = text.lower()
    return Decimal(NUMBERS[low]) if low in NUMBERS else Decimal(low)


def _amount(found: re.Match[str]) -> Decimal | None:
    try:
        if found["cents"]:
            return round(_number(found["cents"]) / 100, 6)
        return round(_number(found["dollars"] or found["spelled"]), 6)
    except (InvalidOperation, KeyError):
        return None


def execution_of(caps: Mapping[str, Any], *, thinks: bool) -> dict[str, Any]:
    """Build the execution limits: requested ones, and small defaults."""
    run = Decimal("0.5") if thinks else Decimal("0.1")
    day = Decimal(2) if thinks else Decimal("0.5")
    if "budget_cap_usd" in caps:
        run = Decimal(caps["budget_cap_usd"])
        day = max(day, min(run * 4, Decimal(100)))
    if "cost_cap_daily_usd" in caps:
        day = Decimal(caps["cost_cap_daily_usd"])
        run = run if "budget_cap_usd" in caps else min(run, day)
    made: dict[str, Any] = {
        "timeout_seconds": caps.get("timeout_seconds", 600 if thinks else 120),
        "budget_cap_usd": format(run.normalize(), "f"),
        "cost_cap_daily_usd": format(day.normalize(), "f"),
        "write_policy": "always_draft",
    }
    if "model" in caps:
        made["model"] = caps["model"]
    return made
