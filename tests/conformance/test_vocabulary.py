"""One suite over every word of the vocabulary: its schemas, examples and anti-examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mainspring.app import build_registry
from mainspring.contracts.capability import Audience, Capability, Effect
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.templates import compile_config
from mainspring.definition.validate.steps import find_config_problems
from mainspring.gate.pipeline import MARK, stub_of
from tests.kit.bench import Bench

LIMITS = Limits()
WORDS = build_registry(LIMITS)
ANTI = "x-mainspring-anti-examples"
EXAMPLES = Path(__file__).parents[2] / "examples"
# They read from somebody outside, which a dry run does too, or fail on purpose.
NOT_ALONE = {
    "http_fetch.json",
    "secrets_in_headers.json",
    "retry_and_on_failure.json",
    "file_added.json",
    "weekly_report.json",
}

Schema = Mapping[str, Any]


def _schemas() -> Iterator[tuple[str, Schema]]:
    """Every schema by a name that says where it is."""
    for action in WORDS.actions.values():
        yield f"{action.type} config", action.config_schema
        if action.output_schema is not None:
            yield f"{action.type} output", action.output_schema
    for capability in WORDS.capabilities.values():
        yield f"{capability.id} input", capability.input_schema
        yield f"{capability.id} output", capability.output_schema
    for trigger in WORDS.triggers.values():
        yield f"{trigger.type} config", trigger.config_schema
        yield f"{trigger.type} payload", trigger.payload_schema
    for event in WORDS.events.values():
        yield f"{event.type} payload", event.payload_schema


def _asked_for() -> Iterator[tuple[str, Schema]]:
    """The schemas that people fill in: these carry examples and anti-examples."""
    for name, schema in _schemas():
        if name.endswith((" config", " input")):
            yield name, schema


def _wrong(value: Any, schema: Schema) -> bool:
    """As the validator judges it: a place with a template may become anything."""
    config = compile_config(value, schema, LIMITS)
    return bool(config.problems or find_config_problems(config, schema, LIMITS, ""))


def _named(pairs: Iterator[tuple[str, Any]]) -> list[Any]:
    return [pytest.param(value, id=name) for name, value in pairs]


@pytest.mark.parametrize("schema", _named(_schemas()))
def test_every_schema_is_a_schema_that_users_could_have_written(schema: Schema) -> None:
    assert check_schema(schema, LIMITS, "") == []
    compile_schema(schema, LIMITS)


@pytest.mark.parametrize("schema", _named(_asked_for()))
def test_every_example_fits_and_every_anti_example_is_refused(schema: Schema) -> None:
    examples, anti = schema.get("examples", ()), schema.get(ANTI, ())
    assert examples
    assert anti
    for example in examples:
        assert not _wrong(example, schema), example
    for entry in anti:
        assert entry["reason"].strip()
        assert _wrong(entry["value"], schema), entry


@pytest.mark.parametrize("schema", _named(_asked_for()))
def test_a_field_nobody_knows_is_refused(schema: Schema) -> None:
    example = {**schema["examples"][0], "no_such_field": 1}
    assert _wrong(example, schema)


@pytest.mark.parametrize("capability", [*WORDS.capabilities.values()], ids=lambda c: str(c.id))
def test_a_capability_says_what_it_is_and_is_named_by_the_rule(capability: Any) -> None:
    assert 3 <= len(capability.label) <= 80
    assert re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?", capability.id)
    for_administrators = capability.annotations.audience is Audience.ADMINISTRATORS
    assert capability.id.startswith("admin_") is for_administrators
    assert not (for_administrators and capability.grantable)


@pytest.mark.parametrize("action", [*WORDS.actions.values()], ids=lambda a: str(a.type))
def test_an_action_says_what_it_is_and_uses_only_capabilities_that_exist(action: Any) -> None:
    assert action.description.strip().partition("\n")[0]
    for example in action.config_schema["examples"]:
        for grant in action.uses(example):
            assert grant.capability in WORDS.capabilities


def _changing() -> list[Capability]:
    return [one for one in WORDS.capabilities.values() if one.annotations.effect is not Effect.READ]


@pytest.mark.parametrize("capability", _changing(), ids=lambda c: str(c.id))
def test_what_a_dry_run_answers_instead_has_the_shape_of_a_real_answer(
    capability: Capability,
) -> None:
    declared = compile_schema(capability.output_schema, LIMITS)
    for given in capability.input_schema["examples"]:
        value = stub_of(capability, given)
        if isinstance(value, Mapping) and "kind" not in capability.output_schema["properties"]:
            assert value.items() >= MARK.items()
            value = {name: one for name, one in value.items() if name not in MARK}
        assert declared.findings(value, "") == []


@pytest.mark.parametrize("capability", [*WORDS.capabilities.values()], ids=lambda c: str(c.id))
def test_what_takes_nothing_but_secrets_is_for_runs_alone(capability: Capability) -> None:
    only = capability.annotations.only_secrets
    assert not only or capability.annotations.audience is Audience.RUNS


async def test_a_dry_run_of_every_example_that_needs_nobody_succeeds(bench: Bench) -> None:
    known, tried = WORDS.actions.keys() | WORDS.capabilities.keys(), set()
    async with bench.worker():
        for path in sorted(EXAMPLES.glob("*.json")):
            document = json.loads(path.read_text())
            actions = {step["action"] for step in document["plan"]}
            if path.name in NOT_ALONE or not actions <= known:
                continue
            asked = document.get("inputs", {}).get("schema", {}).get("properties", {})
            inputs = {
                "seconds": 0,
                "team": "Tower",
                "name": "Ada",
                "order": "A-1",
                "repository": "tower",
                "commit": "0123abc",
                "result": "failed",
            }
            given = {name: value for name, value in inputs.items() if name in asked}
            made = await bench.dispatch(document, mode="dry_run", inputs=given)
            run = await bench.until(made.run_id)
            assert run["status"] == "succeeded", (path.name, run["error"])
            tried.add(path.name)
    assert {"first.json", "email_report.json", "callback_webhook.json", "digest.json"} <= tried
    assert "ci_webhook.json" in tried
