"""Looking up the schema of a value inside a step's or trigger's config."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.authoring.json_pointers import value_at
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.strict_json import join_pointer, split_pointer

# Schema keywords that do not help a person who answers.
_LEFT_OUT: Final = frozenset({"examples", "$schema", "default"})
# The schema keyword for a human-readable description of the constraint.
_WORDS: Final = "x-mainspring-says"
# A reference to a secret; a typed-in secret value is rejected before it is stored.
REFERENCE: Final = r"^\{\{ secrets\.[a-z0-9_]{1,64} \}\}$"
_REFERENCE_AFTER_A_WORD: Final = r"^[A-Za-z]{0,20} ?\{\{ secrets\.[a-z0-9_]{1,64} \}\}$"
_SAYS: Final = (
    "This must be a secret by its name, such as {{ secrets.my_token }}, never the value itself."
)
# Headers and parameters that carry credentials.
_CREDENTIAL: Final = re.compile(
    r"auth|cookie|token|secret|passw|pwd|credential|signature|(?:^|[_-])key$|api[_-]?key",
    re.IGNORECASE,
)
_PARTS: Final = frozenset({"headers", "query"})


def schema_at(document: Any, pointer: str, vocabulary: Vocabulary) -> dict[str, Any] | None:
    """Look up the schema of a config value, as far as the vocabulary has one."""
    parts = split_pointer(pointer)
    # The innermost config: steps may be nested in the config of another step.
    owners = [place for place, part in enumerate(parts) if part == "config"]
    for place in reversed(owners):
        owner = value_at(document, join_pointer("", *parts[:place]))
        schema = _config_schema(owner, vocabulary)
        if schema is not None:
            return _only_secrets(_inside(schema, parts[place + 1 :]), parts[place + 1 :])
    return None


def _config_schema(owner: Any, vocabulary: Vocabulary) -> Mapping[str, Any] | None:
    if not isinstance(owner, Mapping):
        return None
    action, kind = owner.get("action"), owner.get("type")
    if isinstance(action, str) and "step_id" in owner:
        if action in vocabulary.actions:
            return vocabulary.actions[action].config_schema
        known = vocabulary.capabilities.get(action)
        return None if known is None else known.input_schema
    if isinstance(kind, str) and kind in vocabulary.triggers:
        return vocabulary.triggers[kind].config_schema
    return None


def _inside(schema: Mapping[str, Any], parts: list[str]) -> dict[str, Any] | None:
    found: Any = schema
    for part in parts:
        if not isinstance(found, Mapping):
            return None
        properties = found.get("properties")
        if isinstance(properties, Mapping) and part in properties:
            found = properties[part]
        elif part.isdecimal() and "items" in found:
            found = found["items"]
        else:
            found = found.get("additionalProperties")
    return _plain(found) if isinstance(found, Mapping) else None


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a self-contained schema; one with references is dropped."""
    if "$ref" in str(schema):
        return {}
    made = {
        key: value
        for key, value in schema.items()
        if key not in _LEFT_OUT and (key == _WORDS or not key.startswith("x-mainspring"))
    }
    if schema.get("x-mainspring-scope") == "secret" and "pattern" in made:
        # The pattern describes the resolved value, which nobody can type.
        made |= {"pattern": REFERENCE, _WORDS: _SAYS}
        made.pop("maxLength", None)
    return made


def _only_secrets(schema: dict[str, Any] | None, parts: list[str]) -> dict[str, Any] | None:
    """Require a secret reference in credential headers and parameters, with at most a prefix
    word."""
    carries = len(parts) == 2 and parts[0] in _PARTS and _CREDENTIAL.search(parts[1])
    if schema is None or not carries:
        return schema
    return {**schema, "type": "string", "pattern": _REFERENCE_AFTER_A_WORD, _WORDS: _SAYS}
