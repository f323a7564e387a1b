"""One suite over every folder of the catalog: its files, its manifest, and what it adds."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from mainspring.contracts.capability import Capability
from mainspring.contracts.integration import Integration
from mainspring.contracts.limits import Limits
from mainspring.contracts.manifest import MANIFEST_SCHEMA, TIERS
from mainspring.definition.json_schema import compile_schema
from mainspring.integration_loader import load_integrations
from mainspring.recipes.plugins.validation import validate_integration
from mainspring.registry import build_registry
from mainspring.settings import Settings
from tests.architecture.tree import PACKAGE

LIMITS = Limits()
SHELF = PACKAGE / "integrations"
FOLDERS = sorted(path.name for path in SHELF.iterdir() if (path / "__init__.py").is_file())
BUILT = {str(entry.manifest["id"]): entry for entry in load_integrations(Settings())}
# A safe write goes to nobody whom its arguments choose; there is one list for everybody.
SAFE = {"email.notify_owner", "telegram_push"}
GOLD = {"calendar", "drive", "github", "gmail", "slack", "telegram"}
# What the catalog must hold.
WANTED = GOLD | {
    "coinmarketcap",
    "discord",
    "email",
    "http_json",
    "ics",
    "linear",
    "monday",
    "rss",
}

every_folder = pytest.mark.parametrize("folder", FOLDERS)
every_one = pytest.mark.parametrize("built", [*BUILT.values()], ids=[*BUILT])


def _manifest(folder: str) -> Any:
    return json.loads((SHELF / folder / "manifest.json").read_text(encoding="utf-8"))


def test_every_folder_of_the_catalog_is_built_and_nothing_else() -> None:
    assert sorted(BUILT) == FOLDERS
    assert BUILT.keys() >= WANTED


@every_folder
def test_a_folder_has_the_files_that_all_of_them_have(folder: str) -> None:
    names = {path.name for path in (SHELF / folder).iterdir()}

    assert {"manifest.json", "__init__.py", "README.md"} <= names
    assert not BUILT[folder].capabilities or "capabilities.py" in names
    # Where there is an address to know, one file knows it.
    assert not _manifest(folder)["hosts"] or "client.py" in names


@every_folder
def test_a_manifest_says_who_it_is_and_fits_the_schema(folder: str) -> None:
    manifest = _manifest(folder)

    assert compile_schema(MANIFEST_SCHEMA, LIMITS).findings(manifest, "") == []
    assert manifest["id"] == folder


@pytest.mark.parametrize("left_out", MANIFEST_SCHEMA["required"])
def test_a_manifest_that_leaves_something_out_is_noticed(left_out: str) -> None:
    manifest = {key: value for key, value in _manifest("slack").items() if key != left_out}

    assert compile_schema(MANIFEST_SCHEMA, LIMITS).findings(manifest, "")


@every_one
def test_it_is_what_its_tier_promises(built: Integration) -> None:
    assert validate_integration(built, LIMITS) == []
    assert TIERS.index(built.manifest["tier"]) >= (2 if built.id in GOLD else 0)


@every_one
def test_the_readme_tells_of_everything_that_the_folder_adds(built: Integration) -> None:
    text = (SHELF / built.id / "README.md").read_text(encoding="utf-8")
    added = [
        *(one.id for one in built.capabilities),
        *(one.name for one in built.sources),
        *(one.type for one in built.events),
        *(operation.id for one in built.adapters for operation in one.operations),
    ]

    assert [name for name in added if f"`{name}`" not in text] == []


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
        if hints.route is not None:
            assert hints.route.integration == built.id


def test_a_capability_belongs_to_one_integration_and_is_in_the_registry() -> None:
    names = Counter(entry.id for built in BUILT.values() for entry in built.capabilities)
    vocabulary = build_registry(LIMITS)

    assert set(names.values()) == {1}
    assert names.keys() <= vocabulary.capabilities.keys()
    result = {event.type for built in BUILT.values() for event in built.events}
    assert result <= vocabulary.events.keys()


def test_sources_and_kinds_are_each_of_one_integration() -> None:
    sources = Counter(one.name for built in BUILT.values() for one in built.sources)
    kinds = Counter(one.kind for built in BUILT.values() for one in built.adapters)

    assert {*sources.values(), *kinds.values()} == {1}
    assert {"gmail", "calendar", "drive"} <= sources.keys()
    assert {"github", "monday", "http_json", "ics", "rss"} <= kinds.keys()


def _added() -> list[Any]:
    return [pytest.param(c, id=c.id) for built in BUILT.values() for c in built.capabilities]


@pytest.mark.parametrize("capability", _added())
def test_outside_writes_are_safe_only_where_everybody_agreed(capability: Capability) -> None:
    write = capability.write
    if write is None:
        return
    assert write.safe == (capability.id in SAFE)
    assert not set(write.editable) & capability.annotations.secret_arguments
    assert not set(write.wording) & capability.annotations.secret_arguments
