"""Values are put into documents and taken out of them, and the document of before stays."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from mainspring.authoring.json_pointers import (
    NOT_THERE,
    PointerNotFound,
    set_at_pointer,
    take_out,
    value_at,
)
from mainspring.definition.strict_json import join_pointer

DOCUMENT: dict[str, Any] = {"plan": [{"step_id": "a", "config": {"x/y": 1}}], "name": "one"}


def test_a_value_is_put_where_the_pointer_says_and_the_old_document_stays() -> None:
    before = copy.deepcopy(DOCUMENT)
    made = set_at_pointer(DOCUMENT, "/plan/0/config/channel", "#ops")
    assert made["plan"][0]["config"] == {"x/y": 1, "channel": "#ops"}
    assert before == DOCUMENT


def test_objects_on_the_way_are_made_and_a_list_grows_at_its_end_alone() -> None:
    assert set_at_pointer({}, "/execution/model", "m") == {"execution": {"model": "m"}}
    assert set_at_pointer(DOCUMENT, "/plan/1", {"step_id": "b"})["plan"][1] == {"step_id": "b"}
    assert set_at_pointer(DOCUMENT, "/plan/-/step_id", "c")["plan"][1] == {"step_id": "c"}
    with pytest.raises(PointerNotFound):
        set_at_pointer(DOCUMENT, "/plan/2", {})


@pytest.mark.parametrize("pointer", ["/name/first", "/plan/x", "/plan/-1", "/plan/9999999/a"])
def test_a_place_that_nothing_can_hold_is_reported(pointer: str) -> None:
    with pytest.raises(PointerNotFound) as result:
        set_at_pointer(DOCUMENT, pointer, 1)
    assert result.value.finding.pointer == pointer


@pytest.mark.parametrize("pointer", ["", "/none", "/plan/3", "/name/0", "/plan/0/config/x/y"])
def test_only_what_is_there_can_be_taken_out(pointer: str) -> None:
    with pytest.raises(PointerNotFound):
        take_out(DOCUMENT, pointer)


def test_what_is_taken_out_is_gone_and_nothing_else() -> None:
    assert take_out(DOCUMENT, "/plan/0/config/x~1y")["plan"][0]["config"] == {}
    assert take_out(DOCUMENT, "/plan/0") == {"plan": [], "name": "one"}


@given(some.dictionaries(some.text(max_size=5), some.integers(), min_size=1), some.data())
def test_whatever_a_key_is_called_its_value_is_found_and_changed(
    inner: dict[str, int], data: some.DataObject
) -> None:
    key = data.draw(some.sampled_from(sorted(inner)))
    at = join_pointer("/a", key)
    document = {"a": inner}
    assert value_at(document, at) == inner[key]
    assert value_at(set_at_pointer(document, at, "new"), at) == "new"
    assert value_at(take_out(document, at), at) is NOT_THERE
