"""A recipe comes from outside: what is read, what is refused, and where that is reported."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.schema.antiexamples import AntiExample
from mainspring.recipes.package import build_recipe_schema, read_package, validate_package
from mainspring.recipes.package.example_recipes import (
    ANTI_EXAMPLES,
    EXAMPLES,
    RecipeExample,
    build_good_recipe,
)
from mainspring.registry import build_registry

LIMITS = Limits()
WORDS = build_registry(LIMITS)


def said(document: Any) -> list[Finding]:
    """Everything that is wrong with a recipe, by reading it and then by judging it."""
    try:
        package = read_package(deepcopy(document), LIMITS)
    except Invalid as wrong:
        return list(wrong.findings)
    return validate_package(package, WORDS, LIMITS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.reason)
def test_an_example_is_taken(example: RecipeExample) -> None:
    assert said(example.document) == []


def test_the_recipe_that_all_anti_examples_change_is_taken() -> None:
    assert said(build_good_recipe()) == []


@pytest.mark.parametrize("wrong", ANTI_EXAMPLES, ids=lambda one: one.reason)
def test_an_anti_example_is_refused_at_its_place(wrong: AntiExample) -> None:
    found = said(wrong.document)

    assert (wrong.pointer, wrong.code) in [(one.pointer, one.code) for one in found]
    assert all(one.detail for one in found)
    judge = compile_schema(build_recipe_schema(), LIMITS)
    assert judge.is_valid(wrong.document) is not wrong.schema


def test_the_schema_is_one_and_its_examples_are_what_they_are_said_to_be() -> None:
    schema = build_recipe_schema()

    assert check_schema(schema, LIMITS) == []
    judge = compile_schema(schema, LIMITS)
    assert schema["examples"]
    assert all(judge.is_valid(one) for one in schema["examples"])
    wrong = schema["x-mainspring-anti-examples"]
    assert len(wrong) >= 5
    assert not any(judge.is_valid(one["value"]) for one in wrong)
