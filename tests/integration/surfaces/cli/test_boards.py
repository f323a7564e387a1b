"""``mainspring boards``: what is shown is what other commands take, and nothing is a dead end."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest

from tests.integration.surfaces.cli.conftest import Command


async def test_rows_are_shown_with_their_ids_deleted_and_restored(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def piped(*rows: dict[str, object]) -> None:
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text)))

    nothing = await command("boards", "append", "Nosuch", "-")
    assert "boards list" in nothing[1]
    assert "list_boards" not in nothing[1]
    first = json.loads((await command("boards", "create", "Tea", "--json"))[1])["id"]
    piped({"kind": "green"}, {"kind": "black"})
    assert (await command("boards", "append", "Tea", "-"))[0] == 0
    shown = json.loads((await command("boards", "show", "Tea", "--json"))[1])
    green, black = [row["row_id"] for row in shown["data"]["datasets"]["default"]["rows"]]
    result = (await command("boards", "show", "Tea"))[1]
    assert f"{green}  green" in result
    assert "Deleted" not in result

    gone = await command("boards", "delete", "Tea", green)
    assert f"boards restore Tea {green}" in gone[1]
    assert "No row was deleted." in (await command("boards", "delete", "Tea", green))[1]
    lines = (await command("boards", "show", "Tea", "--deleted"))[1].splitlines()
    assert [line.split() for line in lines if line.startswith(black)] == [[black, "black"]]
    (marked,) = [line.split() for line in lines if line.startswith(green)]
    assert (len(marked), marked[-1]) == (4, "green"), "the moment of its deletion stands beside it"
    piped({"row_id": green, "kind": "white"})
    assert "boards restore BOARD ROW..." in (await command("boards", "update", "Tea", "-"))[1]
    assert "1 row restored." in (await command("boards", "restore", "Tea", green))[1]
    piped({"row_id": green, "kind": "green"})
    assert "No row was changed." in (await command("boards", "update", "Tea", "-"))[1]

    assert f"boards restore {first}" in (await command("boards", "archive", "Tea"))[1]
    piped({"kind": "red"})
    assert "boards restore BOARD" in (await command("boards", "append", first, "-"))[1]
    assert (await command("boards", "restore", "Tea"))[0] == 0
    twin = await command("boards", "create", "Tea")
    assert "Another board has this name too" in twin[1]
    listed = (await command("boards", "list"))[1].splitlines()
    assert listed[0].split() == ["Id", "Name", "Rows"]
    second = listed[2].split()[0]
    for words in (("append", "Te", "-"), ("show", "Nosuch")):
        refused = (await command("boards", *words))[1]
        assert (refused.count(first), refused.count(second)) == (1, 1), refused
    assert "Name the one you mean by its id." in (await command("boards", "show", "Tea"))[1]
