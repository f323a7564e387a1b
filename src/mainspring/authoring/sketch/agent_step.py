"""The agent step, with its input documents and a fixed output schema.

It has no tools when its inputs were read before. Its output is used by separate steps, so a prompt
injection in the inputs can change text and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mainspring.authoring.sketch.read_steps import ReadMaterial
from mainspring.authoring.sketch.request_tokens import Clause
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import inert, sentence, shorten_text
from mainspring.authoring.sketch.word_tables import BULLETS, NUMBERS, split_words

_LONGEST: Final = 1_500
_MOST_ITEMS: Final = 50
_SORTING: Final = split_words(
    "classify categorise categorize triage label judge rate score sort assess tag"
)
_AS: Final = re.compile(r"\b(?:as|into|either)\s+(?P<list>[\w ,/-]{3,200})", re.IGNORECASE)
_SPLIT: Final = re.compile(r"\s*(?:,|/|\bor\b|\band\b)\s*")


@dataclass(slots=True)
class AgentOutputShape:
    """The required fields of the output."""

    bullets: bool = False
    count: int | None = None
    text: bool = False
    rows: bool = False
    row_fields: tuple[str, ...] = ()
    row_ids: bool = False
    needed: str = ""
    categories: tuple[str, ...] = ()
    category: bool = False
    tools: list[str] = field(default_factory=list)
    # Separate texts for different targets, by description.
    parts: dict[str, str] = field(default_factory=dict)
    # A list of items, each with a title and a text.
    items: bool = False


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """The agent's output, as later steps read it."""

    name: str
    shape: AgentOutputShape

    @property
    def text(self) -> str:
        if self.shape.bullets:
            return (
                f"{{% for bullet in steps.{self.name}.bullets %}}• {{{{ bullet }}}}\n{{% endfor %}}"
            )
        if self.shape.text:
            return f"{{{{ steps.{self.name}.text }}}}"
        if self.shape.parts and not self.shape.category:
            return f"{{{{ steps.{self.name}.{next(iter(self.shape.parts))} }}}}"
        if self.shape.category:
            return f"{{{{ steps.{self.name}.category }}}}: {{{{ steps.{self.name}.reason }}}}"
        return f"{{{{ steps.{self.name} | tojson }}}}"

    @property
    def when(self) -> str:
        """The condition that there is output to act on; the agent may find nothing."""
        if self.shape.needed:
            return f"{{{{ steps.{self.name}.needed | default(false) }}}}"
        if self.shape.bullets:
            return f"{{{{ steps.{self.name}.bullets | default([]) | length > 0 }}}}"
        key = "text" if self.shape.text else "category" if self.shape.category else ""
        key = key or next(iter(self.shape.parts), "")
        if key:
            return f"{{{{ steps.{self.name}.{key} | default('') | length > 0 }}}}"
        if self.shape.items and not self.shape.rows:
            return f"{{{{ steps.{self.name}.items | default([]) | length > 0 }}}}"
        return self.rows_when

    def part(self, name: str) -> tuple[str, str]:
        """Return one of several texts, and its condition."""
        text = f"{{{{ steps.{self.name}.{name} }}}}"
        when = f"{{{{ steps.{self.name}.{name} | default('') | length > 0 }}}}"
        return text, self.when if self.shape.needed else when

    @property
    def rows_when(self) -> str:
        return f"{{{{ steps.{self.name}.rows | default([]) | length > 0 }}}}"

    @property
    def rows(self) -> str:
        return f"{{{{ steps.{self.name}.rows }}}}"


def read_shape(clauses: Sequence[Clause]) -> AgentOutputShape:
    """Derive the output shape from clauses."""
    shape = AgentOutputShape()
    for clause in clauses:
        tokens = clause.tokens
        for place, one in enumerate(tokens):
            if one.low in BULLETS and one.low not in {"items", "lines", "point"}:
                shape.bullets = True
                before = [word.low for word in tokens[max(0, place - 3) : place]]
                counts = [count for word in before if (count := _count(word)) is not None]
                shape.count = counts[-1] if counts else shape.count
        if clause.verb in _SORTING:
            shape.category = True
            shape.categories = _categories(clause.text()) or shape.categories
    return shape


def _count(word: str) -> int | None:
    number = NUMBERS.get(word) if word not in {"a", "an"} else None
    if word.isascii() and word.isdecimal() and len(word) <= 3:
        number = int(word)
    return number if number and number <= _MOST_ITEMS else None


