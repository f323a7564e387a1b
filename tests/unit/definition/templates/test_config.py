"""A config is rendered whole; what has no template in it stays the very same object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.definition.templates import compile_config

LIMITS = Limits()
NAMES = {"x": 1, "name": "Ada", "rows": [{"a": 1}]}


def rendered(value: Any, schema: dict[str, Any] | None = None) -> Any:
    return compile_config(value, schema, LIMITS).render(NAMES)


def test_every_text_is_rendered_and_keeps_its_type() -> None:
    config = {
        "text": "Hello {{ name }}",
        "number": "{{ x }}",
        "list": ["{{ rows }}", "plain", 2, {"deep": "{{ x + 1 }}"}],
        "{{ key }}": "kept",
        "none": None,
    }
    assert rendered(config) == {
        "text": "Hello Ada",
        "number": 1,
        "list": [[{"a": 1}], "plain", 2, {"deep": 2}],
        "{{ key }}": "kept",
        "none": None,
    }
    assert config["number"] == "{{ x }}"


def test_what_is_literal_is_the_same_object() -> None:
    config = {"a": {"b": [1, 2]}, "c": "text"}
    compiled = compile_config(config, None, LIMITS)
    assert compiled.render({}) is config
    assert compiled.templates == ()
    assert compiled.templated_pointers == frozenset()


def test_literal_parts_around_a_template_are_not_copied() -> None:
    stored = {"b": [1, 2]}
    made = rendered({"a": stored, "c": "{{ x }}", "d": [stored, "{{ x }}"]})
    assert made == {"a": stored, "c": 1, "d": [stored, 1]}
    assert made["a"] is stored
    assert made["d"][0] is stored


def test_order_of_keys_is_kept() -> None:
    assert list(rendered({"b": "{{ x }}", "a": 1, "c": "{{ x }}"})) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("value", "made"), [("{{ x }}", 1), ("a", "a"), (5, 5), (None, None), ([], [])]
)
def test_a_config_may_be_any_value(value: Any, made: Any) -> None:
    assert rendered(value) == made


def test_pointers_say_where_the_templates_are() -> None:
    config = {"a": ["x", "{{ x }}"], "b/c": {"~": "{{ name }}"}}
    compiled = compile_config(config, None, LIMITS)
    assert [pointer for pointer, _ in compiled.templates] == ["/a/1", "/b~1c/~0"]
    assert compiled.templated_pointers == {"/a/1", "/b~1c/~0"}


def test_all_problems_are_reported_at_once() -> None:
    config = {
        "a": "{{ x | uper }}",
        "b": ["{{ x() }}", "{{ x }}"],
        "c": "{{",
        "d": "{{ secrets.k }}",
    }
    compiled = compile_config(config, None, LIMITS)
    assert [(problem.pointer, problem.code) for problem in compiled.problems] == [
        ("/a", "template_unknown_filter"),
        ("/b/0", "template_unsupported"),
        ("/c", "template_syntax"),
        ("/d", "template_secret"),
    ]
    assert "'upper'" in (compiled.problems[0].suggestion or "")
    with pytest.raises(Invalid) as refusal:
        compiled.render(NAMES)
    assert refusal.value.findings == compiled.problems


def test_a_refusal_while_rendering_says_the_pointer() -> None:
    with pytest.raises(Invalid) as refusal:
        rendered({"a": {"b": ["{{ missing }}"]}})
    assert refusal.value.code == "template_undefined"
    assert [finding.pointer for finding in refusal.value.findings] == ["/a/b/0"]


SCHEMA = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "x-mainspring-scope": "secret"},
        "headers": {
            "type": "object",
            "x-mainspring-scope": "secret",
            "additionalProperties": {"type": "string"},
        },
        "raw": {"x-mainspring-scope": "none"},
        "each": {"x-mainspring-scope": "item"},
        "body": {"type": "string"},
        "list": {"items": {"$ref": "#/$defs/entry"}},
        "shared": {"$ref": "#/$defs/closed", "description": "beside a reference"},
        "overruled": {"$ref": "#/$defs/closed", "x-mainspring-scope": "run"},
        "loop": {"$ref": "#/$defs/loop"},
        "odd": {"x-mainspring-scope": "unheard of", "properties": 5, "items": True},
        "choice": {"anyOf": [{"x-mainspring-scope": "none"}]},
    },
    "additionalProperties": {"x-mainspring-scope": "none"},
    "$defs": {
        "entry": {"properties": {"token": {"x-mainspring-scope": "secret"}}},
        "closed": {"x-mainspring-scope": "none"},
        "loop": {"$ref": "#/$defs/loop"},
    },
}
KEY = SecretText((SecretRef("k"),))


@pytest.mark.parametrize(
    ("config", "made"),
    [
        ({"url": "{{ secrets.k }}"}, {"url": KEY}),
        # The url takes text alone, so a lone expression is written out.
        ({"url": "{{ x }}"}, {"url": "1"}),
        ({"headers": {"A": "{{ secrets.k }}"}}, {"headers": {"A": KEY}}),
        ({"headers": {"A": ["{{ secrets.k }}"]}}, {"headers": {"A": [KEY]}}),
        ({"raw": "{{ broken"}, {"raw": "{{ broken"}),
        ({"raw": {"deep": ["{{ x }}"]}}, {"raw": {"deep": ["{{ x }}"]}}),
        ({"each": {"a": "{{ item.a }}"}}, {"each": {"a": "{{ item.a }}"}}),
        (
            {"list": [{"token": "{{ secrets.k }}", "n": "{{ x }}"}]},
            {"list": [{"token": KEY, "n": 1}]},
        ),
        ({"shared": "{{ x }}"}, {"shared": "{{ x }}"}),
        ({"overruled": "{{ x }}"}, {"overruled": 1}),
        ({"loop": "{{ x }}"}, {"loop": 1}),
        ({"odd": {"a": ["{{ x }}"]}}, {"odd": {"a": [1]}}),
        ({"choice": "{{ x }}"}, {"choice": 1}),
        ({"unlisted": "{{ x }}"}, {"unlisted": "{{ x }}"}),
    ],
)
def test_the_schema_says_what_a_text_may_use(config: Any, made: Any) -> None:
    assert rendered(config, SCHEMA) == made


@pytest.mark.parametrize(
    "config",
    [
        {"body": "{{ secrets.k }}"},
        {"list": [{"other": "{{ secrets.k }}"}]},
        {"each": "{{ secrets.k }}"},
        {"each": "{{ broken"},
        {"choice": "{{ secrets.k }}"},
    ],
)
def test_secrets_are_allowed_only_where_the_schema_allows_them(config: Any) -> None:
    assert len(compile_config(config, SCHEMA, LIMITS).problems) == 1


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        {"properties": None},
        {"$ref": 5},
        {"$ref": "#/$defs/x"},
        {"$ref": "https://elsewhere/schema"},
        {"$defs": []},
    ],
)
def test_a_strange_schema_changes_nothing(schema: Any) -> None:
    assert compile_config({"a": "{{ x }}"}, schema, LIMITS).render(NAMES) == {"a": 1}


def test_one_budget_covers_the_whole_config() -> None:
    limits = replace(LIMITS, template_fuel=1_000)
    template = "{% for i in many %}{% endfor %}."
    names = {"many": list(range(60))}
    assert compile_config([template], None, limits).render(names) == ["."]
    with pytest.raises(Invalid) as refusal:
        compile_config([template] * 10, None, limits).render(names)
    assert refusal.value.code == "template_too_much_work"


def test_values_of_a_config_are_bounded_together() -> None:
    config = ["{{ 'x' * 900000 }}."] * 10
    with pytest.raises(Invalid) as refusal:
        compile_config(config, None, LIMITS).render({})
    assert refusal.value.code == "template_too_large"


def test_a_config_that_nests_for_ever_is_reported_not_raised() -> None:
    deep: Any = "{{ x }}"
    for _ in range(5_000):
        deep = [deep]
    assert [problem.code for problem in compile_config(deep, None, LIMITS).problems] == [
        "template_too_complex"
    ]


def test_long_text_without_syntax_is_no_template() -> None:
    config = {"text": "x" * 20_000}
    assert compile_config(config, None, LIMITS).render({}) is config
    assert len(compile_config({"text": "{{ x }}" + "x" * 20_000}, None, LIMITS).problems) == 1
