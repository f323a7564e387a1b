"""GitHub over real HTTP: what is read, what is written, and what its refusals become."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import (
    Conflict,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    ReconnectRequired,
    TooLarge,
    UpstreamError,
)
from mainspring.contracts.integration import Integration, Item, ItemBatch, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.integrations.github import integration
from mainspring.integrations.github.sources import INPUT, parse_request
from tests.kit.doubles.github import TOKEN, GitHubDouble, Repository, answer, github_double, told
from tests.kit.handler_context import visiting
from tests.kit.scripted_server import http_answer

REPO = "octo/hello"
REF = {"owner": "octo", "repo": "hello"}
ISSUE = {**REF, "title": "The login fails"}
LIMITS = Limits(http_response_bytes=400_000)
OLD = "2024-01-01T00:00:00Z"
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class GitHubConnection:
    """GitHub's double, what is built over it, and a context to speak through."""

    double: GitHubDouble
    built: Integration
    ctx: CallContext

    async def rows(self, name: str, ref: Mapping[str, Any] = REF, **params: Any) -> list[Any]:
        (adapter,) = self.built.adapters
        (found,) = [one for one in adapter.operations if one.id == f"github.{name}"]
        rows: list[Any] = list(await found.rows(self.ctx, adapter.normal(ref), params))
        assert all(row.keys() == found.columns.keys() for row in rows)
        return rows

    async def write(self, name: str, **arguments: Any) -> Any:
        (found,) = [one for one in self.built.capabilities if one.id == f"github.{name}"]
        return await found.handler(self.ctx, arguments)

    async def poll(self, name: str, repositories: str, cursor: Any = None) -> ItemBatch:
        (found,) = [one for one in self.built.polls if one.name == name]
        return await found.read(self.ctx, {"repositories": repositories}, cursor)

    async def search(self, cursor: Any = None, **value: Any) -> ItemBatch:
        return await self.built.sources[0].read(self.ctx, value, cursor)

    def asked(self) -> str:
        """The last request line."""
        return self.double.requests[-1].decode().partition("\r\n")[0]


@pytest.fixture
async def visit() -> AsyncIterator[GitHubConnection]:
    async with github_double() as double:
        built = integration({"github": double.url})
        async with visiting(
            double.pair, integration="github", secrets={"token": TOKEN}, limits=LIMITS
        ) as ctx:
            yield GitHubConnection(double, built, ctx)


def items(portion: ItemBatch) -> list[Item]:
    found = [one for one in portion.items if isinstance(one, Item)]
    assert len(found) == len(portion.items)
    return found


