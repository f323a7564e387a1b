"""A compiled schema: a fast yes or no, and the list of problems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema_rs

from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema.cost import SchemaCost
from mainspring.definition.json_schema.formats import list_own_formats
from mainspring.definition.json_schema.messages import describe_errors
from mainspring.definition.strict_json import (
    check_value,
    encode_canonical,
    invalid_value_error,
    join_pointer,
    split_pointer,
)

# Above this many evaluations, only the first problem of a value is reported.
MOST_EXPLAINED = 20_000
MOST_FINDINGS = 100
# The size limit of one compiled pattern.
PATTERN_BYTES = 262_144
PATTERN_TABLE_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class Validator:
    """A compiled schema that validates values.

    Only the parts that the schema mentions are checked; ``check_value`` checks whether a value is
    JSON in all its parts.
    """

    _compiled: jsonschema_rs.Draft202012Validator
    _schema: Any
    _bounds: SchemaCost
    _unions: bool

    def is_valid(self, value: Any) -> bool:
        try:
            return self._compiled.is_valid(_plain(value))
        except ValueError:  # not JSON at all
            return False

    def findings(self, value: Any, at: str = "") -> list[Finding]:
        """Every problem of a value, in document order.

        A very large value in a schema with many branches only gets its first problem.
        """
        value = _plain(value)
        try:
            if self._compiled.is_valid(value):
                return []
            found = self._explained(value, at)
        except ValueError:
            detail = "This value is not JSON: it has a part that JSON cannot hold."
            return [Finding(at, detail, "json_type")]
        return found[:MOST_FINDINGS]

    def _explained(self, value: Any, at: str) -> list[Finding]:
        if self._bounds.explaining(value, MOST_EXPLAINED) <= MOST_EXPLAINED:
            errors = [*self._compiled.iter_errors(value)]
        elif self._unions:
            detail = "This does not fit its schema, and is too large to say where."
            return [Finding(at, detail, "schema")]
        else:
            errors = [self._first(value)]
        found: dict[Finding, None] = {}
        for error in errors:
            for finding in describe_errors(error, self._schema, at):
                found[finding] = None
        return sorted(found, key=_build_sort_key)

    def _first(self, value: Any) -> jsonschema_rs.ValidationError:
        try:
            self._compiled.validate(value)
        except jsonschema_rs.ValidationError as error:
            return error
        raise AssertionError("a value that is not valid has a first error")


def compile_schema(
    schema: Mapping[str, Any] | bool, limits: Limits, *, assert_formats: bool = True
) -> Validator:
    """The validator of a schema; ``Invalid`` if it cannot be compiled.

    Validators are cached by content: a further call for an equal schema costs one hash. Run
    ``check_schema`` first on schemas from outside; it says where and why one is rejected.
    """
    try:
        return _compile(encode_canonical(_plain(schema)), limits, assert_formats)
    except jsonschema_rs.ValidationError as error:
        raise invalid_value_error(_unusable(error)) from None


@lru_cache(maxsize=512)
def _compile(text: bytes, limits: Limits, assert_formats: bool) -> Validator:
    schema = json.loads(text)
    check_value(schema, limits)
    compiled = jsonschema_rs.Draft202012Validator(
        schema,
        retriever=refuse_to_fetch,
        pattern_options=get_regex_options(),
        validate_formats=assert_formats,
        formats=list_own_formats(),
    )
    return Validator(compiled, schema, SchemaCost(schema), _has_unions(text))


def get_regex_options() -> jsonschema_rs.RegexOptions:
    return jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES, dfa_size_limit=PATTERN_TABLE_BYTES)


def refuse_to_fetch(uri: str) -> Any:
    """The library would open network and file addresses; this retriever opens none."""
    del uri
    raise ValueError("references outside the schema are not followed")


def _unusable(error: jsonschema_rs.ValidationError) -> Finding:
    place = join_pointer("", *error.instance_path)
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Referencing):
        detail = "The schema has a reference that leads nowhere inside it."
        return Finding(place, detail, "schema_reference")
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Format):
        return Finding(place, "The schema has a pattern that cannot be used.", "schema_pattern")
    return Finding(place, "The schema does not obey JSON Schema 2020-12.", "schema_invalid")


def _has_unions(text: bytes) -> bool:
    """Explaining a union lists the problems of each branch, which multiplies the work."""
    return b'"anyOf"' in text or b'"oneOf"' in text


def _plain(value: Any) -> Any:
    # Check the exact type first: nearly every value is plain JSON.
    kind = type(value)
    if kind is dict or kind is list or kind is str:
        return value
    return dict(value) if isinstance(value, Mapping) else value


def _build_sort_key(finding: Finding) -> list[tuple[int, int, str]]:
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in split_pointer(finding.pointer)
    ]
