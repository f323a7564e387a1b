"""Wishes reach the one thing that they are for, and settings are judged where they are given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from mainspring.contracts.display_text import choose_free_name
from mainspring.contracts.errors import Invalid
from mainspring.recipes.codex.catalog import Recipe
from mainspring.recipes.codex.dependencies import InstallStage, distribute_overrides
from mainspring.recipes.package import read_package
from tests.kit.codex import automation, board

SITE = {"name": "site", "type": "string", "label": "Which site"}


def _stage(document: dict[str, Any]) -> InstallStage:
    package, at = read_package(document), datetime(2026, 1, 1, tzinfo=UTC)
    found = Recipe(uuid4(), "workspace", package, (str(package.version),), at, at)
    return InstallStage(package.slug, uuid4(), found)


def test_each_wish_goes_to_what_it_is_for() -> None:
    stages = [_stage(board("sites")), _stage(automation("checker"))]
    overrides = distribute_overrides(stages, "checker", {"board_name": "Shops", "name": "Mine"})

    assert overrides == {
        "sites": {"board_name": "Shops", "settings": {}},
        "checker": {"name": "Mine", "settings": {}},
    }


@pytest.mark.parametrize(
    ("stages", "overrides", "place", "code"),
    [
        ([automation("checker")], {"board_name": "A"}, "/overrides/board_name", "override_unused"),
        ([automation("checker")], {"roster": []}, "/overrides/roster", "override_unused"),
        (
            [board("a"), board("b"), automation("checker")],
            {"board_name": "A"},
            "/overrides/board_name",
            "override_unused",
        ),
        (
            [automation("checker", settings=[SITE])],
            {},
            "/overrides/settings/site",
            "setting_needed",
        ),
        (
            [automation("checker", settings=[SITE])],
            {"settings": {"site": 3}},
            "/overrides/settings/site",
            "type",
        ),
        (
            [automation("checker", settings=[SITE])],
            {"settings": {"site": "{{ secret }}"}},
            "/overrides/settings/site",
            "value_is_template",
        ),
        (
            [automation("checker", settings=[{**SITE, "default": "a"}])],
            {"settings": {"sites": "b"}},
            "/overrides/settings/sites",
            "unknown_setting",
        ),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(
    stages: list[Any], overrides: dict[str, Any], place: str, code: str
) -> None:
    with pytest.raises(Invalid) as refused:
        distribute_overrides([_stage(one) for one in stages], "checker", overrides)

    assert [(one.pointer, one.code) for one in refused.value.findings] == [(place, code)]


def test_settings_reach_everything_that_has_them() -> None:
    stages = [
        _stage(board("sites", settings=[{**SITE, "default": "a"}])),
        _stage(automation("checker", settings=[SITE, {**SITE, "name": "more", "default": "m"}])),
    ]
    overrides = distribute_overrides(stages, "checker", {"settings": {"site": "b"}})

    assert overrides["sites"]["settings"] == {"site": "b"}
    assert overrides["checker"]["settings"] == {"site": "b", "more": "m"}


def test_a_taken_name_gets_the_next_number() -> None:
    assert choose_free_name("A", []) == "A"
    assert choose_free_name("A", ["A", "A (2)"]) == "A (3)"
    long = "x" * 200
    assert choose_free_name(long, [long]) == "x" * 196 + " (2)"
