"""The published JSON Schema (2020-12) of a definition's envelope.

It is generated from the model, with what a form needs: titles, descriptions, and ``x-mainspring-``
annotations for widgets, sources of choices and the schema of a config. ``examples`` and
``antiexamples`` document the format and are executed as tests.
"""

from __future__ import annotations

from typing import Any, Final

from mainspring.definition.model import CURRENT_VERSION, Definition
from mainspring.definition.schema.antiexamples import ANTI_EXAMPLES, AntiExample
from mainspring.definition.schema.examples import EXAMPLES

__all__ = ["ANTI_EXAMPLES", "EXAMPLES", "SCHEMA_ID", "AntiExample", "build_definition_schema"]

SCHEMA_ID: Final = f"urn:mainspring:definition:{CURRENT_VERSION}"

_NAMES: Final = {"TriggerEntry": "Trigger", "GrantEntry": "Grant"}
_TITLES: Final = {"Usd": "USD", "Llm": "LLM", "Id": "ID", "Nl": "words"}
_SHOWN_EXAMPLES: Final = 2


def build_definition_schema() -> dict[str, Any]:
    """The schema of a definition's envelope; each action has its own schema for its config."""
    made = Definition.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    parts = {_NAMES.get(name, name): _tidy(part) for name, part in made.pop("$defs").items()}
    for name in ("Step", "Trigger"):
        owner = "action" if name == "Step" else "type"
        parts[name]["properties"]["config"]["x-mainspring-config-of"] = owner
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        **_tidy(made),
        "examples": [example.document for example in EXAMPLES[:_SHOWN_EXAMPLES]],
        "$defs": parts,
    }


def _tidy(node: Any) -> Any:
    """Set readable titles, one-line descriptions and the display names of the parts."""
    if isinstance(node, list):
        return [_tidy(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    made = {key: _tidy(value) for key, value in node.items()}
    if isinstance(made.get("title"), str):
        made["title"] = _title(made["title"])
    if isinstance(made.get("description"), str):
        made["description"] = " ".join(made["description"].split())
    if isinstance(made.get("$ref"), str):
        name = made["$ref"].rpartition("/")[2]
        made["$ref"] = f"#/$defs/{_NAMES.get(name, name)}"
    return made


def _title(text: str) -> str:
    words = [_TITLES.get(word, word.lower()) for word in _NAMES.get(text, text).split()]
    return words[0][:1].upper() + " ".join(words)[1:]
