"""A config judged by its schema before its templates are filled in.

A templated text stands for a value nobody knows yet, so what the schema says about that
value is left open; what it says about the literal parts around it (a missing key, an
unknown key, a list where an object belongs) is certain and is told. The rest is judged
when the run has rendered the config.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import jsonschema_rs
import orjson
from jsonschema_rs import ValidationErrorKind as Kind

from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.json_schema.bounds import SchemaCost
from mainspring.definition.json_schema.formats import list_own_formats
from mainspring.definition.json_schema.sentences import describe_errors
from mainspring.definition.json_schema.validator import (
    MOST_EXPLAINED,
    get_regex_options,
    refuse_to_fetch,
)
from mainspring.definition.json_text import encode_canonical
from mainspring.definition.pointers import split_pointer
from mainspring.definition.templates import CompiledConfig
from mainspring.definition.validate.report import MOST_FINDINGS

ConfigPath = tuple[str, ...]

# Certain whatever the templates below the place will say.
_CERTAIN: Final = (
    Kind.Type,
    Kind.Required,
    Kind.AdditionalProperties,
    Kind.PropertyNames,
    Kind.MinItems,
    Kind.MaxItems,
    Kind.MinProperties,
    Kind.MaxProperties,
    Kind.FalseSchema,
)
# Parts of a schema that apply only if something else about the value is so.
_CONDITIONAL: Final = frozenset({"then", "else", "dependentSchemas"})


def find_config_problems(
    config: CompiledConfig, schema: Mapping[str, Any], limits: Limits, at: str
) -> list[Finding]:
    """What is certainly wrong with a config, whatever its templates come to."""
    judge = compile_schema(schema, limits)
    if not config.templates or judge.is_valid(config.source):
        return judge.findings(config.source, at)
    text = encode_canonical(schema)
    if _bounds(text).explaining(config.source, MOST_EXPLAINED) > MOST_EXPLAINED:
        return []
    open_places = {
        tuple(split_pointer(pointer)): template.expression is not None
        for pointer, template in config.templates
    }
    found = (
        finding
        for error in _errors(text).iter_errors(config.source)
        if _is_certain(error, open_places)
        for finding in describe_errors(error, schema, at)
    )
    return list(dict.fromkeys(islice(found, MOST_FINDINGS + 1)))


def _is_certain(
    error: jsonschema_rs.ValidationError, open_places: Mapping[ConfigPath, bool]
) -> bool:
    """Whether an error stays one for every value that the open places may take."""
    here = tuple(str(part) for part in error.instance_path)
    if here in open_places:
        # Text around an expression makes the whole text, so only its type is known.
        return isinstance(error.kind, Kind.Type) and not open_places[here]
    if not _CONDITIONAL.isdisjoint(error.schema_path):
        return False
    holds_one = any(place[: len(here)] == here for place in open_places)
    return not holds_one or isinstance(error.kind, _CERTAIN)


@lru_cache(maxsize=256)
def _errors(text: bytes) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        orjson.loads(text),
        retriever=refuse_to_fetch,
        pattern_options=get_regex_options(),
        validate_formats=True,
        formats=list_own_formats(),
    )


@lru_cache(maxsize=256)
def _bounds(text: bytes) -> SchemaCost:
    return SchemaCost(orjson.loads(text))
