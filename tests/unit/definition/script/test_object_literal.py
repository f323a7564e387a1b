"""An object written as TypeScript is data when everything in it is a literal."""

from __future__ import annotations

import json

import pytest

from mainspring.definition.script.object_literal import parse_object_literal
from tests.unit.definition.script.examples import HOSTILE


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (
            "add({ a: 1, 'b-c': [true, null, -1.50,], \"d\": `x`, });",
            {"a": 1, "b-c": [True, None, -1.5], "d": "x"},
        ),
        ('{ "on_failure": [ /* steps */ ], "n": 1.50 } // end', {"on_failure": [], "n": 1.5}),
        ('// first\nadd({ s: "a\\n\\u00e4 {{x}} // no", }) // last', {"s": "a\nä {{x}} // no"}),
        ("add({ a: ({ b: 'c' }) as const })", {"a": {"b": "c"}}),
    ],
)
def test_literals_become_json(source: str, value: object) -> None:
    made = parse_object_literal(source)
    assert made is not None
    assert json.loads(made) == value


@pytest.mark.parametrize(
    "source",
    [
        "add({ a: b })",
        "add({ a: f() })",
        "add({ a })",
        "add({ ...a })",
        "add({ [a]: 1 })",
        "add({ a() {} })",
        "add({ a: `x${1}` })",
        "add({ a: 1 }, 2)",
        "remove({ a: 1 })",
        "add({ a: 1 }); add({ a: 2 })",
        "const a = { b: 1 };",
        "[1]",
        "add({ a: 0x10 })",
        "",
        "add({ a: 1 ",
        "add([1])",
        "add({ a: 1,, })",
        "add({ a: [1,, 2] })",
        "add({ a: [,] })",
        "({ a: 1 })(2)",
        "{ a: 1 }, process.exit()",
        "add(" + "{a:" * 100 + "1" + "}" * 100 + ")",
    ],
)
def test_anything_else_is_not_data(source: str) -> None:
    assert parse_object_literal(source) is None


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_any_text_is_answered(text: str) -> None:
    assert parse_object_literal(text) is None
