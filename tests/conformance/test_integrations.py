"""One suite over every folder of the shelf: its files, its manifest, and what it adds."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.integration import Integration
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema
from mainspring.settings import Settings
from mainspring.vocabulary import build_registry, build_shelf
from tests.architecture.tree import PACKAGE

LIMITS = Limits()
SHELF = PACKAGE / "integrations"
FOLDERS = sorted(path.name for path in SHELF.iterdir() if (path / "__init__.py").is_file())
BUILT = {str(entry.manifest["id"]): entry for entry in build_shelf(Settings())}
ANTI = "x-mainspring-anti-examples"
SAFE = {"email.notify_owner", "telegram_push"}

MANIFEST: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "name", "description", "tier", "auth", "hosts", "capabilities"],
    "properties": {
        "id": {"type": "string", "maxLength": 40, "pattern": "^[a-z][a-z0-9_]*$"},
        "name": {"type": "string", "minLength": 1, "maxLength": 60},
        "description": {"type": "string", "maxLength": 200, "pattern": r"^[A-Z].*\.$"},
        "tier": {"enum": ["native"]},
        "auth": {
            "type": "object",
            "additionalProperties": False,
            "required": ["kind", "how"],
            "properties": {
                "kind": {"enum": ["none", "operator", "secret"]},
                "how": {"type": "string", "minLength": 10},
                "secrets": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "string", "maxLength": 64, "pattern": "^[a-z0-9_]+$"},
                },
            },
            "if": {"properties": {"kind": {"const": "secret"}}},
            "then": {"required": ["secrets"]},
            "else": {"properties": {"secrets": False}},
        },
        "hosts": {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "string", "maxLength": 260, "pattern": "^[a-z0-9.-]+(:[0-9]+)?$"},
        },
        "capabilities": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"type": "string"},
        },
    },
}

every_folder = pytest.mark.parametrize("folder", FOLDERS)
every_one = pytest.mark.parametrize("built", [*BUILT.values()], ids=[*BUILT])


def _manifest(folder: str) -> Any:
    return json.loads((SHELF / folder / "manifest.json").read_text(encoding="utf-8"))


def test_every_folder_of_the_shelf_is_built_and_nothing_else() -> None:
    assert FOLDERS
    assert sorted(BUILT) == FOLDERS


@every_folder
def test_a_folder_has_the_files_that_all_of_them_have(folder: str) -> None:
    names = {path.name for path in (SHELF / folder).iterdir()}

    assert {"manifest.json", "__init__.py", "capabilities.py", "README.md"} <= names
    # Where there is an address to know, one file knows it.
    assert not _manifest(folder)["hosts"] or "client.py" in names


@every_folder
def test_a_manifest_says_who_it_is_and_fits_the_schema(folder: str) -> None:
    manifest = _manifest(folder)

    assert compile_schema(MANIFEST, LIMITS).findings(manifest, "") == []
    assert manifest["id"] == folder


@pytest.mark.parametrize("left_out", MANIFEST["required"])
def test_a_manifest_that_leaves_something_out_is_noticed(left_out: str) -> None:
    manifest = {key: value for key, value in _manifest("slack").items() if key != left_out}

    assert compile_schema(MANIFEST, LIMITS).findings(manifest, "")


@every_folder
def test_the_readme_tells_of_everything_that_the_folder_adds(folder: str) -> None:
    text = (SHELF / folder / "README.md").read_text(encoding="utf-8")

    for said in _manifest(folder)["capabilities"]:
        assert f"`{said}`" in text
    for heading in ("## Set up", "## A step", "## What happens when it is tried again"):
        assert heading in text


@every_one
def test_what_is_built_is_what_the_manifest_announces(built: Integration) -> None:
    announced = _manifest(str(built.manifest["id"]))

    assert [entry.id for entry in built.capabilities] == announced["capabilities"]
    for key in announced.keys() - {"hosts"}:
        assert built.manifest[key] == announced[key]


@every_one
def test_secrets_go_to_the_hosts_of_the_manifest_and_nowhere_else(built: Integration) -> None:
    for capability in built.capabilities:
        hints = capability.annotations
        if hints.secret_arguments:
            assert hints.hosts == frozenset(built.manifest["hosts"]) != frozenset()
            assert hints.only_secrets <= hints.secret_arguments
            assert hints.secret_arguments <= capability.input_schema["properties"].keys()


def test_a_capability_belongs_to_one_integration_and_is_in_the_registry() -> None:
    names = Counter(entry.id for built in BUILT.values() for entry in built.capabilities)
    words = build_registry(LIMITS)

    assert set(names.values()) == {1}
    assert names.keys() <= words.capabilities.keys()


def _added() -> list[Any]:
    return [pytest.param(c, id=c.id) for built in BUILT.values() for c in built.capabilities]


@pytest.mark.parametrize("capability", _added())
def test_both_schemas_show_what_fits_and_what_does_not(capability: Capability) -> None:
    for schema in (capability.input_schema, capability.output_schema):
        assert schema["additionalProperties"] is False
        assert schema["examples"]
        assert schema[ANTI]
    judge = compile_schema(capability.output_schema, LIMITS)
    for example in capability.output_schema["examples"]:
        assert judge.findings(example, "") == []
    for entry in capability.output_schema[ANTI]:
        assert judge.findings(entry["value"], ""), entry


@pytest.mark.parametrize("capability", _added())
def test_what_leaves_the_house_is_shown_to_a_person_first(capability: Capability) -> None:
    if capability.annotations.effect is not Effect.SEND:
        return
    write = capability.write
    assert write is not None
    # A safe write goes to nobody whom its arguments choose; there is one list for everybody.
    assert write.safe == (capability.id in SAFE)
    assert set(write.editable) <= capability.input_schema["properties"].keys()
    assert not set(write.editable) & capability.annotations.secret_arguments
    for example in capability.input_schema["examples"]:
        line = write.preview(example)
        assert 10 < len(line) < 600
        assert "\n" not in line
