"""Keeping rows: filled from a file, read back, listened to, and nothing doubled."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance.commands import Mainspring, step
from tests.acceptance.server import SOON, Json, Started, definition, trigger
from tests.kit.processes import wait_until

ROWS = 6_000


def test_a_file_of_rows_fills_a_board_once_and_starts_its_listeners(
    server: Started, mainspring: Mainspring, tmp_path: Path
) -> None:
    made = mainspring("boards", "create", "Contacts", "--key", "url", "--json")
    assert made.code == 0, made.output
    board = made.json["id"]
    listens = trigger(
        "new",
        "board_change",
        board_id=board,
        change=["rows_appended"],
        filters={"count": {"equals": 5_000}},
    )
    plan = [step("say", "transform_data", output="{{ trigger.count }}")]
    automation = server.save(definition("Board listener", plan, triggers=[listens]))

    rows = [{"url": f"https://example.com/{n}", "name": f"Ünï {n}"} for n in range(ROWS)]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    first = mainspring("boards", "append", "Contacts", file, "--json")
    assert (first.json["appended"], first.json["batches"]) == (ROWS, 2), first.output
    array = json.dumps(rows[:10]).encode()
    again = mainspring("boards", "append", board, "-", "--json", stdin=array)
    assert (again.json["appended"], again.json["skipped"]) == (0, 10)

    wait_until(lambda: bool(_runs(server, automation)), SOON, "a run of the listener")
    (run,) = _runs(server, automation)
    assert run["trigger_type"] == "board_change"

    out = mainspring("boards", "export", "Contacts")
    assert [json.loads(line) for line in out.out.splitlines()] == rows
    page = server.get(f"/boards/{board}", offset=5_990)["data"]["datasets"]["default"]
    ids = [row["row_id"] for row in page["rows"][:2]]
    change = json.dumps({"row_id": ids[0], "name": "Ada"}).encode()
    result = mainspring("boards", "update", "Contacts", "-", "--json", stdin=change)
    assert result.json["updated"] == 1
    assert mainspring("boards", "delete", board, *ids, "--json").json["total"] == ROWS - 2
    shown = mainspring("boards", "show", "Contacts", "--limit", "2")
    assert "Ünï 1" in shown.out
    listed = mainspring("boards", "list")
    assert f"default: {ROWS - 2}" in listed.out


def _runs(server: Started, automation: str) -> list[Json]:
    return server.items("/runs", automation_id=automation)


def test_a_row_that_does_not_fit_is_named_by_its_number_in_the_file(
    server: Started, mainspring: Mainspring
) -> None:
    columns = [{"key": "price", "field_type": "number"}]
    datasets = [{"name": "default", "columns": columns}]
    board = server.post("/boards", {"name": "Prices", "datasets": datasets}, 201)["id"]
    rows = [{"price": n} for n in range(5_003)]
    lines = "\n".join(json.dumps(row) for row in [*rows, {"price": "free"}]).encode()
    refused = mainspring("boards", "append", "Prices", "-", stdin=lines)
    assert refused.code != 0
    assert "/rows/5003/price" in refused.output
    assert "5000 rows before this batch are in" in refused.output
    broken = mainspring("boards", "append", board, "-", stdin=b'{"price": 1}\n{"price"}\n')
    assert "Row 2 cannot be read" in broken.output
    assert server.get(f"/boards/{board}")["data"]["datasets"]["default"]["total"] == 5_000
