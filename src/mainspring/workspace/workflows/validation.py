"""Validation of workflow arguments: pure functions that report problems with pointers.

Covers what the JSON schema cannot express: duplicate names, invalid dates, people named twice, and
a roster without an owner.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final, Literal
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid

WorkflowRole = Literal["owner", "contributor", "observer"]
WorkflowStatus = Literal["draft", "active", "paused", "archived"]
ROLES: Final = ("owner", "contributor", "observer")
STATUSES: Final = ("draft", "active", "paused", "archived")
BOARD_ROLES: Final[Mapping[str, str]] = {
    "owner": "owner",
    "contributor": "editor",
    "observer": "viewer",
}

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_AS_IN: Final = "As in 2026-12-31."


def read_day(text: str) -> date | None:
    """Parse an ISO date; None when invalid."""
    if _DAY.fullmatch(text) is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def find_workflow_problems(arguments: Mapping[str, Any]) -> list[Finding]:
    """Find every problem in the given fields; omitted ones are not checked."""
    return [
        *_find_kpi_problems(arguments.get("kpis", [])),
        *_find_deadline_problems(arguments.get("deadlines", [])),
        *_find_roster_problems(arguments.get("roster", [])),
        *_find_duplicates("/automation_ids", arguments.get("automation_ids", []), "automation"),
    ]


def _find_kpi_problems(kpis: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    seen: set[str] = set()
    for number, kpi in enumerate(kpis):
        at, name = f"/kpis/{number}", str(kpi["name"]).strip().casefold()
        if name in seen:
            detail = f"Two KPIs are called {kpi['name']!r}."
            yield Finding(f"{at}/name", detail, "kpi_twice", "Give each a different name.")
        seen.add(name)
        for field in ("target", "current"):
            # A template may contain a text that the call's schema would have rejected.
            value = kpi.get(field)
            if value is not None and not is_number(value):
                detail = f"The {field} of a KPI is a number; this is {_describe_kind(value)}."
                yield Finding(
                    f"{at}/{field}", detail, "kpi_not_numeric", "Write it without quotes, as 12.5."
                )
        yield from _find_day_problems(f"{at}/deadline", kpi.get("deadline"))


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _describe_kind(value: object) -> str:
    return "a text" if isinstance(value, str) else "something else"


def _find_deadline_problems(deadlines: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for number, deadline in enumerate(deadlines):
        yield from _find_day_problems(f"/deadlines/{number}/date", deadline["date"])


def _find_day_problems(at: str, text: Any) -> Iterator[Finding]:
    if text is not None and read_day(str(text)) is None:
        yield Finding(at, f"{str(text)[:50]!r} is no day.", "not_a_day", _AS_IN)


def _find_roster_problems(roster: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    ids = [str(one["user_id"]).lower() for one in roster]
    yield from _find_duplicates("/roster", ids, "person", "/user_id")


def _find_duplicates(
    at: str, names: Sequence[str], kind: str, inside: str = ""
) -> Iterator[Finding]:
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name in seen:
            detail = f"The {kind} {name} is named twice."
            yield Finding(f"{at}/{number}{inside}", detail, f"{kind}_twice", "Name each once.")
        seen.add(name)


def ensure_owner(roster: Mapping[UUID, WorkflowRole], creator: UUID) -> dict[UUID, WorkflowRole]:
    """Return the roster with the creator as owner when nobody else is."""
    if "owner" in roster.values():
        return dict(roster)
    return {**roster, creator: "owner"}


def find_non_members(
    roster: Sequence[Mapping[str, Any]], members: Collection[UUID]
) -> list[Finding]:
    """Find people in a roster who are not members of the workspace."""
    return [
        Finding(
            f"/roster/{number}/user_id",
            f"{one['user_id']} is no member of this workspace.",
            "not_a_member",
            "Invite them first; list_members shows who is here.",
        )
        for number, one in enumerate(roster)
        if UUID(str(one["user_id"])) not in members
    ]


def refuse(findings: Sequence[Finding], code: str = "workflow_invalid") -> None:
    """Raise when there is any problem, so that nothing is stored."""
    if findings:
        raise Invalid(
            f"The workflow cannot be kept: {findings[0].detail}", code=code, findings=findings
        )
