"""A compiled schema: a fast yes or no, and the list of problems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema_rs

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.object_schema import DIALECT
from mainspring.definition.json_schema.formats import list_own_formats
from mainspring.definition.json_schema.keywords import (
    REFERENCES,
    SchemaCost,
    SchemaReferences,
    is_plain,
    is_reserved,
)
from mainspring.definition.json_schema.messages import describe_errors
from mainspring.definition.patterns import InvalidPattern, compile_pattern
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


# Judges a schema that a person or another system wrote, before it is used.
#
# Accepted: draft 2020-12, references to any place inside the same schema, by pointer, by anchor
# or by the ``$id`` of an embedded schema, recursion through members and items, and a reference to
# the standard's own schema. Refused, with the place and the reason: references to anywhere else,
# a reference that leads back to itself without going deeper into the value, patterns that cannot
# run in linear time, and schemas that multiply into more work than one answer is worth.


MOST_SUBSCHEMAS = 2_000
MOST_EVALUATIONS = 10_000
# A compiled pattern above this size needs a bound on the text it will read.
UNBOUNDED_PATTERN = 200
MOST_PATTERNS = 200

_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def check_schema(schema: Any, limits: Limits, at: str = "") -> list[Finding]:
    """Everything that keeps a schema from being used; empty when nothing does."""
    try:
        check_value(schema, limits, at)
    except Invalid as problem:
        return list(problem.findings)
    found = [*_against_the_standard(schema, at)]
    if found:
        return found
    references = SchemaReferences(schema)
    if len(references.nodes) > MOST_SUBSCHEMAS:
        detail = f"The schema has more than {MOST_SUBSCHEMAS:,} schemas in it."
        return [Finding(at, detail, "schema_too_large")]
    if _patterns(references) > MOST_PATTERNS:
        detail = f"The schema has more than {MOST_PATTERNS:,} patterns in it."
        return [Finding(at, detail, "schema_too_large")]
    for pointer, node in references.nodes.items():
        if isinstance(node, Mapping):
            found.extend(_embedded_dialect(node, pointer, at))
            found.extend(_reference_findings(node, references, at + pointer))
            found.extend(_pattern_findings(node, limits, at + pointer))
    found.extend(_identity_findings(references, at))
    return found or [*_work_findings(schema, references, at)] or [*_leftover(schema, at)]


def _against_the_standard(schema: Any, at: str) -> Iterator[Finding]:
    if not isinstance(schema, Mapping | bool):
        yield Finding(at, "A schema is an object, or true or false.", "schema_type")
        return
    dialect = schema.get("$schema", DIALECT) if isinstance(schema, Mapping) else DIALECT
    if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
        detail = f"Schemas are written in JSON Schema 2020-12: $schema is {DIALECT} or absent."
        yield Finding(join_pointer(at, "$schema"), detail, "schema_dialect")
        return
    for error in _standard().iter_errors(schema):
        yield from describe_errors(error, None, at)


@lru_cache(maxsize=1)
def _standard() -> jsonschema_rs.Draft202012Validator:
    """The standard's own schema, which the library carries with it."""
    return jsonschema_rs.Draft202012Validator(
        {"$ref": DIALECT}, retriever=refuse_to_fetch, pattern_options=get_regex_options()
    )


def _embedded_dialect(node: Mapping[str, Any], pointer: str, at: str) -> Iterator[Finding]:
    if pointer and node.get("$schema", DIALECT).rstrip("#") != DIALECT:
        detail = f"Embedded schemas are written in JSON Schema 2020-12 too: {DIALECT}."
        yield Finding(join_pointer(at + pointer, "$schema"), detail, "schema_dialect")


def _identity_findings(references: SchemaReferences, at: str) -> Iterator[Finding]:
    for pointer, keyword in references.repeated:
        name = references.nodes[pointer][keyword]
        detail = f"The name {name!r} is given to two places; a reference could mean both."
        yield Finding(join_pointer(at + pointer, keyword), detail, "schema_identity")
    for uri, pointer in references.resources.items():
        if is_reserved(uri):
            detail = "Names at json-schema.org are reserved. Use an $id of your own."
            yield Finding(join_pointer(at + pointer, "$id"), detail, "schema_identity")
    if len(references.resources) == 1:
        return
    for uri, pointer in references.resources.items():
        if not is_plain(uri):
            detail = (
                "With embedded schemas, an $id must be a normalized address: ASCII, a "
                "host in small letters, no percent escapes, no port 80 or 443, no . or .. in it."
            )
            yield Finding(join_pointer(at + pointer, "$id"), detail, "schema_identity")


def _reference_findings(
    node: Mapping[str, Any], references: SchemaReferences, here: str
) -> Iterator[Finding]:
    for keyword in REFERENCES:
        reference = node.get(keyword)
        if not isinstance(reference, str):
            continue
        place = join_pointer(here, keyword)
        if not references.leads_to_schema(node, reference):
            detail = "This reference does not lead to a schema inside this one."
            if not reference.startswith("#"):
                detail += " Nothing is fetched from elsewhere."
            yield Finding(place, detail, "schema_reference")


def _pattern_findings(node: Mapping[str, Any], limits: Limits, here: str) -> Iterator[Finding]:
    pattern = node.get("pattern")
    if isinstance(pattern, str):
        most = node.get("maxLength")
        longest = most if isinstance(most, int) else None
        yield from _one_pattern(pattern, longest, limits, join_pointer(here, "pattern"))
    for name in node.get("patternProperties", {}):
        yield from _one_pattern(name, None, limits, join_pointer(here, "patternProperties", name))


def _patterns(references: SchemaReferences) -> int:
    return sum(
        ("pattern" in node) + len(node.get("patternProperties", ()))
        for node in references.nodes.values()
        if isinstance(node, Mapping)
    )


def _one_pattern(source: str, longest: int | None, limits: Limits, here: str) -> Iterator[Finding]:
    try:
        # The measure is taken by another engine, which spells this escape differently.
        pattern = compile_pattern(_UNICODE_ESCAPE.sub(r"\\x{\1}", source), limits)
    except InvalidPattern as bad:
        yield Finding(here, str(bad), "schema_pattern")
        return
    if pattern.size > UNBOUNDED_PATTERN and (longest is None or longest > pattern.longest):
        detail = (
            "This pattern is large, so the text it reads must be bounded: "
            f"put a maxLength of at most {pattern.longest:,} beside it."
        )
        yield Finding(here, detail, "schema_pattern")


def _work_findings(schema: Any, references: SchemaReferences, at: str) -> Iterator[Finding]:
    bounds = SchemaCost(schema, references)
    circular = bounds.circular()
    if circular is not None:
        detail = "This schema refers back to itself without going deeper into the value."
        places = [place for place, node in references.nodes.items() if node is circular]
        yield Finding(at + places[0], detail, "schema_circular")
    elif bounds.weight() > MOST_EVALUATIONS:
        detail = "The references and alternatives of this schema multiply into too much work."
        yield Finding(at, detail, "schema_too_costly")


def _leftover(schema: Any, at: str) -> Iterator[Finding]:
    """Whatever only compiling finds out, such as one anchor named twice."""
    try:
        jsonschema_rs.Draft202012Validator(
            schema, retriever=refuse_to_fetch, pattern_options=get_regex_options()
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        path = getattr(error, "instance_path", ())
        yield Finding(
            join_pointer(at, *path), "This part of the schema cannot be used.", "schema_invalid"
        )
