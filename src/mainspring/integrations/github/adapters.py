"""Board adapter for repositories: pull requests, issues, releases and commits.

A public repository is read without a connection; with one, GitHub's rate limit is much higher. A
list longer than one refresh allows is not truncated silently: it is rejected with a remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import TooLarge
from mainspring.contracts.integration import Adapter, Operation
from mainspring.contracts.object_schema import build_object_schema
from mainspring.integrations.github.client import GitHub, RequestSubject, build_repository_path
from mainspring.integrations.github.mapping import (
    build_commit_row,
    build_pr_row,
    build_rows,
    issue_row,
    release_row,
)
from mainspring.integrations.github.names import OWNER, REPO, normalize_repository_ref

MOST_ROWS: Final = 5_000
# Commit histories are unbounded, so they have a default limit.
USUAL_COMMITS: Final = 250


@dataclass(frozen=True, slots=True)
class _OperationSpec:
    """An operation of the table below."""

    name: str
    label: str
    says: str
    params: Mapping[str, Any]
    columns: Mapping[str, str]
    part: str
    row: Callable[[Any], Any]
    size: int
    fixed: Mapping[str, str] = field(default_factory=dict)
    usual: int = 0


_REF: Final[dict[str, Any]] = {
    **build_object_schema(
        {
            "owner": {**OWNER, "title": "Owner"},
            "repo": {**REPO, "title": "Repository"},
            "name": {**REPO, "description": "The same as repo."},
        },
        ["owner"],
        [{"owner": "octo", "repo": "hello"}, {"owner": "octo", "name": "hello"}],
        [
            ({"owner": "octo"}, "which of their repositories"),
            ({"repo": "octo/hello"}, "the owner is a separate field"),
            ({"owner": "octo", "repo": "../x"}, "no repository is called so"),
        ],
    ),
    "anyOf": [{"required": ["repo"]}, {"required": ["name"]}],
}
_LIMIT: Final[dict[str, Any]] = {
    "type": "integer",
    "description": "Only so many, in the order that GitHub lists them in.",
    "minimum": 1,
    "maximum": MOST_ROWS,
}
_STATE: Final[dict[str, Any]] = {"enum": ["open", "closed", "all"], "default": "all"}
_WORD: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 250}
_MOMENT: Final[dict[str, Any]] = {
    "type": "string",
    "format": "date-time",
    "maxLength": 40,
    "description": "Such as 2026-03-01T00:00:00Z.",
}
_DIRECTION: Final[dict[str, Any]] = {"enum": ["asc", "desc"]}
_PR_PARAMS: Final[dict[str, Any]] = {
    "base": {**_WORD, "description": "The branch to merge into."},
    "head": {**_WORD, "description": "The branch that they come from, as owner:branch."},
    "sort": {"enum": ["created", "updated", "popularity", "long-running"]},
    "direction": _DIRECTION,
    "limit": _LIMIT,
}
_ISSUE_PARAMS: Final[dict[str, Any]] = {
    "labels": {
        "description": "Only those that have all of these labels.",
        "type": "array",
        "minItems": 1,
        "maxItems": 20,
        "items": {**_WORD, "pattern": "^[^,]+$"},
    },
    "since": {**_MOMENT, "description": "Only those that changed since then."},
    "assignee": {**_WORD, "description": "A login, none, or *."},
    "creator": {**_WORD, "description": "A login."},
    "milestone": {**_WORD, "description": "The number of a milestone, none, or *."},
    "sort": {"enum": ["created", "updated", "comments"]},
    "direction": _DIRECTION,
    "limit": _LIMIT,
}
_COMMIT_PARAMS: Final[dict[str, Any]] = {
    "sha": {**_WORD, "description": "The branch or commit to begin with."},
    "path": {**_WORD, "description": "Only commits that touch this file or folder."},
    "author": {**_WORD, "description": "A login or an e-mail address."},
    "since": _MOMENT,
    "until": _MOMENT,
    "limit": {**_LIMIT, "default": USUAL_COMMITS},
}
_NUMBERED: Final[dict[str, str]] = {
    "id": "number",
    "number": "number",
    "title": "text",
    "state": "text",
    "author": "text",
    "labels": "json",
    "assignees": "json",
    "created_at": "datetime",
    "updated_at": "datetime",
    "closed_at": "datetime",
    "url": "url",
}
_PR_COLUMNS: Final = {
    **_NUMBERED,
    "draft": "boolean",
    "head": "text",
    "base": "text",
    "merged_at": "datetime",
}
_ISSUE_COLUMNS: Final = {**_NUMBERED, "comments": "number", "milestone": "text"}
_RELEASE_COLUMNS: Final[dict[str, str]] = {
    "id": "number",
    "tag": "text",
    "name": "text",
    "draft": "boolean",
    "prerelease": "boolean",
    "author": "text",
    "created_at": "datetime",
    "published_at": "datetime",
    "url": "url",
}
_COMMIT_COLUMNS: Final[dict[str, str]] = {
    "id": "text",
    "sha": "text",
    "message": "text",
    "author": "text",
    "author_login": "text",
    "committed_at": "datetime",
    "url": "url",
}


# Each operation: name, label, description, parameters and columns, path and row mapping, page size
# (entries are large), fixed query, and default limit (None: all).
_OPERATIONS: Final[tuple[_OperationSpec, ...]] = (
    _OperationSpec(
        "list_open_prs",
        "Open pull requests",
        "The open pull requests.",
        _PR_PARAMS,
        _PR_COLUMNS,
        "pulls",
        build_pr_row,
        15,
        {"state": "open"},
    ),
    _OperationSpec(
        "list_prs",
        "All pull requests",
        "All pull requests, or those of one state.",
        {"state": _STATE, **_PR_PARAMS},
        _PR_COLUMNS,
        "pulls",
        build_pr_row,
        15,
        {"state": "all"},
    ),
    _OperationSpec(
        "list_open_issues",
        "Open issues",
        "The open issues, without pull requests.",
        _ISSUE_PARAMS,
        _ISSUE_COLUMNS,
        "issues",
        issue_row,
        50,
        {"state": "open"},
    ),
    _OperationSpec(
        "list_issues",
        "All issues",
        "All issues, or those of one state, without pull requests.",
        {"state": _STATE, **_ISSUE_PARAMS},
        _ISSUE_COLUMNS,
        "issues",
        issue_row,
        50,
        {"state": "all"},
    ),
    _OperationSpec(
        "list_releases",
        "Releases",
        "The releases.",
        {"limit": _LIMIT},
        _RELEASE_COLUMNS,
        "releases",
        release_row,
        15,
    ),
    _OperationSpec(
        "list_commits",
        "Commits",
        f"The newest commits of a branch: {USUAL_COMMITS}, or as many as limit says.",
        _COMMIT_PARAMS,
        _COMMIT_COLUMNS,
        "commits",
        build_commit_row,
        50,
        usual=USUAL_COMMITS,
    ),
)


def build_repository_adapter(github: GitHub) -> Adapter:
    """Build the adapter."""
    return Adapter(
        kind="github",
        description="A repository at GitHub: its pull requests, issues, releases and commits.",
        ref_schema=_REF,
        normal=normalize_repository_ref,
        connection="used",
        label="GitHub repository",
        operations=tuple(_operation(github, told) for told in _OPERATIONS),
    )


def _operation(github: GitHub, told: _OperationSpec) -> Operation:
    async def read(
        ctx: CallContext, ref: Mapping[str, Any], params: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        owner, repo = normalize_repository_ref(ref).values()
        most = int(params.get("limit", told.usual or MOST_ROWS))
        found, more = await github.list_all(
            ctx,
            build_repository_path(owner, repo, told.part),
            {**told.fixed, **_query(params)},
            told.size,
            most,
            RequestSubject(f"{owner}/{repo}"),
        )
        if more and "limit" not in params and not told.usual:
            raise _too_many(f"{owner}/{repo}")
        return build_rows(found, told.row)

    wrong = [({"limit": 0}, "none at all"), ({"no_such": 1}, "no one knows this one")]
    return Operation(
        f"github.{told.name}",
        told.says,
        build_object_schema(told.params, [], [{}, {"limit": 100}], wrong),
        read,
        told.columns,
        label=told.label,
    )


def _query(params: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: ",".join(value) if isinstance(value, list) else str(value)
        for name, value in params.items()
        if name != "limit"
    }


def _too_many(what: str) -> TooLarge:
    return TooLarge(
        f"{what} has more than {MOST_ROWS} of these, which is more than one refresh brings.",
        code="github_too_many",
        suggestion="Set limit, or ask for fewer with state, labels or since.",
    )
