"""From 1.0 to 1.1.

1.0 had four other spellings: a schedule's time zone was ``tz``, the time limit of a run was
``execution.max_wall_seconds``, grants were ``tool_grants`` of ``tool``, and a Slack post had
``channel_id`` and ``message_template``. It had no cap per day, so a run budget above the new
default also sets the day cap; otherwise the default would stop runs that 1.0 allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from mainspring.definition.upgrade.note import UpgradeNote

DEFAULT_DAY_CAP = Decimal(1)
HIGHEST_DAY_CAP = Decimal(100)
SLACK_POST = {"channel_id": "channel", "message_template": "text"}


def to_1_1(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[UpgradeNote]]:
    """A copy in format 1.1; parts with an unexpected shape stay unchanged."""
    made = dict(document)
    made["schema_version"] = "1.1"
    notes = [UpgradeNote("/schema_version", "The format 1.0 became 1.1.")]
    _triggers(made, notes)
    _grants(made, notes)
    _execution(made, notes)
    _plan(made, notes)
    return made, notes


def _triggers(made: dict[str, Any], notes: list[UpgradeNote]) -> None:
    triggers = made.get("triggers")
    if isinstance(triggers, list):
        made["triggers"] = [_trigger(entry, place, notes) for place, entry in enumerate(triggers)]


def _trigger(entry: Any, place: int, notes: list[UpgradeNote]) -> Any:
    if not isinstance(entry, dict) or entry.get("type") != "schedule":
        return entry
    config = entry.get("config")
    if not isinstance(config, dict):
        return entry
    return {
        **entry,
        "config": _rename_key(config, "tz", "timezone", f"/triggers/{place}/config", notes),
    }


def _grants(made: dict[str, Any], notes: list[UpgradeNote]) -> None:
    if "tool_grants" not in made or "grants" in made:
        return
    made["grants"] = made.pop("tool_grants")
    notes.append(UpgradeNote("/grants", "tool_grants is now called grants.", was="/tool_grants"))
    if isinstance(made["grants"], list):
        made["grants"] = [
            _rename_key(
                entry, "tool", "capability", f"/grants/{place}", notes, f"/tool_grants/{place}"
            )
            if isinstance(entry, dict)
            else entry
            for place, entry in enumerate(made["grants"])
        ]


def _execution(made: dict[str, Any], notes: list[UpgradeNote]) -> None:
    execution = made.get("execution")
    if not isinstance(execution, dict):
        return
    made["execution"] = execution = _rename_key(
        execution, "max_wall_seconds", "timeout_seconds", "/execution", notes
    )
    budget = _amount(execution.get("budget_cap_usd"))
    if budget is not None and budget > DEFAULT_DAY_CAP and "cost_cap_daily_usd" not in execution:
        cap = min(budget, HIGHEST_DAY_CAP)
        made["execution"] = {**execution, "cost_cap_daily_usd": str(cap)}
        notes.append(
            UpgradeNote(
                "/execution/cost_cap_daily_usd",
                f"Version 1.0 had no daily cap; it is set to ${cap}, the budget of one run.",
            )
        )


def _plan(made: dict[str, Any], notes: list[UpgradeNote]) -> None:
    if isinstance(made.get("plan"), list):
        made["plan"] = _steps(made["plan"], "/plan", notes)
    execution = made.get("execution")
    if isinstance(execution, dict) and isinstance(execution.get("on_failure"), list):
        steps = _steps(execution["on_failure"], "/execution/on_failure", notes)
        made["execution"] = {**execution, "on_failure": steps}


def _steps(steps: list[Any], at: str, notes: list[UpgradeNote]) -> list[Any]:
    """The steps of a list and their nested steps, up to the depth that the format allows."""
    made: list[Any] = list(steps)
    rest = [(made, at)]
    while rest:
        around, pointer = rest.pop()
        for place, step in enumerate(around):
            config = step.get("config") if isinstance(step, dict) else None
            if not isinstance(config, dict):
                continue
            here = f"{pointer}/{place}/config"
            if step.get("action") == "slack_post":
                for old, new in SLACK_POST.items():
                    config = _rename_key(config, old, new, here, notes)
            elif isinstance(config.get("steps"), list):
                inside = list(config["steps"])
                config = {**config, "steps": inside}
                rest.append((inside, f"{here}/steps"))
            around[place] = {**step, "config": config}
    return made


def _rename_key(
    part: dict[str, Any],
    old: str,
    new: str,
    at: str,
    notes: list[UpgradeNote],
    was_at: str | None = None,
) -> dict[str, Any]:
    if old not in part or new in part:
        return part
    was = f"{was_at or at}/{old}"
    notes.append(UpgradeNote(f"{at}/{new}", f"{old} is now called {new}.", was=was))
    return {new if key == old else key: value for key, value in part.items()}


def _amount(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() else None
