"""Names of capabilities as clients of other stacks take them."""

from __future__ import annotations

import re

import pytest

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.definition.tool_patterns import map_tool_aliases


def test_every_capability_has_one_name_that_clients_take() -> None:
    names = set(build_registry(Limits()).capabilities)
    found = map_tool_aliases(names)
    listed = {*found, *(names - set(found.values()))}

    assert found["automation_kv_get"] == "automation_kv.get"
    assert len(listed) == len(names)
    assert not [name for name in listed if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", name)]


def test_a_name_that_two_tools_would_share_is_the_name_of_neither() -> None:
    found = map_tool_aliases(["notes_all.get", "notes.all_get", "plain"])

    assert set(found.values()) == {"notes_all.get", "notes.all_get"}
    assert "notes_all_get" not in found
    assert "plain" not in found


def test_a_capability_keeps_its_own_name_when_an_alias_would_be_the_same() -> None:
    found = map_tool_aliases(["notes_get", "notes.get"])

    [alias] = found
    assert alias != "notes_get"
    assert found[alias] == "notes.get"


def test_a_long_name_is_shortened_and_stays_unique() -> None:
    long = ["x." + "a" * 80 + end for end in ("b", "c")]
    found = map_tool_aliases(long)

    assert sorted(found.values()) == long
    assert all(len(alias) <= 64 for alias in found)


@pytest.mark.parametrize(
    ("there", "added"),
    [
        # The plain name of the new one is the name with a hash of another.
        (["foo.bar_baz", "foo_bar.baz"], "foo.bar_baz_ab480de7"),
        (["foo.bar_baz", "foo_bar.baz"], "foo_bar.baz_ab480de7"),
        (["foo.bar_baz"], "foo_bar.baz"),
        # Two long names that begin alike and have the same hash.
        ([f"x.{'a' * 60}62583"], f"x.{'a' * 60}53075"),
        ([f"x.{'a' * 60}53075"], f"x.{'a' * 60}62583"),
    ],
)
def test_a_tool_that_is_added_takes_no_alias_of_another(there: list[str], added: str) -> None:
    before, after = map_tool_aliases(there), map_tool_aliases([*there, added])

    assert {alias: after.get(alias, known) for alias, known in before.items()} == before
    assert sorted(after.values()) == sorted([*there, added])
    assert not [alias for alias in after if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", alias)]


def test_a_name_that_looks_like_one_with_a_hash_gets_a_hash_of_its_own() -> None:
    """Another tool may have had that alias before."""
    for name in ("foo.bar_baz_ab480de7", f"foo.{'0' * 8}_{'ab480de7' * 4}"):
        [alias] = map_tool_aliases([name])

        assert alias != name.replace(".", "_")
