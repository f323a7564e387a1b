"""Names that would not show what they say are refused; stored ones keep working."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid, Problem
from mainspring.definition.program import compile_program
from mainspring.definition.validate import validate
from mainspring.surfaces.cli.screen import Screen
from mainspring.workspace.people.users import clean_name
from tests.kit.api import Api, api
from tests.kit.bench import Bench, document, step
from tests.kit.board_links import linked_bench
from tests.kit.boards import Boards
from tests.kit.codex import board as board_recipe

__all__ = ["api"]

BAD = {"newline": "a\nb", "escape": "a\x1b[31mb", "bidi": "a\u202eb", "isolate": "a\u2066b"}
BAD |= {"invisible": "a\u200bb"}
BAD_NAMES = pytest.mark.parametrize("name", BAD.values(), ids=BAD)
PLAN = step("tell", "notification", {"title": "Hello"})


async def _refused(boards: Boards, pointer: str, capability: str, **value: Any) -> None:
    with pytest.raises(Problem) as refused:
        await boards.call(capability, **value)
    [finding] = refused.value.findings
    assert (finding.pointer, finding.code) == (pointer, "name_characters"), capability
    assert finding.suggestion


@BAD_NAMES
async def test_new_names_of_boards_pages_and_workflows_are_refused(bench: Bench, name: str) -> None:
    boards = Boards(bench.application)
    board_id = await boards.create()
    page = await boards.call("create_page", type="note", title="Fine", body="x")
    workflow = await boards.call("create_workflow", title="Fine")
    link = {
        "board_id": board_id,
        "kind": "ics",
        "ref": {"url": "https://example.com/a.ics"},
    }
    made = await boards.call("create_board_link", **link, display_name="Fine")
    where = {"board_id": board_id}

    await _refused(boards, "/name", "create_board", name=name)
    await _refused(boards, "/name", "update_board", **where, name=name)
    datasets = [{"name": "fine"}, {"name": name}]
    await _refused(boards, "/datasets/1/name", "create_board", name="B", datasets=datasets)
    await _refused(boards, "/datasets/1/name", "update_board", **where, datasets=datasets)
    await _refused(boards, "/display_name", "create_board_link", **link, display_name=name)
    await _refused(
        boards,
        "/dataset_name",
        "create_dataset_recipe",
        link_id=made["id"],
        dataset_name=name,
        adapter_op="ics.list_events",
    )
    await _refused(boards, "/title", "create_page", type="note", title=name, body="x")
    await _refused(boards, "/title", "update_page", slug=page["slug"], title=name)
    await _refused(boards, "/title", "create_workflow", title=name)
    kpis = [{"name": name, "target": 1}]
    await _refused(boards, "/kpis/0/name", "create_workflow", title="Other", kpis=kpis)
    await _refused(boards, "/title", "update_workflow", workflow_id=workflow["id"], title=name)
    await _refused(boards, "/name", "save_prompt", name=name, text="every day")
    package = board_recipe(name=name)
    await _refused(boards, "/package/name", "publish_recipe", package=package)


@BAD_NAMES
async def test_new_columns_options_forms_and_labels_are_refused(bench: Bench, name: str) -> None:
    boards = Boards(bench.application)
    where = {"board_id": await boards.create()}
    at = "/datasets/0/columns/1"
    for column, pointer in (
        ({"key": name, "label": "B"}, f"{at}/key"),
        ({"key": "b", "label": name}, f"{at}/label"),
        ({"key": "b", "field_type": "select", "options": ["a", name]}, f"{at}/options/1"),
    ):
        datasets = [{"name": "fine", "columns": [{"key": "a"}, column]}]
        await _refused(boards, pointer, "create_board", name="B", datasets=datasets)
        await _refused(boards, pointer, "update_board", **where, datasets=datasets)
    form = {**where, "name": "contact", "fields": [{"key": "company"}]}
    await _refused(boards, "/title", "set_board_form", **form, title=name)
    fields = [{"key": "a"}, {"key": "b", "label": name}]
    await _refused(boards, "/fields/1/label", "set_board_form", **{**form, "fields": fields})
    # A form that is kept already is held to it as well.
    await boards.call("set_board_form", **form)
    await _refused(boards, "/title", "set_board_form", **form, title=name)


async def test_stored_columns_forms_and_tags_keep_working(api: Api, bench: Bench) -> None:
    boards, database, space = (
        Boards(bench.application),
        bench.application.database,
        bench.application.workspace_id,
    )
    old = "old\u202e\x1bname"
    column = {"key": "a", "label": "A", "field_type": "select", "options": ["x"]}
    where = {"board_id": await boards.create(datasets=[{"name": "d", "columns": [column]}])}
    stored = {"key": old, "label": old, "field_type": "select", "options": [old]}
    change = "UPDATE board_datasets SET columns = $2 WHERE workspace_id = $1 AND name = 'd'"
    await database.execute(change, space, [stored])
    form = {**where, "name": "f", "title": "T", "fields": [{"key": "a", "label": "A"}]}
    await boards.call("set_board_form", **form)
    content = {"title": old, "fields": [{"key": old, "label": old}]}
    change = "UPDATE board_parts SET content = $2 WHERE workspace_id = $1"
    await database.execute(change, space, content)
    made = (await api.client.post("/api/v1/automations", json=document(PLAN))).json()
    found = await database.fetchval("SELECT document FROM definitions WHERE workspace_id=$1", space)
    found["metadata"] = {"tags": [old]}
    change = "UPDATE definitions SET document = $2 WHERE workspace_id = $1"
    await database.execute(change, space, found)

    await boards.call(
        "update_board", **where, datasets=[{"name": "d", "columns": [stored, {"key": "b"}]}]
    )
    saved = await boards.call("set_board_form", **{**form, **content}, description="new")
    assert saved["version"] == 2
    tagged = document(PLAN, metadata={"tags": [old, "new"]})
    answer = await api.client.put(f"/api/v1/automations/{made['id']}", json=tagged)
    assert answer.status_code == 200, answer.text


@BAD_NAMES
async def test_new_tags_of_automations_are_refused(api: Api, bench: Bench, name: str) -> None:
    made = (await api.client.post("/api/v1/automations", json=document(PLAN))).json()
    tagged = {"metadata": {"tags": ["fine", name]}}
    for method, path, body in (
        ("POST", "/automations", document(PLAN, name="Other", **tagged)),
        ("PUT", f"/automations/{made['id']}", document(PLAN, **tagged)),
    ):
        answer = await api.client.request(method, f"/api/v1{path}", json=body)
        assert answer.status_code == 422, answer.text
        [finding] = answer.json()["errors"]
        assert finding["pointer"].endswith("/metadata/tags/1")
        assert finding["code"] == "name_characters"
    words = await bench.application.registry.of(bench.application.workspace_id)
    report = validate(document(PLAN, **tagged), words, bench.application.limits)
    assert [one.pointer for one in report.warnings if one.code == "name_characters"] == [
        "/metadata/tags/1"
    ]


@BAD_NAMES
async def test_new_names_of_members_and_connections_are_refused(bench: Bench, name: str) -> None:
    with pytest.raises(Invalid) as refused:
        clean_name(name)
    assert [one.pointer for one in refused.value.findings] == ["/name"]
    async with linked_bench(bench) as here:
        await _refused(
            Boards(here.application),
            "/label",
            "connect_integration",
            integration="coinmarketcap",
            label=name,
            fields={"api_key": "a-key"},
        )


async def _answers(api: Api, method: str, path: str, body: Mapping[str, Any]) -> None:
    answer = await api.client.request(method, f"/api/v1{path}", json=body)
    problem = answer.json()
    assert answer.status_code == 422, problem
    [finding] = problem["errors"]
    assert finding["pointer"].endswith("/name"), problem
    assert finding["code"] == "name_characters"
    assert finding["suggestion"]


@BAD_NAMES
async def test_new_names_of_automations_tokens_and_workspaces_are_refused(
    api: Api, name: str
) -> None:
    made = await api.client.post("/api/v1/automations", json=document(PLAN))
    assert made.status_code == 201, made.text
    found = made.json()

    await _answers(api, "POST", "/automations", document(PLAN, name=name))
    await _answers(api, "PUT", f"/automations/{found['id']}", document(PLAN, name=name))
    await _answers(api, "POST", "/tokens", {"name": name})
    await _answers(api, "POST", "/workspaces", {"name": name})
    space = api.application.workspace_id
    await _answers(api, "PATCH", f"/workspaces/{space}", {"name": name})


async def test_a_title_that_comes_from_a_heading_or_from_outside_is_made_plain(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    made = await boards.call("create_page", type="note", markdown="# In\u202evoices\x1b\n\ntext")

    page = await boards.call("get_page", slug=made["slug"])
    assert page["title"] == "In voices"


async def test_a_run_keeps_a_page_whose_title_came_from_outside(bench: Bench) -> None:
    given = {"type": "note", "title": "{{ inputs.subject }}", "body": "x", "slug": "letter"}
    again = {"slug": "letter", "title": "{{ inputs.subject }}!"}
    plan = [step("make", "create_page", given), step("change", "update_page", again)]
    schema = {"type": "object", "properties": {"subject": {"type": "string"}}}
    granted = [{"capability": "create_page"}, {"capability": "update_page"}]
    run = await bench.run(
        document(*plan, inputs={"schema": schema}, grants=granted),
        inputs={"subject": "a\u202eb\nc"},
    )

    assert run["status"] == "succeeded", run
    page = await Boards(bench.application).call("get_page", slug="letter")
    assert page["title"] == "a b c!"


async def test_stored_names_keep_working(api: Api, bench: Bench) -> None:
    boards, database, space = (
        Boards(bench.application),
        bench.application.database,
        bench.application.workspace_id,
    )
    name = "old\u202e\x1bname"
    board_id = await boards.create()
    page = await boards.call("create_page", type="note", title="Fine", body="x")
    made = (await api.client.post("/api/v1/automations", json=document(PLAN))).json()
    await database.execute("UPDATE boards SET name = $2 WHERE workspace_id = $1", space, name)
    await database.execute("UPDATE pages SET title = $2 WHERE workspace_id = $1", space, name)
    await database.execute("UPDATE automations SET name = $2 WHERE workspace_id = $1", space, name)

    changed = await boards.call("update_board", board_id=board_id, name=name, description="new")
    assert (changed["name"], changed["description"]) == (name, "new")
    await boards.call("update_page", slug=page["slug"], title=name, body="new")
    path = f"/api/v1/automations/{made['id']}"
    stored = await api.client.put(path, json=document(PLAN, name=name, description="new"))
    assert (stored.status_code, stored.json()["name"]) == (200, name)
    for word in ("activate", "pause"):
        assert (await api.client.post(f"{path}/{word}")).status_code == 200
    assert (await api.client.get(path)).json()["name"] == name


async def test_a_definition_is_warned_of_its_name_and_runs_on(bench: Bench) -> None:
    words = await bench.application.registry.of(bench.application.workspace_id)
    report = validate(document(PLAN, name=BAD["escape"]), words, bench.application.limits)

    [warning] = [one for one in report.warnings if one.code == "name_characters"]
    assert warning.pointer == "/name"
    compiled = compile_program(report.accepted(), words, bench.application.limits)
    assert compiled.definition.name == BAD["escape"]


def test_no_name_reaches_a_terminal_with_its_escape_sequences(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("Name")
    table.add_row("c\x1b]0;x\x07")
    Screen().say("a\x1b[2J", Text("b\u202e"), table)

    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x07\u202e")
