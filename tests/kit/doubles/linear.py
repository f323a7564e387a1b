"""Linear's GraphQL API on loopback: a workspace with teams, people, labels and issues."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

TOKEN = "lin_oauth_00a21d8b0c4e2375114e49c067dfb81eb0d2076f"
TEAM = "9cfb482a-81e3-4154-b5b9-2c805e70a02d"
_FIELD = re.compile(
    r"\b(viewer|issues|searchIssues|teams|users|issueLabels|issueCreate|issue)\b\s*[({]"
)
_DECLARED = re.compile(r"\$(\w+): (\[?\w+!?\]?!?)")
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def answer(value: Any, *headers: str, status: int = 200) -> bytes:
    """An answer in JSON."""
    return http_answer(
        status, json.dumps(value).encode(), "Content-Type: application/json", *headers
    )


def refusal(code: str, message: str, *headers: str, status: int = 400, kind: str = "") -> bytes:
    """An error as Linear tells it."""
    extensions = {
        "type": kind or code.lower().replace("_", " "),
        "code": code,
        "statusCode": status,
        "userError": code == "INPUT_ERROR",
        "userPresentableMessage": message,
        "http": {"status": status},
    }
    error = {"message": message, "path": ["issueCreate"], "extensions": extensions}
    return answer({"errors": [error]}, *headers, status=status)


def typed(kind: str, message: str = "No.", *headers: str, status: int = 200) -> bytes:
    """An error with nothing but its type, which Linear writes in words."""
    error = {"message": message, "extensions": {"type": kind} if kind else {}}
    return answer({"data": None, "errors": [error]}, *headers, status=status)


@dataclass(slots=True)
class LinearDouble(ScriptedDouble):
    """What is in the workspace."""

    issues: list[dict[str, Any]] = field(default_factory=list)
    teams: list[dict[str, Any]] = field(
        default_factory=lambda: [{"id": TEAM, "key": "ENG", "name": "Engineering"}]
    )
    users: list[dict[str, Any]] = field(default_factory=list)
    labels: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.pair}/graphql"

    def issue(self, number: int, at: str, **more: Any) -> dict[str, Any]:
        """An issue as Linear shows it, put into the workspace."""
        shown: dict[str, Any] = {
            "id": f"00000000-0000-4000-8000-{number:012}",
            "identifier": f"ENG-{number}",
            "title": f"Issue {number}",
            "description": "Said at length.",
            "url": f"https://linear.app/octo/issue/ENG-{number}",
            "priority": 2,
            "createdAt": at,
            "updatedAt": at,
            "completedAt": None,
            "canceledAt": None,
            "dueDate": None,
            "state": {"name": "Todo", "type": "unstarted"},
            "team": {"key": "ENG", "name": "Engineering"},
            "assignee": None,
            "creator": {"name": "Mona"},
            "labels": {"nodes": [{"name": "Bug"}]},
            **more,
        }
        self.issues.append(shown)
        return shown

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        if not head.startswith(b"POST /graphql HTTP/1.1\r\n"):
            return http_answer(404, b"Cannot GET")
        if headers.get("content-type") != "application/json":
            return refusal("BAD_REQUEST", "This operation has been blocked as a potential CSRF")
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return refusal("AUTHENTICATION_ERROR", "Authentication required", status=401)
        sent = json.loads(body)
        document, variables = sent["query"], sent.get("variables", {})
        declared = dict(_DECLARED.findall(document))
        missing = [
            name
            for name, kind in declared.items()
            if kind.endswith("!") and variables.get(name) is None
        ]
        if document.count("{") != document.count("}") or missing or variables.keys() - declared:
            return refusal("GRAPHQL_VALIDATION_FAILED", f"Variables are wrong: {missing}")
        found = _FIELD.search(document)
        assert found is not None
        self.messages.append({"field": found[1], **variables})
        return self._answered(found[1], variables)

    def _answered(self, named: str, arguments: dict[str, Any]) -> bytes:
        if named == "viewer":
            me = {"name": "Mona", "email": "mona@octo.example", "organization": {"name": "Octo"}}
            return answer({"data": {"viewer": me}})
        if named == "issueCreate":
            return self._create(arguments["input"])
        if named == "issue":
            found = [one for one in self.issues if one["id"] == arguments["id"]]
            if not found:
                return refusal("INPUT_ERROR", "Entity not found: Issue", status=200)
            return answer({"data": {"issue": found[0]}})
        if named in {"issues", "searchIssues"}:
            return self._listed(named, arguments)
        entries = {"teams": self.teams, "users": self.users, "issueLabels": self.labels}[named]
        nodes = [one for one in entries if _fits(one, arguments["filter"])]
        return answer({"data": {named: {"nodes": nodes}}})

    def _create(self, arguments: dict[str, Any]) -> bytes:
        if not _UUID4.fullmatch(arguments["id"]):
            return refusal("INPUT_ERROR", "id must be a UUID")
        if any(one["id"] == arguments["id"] for one in self.issues):
            return refusal("INPUT_ERROR", "Entity with this id already exists", status=200)
        if arguments["teamId"] not in {one["id"] for one in self.teams}:
            return refusal("INPUT_ERROR", "Entity not found: Team", status=200)
        number = len(self.issues) + 1
        made = self.issue(
            number, "2026-03-01T09:00:00.000Z", id=arguments["id"], title=arguments["title"]
        )
        return answer({"data": {"issueCreate": {"success": True, "issue": made}}})

    def _listed(self, named: str, arguments: dict[str, Any]) -> bytes:
        since = ((arguments.get("filter") or {}).get("updatedAt") or {}).get("gte", "")
        term = arguments.get("term", "").lower()
        found = sorted(
            (
                one
                for one in self.issues
                if str(one.get("updatedAt")) >= since and term in str(one.get("title")).lower()
            ),
            key=lambda one: str(one.get("updatedAt")),
            reverse=True,
        )
        ids = [one.get("id") for one in found]
        after = arguments.get("after")
        if after is not None and after not in ids:
            return refusal("INPUT_ERROR", "Cursor is not valid", status=200)
        begin = ids.index(after) + 1 if after is not None else 0
        shown = found[begin : begin + arguments["first"]]
        if not arguments["whole"]:
            shown = [{k: v for k, v in one.items() if k != "description"} for one in shown]
        info = {
            "hasNextPage": begin + len(shown) < len(found),
            "endCursor": shown[-1].get("id") if shown else None,
        }
        return answer({"data": {named: {"nodes": shown, "pageInfo": info}}})


def _fits(entry: dict[str, Any], wanted: dict[str, Any]) -> bool:
    if "or" in wanted:
        return any(_fits(entry, one) for one in wanted["or"])
    return all(
        str(entry.get(name, "")).lower() == str(how["eqIgnoreCase"]).lower()
        for name, how in wanted.items()
    )


@contextlib.asynccontextmanager
async def linear_double() -> AsyncIterator[LinearDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(LinearDouble()) as double:
        yield double
