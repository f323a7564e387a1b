"""Standing rules as capabilities: see them, accept or decline one, take one away.

Accepting widens what an automation does without being asked, so it is for a person who may edit,
and for nobody's program. Taking away is free for whoever decides about drafts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import PersonRequired
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.gate.standing.rules import decide_rule, end_rule, list_rules

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SOME_ID: Final = "01900000-0000-7000-8000-0000000000c1"
_ID: Final[dict[str, Any]] = {"type": "string", "format": "uuid"}
_STATES: Final = ["proposed", "active", "declined", "withdrawn"]
_MOST: Final = 100
_USUAL: Final = 50
_DECIDING: Final = Annotations(
    toolset=Toolset.APPROVALS,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
    permission=Permission.EDIT,
    subject=lambda given, _: given.get("rule_id"),
)
_ENDING: Final = Annotations(
    toolset=Toolset.APPROVALS,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
    permission=Permission.DECIDE,
    subject=lambda given, _: given.get("rule_id"),
)
_RULE: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["rule_id", "automation_id", "capability", "pattern", "status"],
    "properties": {
        "rule_id": _ID,
        "automation_id": _ID,
        "automation": {"type": "string"},
        "version": {
            "type": "integer",
            "description": "Also applies to later versions that send the same.",
        },
        "capability": {"type": "string"},
        "pattern": {
            "type": "object",
            "description": "What must match exactly; only text may differ.",
        },
        "status": {"enum": _STATES},
        "seen": {"type": "integer", "description": "Confirmed drafts that led to the proposal."},
        "uses": {"type": "integer", "description": "Writes sent by this rule."},
        "proposed_at": {"type": "string", "format": "date-time"},
        "decided_by": {"type": ["string", "null"], "format": "uuid"},
        "decided_at": {"type": ["string", "null"], "format": "date-time"},
        "ended_at": {"type": ["string", "null"], "format": "date-time"},
        "ended_reason": {"type": ["string", "null"]},
    },
}
_EXAMPLE: Final[dict[str, Any]] = {
    "rule_id": _SOME_ID,
    "automation_id": _SOME_ID,
    "capability": "send_email",
    "pattern": {"to": ["ada@example.com"]},
    "status": "proposed",
}


def standing_capabilities(address: str = "") -> tuple[Capability, ...]:
    """All of them; ``address`` is the server's own."""

    async def decided(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return await _decide_rule(ctx, arguments, address)

    return (
        build_capability(
            "list_standing_rules",
            "List standing rules",
            "Returns proposed and accepted rules and how often they were used.",
            _LIST_INPUT,
            _LIST_OUTPUT,
            _list_rules,
            Annotations(
                toolset=Toolset.APPROVALS,
                effect=Effect.READ,
                transactional=True,
                seconds=0.1,
                audience=Audience.PEOPLE,
            ),
        ),
        build_capability(
            "decide_standing_rule",
            "Accept or decline a standing rule",
            "While accepted, drafts of exactly this shape are sent without review, until a "
            "similar one is edited or rejected, or the rule is withdrawn. Only a person can "
            "decide.",
            _DECIDE_INPUT,
            _RULE_OUTPUT,
            decided,
            _DECIDING,
        ),
        build_capability(
            "withdraw_standing_rule",
            "Withdraw a standing rule",
            "Every draft waits for a person again.",
            _END_INPUT,
            _RULE_OUTPUT,
            _end_rule,
            _ENDING,
        ),
    )


async def _list_rules(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    about = arguments.get("automation_id")
    rows = await list_rules(
        ctx.tx,
        ctx.actor.workspace_id,
        status=arguments.get("status"),
        automation_id=None if about is None else UUID(about),
        most=arguments.get("limit", _USUAL),
    )
    return {"rules": [_describe_rule(row) for row in rows]}


async def _decide_rule(
    ctx: CallContext, arguments: Mapping[str, Any], address: str
) -> dict[str, Any]:
    if not ctx.actor.is_person:
        raise PersonRequired(
            "A person must decide about a standing rule; a program cannot.",
            url=f"{address.rstrip('/')}/inbox?tab=rules",
            command=f"mainspring rules {arguments['decision']} {arguments['rule_id']}",
        )
    accept = arguments["decision"] == "accept"
    row = await decide_rule(ctx.tx, ctx.actor, UUID(arguments["rule_id"]), accept=accept)
    return _describe_rule(row)


async def _end_rule(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    row, news = await end_rule(ctx.tx, ctx.actor, UUID(arguments["rule_id"]))
    return _describe_rule(row) if news else Unchanged(_describe_rule(row))


def _describe_rule(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row.items() if name != "id"}
    for name in ("proposed_at", "decided_at", "ended_at"):
        shown[name] = None if shown[name] is None else shown[name].isoformat()
    shown["decided_by"] = None if row["decided_by"] is None else str(row["decided_by"])
    return {**shown, "rule_id": str(row["id"]), "automation_id": str(row["automation_id"])}


_LIST_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "status": {"enum": _STATES},
        "automation_id": _ID,
        "limit": {"type": "integer", "minimum": 1, "maximum": _MOST, "default": _USUAL},
    },
    "examples": [{}, {"status": "proposed"}],
    "x-mainspring-anti-examples": [
        {"value": {"status": "open"}, "reason": "no such status"},
        {"value": {"limit": 0}, "reason": "at least one"},
    ],
}
_LIST_OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["rules"],
    "properties": {"rules": {"type": "array", "items": _RULE}},
    "examples": [{"rules": [_EXAMPLE]}],
    "x-mainspring-anti-examples": [
        {"value": {}, "reason": "the list is returned even if it is empty"}
    ],
}
_DECIDE_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["rule_id", "decision"],
    "properties": {"rule_id": _ID, "decision": {"enum": ["accept", "decline"]}},
    "examples": [{"rule_id": _SOME_ID, "decision": "accept"}],
    "x-mainspring-anti-examples": [
        {"value": {"rule_id": _SOME_ID}, "reason": "yes or no?"},
        {"value": {"rule_id": _SOME_ID, "decision": "yes"}, "reason": "accept or decline"},
    ],
}
_END_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["rule_id"],
    "properties": {"rule_id": _ID},
    "examples": [{"rule_id": _SOME_ID}],
    "x-mainspring-anti-examples": [{"value": {}, "reason": "which rule?"}],
}
_RULE_OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    **_RULE,
    "examples": [_EXAMPLE],
    "x-mainspring-anti-examples": [
        {"value": {"rule_id": _SOME_ID}, "reason": "what it releases is always returned"}
    ],
}
