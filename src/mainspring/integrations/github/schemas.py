"""The schemas of GitHub's capabilities; the bounds are those that GitHub has itself."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.object_schema import build_object_schema
from mainspring.integrations.github.names import OWNER, REPO

# As long as GitHub takes them.
_TITLE: Final = 256
_BODY: Final = 65_536
_URL: Final[dict[str, Any]] = {"type": "string", "description": "Where people see it."}
_NUMBER: Final[dict[str, Any]] = {
    "type": "integer",
    "description": "The number of the issue or pull request.",
    "minimum": 1,
    "maximum": 2_147_483_647,
}

ISSUE_INPUT: Final = build_object_schema(
    {
        "owner": OWNER,
        "repo": REPO,
        "title": {"type": "string", "minLength": 1, "maxLength": _TITLE},
        "body": {"type": "string", "description": "In Markdown.", "maxLength": _BODY},
        "labels": {
            "type": "array",
            "description": "Names of labels; those that are new are made.",
            "maxItems": 100,
            "uniqueItems": True,
            "items": {"type": "string", "minLength": 1, "maxLength": 50},
        },
        "assignees": {
            "type": "array",
            "description": "Logins of those who shall look after it.",
            "maxItems": 10,
            "uniqueItems": True,
            "items": OWNER,
        },
    },
    ["owner", "repo", "title"],
    [
        {"owner": "octo", "repo": "hello", "title": "The door does not close"},
        {
            "owner": "octo",
            "repo": "hello",
            "title": "The door does not close",
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
        ({"owner": "octo", "repo": "octo/hello", "title": "x"}, "the owner stands apart"),
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
            "description": "Labels and people that GitHub did not take over: the account may not.",
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
            "description": "In Markdown.",
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
        "comment_id": {"type": "integer", "description": "The comment's own number."},
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
