"""A script as a file: the command line takes it as the definition that it represents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.registry import build_registry
from mainspring.surfaces.cli.documents import read_definition_file

HOW_TO = Path(__file__).parents[4] / "docs" / "guides" / "scripts.md"


def test_the_first_script_of_the_how_to_is_a_valid_definition(tmp_path: Path) -> None:
    first = re.findall(r"```ts\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)[0]
    file = tmp_path / "orders.ts"
    file.write_text(first)
    made = read_definition_file(str(file), Limits())
    assert made["name"] == "orders"
    assert made["goal"] == "Count the orders, and remember how many there were."
    report = validate(made, build_registry(Limits()), Limits())
    assert report.findings == ()
    asked = {grant.capability for grant in report.grants} - {"automation_kv.delete"}
    assert {"list_boards", "create_board", "get_board", "automation_kv.get"} <= asked


def test_what_is_wrong_with_a_script_has_its_place(tmp_path: Path) -> None:
    file = tmp_path / "odd.ts"
    file.write_text('import fs from "node:fs";\nreturn 1;\n')
    made = read_definition_file(str(file), Limits())
    assert made["goal"] == "Run odd.ts."
    (finding,) = validate(made, build_registry(Limits()), Limits()).findings
    assert finding.pointer == "/plan/0/config/source"
    assert "node:fs" in finding.detail


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a" * (Limits().json_bytes + 1)])
def test_a_file_that_is_no_script_is_refused_with_a_sentence(
    content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "no.ts"
    file.write_bytes(content)
    with pytest.raises(Invalid) as refused:
        read_definition_file(str(file), Limits())
    assert "no.ts" in refused.value.detail
