"""GitHub capabilities ``github.open_issue`` and ``github.comment``, after approval.

GitHub supports no idempotency key: when a response is lost, the outcome is unknown and reported as
such.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.display_text import format_first_line
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.provider_responses import malformed_response_error
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import WriteDescription, quote_values
from mainspring.integrations.github.client import (
    NAME,
    GitHub,
    RequestSubject,
    build_repository_path,
)
from mainspring.integrations.github.names import OWNER, REPO

# Schemas of the capabilities; the limits are GitHub's.

# GitHub's limits.
_TITLE: Final = 256
_BODY: Final = 65_536
_URL: Final[dict[str, Any]] = {"type": "string", "description": "Its page."}
_NUMBER: Final[dict[str, Any]] = {
    "type": "integer",
    "description": "Of the issue or pull request.",
    "minimum": 1,
    "maximum": 2_147_483_647,
}

ISSUE_INPUT: Final = build_object_schema(
    {
        "owner": OWNER,
        "repo": REPO,
        "title": {"type": "string", "minLength": 1, "maxLength": _TITLE},
        "body": {"type": "string", "description": "Markdown.", "maxLength": _BODY},
        "labels": {
            "type": "array",
            "description": "Missing labels are created.",
            "maxItems": 100,
            "uniqueItems": True,
            "items": {"type": "string", "minLength": 1, "maxLength": 50},
        },
        "assignees": {
            "type": "array",
            "description": "Logins.",
            "maxItems": 10,
            "uniqueItems": True,
            "items": OWNER,
        },
    },
    ["owner", "repo", "title"],
    [
        {"owner": "octo", "repo": "hello", "title": "The login fails"},
        {
            "owner": "octo",
            "repo": "hello",
            "title": "The login fails",
            "body": "It happens **every evening**.",
            "labels": ["bug"],
            "assignees": ["mona"],
        },
        {
            "owner": "octo",
            "repo": "hello",
            "title": "{{ inputs.title }}",
            "body": "{{ steps.report.text }}",
        },
    ],
    [
        ({"owner": "octo", "repo": "hello"}, "an issue has a title"),
        ({"owner": "octo", "repo": "hello", "title": ""}, "a title says something"),
        ({"owner": "octo", "repo": "octo/hello", "title": "x"}, "the owner is a separate field"),
        ({"owner": "octo", "repo": "..", "title": "x"}, "no repository is called so"),
        ({"owner": "../x", "repo": "hello", "title": "x"}, "no owner is called so"),
        ({"owner": "o", "repo": "h", "title": "x", "labels": "bug"}, "labels are a list"),
        ({"owner": "o", "repo": "h", "title": "x", "assignee": "mona"}, "they are assignees"),
    ],
)
ISSUE_OUTPUT: Final = build_object_schema(
    {
        "issue_number": _NUMBER,
        "url": _URL,
        "left_out": {
            "type": "array",
            "description": "Labels and assignees that GitHub did not accept because of the "
            "account's permissions.",
            "items": {"type": "string"},
        },
    },
    ["issue_number", "url", "left_out"],
    [
        {
            "issue_number": 7,
            "url": "https://github.com/octo/hello/issues/7",
            "left_out": [],
        }
    ],
    [({"issue_number": 7}, "an issue that was opened is to be seen somewhere")],
)
COMMENT_INPUT: Final = build_object_schema(
    {
        "owner": OWNER,
        "repo": REPO,
        "number": _NUMBER,
        "body": {
            "type": "string",
            "description": "Markdown.",
            "minLength": 1,
            "maxLength": _BODY,
        },
    },
    ["owner", "repo", "number", "body"],
    [
        {"owner": "octo", "repo": "hello", "number": 7, "body": "Mended in the cellar."},
        {"owner": "octo", "repo": "hello", "number": 7, "body": "{{ steps.report.text }}"},
    ],
    [
        ({"owner": "octo", "repo": "hello", "number": 7}, "nothing to say"),
        ({"owner": "octo", "repo": "hello", "number": 7, "body": ""}, "nothing to say"),
        ({"owner": "octo", "repo": "hello", "number": "#7", "body": "x"}, "a number is a number"),
        ({"owner": "octo", "repo": "hello", "number": 0, "body": "x"}, "numbers begin at one"),
    ],
)
COMMENT_OUTPUT: Final = build_object_schema(
    {
        "issue_number": _NUMBER,
        "comment_id": {"type": "integer", "description": "Number of the comment."},
        "url": _URL,
    },
    ["issue_number", "comment_id", "url"],
    [
        {
            "issue_number": 7,
            "comment_id": 1001,
            "url": "https://github.com/octo/hello/issues/7#issuecomment-1001",
        }
    ],
    [({"issue_number": 7, "url": "https://github.com"}, "a comment has a number of its own")],
)


_SHOWN = 160


def open_issue(github: GitHub) -> Capability:
    """Build the capability."""

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
        description="Open an issue on GitHub\n\n"
        "Opens an issue in a repository as the connected account, after a person "
        "approves it.",
        input_schema=ISSUE_INPUT,
        output_schema=ISSUE_OUTPUT,
        handler=opened,
        write=Write(
            preview=issue_preview,
            editable=("title", "body", "labels", "assignees"),
            wording=("title", "body"),
            destination=("owner", "repo", "assignees"),
            family="issue",
            describe=describe_issue,
        ),
        annotations=_sends(github),
    )


def build_comment_capability(github: GitHub) -> Capability:
    """Build the capability."""

    async def commented(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        owner, repo, number = (arguments[key] for key in ("owner", "repo", "number"))
        path = build_repository_path(owner, repo, "issues", str(number), "comments")
        subject = RequestSubject(f"{owner}/{repo}#{number}")
        found = await github.post(ctx, path, {"body": arguments["body"]}, subject)
        named, url = found.get("id"), found.get("html_url")
        if not isinstance(named, int) or not isinstance(url, str):
            raise malformed_response_error(NAME)
        return {"issue_number": number, "comment_id": named, "url": url}

    return Capability(
        id="github.comment",
        description="Comment on GitHub\n\n"
        "Comments on an issue or pull request as the connected account, after a "
        "person approves it.",
        input_schema=COMMENT_INPUT,
        output_schema=COMMENT_OUTPUT,
        handler=commented,
        write=Write(
            preview=comment_preview,
            editable=("body",),
            wording=("body",),
            destination=("owner", "repo"),
            family="message",
            describe=describe_comment,
        ),
        annotations=_sends(github),
    )


def issue_preview(arguments: Mapping[str, Any]) -> str:
    """Preview the issue and its repository in one line."""
    place = f"{arguments['owner']}/{arguments['repo']}"
    line = f"Open an issue in {place} at GitHub: {format_first_line(arguments['title'], _SHOWN)}"
    for name, words in (("labels", "labelled"), ("assignees", "assigned to")):
        if arguments.get(name):
            line += f", {words} {format_first_line(', '.join(arguments[name]), 60)}"
    body = format_first_line(arguments.get("body", ""), _SHOWN)
    return f"{line} — {body}" if body else line


def comment_preview(arguments: Mapping[str, Any]) -> str:
    """Preview the comment and its target in one line."""
    place = f"{arguments['owner']}/{arguments['repo']}#{arguments['number']}"
    return f"Comment on {place} at GitHub: {format_first_line(arguments['body'], _SHOWN)}"


def list_dropped(sent: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """List labels and assignees that GitHub dropped, which it does silently without permission."""
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
        toolset=Toolset.SERVICES,
        effect=Effect.SEND,
        seconds=2.0,
        hosts=github.hosts,
        route=ConnectionRoute("github", github.hosts, "needed", scopes=frozenset({"repo"})),
    )


def describe_issue(config: Mapping[str, Any]) -> WriteDescription:
    """Describe an issue by its repository."""
    what, texts = f"issues in {_repository(config)}", ("title", "body", "labels", "assignees")
    return WriteDescription("open", what, texts, "github")


def describe_comment(config: Mapping[str, Any]) -> WriteDescription:
    """Describe a comment by its issue or pull request."""
    number = config.get("number")
    which = f"#{quote_values(number)} of " if number else "issues of "
    what = f"on {which}{_repository(config)}"
    return WriteDescription("comment", what, ("body",), "github")


def _repository(config: Mapping[str, Any]) -> str:
    owner, repo = config.get("owner"), config.get("repo")
    if not owner and not repo:
        return "any GitHub repository"
    return f"the GitHub repository {quote_values(owner)}/{quote_values(repo)}"
