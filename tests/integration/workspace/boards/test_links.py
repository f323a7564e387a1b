"""Boards that are linked to something outside: bad input, the story, and what goes wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import (
    Conflict,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    UpstreamError,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.board_links import linked_bench
from tests.kit.boards import Boards, values
from tests.kit.doubles.feeds import web_double
from tests.kit.doubles.github import GitHubDouble, Repository, github_double
from tests.kit.scripted_server import http_answer
from tests.unit.integrations.test_ics import calendar
from tests.unit.integrations.test_rss import ATOM

REPO = "octo/hello"
AT = "2026-03-01T10:00:00Z"
AUTOMATIONS = """
    SELECT a.name, a.state, a.created_by, v.grants FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
    WHERE a.workspace_id = $1 AND a.id = $2
"""


async def _refused(boards: Boards, capability: str, **value: Any) -> Problem:
    with pytest.raises(Problem) as refused:
        await boards.call(capability, **value)
    return refused.value


def _places(problem: Problem) -> list[str]:
    return [one.pointer for one in problem.findings]


async def _link(boards: Boards, board_id: str, url: str, **recipe: Any) -> dict[str, Any]:
    """A board that is linked to an address, and the recipe for its dataset."""
    link = await boards.call(
        "create_board_link",
        board_id=board_id,
        kind="http_json",
        ref={"url": url},
        display_name="Incidents",
    )
    return await boards.call(
        "create_dataset_recipe",
        link_id=link["id"],
        dataset_name="incidents",
        adapter_op="http_json.get",
        **recipe,
    )


async def test_events_of_a_calendar_that_cannot_be_read_are_counted_and_reported(
    bench: Bench,
) -> None:
    good = "BEGIN:VEVENT\nUID:good\nDTSTART:20260402T120000Z\nEND:VEVENT"
    without = "BEGIN:VEVENT\nUID:without\nSUMMARY:Some day\nEND:VEVENT"
    params = {"start": "2026-04-01", "days": 7}
    async with web_double() as web, linked_bench(bench, web.pair) as here:
        boards = Boards(here.application)
        board_id = await boards.create()
        url = web.put("/team.ics", calendar(without, good), "text/calendar")
        link = await boards.call(
            "create_board_link",
            board_id=board_id,
            kind="ics",
            ref={"url": url},
            display_name="Team",
        )
        recipe = await boards.call(
            "create_dataset_recipe",
            link_id=link["id"],
            dataset_name="events",
            adapter_op="ics.list_events",
            params=params,
        )
        result = await boards.call("refresh_dataset", recipe_id=recipe["id"])
        asked = await boards.call(
            "adapter_query", kind="ics", op="ics.list_events", ref={"url": url}, params=params
        )
        [stored] = (await boards.call("list_board_links", board_id=board_id))["links"][0]["recipes"]
        assert values(await boards.rows(board_id, "events"), "uid") == ["good"]

    why = "The event 'without' is skipped: it has no DTSTART."
    assert (result["total"], result["left_out"]) == (1, 1)
    assert result["problems"] == [{"row": 1, "detail": why, "code": "unreadable_event"}]
    assert (asked["count"], asked["left_out"]) == (1, 1)
    assert asked["problems"] == [{"detail": why, "code": "unreadable_event"}]
    assert stored["last_error"]["code"] == "rows_left_out"
    assert why in stored["last_error"]["detail"]


async def test_a_recipe_leaves_its_dataset_before_the_first_refresh(bench: Bench) -> None:
    boards = Boards(bench.application)
    board_id = await boards.create()
    places: list[tuple[str, str, dict[str, Any]]] = [
        ("ics", "ics.list_events", {"url": "https://example.com/a.ics"}),
        ("http_json", "http_json.get", {"url": "https://example.com/a.json"}),
    ]
    for kind, operation, ref in places:
        link = await boards.call(
            "create_board_link", board_id=board_id, kind=kind, ref=ref, display_name=kind
        )
        await boards.call(
            "create_dataset_recipe",
            link_id=link["id"],
            dataset_name=kind,
            adapter_op=operation,
            **({"dedupe_key_field": "id", "dedupe_target_field": "event"} if kind == "ics" else {}),
        )

    shown = await boards.call("get_board", board_id=board_id, dataset="ics")
    made = {one["name"]: one for one in shown["schema"]["datasets"]}
    assert [column["key"] for column in made["ics"]["columns"]][:3] == ["event", "title", "start"]
    assert made["ics"]["dedupe_key_field"] == "event"
    # What an address answers is known once somebody has read it.
    assert (made["http_json"]["columns"], made["http_json"]["dedupe_key_field"]) == ([], None)
    assert await boards.rows(board_id, "ics") == await boards.rows(board_id, "http_json") == []


async def test_bad_input_is_reported_with_its_place_and_nothing_is_kept(bench: Bench) -> None:
    boards = Boards(bench.application)
    board_id = await boards.create()
    link = {"board_id": board_id, "kind": "http_json", "display_name": "x"}
    url = {"url": "https://example.com/a.json"}

    unknown = await _refused(boards, "create_board_link", **{**link, "kind": "gitub"}, ref={})
    assert _places(unknown) == ["/kind"]
    assert "http_json, ics" in unknown.detail
    assert "github" in str(unknown.findings[0].suggestion)
    refs: list[tuple[dict[str, Any], list[str]]] = [
        ({"url": "ftp://example.com"}, ["/ref/url"]),
        ({"url": "https://a:b@example.com/"}, ["/ref/url"]),
        ({**url, "method": "POST"}, ["/ref/method"]),
        ({**url, "headers": {"Authorization": "Bearer x"}}, ["/ref/headers/Authorization"]),
    ]
    for ref, at in refs:
        assert _places(await _refused(boards, "create_board_link", **link, ref=ref)) == at
    more = {"integration_provider": "github"}
    assert _places(await _refused(boards, "create_board_link", **link, ref=url, **more)) == [
        "/integration_provider"
    ]
    github = {**link, "kind": "github", "ref": {"owner": "octo", "name": "hello"}}
    other = await _refused(
        boards, "create_board_link", **github, integration_user_id=str(generate_id())
    )
    assert (type(other), _places(other)) == (PermissionDenied, ["/integration_user_id"])
    assert isinstance(
        await _refused(
            boards, "create_board_link", **{**link, "board_id": str(generate_id())}, ref=url
        ),
        NotFound,
    )

    made = await boards.call("create_board_link", **link, ref=url)
    recipe = {"link_id": made["id"], "dataset_name": "d", "adapter_op": "http_json.get"}
    wrong: dict[str, dict[str, Any]] = {
        "/adapter_op": {"adapter_op": "http_json.post"},
        "/params/items": {"params": {"items": "$["}},
        "/params/columns": {"params": {"columns": 1}},
        "/refresh_cron": {"refresh_cron": "61 * * * *"},
        "/dedupe_target_field": {"dedupe_target_field": "row_id"},
    }
    for place, one in wrong.items():
        problem = await _refused(boards, "create_dataset_recipe", **{**recipe, **one})
        assert isinstance(problem, Invalid)
        assert _places(problem) == [place]
    await boards.append(board_id, {"a": 1})
    own = await _refused(boards, "create_dataset_recipe", **{**recipe, "dataset_name": "default"})
    assert (own.code, values(await boards.rows(board_id), "a")) == ("dataset_in_use", [1])
    assert isinstance(
        await _refused(boards, "refresh_dataset", recipe_id=str(generate_id())), NotFound
    )
    assert _places(await _refused(boards, "adapter_query", kind="ics", op="ics.x", ref=url)) == [
        "/op"
    ]

    listed = await boards.call("list_board_links", board_id=board_id)
    assert [one["recipes"] for one in listed["links"]] == [[]]
    assert not await bench.application.database.fetch("SELECT FROM automations")


def _pull(github: GitHubDouble, number: int) -> None:
    """An open pull request as GitHub shows it, put into the repository."""
    branch = {"label": "octo:main", "ref": "main", "sha": "6dcb09b5", "user": {"login": "octo"}}
    shown: dict[str, Any] = {
        "id": 7_000_000_000 + number,
        "number": number,
        "state": "open",
        "draft": False,
        "title": f"Change {number}",
        "user": {"login": "mona"},
        "labels": [{"name": "bug"}],
        "assignees": [],
        "created_at": AT,
        "updated_at": AT,
        "closed_at": None,
        "merged_at": None,
        "html_url": f"https://github.com/{REPO}/pull/{number}",
        "head": branch,
        "base": branch,
    }
    github.repositories.setdefault(REPO, Repository()).pulls.append(shown)


async def _filled(boards: Boards) -> tuple[str, dict[str, Any]]:
    """The documented story: a board, a link to a repository, and a recipe by the hour."""
    board_id = await boards.create("Work")
    link = await boards.call(
        "create_board_link",
        board_id=board_id,
        kind="github",
        ref={"owner": "octo", "repo": "hello"},
        display_name="hello PRs",
    )
    assert (link["ref"], link["kind"]) == ({"owner": "octo", "repo": "hello"}, "github")
    recipe = await boards.call(
        "create_dataset_recipe",
        link_id=link["id"],
        dataset_name="prs",
        adapter_op="github.list_open_prs",
        refresh_cron="0 * * * *",
        dedupe_key_field="id",
        dedupe_target_field="pr_id",
    )
    return board_id, recipe


async def _automation(boards: Boards, recipe: dict[str, Any]) -> Any:
    application = boards.application
    automation_id = UUID(recipe["automation_id"])
    [found] = await application.database.fetch(AUTOMATIONS, application.workspace_id, automation_id)
    return found


async def test_pull_requests_of_a_repository_fill_a_board_by_a_schedule(bench: Bench) -> None:
    async with github_double() as github:
        for number in (1, 2, 3):
            _pull(github, number)
        async with linked_bench(bench, github.pair, urls={"github": github.url}) as here:
            boards = Boards(here.application)
            board_id, recipe = await _filled(boards)
            automation = await _automation(boards, recipe)
            assert automation["name"] == "Refresh prs of Work"
            assert (automation["state"], automation["created_by"]) == ("active", FIRST_MEMBER)
            assert automation["grants"] == [
                {"capability": "refresh_dataset", "params": {"recipe_id": recipe["id"]}}
            ]
            again = {"link_id": recipe["link_id"], "dataset_name": "prs"}
            accepted = await _refused(
                boards, "create_dataset_recipe", **again, adapter_op="github.list_issues"
            )
            assert (type(accepted), _places(accepted)) == (Conflict, ["/dataset_name"])

            # The engine runs it as it runs every automation, with a grant for this recipe alone.
            run = await here.application.dispatcher.dispatch(
                RunRequest(here.application.workspace_id, UUID(recipe["automation_id"]))
            )
            async with here.worker():
                ended = await here.until(run.run_id)
            assert ended["status"] == "succeeded", ended
            rows = await boards.rows(board_id, "prs")
            assert values(rows, "number") == [1, 2, 3]
            assert "id" not in rows[0]
            page = await boards.page(board_id, "prs")
            assert page["schema"]["dedupe_key_field"] == "pr_id"
            kinds = {one["key"]: one["field_type"] for one in page["schema"]["columns"]}
            assert (kinds["pr_id"], kinds["created_at"]) == ("number", "date")

            gone = await boards.call("delete_board_link", link_id=recipe["link_id"])
            assert gone["recipes"] == 1
            assert (await _automation(boards, recipe))["state"] == "archived"
            assert len(await boards.rows(board_id, "prs")) == 3
            assert isinstance(
                await _refused(boards, "refresh_dataset", recipe_id=recipe["id"]), NotFound
            )


async def test_a_row_keeps_its_id_and_nothing_is_written_twice(bench: Bench) -> None:
    async with github_double() as github:
        for number in (1, 2, 3):
            _pull(github, number)
        async with linked_bench(bench, github.pair, urls={"github": github.url}) as here:
            boards = Boards(here.application)
            board_id, recipe = await _filled(boards)
            await boards.call("refresh_dataset", recipe_id=recipe["id"])
            rows = await boards.rows(board_id, "prs")
            ids = {row["pr_id"]: row["row_id"] for row in rows}
            before = len(await boards.events())

            again = await boards.call("refresh_dataset", recipe_id=recipe["id"])
            assert (again["unchanged"], again["updated"], again["appended"]) == (3, 0, 0)
            assert len(await boards.events()) == before
            assert await boards.rows(board_id, "prs") == rows
            assert (await boards.page(board_id, "prs"))["schema"]["version"] == 1

            pulls = github.repositories[REPO].pulls
            gone = pulls.pop(0)
            pulls[0]["title"] = "Changed"
            _pull(github, 4)
            result = await boards.call("refresh_dataset", recipe_id=recipe["id"])
            assert (result["appended"], result["updated"], result["deleted"]) == (1, 1, 1)
            pulls.append(gone)
            back = await boards.call("refresh_dataset", recipe_id=recipe["id"])
            assert (back["restored"], back["appended"], back["total"]) == (1, 0, 4)
            now = {row["pr_id"]: row["row_id"] for row in await boards.rows(board_id, "prs")}
            assert ids.items() <= now.items()
            assert [one["change"] for one in await boards.events()][before:] == [
                "rows_deleted",
                "rows_updated",
                "rows_appended",
                "rows_restored",
            ]


async def test_what_goes_wrong_is_shown_on_the_board_and_changes_no_row(bench: Bench) -> None:
    async with web_double() as web, linked_bench(bench, web.pair) as here:
        boards = Boards(here.application)
        board_id = await boards.create()
        url = web.put_json("/rows", [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
        recipe = await _link(boards, board_id, url)
        assert recipe["automation_id"] is None
        await boards.call("refresh_dataset", recipe_id=recipe["id"])

        web.script += [http_answer(503, b"")] * 2
        for _ in range(2):
            assert isinstance(
                await _refused(boards, "refresh_dataset", recipe_id=recipe["id"]), UpstreamError
            )
        shown = await boards.call("get_board", board_id=board_id, dataset="incidents")
        [stored] = shown["links"][0]["recipes"]
        assert stored["failures_in_row"] == 2
        assert stored["last_error"]["detail"] == "127.0.0.1 failed with status 503."
        assert stored["last_failed_at"] >= stored["last_refreshed_at"]
        assert values(shown["data"]["datasets"]["incidents"]["rows"], "v") == ["a", "b"]

        # A row that does not fit and one that came twice are reported; the others go on.
        web.put_json(
            "/rows", [{"id": 1, "v": {"x": 1}}, {"id": 3, "v": "c"}, {"id": 3, "v": "d"}, {"v": 0}]
        )
        result = await boards.call("refresh_dataset", recipe_id=recipe["id"])
        assert (result["left_out"], result["duplicates"], result["duplicate_keys"]) == (2, 1, ["3"])
        assert values(await boards.rows(board_id, "incidents"), "id", "v") == [(1, "a"), (3, "c")]
        [stored] = (await boards.call("list_board_links", board_id=board_id))["links"][0]["recipes"]
        assert (stored["failures_in_row"], stored["last_rows"]) == (0, 2)
        assert stored["last_error"]["code"] == "rows_left_out"

        web.put_json("/rows", [{"id": 1, "v": "a", "row_id": "theirs"}, {"id": 3, "v": "c"}])
        result = await boards.call("refresh_dataset", recipe_id=recipe["id"])
        assert (result["left_out"], result["renamed"]) == (0, {"row_id": "row_id_"})
        assert (await boards.rows(board_id, "incidents"))[0]["row_id_"] == "theirs"
        web.put_json("/rows", [])
        assert (await boards.call("refresh_dataset", recipe_id=recipe["id"]))["deleted"] == 2
        [stored] = (await boards.call("list_board_links", board_id=board_id))["links"][0]["recipes"]
        assert stored["last_error"] is None
        # For a board that was put away nothing is read, and nothing has failed.
        await boards.call("archive_board", board_id=board_id)
        away = await boards.call("refresh_dataset", recipe_id=recipe["id"])
        assert away["kind"] == "noop"
        await boards.call("update_board", board_id=board_id, archived=False)
        await boards.call("delete_dataset_recipe", recipe_id=recipe["id"])
        # What came from a link may be filled from one again.
        await _link(boards, board_id, url)


async def test_rows_without_a_key_are_known_by_what_they_say(bench: Bench) -> None:
    async with web_double() as web, linked_bench(bench, web.pair) as here:
        boards = Boards(here.application)
        board_id = await boards.create()
        url = web.put_json("/rows", {"a": [{"n": 1}, {"n": 1}, {"n": 2.5}]})
        recipe = await _link(
            boards, board_id, url, params={"items": "$.a[*]", "columns": {"amount": "n"}}
        )
        await boards.call("refresh_dataset", recipe_id=recipe["id"])
        before = await boards.rows(board_id, "incidents")
        # A new dataset takes such rows too, its columns by the names that they have here.
        own = await _link(boards, await boards.create("Own"), web.put_json("/own", [{"row_id": 7}]))
        result = await boards.call("refresh_dataset", recipe_id=own["id"])
        assert (result["appended"], result["renamed"]) == (1, {"row_id": "row_id_"})
        web.put_json("/rows", {"a": [{"n": 2.5}, {"n": 1}, {"n": 3}]})
        result = await boards.call("refresh_dataset", recipe_id=recipe["id"])

        assert (result["unchanged"], result["appended"], result["deleted"]) == (2, 1, 1)
        after = await boards.rows(board_id, "incidents")
        assert values(after, "amount") == [1, 2.5, 3]
        assert [row["row_id"] for row in after[:2]] == [before[0]["row_id"], before[2]["row_id"]]


async def test_a_run_reads_only_what_a_board_is_linked_to(bench: Bench) -> None:
    async with web_double() as web, linked_bench(bench, web.pair) as here:
        boards = Boards(here.application)
        url = web.put_json("/rows", [{"id": 1}])
        asked = {"kind": "http_json", "op": "http_json.get", "ref": {"url": url}}
        answer = await boards.call("adapter_query", **asked)
        assert (answer["rows"], answer["count"], answer["cut"]) == ([{"id": 1}], 1, False)

        plan = document(step("look", "adapter_query", asked))
        assert (await here.run(plan))["steps"][0]["error"]["code"] == "not_linked"
        await _link(boards, await boards.create(), url)
        assert (await here.run(plan))["status"] == "succeeded"
        # The same holds for a feed that is kept as pages.
        feed = {"source": "rss", "input": {"url": web.put("/news", ATOM, "text/xml")}}
        assert (await boards.call("fetch_from_integration", **feed))["ingested_count"] == 1
        assert (await boards.call("fetch_from_integration", **feed))["ingested_count"] == 0
        ended = await here.run(document(step("news", "fetch_from_integration", feed), name="news"))
        assert ended["steps"][0]["error"]["code"] == "not_linked"
        far = await _refused(
            boards, "adapter_query", **{**asked, "ref": {"url": "http://10.0.0.1/"}}
        )
        assert isinstance(far, PermissionDenied)


async def test_nobody_reads_over_the_connection_of_another_member(bench: Bench) -> None:
    boards = Boards(bench.application)
    board_id = await boards.create()
    link = await boards.call(
        "create_board_link",
        board_id=board_id,
        kind="github",
        ref={"owner": "octo", "name": "hello"},
        display_name="x",
        integration_provider="github",
    )
    assert link["ref"] == {"owner": "octo", "repo": "hello"}
    assert link["integration_user_id"] == str(FIRST_MEMBER)
    somebody = CapabilityCaller(replace(boards.caller.actor, id=generate_id(), role=Role.EDITOR))
    with pytest.raises(PermissionDenied, match="another member's connection"):
        await bench.application.gate.direct(
            somebody,
            "create_dataset_recipe",
            {"link_id": link["id"], "dataset_name": "d", "adapter_op": "github.list_open_prs"},
        )
    # A connection that must be there and is not is said before anything is read.
    recipe = await boards.call(
        "create_dataset_recipe",
        link_id=link["id"],
        dataset_name="d",
        adapter_op="github.list_open_prs",
    )
    problem = await _refused(boards, "refresh_dataset", recipe_id=recipe["id"])
    assert "GitHub" in problem.detail


async def test_fields_keep_the_names_that_a_provider_gives_them(bench: Bench) -> None:
    name = "unit\nprice\u200b"
    async with web_double() as web, linked_bench(bench, web.pair) as here:
        boards = Boards(here.application)
        board_id = await boards.create()
        recipe = await _link(boards, board_id, web.put_json("/rows", [{name: 7}]))
        # Without its dataset, the refresh makes it together with its columns.
        await here.application.database.execute(
            "DELETE FROM board_datasets WHERE name = 'incidents'"
        )
        await boards.call("refresh_dataset", recipe_id=recipe["id"])
        shown = await boards.call("get_board", board_id=board_id, dataset="incidents")
        assert values(await boards.rows(board_id, "incidents"), name) == [7]

    [made] = [one for one in shown["schema"]["datasets"] if one["name"] == "incidents"]
    assert [(one["key"], one["label"]) for one in made["columns"]] == [(name, "Unit price")]