async def test_rows_come_to_the_end_of_the_list_with_their_columns(visit: GitHubConnection) -> None:
    for number in range(1, 121):
        visit.double.issue(REPO, number, f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z")
    visit.double.issue(REPO, 121, OLD, pull_request={"url": "x"})
    visit.double.issue(REPO, 122, OLD, state="closed", user=None, milestone={"title": "One"})
    found = visit.double.repositories[REPO]
    found.pulls = [
        {**entry, "draft": True, "head": {"ref": "mend"}, "base": {"ref": "main"}}
        for entry in found.issues[:40]
    ]
    visit.double.release(REPO, 1, OLD)
    commit = {"message": "Mend\n\nlong", "author": {"name": "Mona"}, "committer": {"date": OLD}}
    found.commits = [{"sha": f"{n:040}", "commit": commit, "html_url": "u"} for n in range(300)]

    issues = await visit.rows("list_open_issues")
    assert [row["number"] for row in issues] == list(range(120, 0, -1))
    assert len({row["id"] for row in issues}) == 120
    assert (issues[0]["author"], issues[0]["labels"]) == ("mona", ["bug"])
    closed = await visit.rows("list_issues", {"owner": "octo", "name": "hello"}, state="closed")
    assert [(row["number"], row["author"], row["milestone"]) for row in closed] == [
        (122, None, "One")
    ]
    assert len(await visit.rows("list_issues", labels=["bug"], since="2026-01-01T01:30:00Z")) == 31
    assert await visit.rows("list_issues", labels=["none", "such"]) == []
    prs = await visit.rows("list_open_prs")
    assert len(prs) == 40
    assert (prs[0]["draft"], prs[0]["head"], prs[0]["base"]) == (True, "mend", "main")
    assert len(await visit.rows("list_prs", limit=16)) == 16
    (release,) = await visit.rows("list_releases")
    assert (release["id"], release["tag"]) == (1, "v1")
    commits = await visit.rows("list_commits")
    assert (len(commits), commits[0]["message"]) == (250, "Mend")


async def test_what_is_too_large_comes_in_smaller_pages_and_too_many_are_reported(
    visit: GitHubConnection,
) -> None:
    for number in range(1, 13):
        body = "x" * 60_000
        visit.double.issue(REPO, number, f"2026-01-01T00:00:{number:02}Z", body=body)
    assert [row["number"] for row in await visit.rows("list_open_issues")] == [*range(12, 0, -1)]
    found, cursor = [], None
    while cursor is None or cursor["more"]:
        portion = await visit.search(cursor and cursor["at"], query=f"repo:{REPO}", limit=11)
        found += items(portion)
        cursor = {"more": portion.more, "at": portion.cursor}
    assert [one.frontmatter["number"] for one in found] == [*range(12, 1, -1)]

    # Only a later page is too large: the entries before it are neither lost nor repeated.
    for number in range(1, 63):
        body, at = "x" * (60_000 if number <= 12 else 1), f"2026-01-01T00:{number:02}:00Z"
        visit.double.issue("octo/world", number, at, body=body)
    world = await visit.rows("list_open_issues", {"owner": "octo", "repo": "world"})
    assert [row["number"] for row in world] == [*range(62, 0, -1)]

    entry = visit.double.release(REPO, 1, OLD, body="", assets=[])
    visit.double.repositories[REPO].releases = [{**entry, "id": n} for n in range(5_001)]
    with pytest.raises(TooLarge, match="more than 5000"):
        await visit.rows("list_releases")


async def test_public_repositories_are_read_without_a_connection() -> None:
    async with github_double() as double:
        double.issue(REPO, 1, OLD)
        double.repositories["octo/hidden"] = Repository(private=True)
        (adapter,) = integration({"github": double.url}).adapters
        async with visiting(double.pair, integration="github") as ctx:
            alone = ctx.__class__(
                ctx.actor,
                None,
                ctx.clock,
                ctx.key,
                lambda: ctx.http,
                ctx.mail,
                ctx.owner_address,
                "",
                ctx.complete,
            )
            (read,) = [one for one in adapter.operations if one.id == "github.list_open_issues"]
            assert len(await read.rows(alone, REF, {})) == 1
            assert b"authorization" not in double.requests[-1].lower()
            with pytest.raises(NotFound, match="not there, or not visible to this account"):
                await read.rows(alone, {"owner": "octo", "repo": "hidden"}, {})


async def test_a_search_becomes_pages_and_half_broken_entries_do_not_stop_the_others(
    visit: GitHubConnection,
) -> None:
    for number in range(1, 8):
        visit.double.issue(REPO, number, f"2026-01-0{number}T00:00:00Z")
    visit.double.repositories[REPO].issues[2].update(pull_request={"url": "x"})
    del visit.double.repositories[REPO].issues[3]["id"]

    portion = await visit.search(query=f"repo:{REPO} is:open", limit=5)

    assert "q=repo%3Aocto%2Fhello+is%3Aopen+is%3Apr" in visit.asked()
    (broken,) = [one for one in portion.items if isinstance(one, UnreadableItem)]
    assert "lacks id" in broken.problem.detail
    first, _, _, last = [one for one in portion.items if isinstance(one, Item)]
    assert (first.type, first.source_ref, first.title) == (
        "gh_issue",
        "github:issue:5000000007",
        "Issue 7",
    )
    assert (last.type, last.source_ref) == ("gh_pr", "github:pr:5000000003")
    assert first.frontmatter["repository"] == REPO
    assert (first.body, first.event, portion.more) == ("Said at length.", None, False)
    assert await visit.built.account(visit.ctx) == "mona"


async def test_a_poll_goes_on_from_the_latest_change_and_tells_of_what_is_new(
    visit: GitHubConnection,
) -> None:
    now = visit.ctx.clock.now()
    recent, soon = (
        (now + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ") for hours in (-5, 1)
    )
    visit.double.issue(REPO, 1, OLD)
    visit.double.issue(REPO, 2, recent)
    visit.double.issue("octo/world", 3, recent)
    both = "octo/hello, octo/world"

    first = await visit.poll("issues", both)
    assert [one.frontmatter["number"] for one in items(first)] == [2, 3]
    assert [one.event for one in items(first)] == [None, None]
    second = await visit.poll("issues", both, first.cursor)
    third = await visit.poll("issues", both, second.cursor)
    # Twice told of the latest, then nothing has changed and nothing is sent.
    assert (third.items, third.cursor, third.more) == ([], second.cursor, False)
    assert b"if-none-match" in visit.double.requests[-1].lower()

    visit.double.issue(REPO, 4, soon, body=None)
    visit.double.issue(REPO, 5, soon, pull_request={"url": "x"})
    fourth = items(await visit.poll("issues", both, third.cursor))
    assert [(one.frontmatter["number"], one.event) for one in fourth] == [
        (2, None),
        (4, "github.issue_opened"),
        (5, "github.pr_opened"),
    ]
    assert fourth[1].payload == {
        "repository": REPO,
        "number": 4,
        "title": "Issue 4",
        "author": "mona",
        "url": f"https://github.com/{REPO}/issues/4",
        "labels": ["bug"],
        "created_at": soon,
    }
    # A cursor that cannot be read any more begins anew, and brings the same pages.
    again = items(await visit.poll("issues", both, {"places": {REPO: "?"}, "due": 7}))
    assert {one.source_ref for one in again} >= {one.source_ref for one in fourth}
    assert (await visit.poll("issues", "")).note is not None
    with pytest.raises(Invalid) as wrong:
        await visit.poll("issues", "octo/hello, hello")
    assert wrong.value.findings[0].pointer == "/repositories"


async def test_many_changes_of_one_moment_are_all_read(visit: GitHubConnection) -> None:
    at = visit.ctx.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    for number in range(1, 131):
        visit.double.issue(REPO, number, at)
    seen, cursor, more = set(), None, True
    while more:
        portion = await visit.poll("issues", REPO, cursor)
        seen |= {one.source_ref for one in items(portion)}
        cursor, more = portion.cursor, portion.more
    assert len(seen) == 130


async def test_a_repository_that_is_gone_is_reported_and_the_others_go_on(
    visit: GitHubConnection,
) -> None:
    at = visit.ctx.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    visit.double.issue(REPO, 1, at)
    visit.double.issue("octo/world", 2, at)

    gone, there = (await visit.poll("issues", f"octo/gone, {REPO}")).items
    assert isinstance(gone, UnreadableItem)
    assert isinstance(gone.problem, NotFound)
    assert isinstance(there, Item)

    # In the middle GitHub wants a pause: what is there is kept, the rest comes first next time.
    full = answer(200, visit.double.repositories[REPO].issues)
    visit.double.script = [full, told(429, "Slow down", "Retry-After: 30")]
    cut = await visit.poll("issues", f"{REPO}, octo/world")
    assert len(cut.items) == 1
    assert cut.note is not None
    assert cut.cursor is not None
    assert cut.cursor["due"] == ["octo/world"]
    rest = items(await visit.poll("issues", f"{REPO}, octo/world", cut.cursor))
    assert [one.frontmatter["number"] for one in rest] == [2]
    visit.double.script = [told(429, "Slow down", "Retry-After: 30")]
    with pytest.raises(UpstreamError) as busy:
        await visit.poll("issues", REPO)
    assert busy.value.retry_after == 30


async def test_releases_are_reported_once_when_they_are_published(visit: GitHubConnection) -> None:
    visit.double.release(REPO, 1, OLD)
    first = await visit.poll("releases", REPO)
    assert [(one.source_ref, one.event) for one in items(first)] == [("github:release:1", None)]
    soon = (visit.ctx.clock.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    draft = visit.double.release(REPO, 2, OLD, draft=True, published_at=None)
    second = await visit.poll("releases", REPO, first.cursor)
    assert second.items == []
    draft.update(draft=False, published_at=soon)
    third = await visit.poll("releases", REPO, second.cursor)
    (fresh,) = items(third)
    assert (fresh.type, fresh.event, fresh.payload["tag"]) == (
        "gh_release",
        "github.release_published",
        "v2",
    )
    assert (await visit.poll("releases", REPO, third.cursor)).items == []


async def test_an_issue_and_a_comment_are_written_as_they_were_asked_for(
    visit: GitHubConnection,
) -> None:
    visit.double.repositories[REPO] = Repository()
    made = await visit.write(
        "open_issue",
        **ISSUE,
        body="Every evening",
        labels=["bug", "forbidden"],
        assignees=["mona", "stranger"],
    )
    assert made == {
        "issue_number": 1,
        "url": f"https://github.com/{REPO}/issues/1",
        "left_out": ["forbidden", "stranger"],
    }
    assert visit.double.messages[0] == {
        "title": ISSUE["title"],
        "body": "Every evening",
        "labels": ["bug", "forbidden"],
        "assignees": ["mona", "stranger"],
    }
    output = await visit.write("comment", **REF, number=1, body="Mended")
    assert output == {
        "issue_number": 1,
        "comment_id": 1001,
        "url": f"https://github.com/{REPO}/issues/1#issuecomment-1001",
    }
    with pytest.raises(NotFound, match="octo/hello#9 is not there"):
        await visit.write("comment", **REF, number=9, body="Mended")


async def test_a_repository_that_moved_is_read_but_not_written_to(visit: GitHubConnection) -> None:
    visit.double.issue("octo/new", 1, OLD)
    visit.double.renamed[REPO] = "octo/new"
    assert len(await visit.rows("list_open_issues")) == 1
    with pytest.raises(Conflict, match="another name by now") as moved:
        await visit.write("open_issue", **ISSUE)
    assert (moved.value.unsent, visit.double.messages) == (True, [])


FIELD = [{"resource": "Issue", "field": "title", "code": "invalid"}]
SENTENCE = [{"resource": "Issue", "code": "custom", "field": "labels", "message": "No such label"}]


@pytest.mark.parametrize(
    ("content", "kind", "pause", "unsent"),
    [
        (
            told(
                403, "API rate limit exceeded", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1"
            ),
            UpstreamError,
            1.0,
            True,
        ),
        (
            told(403, "You have exceeded a secondary rate limit", "Retry-After: 7"),
            UpstreamError,
            7.0,
            True,
        ),
        (told(429, "You have exceeded a secondary rate limit"), UpstreamError, 60.0, True),
        (told(401, "Bad credentials"), ReconnectRequired, None, True),
        (told(403, "Resource not accessible by integration"), PermissionDenied, None, True),
        (
            told(403, "Resource protected", "X-GitHub-SSO: required; url=https://github.com/sso"),
            PermissionDenied,
            None,
            True,
        ),
        (told(404, "Not Found"), NotFound, None, True),
        (told(410, "Issues are disabled for this repo"), NotFound, None, True),
        (told(422, "Validation Failed", errors=FIELD), Invalid, None, True),
        (told(422, "Validation Failed", errors=SENTENCE), Invalid, None, True),
        (told(503, "Service unavailable", "Retry-After: 5"), UpstreamError, 5.0, None),
        (http_answer(201, b"<html>"), UpstreamError, None, None),
        (answer(201, {"number": "7"}), UpstreamError, None, None),
        (answer(201, ["7"]), UpstreamError, None, None),
        (http_answer(201, b"x" * 500_000), UpstreamError, None, None),
    ],
    ids=lambda value: None if isinstance(value, float | bool | None) else "",
)
async def test_a_refused_write_says_what_happened_and_whether_anything_left(
    visit: GitHubConnection,
    content: bytes,
    kind: type[Problem],
    pause: float | None,
    unsent: bool | None,
) -> None:
    visit.double.script = [content]
    with pytest.raises(kind) as refused:
        await visit.write("open_issue", **ISSUE)
    assert type(refused.value) is kind
    assert refused.value.retry_after == pause
    assert refused.value.unsent is unsent
    assert refused.value.retryable is (pause is not None)
    assert TOKEN not in str(refused.value.as_dict())
    if b"errors" in content:
        (finding,) = refused.value.findings
        assert finding.pointer == ("/labels" if b"No such label" in content else "/title")


async def test_a_search_brings_the_kind_it_names_and_both_where_it_names_none(
    visit: GitHubConnection,
) -> None:
    for number in range(1, 9):
        more = {"pull_request": {"url": "x"}} if number % 2 else {}
        visit.double.issue(REPO, number, f"2026-01-0{number}T00:00:00Z", **more)

    async def numbers(query: str, limit: int = 50) -> list[Any]:
        found = items(await visit.search(query=f"repo:{REPO} {query}".strip(), limit=limit))
        return [one.frontmatter["number"] for one in found]

    assert await numbers("is:issue") == [8, 6, 4, 2]
    assert await numbers("is:PR") == [7, 5, 3, 1]
    assert await numbers("type:pr") == [7, 5, 3, 1]
    # GitHub takes one kind at a time, so that there are two searches, and the latest come first.
    before = len(visit.double.requests)
    assert await numbers("") == [8, 7, 6, 5, 4, 3, 2, 1]
    assert len(visit.double.requests) == before + 2
    assert await numbers("-is:pr") == [8, 6, 4, 2]
    assert await numbers("", limit=3) == [8, 7, 6]


async def test_a_search_for_both_kinds_goes_on_with_the_one_that_has_more(
    visit: GitHubConnection,
) -> None:
    for number in range(1, 81):
        more = {"pull_request": {"url": "x"}} if number <= 10 else {}
        visit.double.issue(REPO, number, f"2026-01-01T00:{number % 60:02}:00Z", **more)
    first = await visit.search(query=f"repo:{REPO}", limit=250)
    assert (len(first.items), first.more) == (60, True)
    before = len(visit.double.requests)
    second = await visit.search(first.cursor, query=f"repo:{REPO}", limit=250)
    assert (len(second.items), second.more, second.cursor) == (20, False, None)
    assert len(visit.double.requests) == before + 1
    refs = {one.source_ref for one in items(first) + items(second)}
    assert len(refs) == 80


async def test_the_longest_query_that_is_accepted_can_be_searched_for(
    visit: GitHubConnection,
) -> None:
    visit.double.issue(REPO, 1, "2026-01-01T00:00:00Z")
    most = INPUT["properties"]["query"]["maxLength"]
    query = f"repo:{REPO} {'word ' * 60}"[:most]
    assert len(items(await visit.search(query=query))) == 1
    assert len(parse_request(f"repo:{REPO} {'word ' * 60}", NOW)["query"]) <= most
    named = '"' + '" "'.join("x" * 99 for _ in range(3)) + '"'
    assert len(parse_request(f"open issues and prs in {REPO} {named}", NOW)["query"]) <= most


@pytest.mark.parametrize(
    "old", [{"page": 2, "size": 50, "brought": 50}, {"places": "x", "brought": 50}]
)
async def test_a_search_whose_cursor_has_an_older_shape_begins_anew(
    visit: GitHubConnection, old: dict[str, Any]
) -> None:
    for number in range(1, 4):
        visit.double.issue(REPO, number, f"2026-01-0{number}T00:00:00Z")
    found = items(await visit.search(old, query=f"repo:{REPO} is:issue", limit=51))
    assert [one.frontmatter["number"] for one in found] == [3, 2, 1]


async def test_a_retired_version_of_the_api_asks_for_an_update(visit: GitHubConnection) -> None:
    gone = told(410, "Gone", "Sunset: Fri, 10 Mar 2028 00:00:00 GMT")
    visit.double.script = [gone]
    with pytest.raises(UpstreamError, match="version of its API") as retired:
        await visit.rows("list_open_issues")
    assert (retired.value.retryable, retired.value.code) == (False, "github_version")
    assert "Update Mainspring" in str(retired.value.suggestion)


async def test_a_missing_app_permission_is_reported_with_where_to_grant_it(
    visit: GitHubConnection,
) -> None:
    visit.double.script = [told(403, "Resource not accessible by integration")]
    with pytest.raises(PermissionDenied) as refused:
        await visit.rows("list_open_issues")
    assert "GitHub App" in str(refused.value.suggestion)


async def test_a_search_that_github_refuses_points_to_the_query(visit: GitHubConnection) -> None:
    with pytest.raises(Invalid) as wrong:
        await visit.search(query=" ")
    assert wrong.value.findings[0].pointer == "/query"


async def test_a_redirect_or_a_next_page_elsewhere_never_gets_the_token(
    visit: GitHubConnection,
) -> None:
    where = "http://127.0.0.1:9/repos/octo/hello/issues"
    visit.double.script = [answer(301, {}, f"Location: {where}")]
    with pytest.raises(PermissionDenied):
        await visit.rows("list_open_issues")
    visit.double.script = [answer(200, [], f'Link: <{where}>; rel="next"')]
    with pytest.raises(UpstreamError):
        await visit.rows("list_open_issues")
    visit.double.script = [answer(200, [{"title": "no id"}])]
    with pytest.raises(UpstreamError, match="cannot be read"):
        await visit.rows("list_open_issues")
