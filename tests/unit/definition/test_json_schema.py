"""Schemas: sentences per keyword, what is refused, and that nothing is ever fetched."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.object_schema import DIALECT
from mainspring.definition.json_schema import check_schema, compile_schema
from tests.kit.runaway import RUNAWAY

LIMITS = Limits()
Schema = dict[str, Any]


def told(schema: Schema, value: Any) -> list[tuple[str, str, str]]:
    findings = compile_schema(schema, LIMITS).findings(value, "/at")
    return [(finding.pointer, finding.code, finding.detail) for finding in findings]


@pytest.mark.parametrize(
    ("schema", "value", "pointer", "code", "detail"),
    [
        ({"required": ["a"]}, {}, "/at/a", "required", "The key 'a' is missing."),
        ({"type": "string"}, 1, "/at", "type", "This must be text, but it is a number."),
        (
            {"type": ["string", "null"]},
            [],
            "/at",
            "type",
            "This must be null or text, but it is a list.",
        ),
        ({"type": "integer"}, 1.5, "/at", "type", "This must be a whole number."),
        (
            {"type": "integer"},
            True,
            "/at",
            "type",
            "This must be a whole number, but it is true or false.",
        ),
        ({"enum": ["a", 1, None]}, "b", "/at", "enum", 'This must be one of "a", 1, null.'),
        ({"const": {"a": 1}}, 2, "/at", "const", 'This must be exactly {"a":1}.'),
        (
            {"properties": {"a": True}, "additionalProperties": False},
            {"b": 1},
            "/at/b",
            "additional_properties",
            "The key 'b' is not known here.",
        ),
        (
            {"properties": {"a": True}, "unevaluatedProperties": False},
            {"b": 1},
            "/at/b",
            "unevaluated_properties",
            "The key 'b' is not known here.",
        ),
        ({"minimum": 3}, 2, "/at", "minimum", "This must be at least 3."),
        ({"maximum": 3}, 4, "/at", "maximum", "This must be at most 3."),
        ({"exclusiveMinimum": 3}, 3, "/at", "exclusive_minimum", "This must be more than 3."),
        ({"exclusiveMaximum": 3}, 3, "/at", "exclusive_maximum", "This must be less than 3."),
        ({"multipleOf": 2}, 3, "/at", "multiple_of", "This must be a multiple of 2."),
        ({"minLength": 2}, "a", "/at", "min_length", "This must have at least 2 characters."),
        ({"maxLength": 1}, "ab", "/at", "max_length", "This must have at most 1 character."),
        ({"minItems": 1}, [], "/at", "min_items", "This list must have at least 1 item."),
        ({"maxItems": 1}, [1, 2], "/at", "max_items", "This list must have at most 1 item."),
        (
            {"minProperties": 1},
            {},
            "/at",
            "min_properties",
            "This object must have at least 1 key.",
        ),
        (
            {"maxProperties": 0},
            {"a": 1},
            "/at",
            "max_properties",
            "This object must have at most 0 keys.",
        ),
        ({"pattern": "^a+$"}, "b", "/at", "pattern", 'This must match the pattern "^a+$".'),
        (
            {"format": "date-time"},
            "now",
            "/at",
            "format",
            "This must be a date and time with its offset, such as 2026-01-31T09:00:00Z.",
        ),
        (
            {"uniqueItems": True},
            [1, 1.0],
            "/at",
            "unique_items",
            "No two items of this list may be equal.",
        ),
        (
            {"contains": {"type": "string"}},
            [1],
            "/at",
            "contains",
            "This list has too few items of a kind that it must contain.",
        ),
        (
            {"contains": True, "maxContains": 1},
            [1, 2],
            "/at",
            "contains",
            "This list has too many items of a kind that is limited.",
        ),
        (
            {"properties": {"a": False}},
            {"a": 1},
            "/at/a",
            "false_schema",
            "Nothing is allowed here.",
        ),
        (
            {"not": {"type": "string"}},
            "a",
            "/at",
            "not",
            "This value is one of those that are not allowed here.",
        ),
        (
            {"oneOf": [{}, {}]},
            1,
            "/at",
            "one_of",
            "This fits more than one of the allowed shapes; it must fit exactly one.",
        ),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            "/at",
            "any_of",
            "Give a or b.",
        ),
        (
            {"oneOf": [{"required": [name]} for name in "abc"]},
            {"d": 1},
            "/at",
            "one_of",
            "Give one of a, b or c.",
        ),
        (
            {"oneOf": [{"required": [name]} for name in "abc"]},
            {"a": 1, "c": 1},
            "/at",
            "one_of",
            "Give only one of a, b or c.",
        ),
        (
            {"pattern": "^a+$", "x-mainspring-says": "This is a, and a again."},
            "b",
            "/at",
            "pattern",
            "This is a, and a again.",
        ),
        (
            {"pattern": "^a+$", "x-surfsense-says": "Letters a."},
            "b",
            "/at",
            "pattern",
            "Letters a.",
        ),
        (
            {"propertyNames": {"pattern": "^x", "x-mainspring-says": "It begins with x."}},
            {"a": 1},
            "/at/a",
            "property_names",
            'The key "a" is not allowed: It begins with x.',
        ),
        (
            {"anyOf": [{"minimum": 3}, {"multipleOf": 5}]},
            1,
            "/at",
            "any_of",
            "This fits none of the 2 allowed shapes.",
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
            1,
            "/at",
            "any_of",
            "This must be true or false or text, but it is a number.",
        ),
        (
            {"propertyNames": {"pattern": "^x"}},
            {"a": 1},
            "/at/a",
            "property_names",
            'The key "a" is not allowed: This must match the pattern "^x".',
        ),
        (
            {"prefixItems": [True], "items": False},
            [1, 2],
            "/at/1",
            "false_schema",
            "Nothing is allowed here.",
        ),
        (
            {"prefixItems": [True], "unevaluatedItems": False},
            [1, 2],
            "/at",
            "unevaluated_items",
            "This list has items that are not allowed here.",
        ),
        (
            {"dependentRequired": {"a": ["b"]}},
            {"a": 1},
            "/at/b",
            "required",
            "The key 'b' is missing.",
        ),
    ],
)
def test_each_keyword_has_its_sentence(
    schema: Schema, value: Any, pointer: str, code: str, detail: str
) -> None:
    assert told(schema, value) == [(pointer, code, detail)]
    assert not compile_schema(schema, LIMITS).is_valid(value)


def test_all_problems_are_reported_at_once_and_in_order() -> None:
    schema = {
        "type": "object",
        "required": ["who"],
        "properties": {"list": {"items": {"type": "string"}}, "n": {"minimum": 1}},
    }
    value = {"n": 0, "list": ["a"] * 9 + [1, "b", None]}
    assert [pointer for pointer, _, _ in told(schema, value)] == [
        "/at/list/9",
        "/at/list/11",
        "/at/n",
        "/at/who",
    ]


def test_a_slip_of_the_pen_gets_a_suggestion() -> None:
    schema = {
        "required": ["timezone"],
        "additionalProperties": False,
        "properties": {
            "timezone": {"format": "iana-timezone"},
            "mode": {"enum": ["fast", "slow"]},
        },
    }
    validator = compile_schema(schema, LIMITS)
    mode, unknown, missing = validator.findings({"timezon": "UTC", "mode": "fsat"})
    assert missing.suggestion == "Is 'timezon' meant to be this key?"
    assert mode.suggestion == "Did you mean 'fast'?"
    assert unknown.suggestion == "Did you mean 'timezone'?"
    (called_otherwise,) = compile_schema(
        {
            "additionalProperties": False,
            "properties": {"json": True},
            "x-mainspring-instead": {"body": "Send it as json."},
        },
        LIMITS,
    ).findings({"body": 1})
    assert called_otherwise.suggestion == "Send it as json."
    (zone,) = validator.findings({"timezone": "europe/berlin"})
    assert zone.suggestion == "Did you mean 'Europe/Berlin'?"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ET", "America/New_York"),
        ("edt", "America/New_York"),
        ("PT", "America/Los_Angeles"),
        ("PST", "America/Los_Angeles"),
        ("CT", "America/Chicago"),
        ("MT", "America/Denver"),
        ("CEST", "Europe/Berlin"),
        ("AEST", "Australia/Sydney"),
        ("utc", "UTC"),
        ("cet", "CET"),
        ("Paris", "Europe/Paris"),
        ("new york", "America/New_York"),
        ("Europ/Berlin", "Europe/Berlin"),
    ],
)
def test_the_zone_that_an_abbreviation_or_a_city_means_is_suggested(
    written: str, meant: str
) -> None:
    (finding,) = compile_schema({"format": "iana-timezone"}, LIMITS).findings(written)
    assert finding.suggestion == f"Did you mean {meant!r}?"


@pytest.mark.parametrize("written", ["BT", "XST", "IST", "CST", "ABCD"])
def test_an_abbreviation_that_means_no_zone_or_several_gets_no_guess(written: str) -> None:
    (finding,) = compile_schema({"format": "iana-timezone"}, LIMITS).findings(written)
    assert finding.suggestion is None


def test_the_shape_that_was_meant_is_explained_by_its_own_problems() -> None:
    shapes = {
        "oneOf": [
            {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["x"]},
            {"properties": {"kind": {"const": "b"}, "y": {"type": "integer"}}, "required": ["y"]},
            {"type": "null"},
        ]
    }
    assert told(shapes, {"kind": "b", "y": "1"}) == [
        ("/at/y", "type", "This must be a whole number, but it is text.")
    ]
    assert told(shapes, {"kind": "a"}) == [("/at/x", "required", "The key 'x' is missing.")]


def test_a_value_is_never_repeated_in_a_sentence() -> None:
    secret = "sk-very-secret-token"
    schemas: list[Schema] = [
        {"pattern": "^a$"},
        {"enum": ["x"]},
        {"const": "y"},
        {"maxLength": 2},
        {"format": "uuid"},
        {"type": "integer"},
        {"not": {}},
        {"anyOf": [{"minLength": 99}, False]},
    ]
    for schema in schemas:
        for finding in compile_schema(schema, LIMITS).findings(secret):
            assert secret not in finding.detail + str(finding.suggestion)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("iana-timezone", "Europe/Berlin", "europe/berlin"),
        ("iana-timezone", "UTC", "Mars/Olympus"),
        ("iana-timezone", "Africa/Kigali", "../../etc/passwd"),
        ("iana-timezone", "Asia/Kolkata", "Factory"),
        ("iana-timezone", "America/Argentina/Buenos_Aires", ""),
        ("cron", "0 9 * * 1-5", "0 9 * * * *"),
        ("cron", "@daily", "@reboot"),
        ("cron", "0 0 29 2 *", "0 0 30 2 *"),
        ("duration", "PT15M", "15 minutes"),
        ("date-time", "2026-01-31T09:00:00+02:00", "2026-01-31 09:00"),
        ("date", "2024-02-29", "2023-02-29"),
        ("email", "a@example.org", "a"),
        ("uuid", "018f3f9e-7b1c-7000-8000-000000000000", "018f3f9e"),
        ("uri", "https://example.org/a?b#c", "/a"),
        ("ipv4", "127.0.0.1", "256.0.0.1"),
        ("ipv6", "::1", ":::1"),
        ("json-pointer", "/a~1b", "a"),
    ],
)
def test_formats_are_enforced_on_text_only(name: str, good: str, bad: str) -> None:
    validator = compile_schema({"format": name}, LIMITS)
    assert validator.is_valid(good)
    assert not validator.is_valid(bad)
    assert validator.is_valid(17)


def test_unknown_formats_and_annotations_are_ignored() -> None:
    schema = {"type": "string", "format": "jinja", "x-surfsense-widget": "textarea"}
    assert check_schema(schema, LIMITS) == []
    assert compile_schema(schema, LIMITS).is_valid("{{ anything }}")


def test_numbers_are_compared_exactly() -> None:
    most = 2**64 - 1
    schema = {"type": "integer", "maximum": most, "enum": [most, 1]}
    assert compile_schema(schema, LIMITS).is_valid(most)
    assert not compile_schema(schema, LIMITS).is_valid(most - 1)
    assert not compile_schema(schema, LIMITS).is_valid(10**30)
    assert compile_schema({"const": 1}, LIMITS).is_valid(1.0)
    assert not compile_schema({"const": 1}, LIMITS).is_valid(True)


def test_what_is_not_json_is_not_valid_where_the_schema_looks() -> None:
    validator = compile_schema(
        {"type": "object", "additionalProperties": {"type": "array"}}, LIMITS
    )
    for value in ({"a": b"x"}, {1: 2}, "\ud800", {"a": {1, 2}}):
        assert not validator.is_valid(value)
        assert [finding.code for finding in validator.findings(value)] == ["json_type"]


def test_read_only_mappings_are_taken_as_objects() -> None:
    schema: Mapping[str, Any] = MappingProxyType({"required": ["a"]})
    assert compile_schema(schema, LIMITS).is_valid(MappingProxyType({"a": 1}))
    assert compile_schema(schema, LIMITS).findings(MappingProxyType({}))


def test_an_equal_schema_is_compiled_once() -> None:
    first = compile_schema({"type": "object", "required": ["once"]}, LIMITS)
    assert compile_schema({"required": ["once"], "type": "object"}, LIMITS) is first


REFERENCES = [
    "http://127.0.0.1:1/schema.json",
    "https://example.org/schema.json",
    "file:///etc/passwd",
    "other.json",
    "../other.json",
    "//example.org/x",
    "urn:example:thing",
    "other.json#/a",
    "?x=1",
    "data:application/json,{}",
]


@pytest.fixture
def nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every attempt to dial or to look a name up is kept, and fails."""
    attempts: list[Any] = []

    def refuse(*args: Any, **kwargs: Any) -> Any:
        attempts.append((args, kwargs))
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return attempts


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_a_reference_to_elsewhere_is_refused_and_never_fetched(
    reference: str, keyword: str, nothing_leaves: list[Any]
) -> None:
    schema = {"properties": {"a": {keyword: reference}}}
    (finding,) = check_schema(schema, LIMITS, "/inputs/schema")
    assert finding.pointer == f"/inputs/schema/properties/a/{keyword}"
    assert finding.code == "schema_reference"
    with pytest.raises(Invalid):
        compile_schema(schema, LIMITS)
    assert nothing_leaves == []


