"""Linear capability ``linear_create_issue``, after approval.

Linear accepts client-generated issue ids. The id is derived from the call's key, so a retry finds
the issue of the first attempt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.display_text import format_first_line
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.provider_responses import malformed_response_error
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import WriteDescription, quote_values
from mainspring.integrations.linear.client import NAME, Linear

_SHOWN: Final = 160
_PRIORITIES: Final = {"none": 0, "urgent": 1, "high": 2, "medium": 3, "low": 4}
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def create_issue(linear: Linear) -> Capability:
    """Build the capability."""

    async def created(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        team = await _team(linear, ctx, arguments["team"])
        issue: dict[str, Any] = {
            "id": issue_id(f"{ctx.actor.workspace_id}/{ctx.key}"),
            "teamId": team,
            "title": arguments["title"],
        }
        if "description" in arguments:
            issue["description"] = arguments["description"]
        if "priority" in arguments:
            issue["priority"] = _PRIORITIES[arguments["priority"]]
        if "due_date" in arguments:
            issue["dueDate"] = arguments["due_date"]
        if "assignee" in arguments:
            issue["assigneeId"] = await _person(linear, ctx, arguments["assignee"])
        if arguments.get("labels"):
            issue["labelIds"] = await _labels(linear, ctx, team, arguments["labels"])
        made = await linear.create(ctx, issue)
        found = {key: made.get(key) for key in ("id", "identifier", "url")}
        if not all(isinstance(value, str) for value in found.values()):
            raise malformed_response_error(NAME)
        return found

    return Capability(
        id="linear_create_issue",
        description="Create an issue in Linear\n\n"
        "Creates an issue in a team as the connected account, after a person approves "
        "it.",
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        handler=created,
        write=Write(
            preview=preview,
            editable=_EDITABLE,
            wording=("title", "description"),
            destination=("team", "assignee"),
            family="issue",
            describe=describe_issue,
        ),
        annotations=Annotations(
            toolset=Toolset.SERVICES,
            default_tool=True,
            effect=Effect.SEND,
            seconds=3.0,
            hosts=linear.hosts,
            route=ConnectionRoute(
                "linear", linear.hosts, "needed", scopes=frozenset({"issues:create"})
            ),
        ),
    )


def issue_id(key: str) -> str:
    """Derive an issue id from the call's key, in Linear's format."""
    return str(UUID(bytes=hashlib.sha256(f"linear/{key}".encode()).digest()[:16], version=4))


def preview(arguments: Mapping[str, Any]) -> str:
    """Preview the issue and its team in one line."""
    line = f"Create an issue in {format_first_line(arguments['team'], 80)} at Linear: "
    line += format_first_line(arguments["title"], _SHOWN)
    for name, words in (("priority", "priority"), ("assignee", "for"), ("due_date", "due")):
        if arguments.get(name):
            line += f", {words} {format_first_line(arguments[name], 60)}"
    if arguments.get("labels"):
        line += f", labelled {format_first_line(', '.join(arguments['labels']), 60)}"
    text = format_first_line(arguments.get("description", ""), _SHOWN)
    return f"{line} — {text}" if text else line


async def _team(linear: Linear, ctx: CallContext, named: str) -> str:
    """Return the id of a team given by id, key or name."""
    if _UUID.fullmatch(named):
        return named
    for wanted in ({"key": {"eqIgnoreCase": named}}, {"name": {"eqIgnoreCase": named}}):
        found = await linear.teams(ctx, wanted)
        if found:
            return _only(found, "/team", f"a team called {named!r}")
    raise _unknown("/team", f"a team called {named!r}")


async def _person(linear: Linear, ctx: CallContext, named: str) -> str:
    """Return the id of a user given by id, address or name."""
    if _UUID.fullmatch(named):
        return named
    how = ("email",) if "@" in named else ("displayName", "name")
    for field in how:
        found = await linear.users(ctx, {field: {"eqIgnoreCase": named}})
        if found:
            return _only(found, "/assignee", f"someone called {named!r}")
    raise _unknown("/assignee", f"someone called {named!r}")


async def _labels(linear: Linear, ctx: CallContext, team: str, named: list[str]) -> list[str]:
    """Return label ids by name: the team's own, else the workspace's."""
    either = [{"name": {"eqIgnoreCase": name}} for name in named]
    found = [one for one in await linear.labels(ctx, {"or": either}) if isinstance(one, dict)]
    ids: list[str] = []
    for at, name in enumerate(named):
        fits = [one for one in found if str(one.get("name")).lower() == name.lower()]
        own = [one for one in fits if (one.get("team") or {}).get("id") == team]
        shared = [one for one in fits if not one.get("team")]
        if not own and not shared:
            raise _unknown(f"/labels/{at}", f"a label called {name!r} for this team")
        ids.append(_only((own or shared)[:1], f"/labels/{at}", name))
    return ids


def _only(found: list[Any], pointer: str, what: str) -> str:
    named = found[0].get("id") if isinstance(found[0], dict) else None
    if not isinstance(named, str):
        raise malformed_response_error(NAME)
    if len(found) > 1:
        raise _wrong(pointer, f"Linear has more than one: {what}.", "Give the id instead.")
    return named


def _unknown(pointer: str, what: str) -> Invalid:
    return _wrong(pointer, f"Linear did not find {what}.", "Look in Linear how it is written.")


def _wrong(pointer: str, detail: str, suggestion: str) -> Invalid:
    return Invalid(
        detail,
        code="linear_unknown",
        findings=[Finding(pointer, detail, "linear_unknown", suggestion)],
        suggestion=suggestion,
        unsent=True,
    )


_EDITABLE: Final = ("title", "description", "priority", "assignee", "labels", "due_date")
_NAME: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 255}
_INPUT: Final = build_object_schema(
    {
        "team": {**_NAME, "description": "Key (such as ENG), name or id."},
        "title": {**_NAME, "maxLength": 512},
        "description": {"type": "string", "description": "Markdown.", "maxLength": 100_000},
        "priority": {"enum": list(_PRIORITIES)},
        "assignee": {
            **_NAME,
            "description": "Email address, name in Linear or id.",
        },
        "labels": {
            "type": "array",
            "description": "Existing labels of the team or workspace.",
            "maxItems": 20,
            "uniqueItems": True,
            "items": _NAME,
        },
        "due_date": {
            "type": "string",
            "description": "Such as 2026-03-01.",
            "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            "x-mainspring-says": "This must be a day, such as 2026-03-01.",
        },
    },
    ["team", "title"],
    [
        {"team": "ENG", "title": "The login fails"},
        {
            "team": "ENG",
            "title": "The login fails",
            "description": "It happens **every evening**.",
            "priority": "high",
            "assignee": "mona@example.com",
            "labels": ["Bug"],
            "due_date": "2026-03-01",
        },
        {"team": "ENG", "title": "{{ inputs.title }}", "description": "{{ steps.report.text }}"},
    ],
    [
        ({"title": "x"}, "an issue belongs to a team"),
        ({"team": "ENG", "title": ""}, "a title says something"),
        ({"team": "ENG", "title": "x", "priority": 1}, "a priority is a word"),
        ({"team": "ENG", "title": "x", "labels": "Bug"}, "labels are a list"),
        ({"team": "ENG", "title": "x", "due_date": "tomorrow"}, "a day is written as a date"),
        ({"team": "ENG", "title": "x", "body": "y"}, "it is called description"),
    ],
)
_OUTPUT: Final = build_object_schema(
    {
        "id": {"type": "string"},
        "identifier": {"type": "string", "description": "Such as ENG-7."},
        "url": {"type": "string", "description": "Its page."},
    },
    ["id", "identifier", "url"],
    [
        {
            "id": "6f1c0d2e-3a4b-4c5d-8e6f-0123456789ab",
            "identifier": "ENG-7",
            "url": "https://linear.app/octo/issue/ENG-7",
        }
    ],
    [({"identifier": "ENG-7"}, "an issue that was made is to be seen somewhere")],
)


def describe_issue(config: Mapping[str, Any]) -> WriteDescription:
    """Describe an issue by its team."""
    team = config.get("team")
    where = f"the Linear team {quote_values(team)}" if team else "any Linear team"
    texts = ("title", "description", "assignee", "labels")
    return WriteDescription("create", f"issues for {where}", texts, "linear")