def _categories(text: str) -> tuple[str, ...]:
    found = _AS.search(text)
    if found is None:
        return ()
    parts = [one.strip() for one in _SPLIT.split(found["list"]) if one.strip()]
    named = tuple(dict.fromkeys(one.lower() for one in parts if len(one.split()) <= 2))
    return named[:20] if len(named) > 1 and len(named) == len(parts) else ()


def add_thought(
    bench: SketchBuilder,
    instructions: Sequence[str],
    materials: Sequence[ReadMaterial],
    shape: AgentOutputShape,
    tight: str | None = None,
) -> AgentOutput:
    """Add the agent step."""
    if not (
        shape.bullets or shape.rows or shape.category or shape.text or shape.parts or shape.items
    ):
        shape.text = True
    config: dict[str, Any] = {"prompt": _prompt(instructions, materials, shape)}
    if materials:
        config["documents"] = [{"title": one.title, "text": one.text} for one in materials[:10]]
    if shape.tools:
        config["tools"] = list(dict.fromkeys(shape.tools))
    config["output_schema"] = _schema(shape)
    config["max_turns"] = 10 if shape.tools else 4
    gate = next((one.when for one in materials if one.gate), None)
    when = tight or gate or (materials[0].when if len(materials) == 1 else None)
    name = bench.step("think", "agent_task", config, when=when)
    if not bench.resources.has_model:
        bench.note("One step asks a model, and none is connected here yet.")
    return AgentOutput(name, shape)


def _prompt(
    instructions: Sequence[str], materials: Sequence[ReadMaterial], shape: AgentOutputShape
) -> str:
    asked = "\n".join(sentence(one) for one in instructions if one.strip())
    lines = [inert(shorten_lines(asked))]
    if shape.bullets:
        lines.append(
            f"Answer with {shape.count} bullets, each a short line."
            if shape.count
            else "Answer with a few bullets, each a short line."
        )
    elif shape.text:
        lines.append("Answer with the finished text alone, ready to be sent, without a preface.")
    if shape.parts:
        lines += ["Answer with these texts, each ready to be sent, without a preface:"]
        lines += [
            f"- {name}: {inert(shorten_text(told, 200))}" for name, told in shape.parts.items()
        ]
    if shape.items:
        lines.append("Answer with a list of items, each with a short title and its text.")
    if shape.category:
        lines.append("Name the category, and the reason for it in one sentence.")
    if shape.rows:
        lines.append(_rows_line(shape))
    if shape.needed:
        asked_if = inert(shorten_text(shape.needed, 300))
        lines.append(f"Set needed to true only if this holds: {asked_if}.")
    if materials:
        lines.append(
            "Work with the documents alone. If they hold nothing to work on, there is nothing "
            "to do."
        )
    if shape.tools:
        lines.append("It is {{ run.started_at }}.")
    return "\n\n".join(line for line in lines if line)


def _rows_line(shape: AgentOutputShape) -> str:
    fields = ", ".join(shape.row_fields)
    if shape.row_ids:
        return "Answer with the rows that change: each its row_id and the fields that change."
    named = f" with the fields {fields}" if fields else ""
    return f"Answer with one row{named} for each thing that is to be kept."


def shorten_lines(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + "…"


def _rows_schema(shape: AgentOutputShape) -> dict[str, Any]:
    row: dict[str, Any] = {"type": "object", "minProperties": 1}
    if shape.row_ids:
        row["required"] = ["row_id"]
        row["properties"] = {"row_id": {"type": "string"}}
    elif shape.row_fields:
        row["properties"] = {name: {} for name in shape.row_fields}
    return {"type": "array", "items": row}


def _items_schema() -> dict[str, Any]:
    kinds = {"title": {"type": "string"}, "text": {"type": "string"}}
    item = {"type": "object", "required": list(kinds), "properties": kinds}
    return {"type": "array", "maxItems": _MOST_ITEMS, "items": item}


def _schema(shape: AgentOutputShape) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if shape.bullets:
        made["bullets"] = {"type": "array", "items": {"type": "string"}, "minItems": 1}
        if shape.count:
            made["bullets"]["maxItems"] = shape.count
    if shape.category:
        made["category"] = (
            {"enum": list(shape.categories)} if shape.categories else {"type": "string"}
        )
        made["reason"] = {"type": "string"}
    if shape.text:
        made["text"] = {"type": "string", "minLength": 1}
    for name in shape.parts:
        made[name] = {"type": "string", "minLength": 1}
    if shape.items:
        made["items"] = _items_schema()
    if shape.rows:
        made["rows"] = _rows_schema(shape)
    if shape.needed:
        made["needed"] = {"type": "boolean"}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(made),
        "properties": made,
    }