def test_a_file_that_exists_is_not_read(tmp_path: Path) -> None:
    target = tmp_path / "any.json"
    target.write_text('{"type": "string"}')
    with pytest.raises(Invalid) as caught:
        compile_schema({"$ref": target.as_uri()}, LIMITS)
    assert str(tmp_path) not in str(caught.value.as_dict())


def test_a_dialect_from_elsewhere_is_refused_and_never_fetched(nothing_leaves: list[Any]) -> None:
    for dialect in ("http://json-schema.org/draft-07/schema#", "https://example.org/own", 7):
        (finding,) = check_schema({"$schema": dialect}, LIMITS)
        assert finding.code == "schema_dialect"
    assert check_schema({"$schema": "https://json-schema.org/draft/2020-12/schema"}, LIMITS) == []
    assert nothing_leaves == []


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}},
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {}}},
        {"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}},
        {"$dynamicRef": "#name", "$defs": {"a": {"$dynamicAnchor": "name"}}},
        {"properties": {"next": {"$ref": "#"}}},
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]},
        {"$id": "https://example.org/root", "$ref": "#/$defs/a", "$defs": {"a": {}}},
        {"pattern": "^[\\u0041-\\u005A]{2}\\d+$"},
        {"pattern": "^.{1,200}$", "maxLength": 200},
        {"properties": {"schema": {"$ref": DIALECT}, "more": {"items": {"$ref": DIALECT}}}},
        {"allOf": [{"$ref": DIALECT}] * 50},
    ],
)
def test_schemas_that_can_be_used_are_accepted(schema: Any) -> None:
    assert check_schema(schema, LIMITS) == []
    compile_schema(schema, LIMITS)


