"""Checks a schema from a user or another system before it is used.

Accepted: draft 2020-12, references to any place inside the same schema, by pointer, by anchor or by
the ``$id`` of an embedded schema, recursion through members and items, and a reference to the
metaschema. Rejected, with the location and the reason: references to anywhere else, a reference
that leads back to itself without descending into the value, patterns that cannot run in linear
time, and schemas whose evaluation would need too much work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.object_schema import DIALECT
from mainspring.definition.json_schema.cost import SchemaCost
from mainspring.definition.json_schema.keywords import (
    REFERENCES,
    SchemaReferences,
    is_plain,
    is_reserved,
)
from mainspring.definition.json_schema.messages import describe_errors
from mainspring.definition.json_schema.validator import get_regex_options, refuse_to_fetch
from mainspring.definition.patterns import InvalidPattern, compile_pattern
from mainspring.definition.strict_json import check_value, join_pointer

MOST_SUBSCHEMAS = 2_000
MOST_EVALUATIONS = 10_000
# A compiled pattern above this size needs a maximum text length.
UNBOUNDED_PATTERN = 200
MOST_PATTERNS = 200

_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def check_schema(schema: Any, limits: Limits, at: str = "") -> list[Finding]:
    """Every problem that prevents a schema from being used; empty when there is none."""
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
    """The metaschema, which the library includes."""
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
            detail = "Names at json-schema.org belong to the standard. Use an $id of your own."
            yield Finding(join_pointer(at + pointer, "$id"), detail, "schema_identity")
    if len(references.resources) == 1:
        return
    for uri, pointer in references.resources.items():
        if not is_plain(uri):
            detail = (
                "Beside embedded schemas, an $id is an address in its plain spelling: ASCII, a "
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
        # The size is measured with another engine, which spells this escape differently.
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
    """Problems that only compilation finds, such as a duplicate anchor."""
    try:
        jsonschema_rs.Draft202012Validator(
            schema, retriever=refuse_to_fetch, pattern_options=get_regex_options()
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        path = getattr(error, "instance_path", ())
        yield Finding(
            join_pointer(at, *path), "This part of the schema cannot be used.", "schema_invalid"
        )
