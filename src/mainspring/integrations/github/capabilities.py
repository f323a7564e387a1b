"""What GitHub adds: ``github.open_issue`` and ``github.comment``, which a person sees first.

GitHub honours no idempotency key: when an answer is lost nobody can say whether it was done, and
so it is not said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.provider_answers import malformed_response_error
from mainspring.contracts.shown_text import format_first_line
from mainspring.integrations.github.client import GitHub, build_repository_path
from mainspring.integrations.github.refusals import NAME, RequestSubject
from mainspring.integrations.github.schemas import (
    COMMENT_INPUT,
    COMMENT_OUTPUT,
    ISSUE_INPUT,
    ISSUE_OUTPUT,
)

_SHOWN = 160


def open_issue(github: GitHub) -> Capability:
    """The capability over one GitHub."""

    async def opened(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        owner, repo = arguments["owner"], arguments["repo"]
        sent = {key: arguments[key] for key in _ISSUE if key in arguments}
        path = build_repository_path(owner, repo, "issues")
        found = await github.post(ctx, path, sent, RequestSubject(f"{owner}/{repo}"))
        number, url = found.get("number"), found.get("html_url")
        if not isinstance(number, int) or not isinstance(url, str):
            raise malformed_response_error(NAME)
        return {"issue_number": number, "url": url, "left_out": list_dropped(sent, found)}

    return Capability(
        id="github.open_issue",
        description="Open an issue at GitHub\n\n"
        "Opens an issue in a repository, as the connected account. "
        "A person sees it before it leaves.",
        input_schema=ISSUE_INPUT,
        output_schema=ISSUE_OUTPUT,
        handler=opened,
        write=Write(
            preview=issue_preview,
            editable=("title", "body", "labels", "assignees"),
            wording=("title", "body"),
            destination=("owner", "repo", "assignees"),
            family="issue",
        ),
        annotations=_sends(github),
    )


def build_comment_capability(github: GitHub) -> Capability:
    """The capability over one GitHub."""

    async def commented(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        owner, repo, number = (arguments[key] for key in ("owner", "repo", "number"))
        path = build_repository_path(owner, repo, "issues", str(number), "comments")
        asked = RequestSubject(f"{owner}/{repo}#{number}")
        found = await github.post(ctx, path, {"body": arguments["body"]}, asked)
        named, url = found.get("id"), found.get("html_url")
        if not isinstance(named, int) or not isinstance(url, str):
            raise malformed_response_error(NAME)
        return {"issue_number": number, "comment_id": named, "url": url}

    return Capability(
        id="github.comment",
        description="Comment at GitHub\n\n"
        "Comments on an issue or a pull request, as the connected account. "
        "A person sees the comment before it leaves.",
        input_schema=COMMENT_INPUT,
        output_schema=COMMENT_OUTPUT,
        handler=commented,
        write=Write(
            preview=comment_preview,
            editable=("body",),
            wording=("body",),
            destination=("owner", "repo"),
            family="message",
        ),
        annotations=_sends(github),
    )


def issue_preview(arguments: Mapping[str, Any]) -> str:
    """Which issue will be opened where, in one line."""
    place = f"{arguments['owner']}/{arguments['repo']}"
    line = f"Open an issue in {place} at GitHub: {format_first_line(arguments['title'], _SHOWN)}"
    for name, words in (("labels", "labelled"), ("assignees", "assigned to")):
        if arguments.get(name):
            line += f", {words} {format_first_line(', '.join(arguments[name]), 60)}"
    body = format_first_line(arguments.get("body", ""), _SHOWN)
    return f"{line} — {body}" if body else line


def comment_preview(arguments: Mapping[str, Any]) -> str:
    """What will be said where, in one line."""
    place = f"{arguments['owner']}/{arguments['repo']}#{arguments['number']}"
    return f"Comment on {place} at GitHub: {format_first_line(arguments['body'], _SHOWN)}"


def list_dropped(sent: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Labels and people that GitHub dropped: it does so silently where an account may not."""
    taken = {name.lower() for key in ("labels", "assignees") for name in _names(found.get(key))}
    asked = [*sent.get("labels", ()), *sent.get("assignees", ())]
    return [name for name in asked if name.lower() not in taken]


_ISSUE = ("title", "body", "labels", "assignees")


def _names(entries: Any) -> list[str]:
    found = entries if isinstance(entries, list) else []
    inner = [one.get("name") or one.get("login") for one in found if isinstance(one, dict)]
    return [one for one in [*inner, *found] if isinstance(one, str)]


def _sends(github: GitHub) -> Annotations:
    return Annotations(
        effect=Effect.SEND,
        seconds=2.0,
        hosts=github.hosts,
        route=ConnectionRoute("github", github.hosts, "needed", scopes=frozenset({"repo"})),
    )