def doubling(levels: int, *, deeper: bool, leaf: Any = None) -> Schema:
    """Each schema uses the next one twice, at the same place or one member deeper."""
    names = {f"a{level}": f"#/$defs/a{level + 1}" for level in range(levels)}
    both: Schema = {name: {"anyOf": [{"$ref": to}, {"$ref": to}]} for name, to in names.items()}
    if deeper:
        both = {name: {"properties": {"x": node}} for name, node in both.items()}
    return {"$defs": {**both, f"a{levels}": leaf or {"type": "string"}}, "$ref": "#/$defs/a0"}


def by_name(schema: Any) -> Any:
    """The same schema with every reference to a definition by the identifier it then has."""
    text = json.dumps(schema).replace('"#/$defs/', '"urn:example:')
    named = json.loads(text)
    for name, node in named["$defs"].items():
        node["$id"] = f"urn:example:{name}"
    return named


EMBEDDED: list[tuple[Schema, Any, Any]] = [
    # By the identifier of an embedded schema, relative to the root's and absolute.
    (
        {
            "$id": "https://a.example/r",
            "$defs": {"n": {"$id": "n", "type": "integer"}},
            "properties": {"x": {"$ref": "n"}, "y": {"$ref": "https://a.example/n"}},
        },
        {"x": 1, "y": 2},
        {"x": 1, "y": "2"},
    ),
    # The root has no identifier.
    ({"$ref": "n", "$defs": {"n": {"$id": "n", "type": "integer"}}}, 1, "1"),
    # A pointer and an anchor inside the embedded schema.
    (
        {
            "$defs": {
                "a": {"$id": "urn:a:b", "$defs": {"n": {"$anchor": "num", "type": "integer"}}}
            },
            "allOf": [{"$ref": "urn:a:b#/$defs/n"}, {"$ref": "urn:a:b#num"}],
        },
        1,
        "1",
    ),
    # One anchor name in two resources.
    (
        {
            "$anchor": "n",
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/a"}},
            "$defs": {
                "a": {
                    "$id": "a",
                    "items": {"$ref": "#n"},
                    "$defs": {"n": {"$anchor": "n", "type": "integer"}},
                }
            },
        },
        {"x": [1]},
        {"x": [{}]},
    ),
    # Below an embedded schema, # is that schema.
    (
        {
            "properties": {
                "tree": {"$id": "tree", "type": "object", "additionalProperties": {"$ref": "#"}}
            }
        },
        {"tree": {"a": {"b": {}}}},
        {"tree": {"a": {"b": 1}}},
    ),
    # A list of anything, made a list of texts by the schema that refers to it.
    (
        {
            "$id": "https://a.example/texts",
            "$ref": "list",
            "$defs": {
                "item": {"$dynamicAnchor": "item", "type": "string"},
                "list": {
                    "$id": "list",
                    "type": "array",
                    "items": {"$dynamicRef": "#item"},
                    "$defs": {"any": {"$dynamicAnchor": "item"}},
                },
            },
        },
        ["a"],
        [1],
    ),
    # The standard's own schema is at hand.
    ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"type": "string"}, {"type": 1}),
]


