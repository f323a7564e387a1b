"""The automations of templates run for real: what they write, and that nothing is doubled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.inbox import list_notifications
from tests.kit.bench import Bench
from tests.kit.boards import Boards, values

TEMPLATES = ["progress_scorer", "task_nudger", "milestone_reviewer"]


async def _run(bench: Bench, automation_id: str) -> dict[str, Any]:
    made = await bench.application.dispatcher.dispatch(
        RunRequest(bench.application.workspace_id, UUID(automation_id))
    )
    run = await bench.until(made.run_id)
    assert run["status"] == "succeeded", run
    return run


async def _messages(bench: Bench) -> list[str]:
    async with bench.application.database.acquire() as tx:
        found = await list_notifications(tx, bench.application.workspace_id)
    return sorted(one["title"] for one in found)


async def test_what_templates_write_they_write_once(bench: Bench) -> None:
    client, now = Boards(bench.application), datetime.now(UTC)
    near, far = now + timedelta(hours=3), now + timedelta(days=3)
    made = await client.call(
        "create_workflow",
        title="Launch {{ run.id }}",
        status="active",
        templates=TEMPLATES,
        kpis=[
            {"name": "Sales", "target": 100, "current": 10, "unit": "pcs"},
            {"name": "Pages", "target": 10, "current": 9},
            {"name": "Calls", "target": 10},
        ],
        deadlines=[
            {"label": "Beta", "date": (now - timedelta(days=2)).date().isoformat()},
            {"label": "Release", "date": (now + timedelta(days=6)).date().isoformat()},
        ],
    )
    # Most of its time has passed.
    await bench.application.database.execute(
        "UPDATE workflows SET created_at = now() - interval '60 days'"
    )
    board = made["board_id"]
    ids = {one["template"]: one["automation_id"] for one in made["automations"]}
    assert {one["state"] for one in made["automations"]} == {"active"}
    await client.append(
        board,
        {"title": "Ship it", "status": "open", "owner": "Anna", "due": near.isoformat()},
        {"title": "Later", "status": "open", "owner": "Bert", "due": far.isoformat()},
        {"title": "Written", "status": "done", "owner": "Cleo", "due": near.isoformat()},
        {"title": "Someday", "status": "open"},
        dataset="tasks",
    )
    async with bench.worker():
        for _ in range(2):
            for template in TEMPLATES:
                await _run(bench, ids[template])
    scored = await client.rows(board, "progress")
    assert values(scored, "kpi", "progress", "slipping") == [
        ("Sales", 0.1, "yes"),
        ("Pages", 0.9, "no"),
        ("Calls", 0.0, "yes"),
    ]
    assert values(await client.rows(board, "nudges"), "title", "owner") == [("Ship it", "Anna")]
    assert await _messages(bench) == ["Anna: Ship it", "Launch {{ run.id }}: 2 KPIs slip"]

    pages = (await client.call("list_pages", type="derived"))["pages"]
    (page,) = [await client.call("get_page", slug=one["slug"]) for one in pages]
    week = (await client.call("get_workflow", workflow_id=made["id"], standing=True))["standing"]
    assert page["title"] == f"Launch {{{{ run.id }}}}: {week['week'].upper()}"
    for line in (
        "- Sales: 10 of 100 pcs (slipping)",
        "- Pages: 9 of 10",
        "- Calls: not known of 10",
        ": Beta",
        ": Release",
        "- Written (Cleo)",
        ": Ship it (Anna)",
    ):
        assert line in page["body"], (line, page["body"])
    assert "Later" not in page["body"]
    await _moved_task_is_told_again(bench, board, ids["task_nudger"], near.date().isoformat())


async def _moved_task_is_told_again(bench: Bench, board: str, nudger: str, due: str) -> None:
    """A task that is due at another time is another thing to be reminded of."""
    boards = Boards(bench.application)
    (task,) = [one for one in await boards.rows(board, "tasks") if one["title"] == "Later"]
    await boards.call(
        "update_board_rows",
        board_id=board,
        dataset="tasks",
        rows=[{"row_id": task["row_id"], "due": due}],
    )
    async with bench.worker():
        await _run(bench, nudger)
    assert "Bert: Later" in await _messages(bench)
    assert len(await _messages(bench)) == 3


async def test_a_draft_starts_nothing_and_works_on_a_board_that_was_there(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create("Ours", datasets=[{"name": "tasks", "columns": [{"key": "title"}]}])
    made = await boards.call("create_workflow", title="Quiet", board_id=board, templates=TEMPLATES)
    assert {one["state"] for one in made["automations"]} == {"paused"}
    found = await boards.call("get_board", board_id=board)
    schema = {one["name"]: one for one in found["schema"]["datasets"]}
    assert set(schema) == {"default", "tasks", "progress", "nudges"}
    assert [one["key"] for one in schema["tasks"]["columns"]] == ["title"]
    await boards.append(board, {"due": "soon", "title": 5}, {"due": "2020-01-01"}, dataset="tasks")
    ids = {one["template"]: one["automation_id"] for one in made["automations"]}
    async with bench.worker():
        for template in TEMPLATES:
            await _run(bench, ids[template])
    assert await boards.rows(board, "progress") == []
    assert await _messages(bench) == ["nobody: A task without a title"]
    # Templates that it has are not made again, and their board stays theirs.
    again = await boards.call("update_workflow", workflow_id=made["id"], templates=TEMPLATES)
    assert again["automation_ids"] == made["automation_ids"]
