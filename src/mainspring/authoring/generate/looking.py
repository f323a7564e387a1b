"""Lookups for the model: names, columns and schemas.

Only the given data is read, so no page, row or secret can be reached. Each answer is delimited,
because most names and some descriptions are untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.actions.agent.prompts import QuoteMarkers
from mainspring.authoring.generate import outline
from mainspring.authoring.generate.context import tidy
from mainspring.authoring.generate.prompts import dump_json
from mainspring.authoring.resources import WorkspaceResources
from mainspring.contracts.capability import Capability
from mainspring.contracts.model import ModelTool
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.suggestions import suggest_capability

LIST, FIND, DESCRIBE = "list_resources", "find_capabilities", "describe_capability"
_MOST_FOUND: Final = 20
_LABEL: Final = 200
_DETAIL: Final = 12_000
_WORD: Final = re.compile(r"[a-z0-9]+")
_IDLE: Final = frozenset({"a", "an", "and", "the", "to", "of", "in", "for", "with", "or", "my"})


def _takes(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [name],
        "additionalProperties": False,
        "properties": {name: schema},
    }


def _boards(resources: WorkspaceResources, vocabulary: Vocabulary) -> Any:
    del vocabulary
    return [
        {
            "id": board.id,
            "name": board.name,
            "datasets": [
                {
                    "name": one.name,
                    "columns": list(one.columns),
                    "dedupe_key_field": one.dedupe_key_field,
                }
                for one in board.datasets
            ],
        }
        for board in resources.boards
    ]


def _event_types(resources: WorkspaceResources, vocabulary: Vocabulary) -> Any:
    ours = [
        {"type": one.type, "is": one.description, "fields": list(fields_of(one.payload_schema))}
        for one in vocabulary.events.values()
    ]
    own = (resources.event_types or {}).items()
    return ours + [{"type": name, "is": tidy(said, _LABEL)} for name, said in own]


def fields_of(schema: Mapping[str, Any]) -> list[str]:
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, Mapping) else []


_KINDS: Final[Mapping[str, Callable[[WorkspaceResources, Vocabulary], Any]]] = {
    "boards": _boards,
    "page_types": lambda resources, words: list(resources.page_types),
    "event_types": _event_types,
    "secrets": lambda resources, words: list(resources.secrets),
    "automations": lambda resources, words: list(resources.automations or {}),
    "connections": lambda resources, words: outline.aliases(words),
}

TOOLS: Final = (
    ModelTool(
        LIST,
        "List what this workspace has by name: boards with their ids and columns, the types of "
        "its pages, event types, the names of secrets, automations, connected servers.",
        _takes("kind", {"type": "string", "enum": list(_KINDS)}),
    ),
    ModelTool(
        FIND,
        "Find capabilities by words for what they should do, such as: post message slack.",
        _takes("words", {"type": "string", "minLength": 1, "maxLength": 500}),
    ),
    ModelTool(
        DESCRIBE,
        "Describe one capability: what it takes, what it gives, what it does.",
        _takes("name", {"type": "string", "minLength": 1, "maxLength": 200}),
    ),
)


@dataclass(frozen=True, slots=True)
class LookupResult:
    """The answer to a lookup."""

    content: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ModelLookup:
    """Answers the model's lookups."""

    resources: WorkspaceResources
    vocabulary: Vocabulary
    marks: QuoteMarkers

    def answer(self, name: str, arguments: Mapping[str, Any] | str) -> LookupResult | None:
        """Answer a tool call; None when it is not a lookup."""
        key = {LIST: "kind", FIND: "words", DESCRIBE: "name"}.get(name)
        if key is None:
            return None
        given = arguments.get(key) if isinstance(arguments, Mapping) else None
        if not isinstance(given, str) or not given.strip():
            return LookupResult(f"{name} takes one text, {key}.", failed=True)
        if name == LIST:
            return self._list_kind(given)
        return self._search(given) if name == FIND else self._describe_name(given)

    def _list_kind(self, kind: str) -> LookupResult:
        if kind not in _KINDS:
            there = ", ".join(_KINDS)
            return LookupResult(
                f"There is no kind called {kind[:100]!r}. There are: {there}.", failed=True
            )
        found = _KINDS[kind](self.resources, self.vocabulary)
        if not found:
            return LookupResult(f"There are no {kind.replace('_', ' ')} here.")
        return LookupResult(self.marks.around(kind, dump_json(found)))

    def _search(self, text: str) -> LookupResult:
        found = find(text, self.vocabulary)
        if not found:
            return LookupResult("Nothing was found. Try other words, or do without it.")
        lines = (f"{one.id} [{outline.reach(one)}] {tidy(one.label, _LABEL)}" for one in found)
        return LookupResult(self.marks.around("capabilities", "\n".join(lines)))

    def _describe_name(self, name: str) -> LookupResult:
        known = self.vocabulary.capabilities.get(name)
        if known is None or not known.grantable:
            if name in self.vocabulary.actions:
                return LookupResult(f"{name} is an action, and its config is described above.")
            names = [one.id for one in self.vocabulary.capabilities.values() if one.grantable]
            way = suggest_capability(name, names) or f"{FIND} finds what there is."
            message = f"There is no capability called {name[:100]!r}.\n"
            return LookupResult(message + self.marks.around("names", way), failed=True)
        return LookupResult(
            self.marks.around(known.id, outline.describe_capability(known)[:_DETAIL])
        )


def find(text: str, vocabulary: Vocabulary) -> list[Capability]:
    """Rank capabilities by matching words, names before descriptions."""
    wanted = {_stem(word) for word in _WORD.findall(text[:500].casefold())} - _IDLE
    scored = []
    for one in vocabulary.capabilities.values():
        if one.grantable:
            score = _score(one, wanted)
            if score:
                scored.append((-score, one.id, one))
    return [one for _, _, one in sorted(scored, key=lambda entry: entry[:2])[:_MOST_FOUND]]


def _score(capability: Capability, wanted: set[str]) -> int:
    parts = (capability.id, capability.label, capability.description[:1_000])
    return sum(
        weight * len(wanted & {_stem(word) for word in _WORD.findall(part.casefold())})
        for weight, part in zip((4, 3, 1), parts, strict=True)
    )


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
