"""An integration of somebody else: how one begins, and what is asked of all of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mainspring.connections.accounts.member_access import MemberConnections, describe_integration
from mainspring.contracts.capability import Write
from mainspring.contracts.errors import Conflict, Invalid
from mainspring.contracts.integration import Integration
from mainspring.contracts.limits import Limits
from mainspring.definition.authority import find_additions, read_authority
from mainspring.definition.validate import validate
from mainspring.integration_loader import load_integrations, reserved_names
from mainspring.recipes.plugins.scaffold import scaffold
from mainspring.recipes.plugins.validation import validate_integration
from mainspring.registry import build_registry
from mainspring.settings import Settings


@pytest.fixture
def made(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Integration]:
    """The integration of a package that was just begun."""
    del request
    written = scaffold("acme_notes", tmp_path)
    source = next(path for path in written if path.name == "manifest.json").parent.parent
    sys.path.insert(0, str(source))
    try:
        yield importlib.import_module("mainspring_acme_notes").integration({})
    finally:
        sys.path.remove(str(source))
        for name in [one for one in sys.modules if one.startswith("mainspring_acme_notes")]:
            del sys.modules[name]


def test_what_is_begun_passes_the_judge_and_its_own_test(made: Integration) -> None:
    assert validate_integration(made, Limits()) == []
    assert made.id == "acme_notes"


def test_nothing_that_is_there_is_written_over(tmp_path: Path) -> None:
    first = scaffold("acme", tmp_path)
    first[0].write_text("mine")
    with pytest.raises(Conflict):
        scaffold("acme", tmp_path)
    assert first[0].read_text() == "mine"


@pytest.mark.parametrize("name", ["", "A", "9lives", "../up", "a b", "x" * 60])
def test_a_name_that_cannot_be_one_makes_no_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid) as wrong:
        scaffold(name, tmp_path)
    assert wrong.value.findings[0].pointer == "/name"
    assert list(tmp_path.iterdir()) == []


def test_a_reserved_name_is_taken(tmp_path: Path) -> None:
    with pytest.raises(Conflict):
        scaffold("gmail", tmp_path, frozenset({"gmail"}))


def _changed(made: Integration, **manifest: Any) -> Integration:
    return replace(made, manifest={**made.manifest, **manifest})


def test_the_judge_names_what_is_missing(made: Integration) -> None:
    (post,) = made.capabilities
    loose = replace(post, input_schema={**post.input_schema, "additionalProperties": True})
    bare = replace(post, input_schema={"type": "object"})
    unseen = replace(post, write=None)
    lines = replace(post, write=Write(preview=lambda given: f"{given}\n"))
    lying = replace(post, output_schema={**post.output_schema, "examples": [{"note_id": 3}]})
    cases: list[tuple[Integration, str]] = [
        (_changed(made, tier="platinum"), "enum"),
        (_changed(made, capabilities=[]), "capability_announced"),
        (_changed(made, hosts=["elsewhere.example:443"]), "host_unnamed"),
        (_changed(made, tier="gold"), "no_poll"),
        (
            replace(_changed(made, tier="silver"), account=Integration({}).account),
            "no_account_test",
        ),
        (replace(made, capabilities=(loose,)), "open_schema"),
        (replace(made, capabilities=(bare,)), "no_example"),
        (replace(made, capabilities=(unseen,)), "no_preview"),
        (replace(made, capabilities=(lines,)), "bad_preview"),
        (replace(made, capabilities=(lying,)), "false_example"),
    ]
    for one, code in cases:
        assert code in {finding.code for finding in validate_integration(one, Limits())}, code


def test_no_outside_package_shadows_a_built_in_one(made: Integration) -> None:
    ours = {one.id: one for one in load_integrations(Settings())}
    gmail = ours["gmail"]

    assert not any(reserved_names(made) & reserved_names(one) for one in ours.values())
    assert reserved_names(_changed(made, source="gmail")) & reserved_names(gmail) == {"gmail"}
    assert reserved_names(replace(made, events=gmail.events)) & reserved_names(gmail)
    # Ours do not meet either, so that each name means one of them.
    named = [name for one in ours.values() for name in reserved_names(one)]
    assert len(named) == len(set(named))


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Integration]:
    """The same package as an installer leaves it: found by its entry point and nothing else."""
    written = scaffold("acme_notes", tmp_path)
    source = next(path for path in written if path.name == "manifest.json").parent.parent
    facts = source / "mainspring_acme_notes-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Name: mainspring-acme-notes\nVersion: 0.1.0\n")
    point = "[mainspring.integrations]\nacme_notes = mainspring_acme_notes:integration\n"
    (facts / "entry_points.txt").write_text(point)
    sys.path.insert(0, str(source))
    importlib.invalidate_caches()
    try:
        yield next(one for one in load_integrations(Settings()) if one.id == "acme_notes")
    finally:
        sys.path.remove(str(source))
        for name in [one for one in sys.modules if one.startswith("mainspring_acme_notes")]:
            del sys.modules[name]


def test_an_installed_package_is_offered_everywhere(installed: Integration) -> None:
    registry = build_registry(Limits())
    document = {
        "schema_version": "1.2",
        "name": "Notes",
        "plan": [
            {
                "step_id": "note",
                "action": "acme_notes.post_note",
                "config": {"text": "All is well."},
            }
        ],
    }
    report = validate(document, registry, Limits())
    step = {**document["plan"][0], "approval": "automatic"}  # type: ignore[dict-item]
    after = read_authority({**document, "plan": [step]}, (), Limits())
    (adapter,) = describe_integration(installed, MemberConnections({}))["adapters"]

    assert "acme_notes.post_note" in registry.capabilities
    assert "acme_notes.note_added" in registry.events
    assert [one for one in report.findings if "acme_notes" in one.detail] == []
    (says,) = [one.says for one in find_additions(None, after) if one.kind == "approval"]
    assert says.startswith("It posts notes to Acme notes with its owner's Acme notes account")
    assert adapter["kind"] == "acme_notes"
    assert adapter["label"] == "Acme notes notes"
    assert adapter["connection"] == "needed"
    assert adapter["fields"] == [
        {"name": "folder", "label": "Folder", "placeholder": "weekly", "required": False}
    ]
    assert [one["id"] for one in adapter["operations"]] == ["acme_notes.list_notes"]
