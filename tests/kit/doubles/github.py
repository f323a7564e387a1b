"""GitHub's REST API on loopback: repositories with what is in them, checked and paged as there."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

TOKEN = "gho_16C7e42F292c6912E7710c838347Ae178B4a"
JSON = "Content-Type: application/json; charset=utf-8"
MOST_PER_PAGE = 100
MOST_SEARCHED = 256
# Of one event, in one repository.
MOST_HOOKS = 20
_HOOK_EVENTS = {"issues", "issue_comment", "pull_request", "pull_request_review", "release", "push"}
_KINDS = {
    "issue": {"is:issue", "type:issue"},
    "pr": {"is:pr", "is:pull-request", "type:pr"},
}


def answer(status: int, value: Any, *headers: str) -> bytes:
    """An answer in JSON."""
    return http_answer(status, json.dumps(value).encode(), JSON, *headers)


def told(status: int, message: str, *headers: str, errors: Any = None) -> bytes:
    """A refusal as GitHub words it."""
    body: dict[str, Any] = {
        "message": message,
        "documentation_url": "https://docs.github.com/rest",
        "status": str(status),
    }
    return answer(status, body | ({} if errors is None else {"errors": errors}), *headers)


@dataclass(slots=True)
class Repository:
    """What is in one repository."""

    # Also names a renamed repository by its number.
    id: int = 1296269
    private: bool = False
    has_issues: bool = True
    issues: list[dict[str, Any]] = field(default_factory=list)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    releases: list[dict[str, Any]] = field(default_factory=list)
    commits: list[dict[str, Any]] = field(default_factory=list)
    # Webhooks, which only an admin of the repository sees.
    admin: bool = True
    hooks: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class GitHubDouble(ScriptedDouble):
    """Repositories by owner/repo, those that moved by their old name, and who may push."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    pushers: frozenset[str] = frozenset({"mona"})
    # The secrets of webhooks, by their address.
    secrets: dict[str, str] = field(default_factory=dict)

    def issue(self, repo: str, number: int, at: str, **more: Any) -> dict[str, Any]:
        """An issue as GitHub shows it, put into a repository."""
        shown: dict[str, Any] = {
            "id": 5_000_000_000 + number,
            "node_id": f"I_{number}",
            "number": number,
            "url": f"{self.url}/repos/{repo}/issues/{number}",
            "repository_url": f"{self.url}/repos/{repo}",
            "html_url": f"https://github.com/{repo}/issues/{number}",
            "title": f"Issue {number}",
            "user": {"login": "mona", "id": 1},
            "labels": [{"id": 208, "name": "bug"}],
            "state": "open",
            "assignees": [{"login": "hubot"}],
            "milestone": None,
            "comments": 2,
            "created_at": at,
            "updated_at": at,
            "closed_at": None,
            "body": "Said at length.",
            **more,
        }
        self.repositories.setdefault(repo, Repository()).issues.append(shown)
        return shown

    def release(self, repo: str, number: int, at: str, **more: Any) -> dict[str, Any]:
        """A release as GitHub shows it, put in front of the others."""
        shown: dict[str, Any] = {
            "id": number,
            "tag_name": f"v{number}",
            "name": f"Release {number}",
            "draft": False,
            "prerelease": False,
            "author": {"login": "mona"},
            "created_at": at,
            "published_at": at,
            "body": "What is new.",
            "assets": [],
            "html_url": f"https://github.com/{repo}/releases/tag/v{number}",
            **more,
        }
        self.repositories.setdefault(repo, Repository()).releases.insert(0, shown)
        return shown

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        method, target, _ = head.decode().split("\r\n", 1)[0].split(" ")
        split = urlsplit(target)
        if not headers.get("user-agent"):
            return told(403, "Request forbidden by administrative rules.")
        # Without the header GitHub answers in the oldest version, which changes over time.
        if headers.get("x-github-api-version") not in {"2022-11-28", "2026-03-10"}:
            return told(400, "Invalid API version.")
        given = headers.get("authorization")
        if given not in {None, f"Bearer {TOKEN}"}:
            return told(401, "Bad credentials")
        parts = [unquote(part) for part in split.path.strip("/").split("/")]
        query = dict(parse_qsl(split.query))
        if parts == ["user"]:
            return answer(200, {"login": "mona", "id": 1}) if given else _unknown()
        if parts == ["search", "issues"]:
            return self._search(query, headers)
        return self._in_repository(method, parts, query, headers, body)

    def _in_repository(
        self,
        method: str,
        parts: list[str],
        query: dict[str, str],
        headers: dict[str, str],
        body: bytes,
    ) -> bytes:
        if parts[:1] == ["repositories"]:
            named = {str(one.id): name for name, one in self.repositories.items()}
            name, rest = named.get(parts[1], ""), parts[2:]
        else:
            name, rest = "/".join(parts[1:3]), parts[3:]
        if name in self.renamed:
            place = self.repositories[self.renamed[name]].id
            url = f"{self.url}/repositories/{place}/{'/'.join(rest)}"
            where = f"{url}?{urlencode(query)}" if query else url
            return answer(301, {"message": "Moved Permanently", "url": url}, f"Location: {where}")
        found = self.repositories.get(name)
        if found is None or (found.private and "authorization" not in headers):
            return told(404, "Not Found")
        if rest[0] == "hooks":
            return self._hooked(method, name, found, rest[1:], headers, body)
        if rest[0] == "issues" and not found.has_issues:
            return told(410, "Issues has been disabled in this repository.")
        if method == "POST":
            return self._written(name, found, rest, headers, body)
        entries = {
            "issues": _chosen(found.issues, query),
            "pulls": _chosen(found.pulls, query),
            "releases": found.releases,
            "commits": found.commits,
        }.get(rest[0])
        if entries is None:
            return told(404, "Not Found")
        return self._paged(f"/repos/{name}/{rest[0]}", entries, query, headers)

    def _hooked(
        self,
        method: str,
        name: str,
        found: Repository,
        rest: list[str],
        headers: dict[str, str],
        body: bytes,
    ) -> bytes:
        """Repository webhooks, by the rules of GitHub's REST API."""
        if "authorization" not in headers:
            return _unknown()
        if not found.admin:
            # Who is no admin is not told that there are any.
            return told(404, "Not Found")
        if method == "GET":
            return self._paged(f"/repos/{name}/hooks", found.hooks, {}, headers)
        if method == "DELETE":
            kept = [one for one in found.hooks if str(one["id"]) != rest[0]]
            if len(kept) == len(found.hooks):
                return told(404, "Not Found")
            found.hooks[:] = kept
            return b"HTTP/1.1 204 No Content\r\n\r\n"
        sent = json.loads(body)
        config, events = sent.get("config", {}), sent.get("events", ["push"])
        known = [one for one in found.hooks if one["config"]["url"] == config.get("url")]
        if not config.get("url", "").startswith(("http://", "https://")) or not events:
            return told(422, "Validation Failed")
        if config.get("content_type") not in {"json", "form"} or set(events) - _HOOK_EVENTS:
            return told(422, "Validation Failed")
        if known:
            exists = {"resource": "Hook", "code": "custom"}
            exists["message"] = "Hook already exists on this repository"
            return told(422, "Validation Failed", errors=[exists])
        if len(found.hooks) >= MOST_HOOKS:
            return told(422, "The repository has too many webhooks.")
        hook = {
            "type": "Repository",
            "id": 12_345_678 + len(self.messages),
            "name": "web",
            "active": sent.get("active", True),
            "events": events,
            # The secret is never shown again.
            "config": {**config, "secret": "********"},
        }
        self.messages.append(sent)
        self.secrets[config["url"]] = config.get("secret", "")
        found.hooks.append(hook)
        return answer(201, hook)

    def deliver(
        self, hook: dict[str, Any], event: str, payload: Any
    ) -> tuple[bytes, dict[str, str]]:
        """The body and the headers of a delivery, signed with the secret of the webhook."""
        body = json.dumps(payload).encode()
        secret = self.secrets[hook["config"]["url"]].encode()
        return body, {
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/044aadd",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-GitHub-Hook-ID": str(hook["id"]),
            "X-Hub-Signature-256": f"sha256={hmac.new(secret, body, 'sha256').hexdigest()}",
        }

    def _written(
        self, name: str, found: Repository, rest: list[str], headers: dict[str, str], body: bytes
    ) -> bytes:
        if "authorization" not in headers:
            return _unknown()
        try:
            sent = json.loads(body)
        except json.JSONDecodeError:
            return told(400, "Problems parsing JSON")
        self.messages.append(sent)
        if rest == ["issues"]:
            if not sent.get("title"):
                missing = {"resource": "Issue", "field": "title", "code": "missing_field"}
                return told(422, "Validation Failed", errors=[missing])
            number = len(found.issues) + 1
            # Who may not push has these dropped without a word.
            labels = [{"name": one} for one in sent.get("labels", ()) if one != "forbidden"]
            people = [{"login": one} for one in sent.get("assignees", ()) if one in self.pushers]
            made = self.issue(
                name,
                number,
                "2026-03-01T09:00:00Z",
                title=sent["title"],
                body=sent.get("body"),
                labels=labels,
                assignees=people,
            )
            return answer(201, made, f"Location: {made['url']}")
        if not any(str(one["number"]) == rest[1] for one in found.issues):
            return told(404, "Not Found")
        url = f"https://github.com/{name}/issues/{rest[1]}#issuecomment-1001"
        return answer(201, {"id": 1001, "html_url": url, "body": sent["body"]})

    def _search(self, query: dict[str, str], headers: dict[str, str]) -> bytes:
        expected = query.get("q", "").split()
        if not expected:
            missing = {"resource": "Search", "field": "q", "code": "missing"}
            return told(422, "Validation Failed", errors=[missing])
        if len(query["q"]) > MOST_SEARCHED:
            long = {"resource": "Search", "field": "q", "code": "invalid"}
            return told(422, "Validation Failed", errors=[long])
        # The rule for GitHub App user tokens, which no client can tell it is not subject to.
        kinds = [
            kind for kind, names in _KINDS.items() if names & {one.lower() for one in expected}
        ]
        if not kinds:
            message = "Query must include 'is:issue' or 'is:pull-request'"
            return told(422, message, errors=None)
        entries = [
            one
            for name, found in self.repositories.items()
            if not any(word.startswith("repo:") and word != f"repo:{name}" for word in expected)
            for one in found.issues
            if "is:open" not in expected or one["state"] == "open"
            if all(("pull_request" in one) is (kind == "pr") for kind in kinds)
            if f"-is:{'pr' if 'pull_request' in one else 'issue'}" not in expected
        ]
        entries.sort(key=lambda one: str(one.get("updated_at")), reverse=True)
        return self._paged("/search/issues", entries, query, headers, search=True)

    def _paged(
        self,
        path: str,
        entries: list[dict[str, Any]],
        query: dict[str, str],
        headers: dict[str, str],
        *,
        search: bool = False,
    ) -> bytes:
        size = min(int(query.get("per_page", "30")), MOST_PER_PAGE)
        page = int(query.get("page", "1"))
        shown = entries[(page - 1) * size : page * size]
        links = []
        if page * size < len(entries):
            last = -(-len(entries) // size)
            for rel, number in (("next", page + 1), ("last", last)):
                asked = urlencode({**query, "per_page": size, "page": number})
                links.append(f'<{self.url}{path}?{asked}>; rel="{rel}"')
        value = (
            {"total_count": len(entries), "incomplete_results": False, "items": shown}
            if search
            else shown
        )
        etag = f'W/"{hashlib.sha256(json.dumps([value, links]).encode()).hexdigest()}"'
        more = [f"ETag: {etag}", *([f"Link: {', '.join(links)}"] if links else [])]
        if headers.get("if-none-match") == etag:
            return f"HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n".encode()
        return answer(200, value, *more)


def _unknown() -> bytes:
    return told(401, "Requires authentication")


def _chosen(entries: list[dict[str, Any]], query: dict[str, str]) -> list[dict[str, Any]]:
    """Filtered and sorted by what the query says, as the documentation describes it."""
    state = query.get("state", "open")
    labels = {one for one in query.get("labels", "").split(",") if one}
    found = [
        one
        for one in entries
        if state in {"all", one.get("state")}
        and one.get("updated_at", "9999") >= query.get("since", "")
        and labels <= {label["name"] for label in one.get("labels", ())}
    ]
    key = {"updated": "updated_at"}.get(query.get("sort", "created"), "created_at")
    down = query.get("direction", "desc") == "desc"
    return sorted(found, key=lambda one: str(one.get(key)), reverse=down)


@contextlib.asynccontextmanager
async def github_double() -> AsyncIterator[GitHubDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(GitHubDouble()) as double:
        yield double
