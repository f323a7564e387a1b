"""Names of files follow from names of things and fit every system."""

from __future__ import annotations

import pytest

from mainspring.recipes.carrying.model import (
    LONGEST,
    build_file_slug,
    build_file_slugs,
    find_case_collisions,
    is_part,
)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Revenue weekly", "revenue-weekly"),
        ("  Über/Maß: 100 % ", "uber-ma-100"),
        ("../../etc/passwd", "etc-passwd"),
        ("CON", "x-con"),
        ("lpt1", "x-lpt1"),
        ("a" * 200, "a" * LONGEST),
        ("日本語", "x-77710aed"),
    ],
)
def test_a_name_becomes_small_letters_digits_and_hyphens(name: str, slug: str) -> None:
    assert build_file_slug(name) == slug
    assert is_part(slug)


def test_later_names_get_numbers_and_never_the_name_of_another() -> None:
    assert build_file_slugs(["A b", "a-B", "a b 2", "a_b"]) == ["a-b", "a-b-3", "a-b-2", "a-b-4"]


@pytest.mark.parametrize("part", ["", ".", "..", "a b", "a/b", "nul", "COM3", "-a", "a" * 101, "ä"])
def test_what_cannot_be_a_file_everywhere_is_reported(part: str) -> None:
    assert not is_part(part)


def test_paths_that_differ_in_capitals_only_are_one() -> None:
    assert find_case_collisions(["boards/A.json", "boards/a.json", "boards/b.json"]) == [
        ("boards/A.json", "boards/a.json")
    ]
