"""A declarative integration without an envelope is a definition and a recipe as it is printed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.recipes.compiling import compile_automation
from mainspring.recipes.compiling.compiler import compile_bare_definition, is_bare
from mainspring.recipes.package import read_package, read_place, validate_package
from mainspring.registry import build_registry
from mainspring.surfaces.cli.documents import read_definition_file
from tests.kit.declarative_integration import HOST, PRINTED, URL
from tests.kit.documented_examples import ADDED, DIGEST, DIGEST_TEXT

LIMITS = Limits()
WORDS = build_registry(LIMITS)


def test_the_printed_object_is_a_definition() -> None:
    assert is_bare(PRINTED)
    made = compile_bare_definition(PRINTED)
    assert made == compile_automation("integration", PRINTED, name="", description="")
    report = validate(made, WORDS, LIMITS)
    assert report.findings == ()
    assert made["name"] == PRINTED["name"]


@pytest.mark.parametrize("other", [None, [], {}, {"plan": [], "endpoints": []}, {"template": {}}])
def test_anything_else_is_left_as_it_is(other: Any) -> None:
    assert not is_bare(other)
    assert not is_bare({"schema_version": "1.1", "endpoints": []})
    assert not is_bare({"format": "mainspring.recipe", "endpoints": []})


def test_the_printed_object_is_a_recipe_that_asks_for_what_it_uses(tmp_path: Path) -> None:
    file = tmp_path / "coins.json"
    file.write_text(json.dumps(PRINTED))
    package = read_package(read_place(file), LIMITS)
    assert validate_package(package, WORDS, LIMITS) == []
    assert (package.slug, package.kind, str(package.version)) == (
        "coinmarketcap-top10",
        "integration",
        "1.0.0",
    )
    assert (package.name, package.publisher) == (PRINTED["name"], PRINTED["publisher"])
    assert package.hosts == (HOST,)
    assert [dict(grant.params) for grant in package.grants] == [
        {"hosts": [HOST], "method": "GET", "url": URL}
    ]
    assert [one.name for one in package.requires.publisher_secrets] == ["CMC_API_KEY"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"trigger": {"kind": "event"}}, "/trigger"),
        ({"endpoints": []}, "/endpoints"),
        ({"endpoints": "x"}, "/endpoints"),
        ({"auth": "x"}, "/auth"),
    ],
)
def test_what_is_wrong_is_reported_at_its_place(
    change: dict[str, Any], pointer: str, tmp_path: Path
) -> None:
    wrong = {**copy.deepcopy(PRINTED), **change}
    with pytest.raises(Invalid) as caught:
        compile_bare_definition(wrong)
    assert caught.value.findings[0].pointer.startswith(pointer)
    file = tmp_path / "coins.json"
    file.write_text(json.dumps(wrong))
    try:
        package = read_package(read_place(file), LIMITS)
        found = validate_package(package, WORDS, LIMITS)
    except Invalid as refused:
        found = list(refused.findings)
    assert any(one.pointer.startswith(f"/template{pointer}") for one in found), found


@pytest.mark.parametrize(
    ("name", "text"), [("coins.ts", ADDED), ("coins.json", json.dumps(PRINTED))]
)
def test_a_file_with_the_printed_text_is_read_as_its_definition(
    name: str, text: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert read_definition_file(str(file), LIMITS) == compile_bare_definition(PRINTED)
    named = read_definition_file(str(file), LIMITS, "Coins")
    assert named["name"] == "Coins"


def test_a_definition_may_have_comments_as_it_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "digest.json"
    file.write_text(DIGEST_TEXT)
    assert read_definition_file(str(file), LIMITS) == DIGEST
    file.write_text('{"a": 1,, /* b */}')
    with pytest.raises(Invalid) as caught:
        read_definition_file(str(file), LIMITS)
    assert caught.value.findings


def test_a_script_that_only_mentions_endpoints_stays_a_script(tmp_path: Path) -> None:
    file = tmp_path / "work.ts"
    file.write_text('const endpoints = ["a"];\nadd(endpoints);\n')
    assert read_definition_file(str(file), LIMITS)["plan"][0]["action"] == "script"
