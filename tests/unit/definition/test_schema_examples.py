"""Every example and anti-example of the published schema, judged twice: by it and by us."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.program import compile_program
from mainspring.definition.schema import (
    ANTI_EXAMPLES,
    EXAMPLES,
    SCHEMA_ID,
    AntiExample,
    build_definition_schema,
)
from mainspring.definition.schema.examples import DefinitionExample
from mainspring.definition.validate import validate
from mainspring.triggers import event, schedule, webhook

LIMITS = Limits()


@pytest.fixture(scope="module")
def words() -> Registry:
    return build_registry(LIMITS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.shows)
def test_an_example_is_accepted_by_the_schema_and_by_the_validator(
    example: DefinitionExample, words: Registry
) -> None:
    assert compile_schema(build_definition_schema(), LIMITS).findings(example.document) == []
    report = validate(example.document, words, LIMITS)
    assert report.findings == ()
    assert report.definition is not None
    assert report.grants == compile_program(report.definition, words, LIMITS).grants


@pytest.mark.parametrize("example", ANTI_EXAMPLES, ids=lambda example: example.reason)
def test_an_anti_example_is_refused_for_its_reason_and_no_other(
    example: AntiExample, words: Registry
) -> None:
    report = validate(example.document, words, LIMITS)
    assert [(found.pointer, found.code) for found in report.findings] == [
        (example.pointer, example.code)
    ]
    assert report.definition is None
    assert report.findings[0].detail.endswith(".")
    refused = not compile_schema(build_definition_schema(), LIMITS).is_valid(example.document)
    assert refused == example.schema


def test_there_are_enough_examples_of_both_kinds_and_each_says_something_else() -> None:
    assert len(EXAMPLES) >= 12
    assert len(ANTI_EXAMPLES) >= 40
    reasons = [example.reason for example in ANTI_EXAMPLES]
    assert len(set(reasons)) == len(reasons)


def test_the_schema_is_usable_as_it_is_published() -> None:
    schema = build_definition_schema()
    assert schema["$id"] == SCHEMA_ID
    # The id names the version that the schema takes.
    assert schema["$id"].endswith(f":{schema['properties']['schema_version']['const']}")
    assert check_schema(schema, LIMITS) == []
    assert json.loads(json.dumps(schema)) == schema


def test_every_part_of_the_schema_has_a_title_and_a_sentence() -> None:
    schema = build_definition_schema()
    for part in (schema, *schema["$defs"].values()):
        assert part["title"]
        for name, entry in part["properties"].items():
            described = entry if "$ref" not in entry else schema["$defs"][entry["$ref"][8:]]
            assert described["title"], name
            assert described["description"].endswith((".", ">.")), name
            assert "\n" not in described["description"]


@pytest.mark.parametrize("trigger", [schedule.TRIGGER, webhook.TRIGGER, event.TRIGGER])
def test_the_examples_of_a_trigger_fit_its_schemas(trigger: Any) -> None:
    for schema in (trigger.config_schema, trigger.payload_schema):
        assert check_schema(schema, LIMITS) == []
        assert schema["examples"]
        for example in schema["examples"]:
            assert compile_schema(schema, LIMITS).findings(example) == []
