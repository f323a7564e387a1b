"""Whole workspaces as files: out, into another workspace, and out again with the same bytes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, Invalid, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.recipes.carrying.model import WorkspaceContent
from mainspring.recipes.carrying.workspace_files import MARKER, format_json, to_files
from mainspring.workspace.automations import FIRST_MEMBER, ensure_workspace
from mainspring.workspace.import_export import (
    import_validated,
    validate_import,
)
from tests.kit.bench import Bench, document, step

Files = dict[str, str]
DAILY = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
HOOK = {"id": "hook", "type": "webhook"}
COLUMNS = [{"key": "company"}, {"key": "stage", "field_type": "select", "options": ["new", "won"]}]
SOURCE = 'export default async () => {\n  return "%s costs $$board(x)";\n};\n'


@dataclass(frozen=True, slots=True)
class Place:
    """One workspace as a member sees it."""

    bench: Bench
    space: UUID
    role: Role = Role.OWNER

    async def call(self, capability: str, **arguments: Any) -> Any:
        caller = CapabilityCaller(Actor(self.space, "member", FIRST_MEMBER, role=self.role))
        return await self.bench.application.gate.direct(caller, capability, arguments)

    async def files(self, **more: Any) -> Files:
        found: Files = (await self.call("export_workspace", **more))["files"]
        return found

    async def bring(self, files: Mapping[str, str], **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = await self.call("import_workspace", files=dict(files), **more)
        return found

    async def count(self) -> dict[str, int]:
        rows = await self.bench.application.database.fetch(
            """SELECT 'automations' AS name, count(*) AS n FROM automations WHERE workspace_id = $1
            UNION ALL SELECT 'boards', count(*) FROM boards WHERE workspace_id = $1
            UNION ALL SELECT 'workflows', count(*) FROM workflows WHERE workspace_id = $1
            UNION ALL SELECT 'prompts', count(*) FROM saved_prompts WHERE workspace_id = $1
            UNION ALL SELECT 'rows', count(*) FROM board_rows WHERE workspace_id = $1""",
            self.space,
        )
        return {row["name"]: row["n"] for row in rows}


async def _places(bench: Bench) -> tuple[Place, Place]:
    other = generate_id()
    async with bench.application.database.transaction() as tx:
        await ensure_workspace(tx, other, "Elsewhere")
    return Place(bench, bench.application.workspace_id), Place(bench, other)


async def _furnish(bench: Bench, here: Place) -> None:
    """Boards, automations that name them and each other, a workflow, a request in words."""
    crm = await here.call(
        "create_board",
        name="CRM",
        description="People we talk to.",
        datasets=[
            {"name": "default", "columns": COLUMNS, "dedupe_key_field": "company"},
            {"name": "Notes / old", "columns": [{"key": "text"}]},
        ],
    )
    await here.call("create_board", name="crm")
    board = crm["id"]
    await here.call("set_board_skill", board_id=board, name="score", prompt=f"Look at {board}.")
    await here.call("set_board_form", board_id=board, name="new", fields=[{"key": "company"}])
    await here.call("set_board_dashboard", board_id=board, html="<h1>Ünder</h1>")
    rows = [{"company": "Acme", "stage": "won", "n": 1.5}, {"company": "Bär"}]
    await here.call("append_board_rows", board_id=board, rows=rows)
    read = step("read", "get_board", {"board_id": board})
    grants = [{"capability": "get_board", "params": {"board_id": board}}]
    reader = await bench.save(
        document(read, name="Read CRM", triggers=[DAILY, HOOK], grants=grants)
    )
    script = step("main", "script", {"source": SOURCE % board})
    await bench.save(document(script, name="CON"))
    failed = {
        "id": "failed",
        "type": "event",
        "config": {
            "event_type": "automation.run.failed",
            "filters": {"automation_id": {"equals": str(reader.automation_id)}},
        },
    }
    answer = step("say", "transform_data", {"output": {"n": 1}})
    await bench.save(document(answer, name="After a failure", triggers=[failed, DAILY]))
    await here.call(
        "create_workflow",
        title="Win Acme",
        charter="Call them.",
        board_id=board,
        kpis=[{"name": "calls", "target": 10, "current": 3}],
        deadlines=[{"label": "Signed", "date": "2026-12-31"}],
        automation_ids=[str(reader.automation_id)],
        templates=["progress_scorer"],
    )
    await here.call("save_prompt", name="Digest", text="Every day at 9 tell me the news")


async def test_a_workspace_comes_out_with_the_same_bytes_after_it_went_in_elsewhere(
    bench: Bench,
) -> None:
    here, there = await _places(bench)
    await _furnish(bench, here)

    result = await here.call("export_workspace", rows=True)
    files: Files = result["files"]

    assert result["notes"] == []
    assert {
        "automations/after-a-failure.json",
        "automations/read-crm.json",
        "automations/x-con.json",
        "automations/x-con/main.ts",
        "boards/crm.json",
        "boards/crm/dashboard.html",
        "boards/crm/rows/default.jsonl",
        "boards/crm-2.json",
        "workflows/win-acme.json",
        "prompts/digest.json",
        MARKER,
    } <= files.keys()
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-7", "".join(files.values()))
    assert files["automations/x-con/main.ts"] == SOURCE.replace("$$board", "$$$$board") % (
        "$board(crm)"
    )
    assert all(
        "\r" not in text and text.endswith("\n") for p, text in files.items() if p[-5:] == ".json"
    )
    before = await there.count()
    assert await there.files(rows=True) == to_files(WorkspaceContent())

    dry = await there.bring(files, dry_run=True)
    assert await there.count() == before
    brought = await there.bring(files)

    assert [one["what"] for one in dry["things"]] == ["made"] * len(brought["things"])
    assert await there.files(rows=True) == files
    automations = [one for one in brought["things"] if one["kind"] == "automation"]
    assert len(automations) == 4
    assert all(one["consent_id"] for one in automations)
    states = await bench.application.database.fetch(
        "SELECT state, paused_reason FROM automations WHERE workspace_id = $1", there.space
    )
    assert {(row["state"], row["paused_reason"]) for row in states} == {("paused", "consent")}

    # The same again is nothing new, whatever is said about clashes.
    counted = await there.count()
    for way in ("refuse", "new_version", "rename"):
        again = await there.bring(files, on_clash=way)
        assert {one["what"] for one in again["things"]} == {"unchanged"}
    assert await there.count() == counted
    assert await there.files(rows=True) == files


async def test_conflicts_are_refused_replaced_or_imported_under_another_name(bench: Bench) -> None:
    here, there = await _places(bench)
    await _furnish(bench, here)
    files = await here.files()
    await there.bring(files)
    board = json.loads(files["boards/crm.json"])
    board["datasets"][0]["columns"].append({"key": "owner"})
    flow = json.loads(files["workflows/win-acme.json"])
    changed = {
        **files,
        "boards/crm.json": format_json(board),
        "automations/x-con/main.ts": files["automations/x-con/main.ts"] + "// more\n",
        "workflows/win-acme.json": format_json({**flow, "charter": "Write to them."}),
        "prompts/digest.json": format_json({"name": "Digest", "text": "Every week"}),
    }

    counted = await there.count()
    with pytest.raises(Conflict) as refusal:
        await there.bring(changed)
    assert {one.pointer for one in refusal.value.findings} == {
        "boards/crm.json#",
        "automations/x-con.json#",
        "workflows/win-acme.json#",
        "prompts/digest.json#",
    }
    assert await there.count() == counted

    result = await there.bring(changed, on_clash="new_version")
    assert {one["path"] for one in result["things"] if one["what"] == "changed"} == {
        "boards/crm.json",
        "automations/x-con.json",
        "workflows/win-acme.json",
        "prompts/digest.json",
    }
    assert (await there.files())["prompts/digest.json"] == changed["prompts/digest.json"]
    assert "owner" in (await there.files())["boards/crm.json"]

    other = await there.bring(files, on_clash="rename")
    renamed = {one["renamed_from"]: one["name"] for one in other["things"] if one["renamed_from"]}
    assert renamed == {
        "CRM": "CRM (2)",
        "CON": "CON (2)",
        "Win Acme": "Win Acme (2)",
        "Digest": "Digest (2)",
    }


async def test_a_folder_with_any_problem_stores_nothing_of_itself(bench: Bench) -> None:
    here, there = await _places(bench)
    await _furnish(bench, here)
    files = await here.files(rows=True)
    before = await there.count()

    def with_json(path: str, **more: Any) -> Files:
        return {**files, path: format_json({**json.loads(files[path]), **more})}

    plan = json.loads(files["automations/read-crm.json"])["plan"]
    bad = [
        (
            with_json("automations/read-crm.json", plan=[{**plan[0], "action": "gett_board"}]),
            "automations/read-crm.json#/plan/0/action",
        ),
        (with_json("boards/crm.json", skills=[{"name": "a"}]), "boards/crm.json#/skills/0/prompt"),
        (
            with_json("workflows/win-acme.json", board="$automation(x-con)"),
            "workflows/win-acme.json#/board",
        ),
        (
            with_json("workflows/win-acme.json", kpis=[{"name": "n", "target": "ten"}]),
            "workflows/win-acme.json#/kpis/0/target",
        ),
        ({**files, "automations/x-con/main.ts": "export default ("}, "automations/x-con/main.ts#"),
        (
            {**files, "boards/crm/rows/default.jsonl": '{"company":"A","stage":"lost"}\n'},
            "boards/crm/rows/default.jsonl#/0/stage",
        ),
        (
            {
                **files,
                "automations/read-crm.json": files["automations/read-crm.json"].replace(
                    "$board(crm)", "$board(gone)"
                ),
            },
            "automations/read-crm.json#/plan/0/config/board_id",
        ),
    ]
    for found, place in bad:
        with pytest.raises(Invalid) as refusal:
            await there.bring(found)
        assert place in {one.pointer for one in refusal.value.findings}, (
            place,
            refusal.value.findings,
        )
        assert await there.count() == before


async def test_members_without_edit_rights_neither_export_nor_import(bench: Bench) -> None:
    here, _ = await _places(bench)
    viewer = Place(bench, here.space, Role.VIEWER)

    with pytest.raises(PermissionDenied):
        await viewer.files()
    with pytest.raises(PermissionDenied):
        await viewer.bring(to_files(WorkspaceContent()))


async def test_a_file_that_leaves_out_what_is_usual_says_the_same_afterwards(bench: Bench) -> None:
    _, there = await _places(bench)
    small = document(step("say", "transform_data", {"output": {"n": 1}}), name="By hand")
    files = {
        **to_files(WorkspaceContent()),
        "automations/by-hand.json": format_json(small),
        "boards/b.json": '{"name": "B"}',
    }
    await there.bring(files)

    again = await there.bring(files)

    assert {one["what"] for one in again["things"]} == {"unchanged"}


async def test_row_counts_are_reported_and_changes_by_people_stay(
    bench: Bench,
) -> None:
    here, _ = await _places(bench)
    board = (
        await here.call(
            "create_board",
            name="B",
            datasets=[
                {"name": "default", "columns": COLUMNS, "dedupe_key_field": "company"},
                {"name": "more", "columns": [{"key": "z"}]},
            ],
        )
    )["id"]
    rows = [{"company": "gone"}, {"company": "other"}, {"company": "same"}]
    made = await here.call("append_board_rows", board_id=board, rows=rows)
    await here.call("append_board_rows", board_id=board, dataset="more", rows=[{"z": "q"}])
    files = await here.files(rows=True)
    files["boards/b/rows/default.jsonl"] += '{"company":"new"}\n'
    files["boards/b/rows/more.jsonl"] += '{"z":"r"}\n'
    gone, other, _ = made["row_ids"]
    await here.call("delete_board_rows", board_id=board, row_ids=[gone])
    await here.call("update_board_rows", board_id=board, rows=[{"row_id": other, "stage": "won"}])

    async def brought() -> int:
        return await bench.application.database.fetchval(  # type: ignore[no-any-return]
            "SELECT count(*) FROM audit_log WHERE workspace_id = $1 AND action = $2",
            here.space,
            "import_workspace",
        )

    before = await here.count()
    dry = await here.bring(files, dry_run=True)
    assert (await here.count(), await brought()) == (before, 0)
    result = await here.bring(files)
    again = await here.bring(files)

    assert {**dry, "dry_run": False} == result
    assert [one["what"] for one in result["things"]] == ["changed"]
    counts = [[one[key] for key in ("added", "unchanged", "left")] for one in result["rows"]]
    assert [one["dataset"] for one in result["rows"]] == ["default", "more"]
    assert counts == [[1, 1, 2], [0, 1, 1]]
    assert len(result["left"]) == 3
    assert any("deleted in this workspace" in one["why"] for one in result["left"])
    assert [one["what"] for one in again["things"]] == ["unchanged"]
    assert await brought() == 1
    found = await here.files(rows=True)
    assert found["boards/b/rows/default.jsonl"].splitlines() == [
        '{"company":"other","stage":"won"}',
        '{"company":"same"}',
        '{"company":"new"}',
    ]

    await _judged_before(here, files)


async def _judged_before(here: Place, files: dict[str, str]) -> None:
    """What is wrong or left out is reported, and changes nothing."""
    # A row that does not fit is reported before anything is tried.
    files["boards/b/rows/default.jsonl"] += '{"company":"x","stage":"lost"}\n'
    with pytest.raises(Invalid) as refusal:
        await here.bring(files, dry_run=True)
    assert [one.pointer for one in refusal.value.findings] == [
        "boards/b/rows/default.jsonl#/4/stage"
    ]

    # A dataset that the file leaves out is kept, and that is no change.
    spoken = json.loads(files["boards/b.json"])
    spoken["datasets"] = [
        {key: value for key, value in spoken["datasets"][0].items() if key != "rows_file"}
    ]
    fewer = {MARKER: files[MARKER], "boards/b.json": format_json(spoken)}
    result = await here.bring(fewer, on_clash="new_version")
    assert [one["what"] for one in result["things"]] == ["unchanged"]
    assert [one["path"] for one in result["left"]] == ["boards/b.json"]


PIECES = ("CRM", "crm", "A / b", "日本", "con", "$board(crm)", "x y", "X-Y", "10 %")


async def _furnish_by_chance(bench: Bench, place: Place, chance: random.Random) -> None:
    boards = []
    for name in chance.choices(PIECES, k=chance.randint(0, 4)):
        datasets = [
            {"name": one, "columns": chance.sample(COLUMNS, k=chance.randint(0, 2))}
            for one in chance.sample(["default", "Two", "two", "2 / b"], k=chance.randint(0, 3))
        ]
        made = await place.call("create_board", name=name, datasets=datasets)
        boards.append(made["id"])
        rows = [{"company": chance.choice(PIECES), "n": chance.random()} for _ in range(2)]
        await place.call("append_board_rows", board_id=made["id"], rows=rows)
    documents = []
    for name in chance.sample(PIECES, k=chance.randint(0, 4)):
        text = " $$".join(chance.choices([*boards, *PIECES], k=3))
        plan = [
            step("main", "script", {"source": f"export default async () => {json.dumps(text)};"}),
            step("say", "transform_data", {"output": {"of": text}}),
        ]
        documents.append(document(*plan, name=name, triggers=chance.choice([[], [DAILY, HOOK]])))
    words = await bench.application.registry.of(place.space)
    candidates = await validate_import(
        {"format": "mainspring.export", "version": 1, "automations": documents},
        words,
        bench.application.limits,
    )
    async with bench.application.database.transaction() as tx:
        await import_validated(
            tx, place.space, candidates, FIRST_MEMBER, words, bench.application.limits
        )
    for name in chance.sample(PIECES, k=2):
        await place.call("save_prompt", name=name, text=chance.choice(PIECES))


async def test_any_workspace_comes_out_as_it_went_in(bench: Bench) -> None:
    for seed in range(8):
        _, here = await _places(bench)
        _, there = await _places(bench)
        await _furnish_by_chance(bench, here, random.Random(seed))
        files = await here.files(rows=True)

        await there.bring(files)

        assert await there.files(rows=True) == files, seed
