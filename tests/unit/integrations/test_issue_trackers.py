"""The pure parts of GitHub, Linear and monday.com: sentences, names, previews and links."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import HttpResponse
from mainspring.contracts.errors import Invalid
from mainspring.contracts.integration import Adapter, Integration
from mainspring.contracts.limits import Limits
from mainspring.contracts.manifest import MANIFEST_SCHEMA
from mainspring.definition.json_schema import compile_schema
from mainspring.integrations import github, linear, monday
from mainspring.integrations.github import names as github_names
from mainspring.integrations.github import sources as github_sources
from mainspring.integrations.github.client import mark_of, parse_next_link, parse_page
from mainspring.integrations.linear import sources as linear_sources
from mainspring.integrations.linear.capabilities import issue_id
from mainspring.integrations.linear.client import pause_of
from mainspring.integrations.monday.adapters import name_columns

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
LIMITS = Limits()
BUILT: dict[str, Integration] = {
    one.id: one for one in (made.integration({}) for made in (github, linear, monday))
}
ANTI = "x-mainspring-anti-examples"
every_one = pytest.mark.parametrize("built", [*BUILT.values()], ids=[*BUILT])


def _schemas(built: Integration) -> list[Any]:
    found: list[Any] = [one.input_schema for one in built.sources]
    for adapter in built.adapters:
        found += [adapter.ref_schema, *(one.params_schema for one in adapter.operations)]
    found += [one.payload_schema for one in built.events]
    return found


@every_one
def test_every_schema_takes_its_examples_and_refuses_what_it_says_it_does(
    built: Integration,
) -> None:
    assert compile_schema(MANIFEST_SCHEMA, LIMITS).findings(built.manifest, "") == []
    for schema in _schemas(built):
        judge = compile_schema(schema, LIMITS)
        assert schema["examples"]
        assert all(judge.findings(one, "") == [] for one in schema["examples"])
        assert all(judge.findings(one["value"], "") for one in schema[ANTI])


@every_one
def test_only_the_hosts_of_the_manifest_are_reached(built: Integration) -> None:
    hosts = frozenset(built.manifest["hosts"])
    for capability in built.capabilities:
        hints = capability.annotations
        assert hints.route is not None
        assert (hints.hosts, hints.route.hosts, hints.route.integration) == (hosts, hosts, built.id)
        assert hints.route.connection == "needed"


def _write(built: str, at: int = 0) -> Capability:
    return BUILT[built].capabilities[at]


@pytest.mark.parametrize(
    ("capability", "arguments", "line"),
    [
        (
            _write("github"),
            {
                "owner": "octo",
                "repo": "hello",
                "title": "A\nB",
                "labels": ["x", "y"],
                "assignees": ["mona"],
                "body": "Long\u202e text",
            },
            (
                "Open an issue in octo/hello at GitHub: A B, labelled x, y, assigned to mona — "
                "Long\\u202e text"
            ),
        ),
        (
            _write("github", 1),
            {"owner": "o", "repo": "h", "number": 7, "body": "x" * 400},
            "Comment on o/h#7 at GitHub: " + "x" * 160 + "…",
        ),
        (
            _write("linear"),
            {
                "team": "ENG",
                "title": "T",
                "priority": "low",
                "assignee": "mona",
                "due_date": "2026-03-01",
                "labels": ["B"],
            },
            "Create an issue in ENG at Linear: T, priority low, for mona, due 2026-03-01, labelled B",  # noqa: E501
        ),
        (
            _write("monday"),
            {"item_id": "7", "body": "a\nb"},
            "Post an update on item 7 at monday.com: a b",
        ),
    ],
    ids=["issue", "comment", "linear", "monday"],
)
def test_a_preview_is_one_honest_line(
    capability: Capability, arguments: dict[str, Any], line: str
) -> None:
    write = capability.write
    assert write is not None
    assert write.preview(arguments) == line


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("repo:octo/hello is:open door", "repo:octo/hello is:open door"),
        ("open pull requests in octo/hello", "is:open is:pr repo:octo/hello"),
        ("issues assigned to me", "is:issue assignee:@me"),
        ("what was merged in octo/hello", "is:merged is:pr repo:octo/hello"),
        (
            "issues and PRs of octo/hello.js from the last 7 days",
            "repo:octo/hello.js updated:>=2026-03-03",
        ),
        (
            'closed issues about "the door" since yesterday',
            'is:closed is:issue updated:>=2026-03-09 "the door"',
        ),
    ],
)
def test_github_reads_a_search_out_of_a_sentence(text: str, query: str) -> None:
    assert github_sources.parse_request(text, NOW) == {"query": query}


def test_a_sentence_that_names_nothing_is_asked_back() -> None:
    for read in (github_sources.parse_request, linear_sources.parse_request):
        with pytest.raises(Invalid) as unclear:
            read("please look", NOW)
        assert unclear.value.findings[0].pointer == "/request"
        assert unclear.value.suggestion
    assert linear_sources.parse_request('find "the door"', NOW) == {"query": "the door"}
    assert linear_sources.parse_request("Issues about the door?", NOW) == {"query": "the door"}
    assert linear_sources.parse_request("the latest issues", NOW) == {}


def test_a_repository_is_stored_in_one_spelling() -> None:
    (adapter,) = BUILT["github"].adapters
    assert isinstance(adapter, Adapter)
    stored = {"owner": "octo", "repo": "hello"}
    for given in (stored, {"owner": "octo", "name": "hello"}, {**stored, "name": "hello"}):
        assert adapter.normal(given) == stored
    with pytest.raises(Invalid) as twice:
        adapter.normal({**stored, "name": "world"})
    assert twice.value.findings[0].pointer == "/name"
    assert adapter.connection == "used"


def test_watched_repositories_are_read_from_text() -> None:
    read = github_names.read_watched_repositories
    assert read({"repositories": " octo/hello,\nocto/wo.rld, Octo/Hello,"}) == [
        ("octo", "hello"),
        ("octo", "wo.rld"),
    ]
    assert read({}) == read({"repositories": None}) == []
    for wrong in ("hello", "octo/..", "octo/a b", "https://github.com/octo/hello", "../x/y"):
        with pytest.raises(Invalid):
            read({"repositories": wrong})
    with pytest.raises(Invalid, match="At most 50"):
        read({"repositories": ",".join(f"o/r{n}" for n in range(51))})


def test_links_pages_and_marks_are_read_strictly() -> None:
    header = '<https://a/x?page=1>; rel="prev", <https://a/x?per_page=5&page=3>; rel="next"'
    assert parse_next_link(header) == "https://a/x?per_page=5&page=3"
    assert parse_next_link('<https://a/x>; rel="last"') is None
    assert parse_next_link("rubbish") is None
    assert parse_page("https://a/x?per_page=5&page=3", (1, 1)) == (3, 5)
    assert parse_page("https://a/x?after=Y3Vyc29y&page=-1", (7, 20)) == (7, 20)
    assert parse_page(None, (7, 20)) == (7, 20)
    assert mark_of({"etag": 'W/"abc"'}) == 'W/"abc"'
    assert mark_of({"etag": 'W/"a\u00e4"'}) is None
    assert mark_of({}) is None


def test_an_issue_of_linear_has_one_id_for_one_call() -> None:
    assert issue_id("run/step/1") == issue_id("run/step/1") != issue_id("run/step/2")
    assert issue_id("x")[14] == "4"


def test_columns_of_monday_have_names_that_do_not_meet() -> None:
    columns = [
        {"id": "name", "title": "Name", "type": "name"},
        {"id": "a", "title": "Due  Date!"},
        {"id": "b", "title": "due date"},
        {"id": "c", "title": "State"},
        {"id": "d", "title": "??"},
        {"id": "e", "title": "Größe"},
        "rubbish",
        {"title": "no id"},
    ]
    assert name_columns(columns, "title") == {
        "a": "due_date",
        "b": "due_date_b",
        "c": "state_c",
        "d": "d",
        "e": "größe",
    }
    assert name_columns(columns, "id") == {name: name for name in "abcde"}


def test_linear_tells_its_resets_in_milliseconds() -> None:
    ends = {
        f"x-ratelimit-{limit}-reset": str(int((NOW.timestamp() + seconds) * 1000))
        for limit, seconds in (("requests", 90), ("complexity", 30), ("endpoint-requests", 5))
    }
    spent = {**ends, "x-ratelimit-complexity-remaining": "0"}
    assert pause_of(spent, NOW) == pytest.approx(31)
    both = {**spent, "x-ratelimit-requests-remaining": "0"}
    assert pause_of(both, NOW) == pytest.approx(91)
    assert pause_of(ends, NOW) == 60.0
    assert pause_of({**both, "retry-after": "7"}, NOW) == 7.0


@pytest.mark.parametrize(
    ("status", "body", "refuses"),
    [
        (400, b'{"errors":[{"message":"x","extensions":{"type":"authentication error"}}]}', True),
        (200, b'{"errors":[{"message":"x","extensions":{"code":"AUTHENTICATION_ERROR"}}]}', True),
        (400, b'{"errors":[{"message":"x","extensions":{"type":"forbidden"}}]}', False),
        (400, b'{"errors":["authentication error"]}', False),
        (200, b'{"data":{"viewer":null}}', False),
        (200, b"<html>", False),
    ],
)
def test_linear_says_in_the_body_that_a_token_is_not_good(
    status: int, body: bytes, refuses: bool
) -> None:
    answer = HttpResponse(status, {}, body, "https://api.linear.app/graphql")
    assert linear.integration({}).refuses_token(answer) is refuses
