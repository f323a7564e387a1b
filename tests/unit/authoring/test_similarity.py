"""Which texts are alike: by words where there is no model, and never by accident."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.authoring.similarity import SimilarityResult, TextSimilarity, word_overlap
from mainspring.authoring.trigger_kinds import TriggerSelector, wakes_of
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.ids import generate_id
from mainspring.definition.trigger_kinds import as_entries

SPACE = generate_id()
OTHERS = ["Log invoices to the finance board", "Feed the office cat", "Weekly revenue report"]


@settings(max_examples=30)
@given(st.text(max_size=300), st.text(max_size=300))
def test_shared_words_lie_between_nothing_and_all_and_know_no_direction(a: str, b: str) -> None:
    assert 0.0 <= word_overlap(a, b) <= 1.0
    assert word_overlap(a, b) == word_overlap(b, a)


@pytest.mark.parametrize("text", ["", "  ", "the of and"])
async def test_a_text_that_says_nothing_is_like_nothing(text: str) -> None:
    assert await TextSimilarity().near(SPACE, text, OTHERS, 5) == SimilarityResult("words")
    assert await TextSimilarity().near(SPACE, "Weekly revenue report", [], 5) == SimilarityResult(
        "words"
    )


async def test_the_nearest_comes_first_and_what_is_far_is_left_out() -> None:
    found = await TextSimilarity().near(SPACE, "a weekly report of our revenue", OTHERS, 5)
    assert [one.place for one in found.near] == [2]
    assert found.by == "words"


class _Counting:
    name, dimensions, outward = "counting", 2, False

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[1.0, 0.0] if "cat" in text else [0.0, 1.0] for text in texts]


async def test_a_model_is_asked_once_for_each_text() -> None:
    model = _Counting()
    likeness = TextSimilarity(model)
    assert likeness.measure == "meaning"
    for _ in range(2):
        found = await likeness.near(SPACE, "a cat", OTHERS, 5)
        assert (found.by, [one.place for one in found.near]) == ("meaning", [1])
    assert sorted(model.asked) == sorted([*OTHERS, "a cat"])


class _Failing:
    name, dimensions, outward = "failing", 2, False

    async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
        raise UpstreamError("The model cannot be reached.")


async def test_words_are_compared_where_the_model_fails_and_that_is_said() -> None:
    likeness = TextSimilarity(_Failing())
    found = await likeness.near(SPACE, "a weekly report of our revenue", OTHERS, 5)
    assert (found.by, [one.place for one in found.near]) == ("words", [2])
    assert likeness.measure == "meaning"


def test_one_moment_can_wake_two_when_their_kinds_and_types_meet() -> None:
    any_page, mail = (
        TriggerSelector("page_ingested"),
        TriggerSelector("page_ingested", frozenset({"email"})),
    )
    note = TriggerSelector("page_ingested", frozenset({"note"}))
    assert any_page.overlaps(mail)
    assert mail.overlaps(any_page)
    assert mail.overlaps(mail)
    assert not mail.overlaps(note)
    assert not TriggerSelector("cron").overlaps(any_page)
    assert TriggerSelector("cron").overlaps(TriggerSelector("cron"))


def test_a_trigger_keeps_its_name_when_another_is_put_before_it() -> None:
    cron = {"kind": "cron", "cron": "0 9 * * *", "tz": "UTC"}
    alone, _ = as_entries([{"kind": "webhook"}])
    both, _ = as_entries([cron, {"kind": "webhook"}])
    assert alone[0] == both[1]
    assert [wake.kind for wake in wakes_of(both)] == ["cron", "webhook"]
