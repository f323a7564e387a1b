"""The SDK's text: types that say what the schemas say, the same for the same registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mainspring.actions.script.sdk.generator import (
    TypeScriptTypes,
    format_comment,
    generate_sdk,
    generate_types,
)
from mainspring.contracts.capability import Annotations, Audience, Capability, Write
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry
from mainspring.registry import build_registry

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({}, "unknown"),
        (True, "unknown"),
        (False, "never"),
        ({"type": "integer"}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"const": 2}, "2"),
        ({"enum": ["a", 'b"', None]}, '"a" | "b\\"" | null'),
        ({"type": "array", "items": TEXT}, "string[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, 'Array<"a" | "b">'),
        ({"anyOf": [TEXT, {"type": "null"}]}, "string | null"),
        ({"$ref": "#/$defs/name"}, "string"),
        ({"type": "object", "additionalProperties": False}, "Record<string, never>"),
        ({"type": "object", "additionalProperties": TEXT}, "{ [key: string]: string }"),
        (
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {"a-b": TEXT, "c": {}},
                "required": ["c"],
            },
            '{ "a-b"?: string; c: unknown }',
        ),
        (
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {"a": TEXT, "b": TEXT},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            "{ a?: string; b?: string } & ({ a: string; b?: never } | { b: string; a?: never })",
        ),
    ],
)
def test_a_type_says_what_its_schema_says(schema: Any, wanted: str) -> None:
    assert TypeScriptTypes("unknown", {"name": TEXT}).type_of(schema) == wanted


def test_a_schema_that_refers_to_itself_has_an_end() -> None:
    endless = {"type": "array", "items": {"$ref": "#/$defs/self"}}
    assert TypeScriptTypes("any", {"self": endless}).type_of(endless).count("Array<") < 50


def test_nothing_that_is_described_can_end_its_comment() -> None:
    lines = format_comment(["It ends here */ alert(1) /* or not", "second"])
    assert sum("*/" in line for line in lines) == 1
    assert lines[-1] == " */"


async def _handle(ctx: Any, arguments: Mapping[str, Any]) -> Any:
    raise AssertionError("nobody calls it here")


def _capability(name: str, **more: Any) -> Capability:
    needed = {"type": "object", "properties": {"x": TEXT}, "required": ["x"]}
    return Capability(name, f"About {name}", needed, {"type": "object"}, _handle, **more)


def test_each_capability_of_runs_is_a_method_by_both_of_its_names() -> None:
    text = generate_sdk(
        Registry(
            capabilities=[
                _capability("a"),
                _capability("a.b"),
                _capability("c.d.e", write=Write(lambda arguments: "")),
                _capability("z", annotations=Annotations(audience=Audience.PEOPLE)),
            ]
        )
    )
    assert "a: ((given: AInput) => Promise<AOutput>) & {\n    /** About a.b */" in text
    assert '"a.b"(given: ABInput): Promise<ABOutput>;' in text
    assert "c: {\n    d: {" in text
    assert "e(given: CDEInput): Promise<CDEOutput | Otherwise>;" in text
    assert "ZInput" not in text


def test_the_same_words_make_the_same_text() -> None:
    first, second = build_registry(Limits()), build_registry(Limits())
    text = generate_sdk(first)
    assert generate_sdk(second) == text
    assert generate_types(first) == generate_types(second)
    # What is typed is exactly what a run can be granted.
    written = text.replace('"', "")
    typed = {one.id for one in first.capabilities.values() if f" {one.id}(given" in written}
    assert typed == {one.id for one in first.capabilities.values() if one.grantable}
