"""What becomes of things: a dataset that a file leaves out is no change, and no name misleads."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.ids import generate_id
from mainspring.recipes.carrying.importer import as_written, list_kept_datasets, plan
from mainspring.recipes.carrying.model import WorkspaceContent, WorkspaceResource
from mainspring.recipes.entities.boards import normalize_board

OTHER = {"name": "more", "columns": [{"key": "z"}]}
FIRST = {"name": "default", "columns": [{"key": "n"}]}


def _board(name: str, slug: str, *datasets: dict[str, Any]) -> WorkspaceResource:
    return WorkspaceResource(
        "board", slug, normalize_board({"name": name, "datasets": list(datasets)})
    )


def _what(here: list[WorkspaceResource], coming: WorkspaceResource) -> str:
    ids = {(one.kind, one.slug): generate_id() for one in here}
    (one,) = plan(WorkspaceContent(tuple(here)), ids, WorkspaceContent((coming,)), "new_version")
    return one.action


def test_a_dataset_that_the_file_leaves_out_is_kept_reported_and_no_change() -> None:
    here = _board("B", "b", FIRST, OTHER)
    fewer = _board("B", "b", FIRST)

    assert _what([here], fewer) == "unchanged"
    assert _what([here], _board("B", "b", OTHER, FIRST)) == "unchanged"
    assert _what([here], _board("B", "b", {"name": "default"})) == "changed"
    (left,) = list_kept_datasets(here, fewer)
    assert (left["path"], "'more'" in left["why"]) == ("boards/b.json", True)
    assert list_kept_datasets(fewer, here) == []


def test_a_first_dataset_that_nobody_wrote_down_empties_none() -> None:
    here = _board("B", "b", FIRST)
    written = WorkspaceContent((WorkspaceResource("board", "b", {"name": "B"}),))

    (coming,) = as_written(written, WorkspaceContent((_board("B", "b"),))).resources

    assert coming.content["datasets"] == []
    assert _what([here], coming) == "unchanged"
    assert len(list_kept_datasets(here, coming)) == 1
    assert list_kept_datasets(_board("B", "b"), coming) == []


def test_a_change_is_seen_though_the_file_is_called_another_way_here() -> None:
    here = [_board("CRM", "crm"), _board("crm", "crm-2")]

    assert _what(here, _board("crm", "crm", FIRST)) == "changed"
    assert _what(here, _board("crm", "crm")) == "unchanged"
