"""The starters of a folder: by slug, the newest version first, and none takes the others away."""

from __future__ import annotations

import json
from pathlib import Path

from mainspring.recipes.codex.starters import compute_starter_id, read_starters
from tests.kit.codex import board


def _put(place: Path, folder: str, document: object) -> None:
    (place / folder).mkdir()
    (place / folder / "recipe.json").write_text(json.dumps(document))


def test_starters_are_read_by_slug_with_their_older_versions(tmp_path: Path) -> None:
    _put(tmp_path, "sites", board("sites", version="1.10.0"))
    _put(tmp_path, "sites@1.9.0", board("sites", version="1.9.0"))
    _put(tmp_path, "broken", {"format": "mainspring.recipe"})
    _put(tmp_path, "other", board("another"))
    (tmp_path / "no-recipe").mkdir()
    found = read_starters(tmp_path)

    assert list(found.known) == ["sites"]
    starter = found.known["sites"]
    assert [str(one.version) for one in starter.packages] == ["1.10.0", "1.9.0"]
    assert starter.id == compute_starter_id("sites")
    assert [one.partition(":")[0] for one in found.unread] == ["broken", "other"]
    assert read_starters(tmp_path / "nowhere").known == {}


def test_every_built_in_starter_can_be_read() -> None:
    found = read_starters()

    assert found.unread == ()
    assert len(found.known) >= 20