@pytest.mark.parametrize(("schema", "good", "bad"), EMBEDDED)
def test_references_to_embedded_schemas_are_followed(
    schema: Schema, good: Any, bad: Any, nothing_leaves: list[Any]
) -> None:
    assert check_schema(schema, LIMITS) == []
    validator = compile_schema(schema, LIMITS)
    assert validator.is_valid(good)
    assert validator.findings(good) == []
    assert not validator.is_valid(bad)
    assert validator.findings(bad) != []
    assert nothing_leaves == []


@pytest.mark.parametrize(
    ("schema", "pointer", "code"),
    [
        ([], "", "schema_type"),
        ("string", "", "schema_type"),
        ({"type": "strin"}, "/type", "enum"),
        ({"properties": []}, "/properties", "type"),
        ({"properties": {"a": {"minLength": -1}}}, "/properties/a/minLength", "minimum"),
        ({"required": ["a", "a"]}, "/required", "unique_items"),
        ({"$ref": "#/$defs/none"}, "/$ref", "schema_reference"),
        ({"$ref": "#none"}, "/$ref", "schema_reference"),
        ({"$ref": "#/examples/0", "examples": [{}]}, "/$ref", "schema_reference"),
        ({"$ref": "#"}, "", "schema_circular"),
        (
            {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}},
            "/$defs/a",
            "schema_circular",
        ),
        ({"pattern": "(?=a)b"}, "/pattern", "schema_pattern"),
        ({"pattern": "(a)\\1"}, "/pattern", "schema_pattern"),
        ({"pattern": "("}, "/pattern", "schema_pattern"),
        ({"pattern": "a" * 1001}, "/pattern", "schema_pattern"),
        ({"pattern": "(?:a{1,100}){1,100}"}, "/pattern", "schema_pattern"),
        ({"pattern": "a[ab]{500}c"}, "/pattern", "schema_pattern"),
        ({"patternProperties": {"[": {}}}, "/patternProperties/[", "schema_pattern"),
        (
            {"items": {"$id": "x", "$schema": "http://json-schema.org/draft-07/schema#"}},
            "/items/$schema",
            "schema_dialect",
        ),
        ({"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}}, "/$defs/b/$id", "schema_identity"),
        ({"$defs": {"a": {"$id": "x"}, "b": {"$id": "/x"}}}, "/$defs/b/$id", "schema_identity"),
        ({"items": {"$id": "http://A.example/x"}}, "/items/$id", "schema_identity"),
        ({"items": {"$id": "http://a.example:80/x"}}, "/items/$id", "schema_identity"),
        ({"items": {"$id": "http://a.example/%78"}}, "/items/$id", "schema_identity"),
        ({"items": {"$id": "http://a.example/y/../x"}}, "/items/$id", "schema_identity"),
        ({"items": {"$id": "json-schema:///x"}}, "/items/$id", "schema_identity"),
        (
            {"$id": "http://A.example/r", "items": {"$id": "http://a.example/x"}},
            "/$id",
            "schema_identity",
        ),
        (
            {"$id": "https://a.example/r", "items": {"$id": "x"}, "not": {"$ref": "y"}},
            "/not/$ref",
            "schema_reference",
        ),
        ({"$defs": {"a": {"$id": "x", "$anchor": "n"}}, "$ref": "#n"}, "/$ref", "schema_reference"),
        (
            {
                "$id": "https://a.example/r",
                "$defs": {"a": {"$id": "x", "allOf": [{"$ref": "r"}]}},
                "$ref": "x",
            },
            "",
            "schema_circular",
        ),
        ({"$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}]}, "", "schema_circular"),
        (
            {"$defs": {"a": {"$anchor": "n"}, "b": {"$anchor": "n"}}},
            "/$defs/b/$anchor",
            "schema_identity",
        ),
        (doubling(40, deeper=False), "", "schema_too_costly"),
        (doubling(20, deeper=True), "", "schema_too_costly"),
        (by_name(doubling(40, deeper=False)), "", "schema_too_costly"),
        (doubling(7, deeper=False, leaf={"$ref": DIALECT}), "", "schema_too_costly"),
        (doubling(7, deeper=False, leaf={"$dynamicRef": f"{DIALECT}#"}), "", "schema_too_costly"),
        # The compiler would take its own schemas of these names.
        (
            {"$defs": {"a": {"$id": DIALECT, "type": "string"}}, "$ref": DIALECT},
            "/$defs/a/$id",
            "schema_identity",
        ),
        (
            {"$defs": {"a": {"$id": "https://json-schema.org/draft/2020-12/meta/core"}}},
            "/$defs/a/$id",
            "schema_identity",
        ),
        ({"$id": "https://JSON%2Dschema.org:443/draft/2020-12/schema"}, "/$id", "schema_identity"),
        ({"properties": {f"p{number}": {} for number in range(2001)}}, "", "schema_too_large"),
        (
            {"patternProperties": {f"^{number}": {} for number in range(201)}},
            "",
            "schema_too_large",
        ),
        ({"default": float("nan")}, "/default", "json_constant"),
        ({"description": "a\0b"}, "/description", "json_nul"),
    ],
)
def test_schemas_that_cannot_be_used_are_refused_with_place_and_reason(
    schema: Any, pointer: str, code: str
) -> None:
    begun = time.thread_time()
    findings = check_schema(schema, LIMITS, "/s")
    assert time.thread_time() - begun < RUNAWAY
    assert [(finding.pointer, finding.code) for finding in findings] == [(f"/s{pointer}", code)]


def test_every_problem_of_a_schema_is_reported() -> None:
    schema = {
        "properties": {
            "a": {"$ref": "x.json"},
            "b": {"pattern": "(?!a)"},
            "c": {"$anchor": "y"},
            "d": {"$anchor": "y"},
        }
    }
    assert [finding.code for finding in check_schema(schema, LIMITS)] == [
        "schema_reference",
        "schema_pattern",
        "schema_identity",
    ]


def nested(levels: int, leaf: Any) -> Any:
    for _ in range(levels):
        leaf = {"x": leaf, "kind": "c"}
    return leaf


def test_explaining_a_value_ends_however_large_or_branching_it_is() -> None:
    shapes = [
        {"properties": {"x": {"$ref": "#"}, "kind": {"const": kind}}, "required": ["kind"]}
        for kind in "abc"
    ]
    tree = {"oneOf": [*({"type": "object", **shape} for shape in shapes), {"type": "string"}]}
    twice = {"allOf": [{"properties": {"x": {"$ref": "#"}}}] * 2, "type": ["object", "string"]}
    assert check_schema(tree, LIMITS) == check_schema(twice, LIMITS) == []
    for schema, value in (
        (tree, nested(50, 1)),
        (tree, nested(6, 1)),
        (twice, nested(50, 1)),
        ({"items": {"type": "string"}}, list(range(100_000))),
        ({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, list(range(100_000))),
    ):
        begun = time.thread_time()
        findings = compile_schema(schema, LIMITS).findings(value)
        assert time.thread_time() - begun < RUNAWAY
        assert 1 <= len(findings) <= 100


def test_a_yes_or_no_is_quick_even_where_references_branch() -> None:
    tree = {"anyOf": [{"type": "string"}, {"items": {"$ref": "#"}, "type": "array"}]}
    value: Any = "leaf"
    for _ in range(60):
        value = [value, value] if isinstance(value, str) else [value]
    begun = time.thread_time()
    assert compile_schema(tree, LIMITS).is_valid(value)
    assert time.thread_time() - begun < RUNAWAY
