"""A script is given what it was granted, or else what its text asks for, and its memory."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.grant import Grant
from mainspring.definition.script import KV, derive_grants, read_script_grants
from tests.unit.definition.script.examples import REVENUE


def _beside_memory(grants: tuple[Grant, ...]) -> dict[str, Any]:
    found = {grant.capability: dict(grant.params) for grant in grants}
    assert len(found) == len(grants)
    return {name: found[name] for name in found.keys() - {*KV}} if {*KV} <= found.keys() else {}


def test_a_text_asks_for_each_capability_once_with_the_hosts_it_spells() -> None:
    assert _beside_memory(derive_grants(REVENUE)) == {
        "get_board": {},
        "http_fetch": {"hosts": ["api.stripe.com"]},
        "append_board_rows": {},
        "telegram_push": {},
    }


def test_hosts_are_joined_and_a_computed_one_adds_none() -> None:
    source = """
        await brains.http_fetch({ url: "https://b.com/" });
        await brains.http_fetch({ url: `https://a.com:8443/${id}` });
        await brains.http_fetch({ url });
    """

    assert _beside_memory(derive_grants(source)) == {
        "http_fetch": {"hosts": ["a.com:8443", "b.com"]}
    }
    assert _beside_memory(derive_grants("brains.http_fetch({ url })")) == {
        "http_fetch": {"hosts": []}
    }


def test_the_memory_of_an_automation_needs_no_asking() -> None:
    assert [grant.capability for grant in derive_grants("return 1")] == [*KV]
    assert [grant.capability for grant in derive_grants("brains.automation_kv.get({})")] == [*KV]


def test_written_grants_are_all_there_is() -> None:
    config = {
        "source": REVENUE,
        "grants": [
            {"tool": "get_board", "params": {"name": "A"}},
            {"tool": "http_fetch", "params": {"hosts": ["a.com"]}},
        ],
    }

    assert _beside_memory(read_script_grants(config)) == {
        "get_board": {"name": "A"},
        "http_fetch": {"hosts": ["a.com"]},
    }
    assert _beside_memory(read_script_grants({**config, "grants": []})) == {}


def test_a_config_without_grants_is_given_what_its_text_asks_for() -> None:
    assert read_script_grants({"source": REVENUE}) == derive_grants(REVENUE)
    assert read_script_grants({"source": REVENUE, "grants": None}) == derive_grants(REVENUE)


@pytest.mark.parametrize(
    "entry", [None, 1, "search", [], {}, {"tool": 1}, {"tool": "search", "params": [1]}]
)
def test_an_entry_that_cannot_be_read_allows_nothing(entry: Any) -> None:
    config = {"source": "brains.search()", "grants": [entry]}

    assert [grant.capability for grant in read_script_grants(config)] == [*KV]


@pytest.mark.parametrize("config", [{}, {"source": 1}, {"source": None, "grants": "all"}])
def test_a_config_that_cannot_be_read_allows_nothing(config: dict[str, Any]) -> None:
    assert [grant.capability for grant in read_script_grants(config)] == [*KV]
