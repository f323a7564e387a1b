"""What a look starts, from plain values."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.definition.polls import PollSettings
from mainspring.triggers.poll_changes import (
    compute_retry_delay,
    find_items,
    is_reportable,
    plan_look,
)
from mainspring.triggers.poller import build_item_key
from mainspring.workspace.polls import RememberedItem, SeenItem

MINUTE = timedelta(minutes=1)


def settings(**more: Any) -> PollSettings:
    made: dict[str, Any] = {"items": "$.rows", "id": "$.id", **more}
    return PollSettings("adapter_query", {}, 10 * MINUTE, **made)


def rows(*values: Any) -> dict[str, Any]:
    return {"rows": list(values)}


def find(result: Any, **more: Any) -> list[Any]:
    return [one.item for one in find_items(settings(**more), result, Limits()).items]


def test_a_list_and_its_entries_are_the_same_items() -> None:
    result = rows({"id": 1}, {"id": 2})
    assert find(result) == find(result, items="$.rows[*]") == result["rows"]
    assert find(rows()) == []
    assert find({"other": []}, items="$.rows[*]") == []


def test_without_items_the_result_is_one_item() -> None:
    assert find({"text": "a"}, items=None, id=None) == [{"text": "a"}]


def test_an_identifier_counts_once_and_its_type_matters() -> None:
    assert find(rows({"id": 1, "n": 1}, {"id": 1, "n": 2}, {"id": "1"})) == [
        {"id": 1, "n": 1},
        {"id": "1"},
    ]


def test_items_without_an_identifier_are_counted() -> None:
    found = find_items(settings(), rows({"id": 1}, {"name": "x"}, {"id": None}), Limits())
    assert (len(found.items), found.skipped) == (1, 2)


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"other": 1}, "poll_items_missing"),
        (rows({"name": "x"}), "poll_id_missing"),
        (rows({"id": 1}, {"id": 2}, {"id": 3}), "poll_too_many_items"),
    ],
)
def test_a_result_of_another_shape_is_a_failure_with_a_remedy(result: Any, code: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        find_items(settings(), result, Limits(poll_items=2))
    assert caught.value.code == code
    assert caught.value.suggestion
    assert not caught.value.retryable


def test_an_item_that_changes_while_it_waits_is_still_new_with_its_latest_content() -> None:
    own = settings(changed_on="$.v")
    [found] = find_items(own, rows({"id": 1, "v": 2}), Limits()).items
    waiting = RememberedItem(found.id_hash, b"old", 1, 1, "new", {"id": 1, "v": 1})
    seen = {found.id_hash: SeenItem(found.id_hash, b"old", 1, "new")}
    plan = plan_look(own, [found], seen, [waiting], first=False, arrivals=1)
    [fired] = plan.fire
    assert (fired.change, fired.item) == ("new", {"id": 1, "v": 2})


def test_items_beyond_the_limit_are_stored_with_their_content_in_order() -> None:
    own = settings(max_items=1)
    found = find_items(own, rows({"id": 1}, {"id": 2}, {"id": 3}), Limits()).items
    plan = plan_look(own, found, {}, [], first=False, arrivals=5)
    assert [one.item["id"] for one in plan.fire] == [1]
    left = [(one.item["id"], one.arrival) for one in plan.remember if one.arrival is not None]
    assert left == [(2, 6), (3, 7)]
    assert plan.arrivals == 7


def test_a_silent_first_look_stores_everything_and_fires_nothing() -> None:
    found = find_items(settings(), rows({"id": 1}, {"id": 2}), Limits()).items
    plan = plan_look(settings(), found, {}, [], first=True, arrivals=0)
    assert (len(plan.fire), len(plan.remember)) == (0, 2)
    assert all(one.arrival is None for one in plan.remember)


def test_the_dedup_key_tells_items_contents_and_revisions_apart() -> None:
    keys = {
        build_item_key(RememberedItem(own, value, revision))
        for own in (b"a" * 32, b"b" * 32)
        for value in (b"c" * 32, b"d" * 32)
        for revision in (1, 2)
    }
    assert len(keys) == 8


def test_a_failing_source_is_retried_with_backoff_up_to_a_bound() -> None:
    passing = UpstreamError("Down.")
    delays = [compute_retry_delay(n, 10 * MINUTE, passing) // MINUTE for n in (1, 2, 3, 7, 50)]
    assert delays == [1, 2, 4, 60, 60]
    assert compute_retry_delay(50, timedelta(days=1), passing) == timedelta(days=1)
    asked = UpstreamError("Later.", retry_after=300)
    assert compute_retry_delay(1, 10 * MINUTE, asked) == 5 * MINUTE


def test_a_failure_that_cannot_pass_is_reported_at_once() -> None:
    assert is_reportable(1, Invalid("Wrong."))
    passing = UpstreamError("Down.")
    assert [is_reportable(n, passing) for n in (1, 2, 3)] == [False, False, True]


def test_another_source_has_another_hash_and_another_interval_does_not() -> None:
    hashes = {
        settings().source_hash,
        settings(id="$.key").source_hash,
        settings(changed_on="$.v").source_hash,
        settings(items="$.other").source_hash,
    }
    assert len(hashes) == 4
    assert settings(max_items=5, fires_first=True).source_hash == settings().source_hash
