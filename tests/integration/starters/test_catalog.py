"""The catalog of starters: each one can be read, hides nothing, and has a tested story."""

from __future__ import annotations

from mainspring.contracts.limits import Limits
from mainspring.recipes.codex.starters import read_starters
from mainspring.recipes.package import validate_package
from mainspring.registry import build_registry
from tests.integration.starters.test_starters import STORIES


def test_every_starter_is_what_it_says_and_is_tested() -> None:
    shelf, words = read_starters(), build_registry(Limits())
    assert shelf.unread == ()
    packages = [package for one in shelf.known.values() for package in one.packages]
    wrong = {one.slug: validate_package(one, words, Limits()) for one in packages}
    assert not {slug: findings for slug, findings in wrong.items() if findings}
    unsaid = [
        one.slug
        for one in packages
        if not (one.tags and one.examples and "preview" in one.document)
    ]
    assert unsaid == []
    # A board that others bring along is installed in their stories.
    brought = {needed.slug for one in packages for needed in one.dependencies}
    assert brought <= shelf.known.keys()
    assert shelf.known.keys() - brought == STORIES.keys()
